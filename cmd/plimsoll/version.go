package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// commit and date are stamped at link time, like version; where they are not, Go may know them
// from the repository. The date is the commit's: one of building would make every build another.
var commit, date string

// build is what plimsoll version tells.
type build struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Date      string `json:"date,omitempty"` // the commit's
	Modified  bool   `json:"modified,omitempty"`
	GoVersion string `json:"goVersion"`
	Platform  string `json:"platform"`
	// Kubernetes has the versions of the libraries that verdicts and writes depend on.
	Kubernetes map[string]string `json:"kubernetes,omitempty"`
}

// libraries are those of Kubernetes by which one tells what a binary can talk to (client-go),
// and whose scheduler it is (kubernetes).
var libraries = []string{"k8s.io/client-go", "k8s.io/kubernetes"}

// buildOf joins what was stamped with what Go has written into the binary.
func buildOf(version, commit, date string, info *debug.BuildInfo) build {
	b := build{Version: version, Commit: commit, Date: date, GoVersion: info.GoVersion}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && b.Commit == "":
			b.Commit = s.Value
		case s.Key == "vcs.time" && b.Date == "":
			b.Date = s.Value
		case s.Key == "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if slices.Contains(libraries, m.Path) {
			if b.Kubernetes == nil {
				b.Kubernetes = map[string]string{}
			}
			if m.Replace != nil {
				m = &debug.Module{Path: m.Path, Version: m.Replace.Version}
			}
			b.Kubernetes[m.Path] = m.Version
		}
	}
	return b
}

// thisBuild is the build that runs.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without modules, which our build never is
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	b := buildOf(version, commit, date, info)
	b.Platform = runtime.GOOS + "/" + runtime.GOARCH
	return b
}

// tested is the Kubernetes whose scheduler's filters this build has: the version that
// it is tested with.
func (b build) tested() string { return b.Kubernetes["k8s.io/kubernetes"] }

func versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Tell which version this is, of which commit, and with which Kubernetes libraries",
		Example: `  plimsoll version
  plimsoll version -o json
  kubectl exec -n kube-system deploy/plimsoll -- plimsoll version`,
		Args: onlyFlags,
	}
	format := cmd.Flags().StringP("output", "o", "text", "text or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := thisBuild()
		switch *format {
		case "text", "table":
			return b.text(cmd.OutOrStdout())
		case "json":
			out := json.NewEncoder(cmd.OutOrStdout())
			out.SetIndent("", "  ")
			if err := out.Encode(b); err != nil {
				return fmt.Errorf("write the version: %w", err)
			}
			return nil
		}
		return misusef("--output: there is no format %q; use text or json", *format)
	}
	return cmd
}

func (b build) text(to io.Writer) error {
	out := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value == "" {
			value = "not known"
		}
		fmt.Fprintf(out, "%s\t%s\n", name, value)
	}
	row("plimsoll", b.Version)
	commit := b.Commit
	if b.Modified {
		commit += ", with changes"
	}
	row("commit", commit)
	row("committed", b.Date)
	row("go", b.GoVersion+" "+b.Platform)
	for _, name := range libraries {
		row(name, b.Kubernetes[name])
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the version: %w", err)
	}
	return nil
}
