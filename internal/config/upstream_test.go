package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/providers"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the generated part of docs/migrate.md")

// theirs is a flag of the Cluster Autoscaler.
type theirs struct{ section, name, def, value string }

func theirFlags(t *testing.T) []theirs {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "cluster-autoscaler-flags.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out []theirs
	var section string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, "|")
		if len(parts) != 3 {
			t.Fatalf("%q is not name | default | value", line)
		}
		out = append(out, theirs{section, strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1]),
			strings.TrimSpace(parts[2])})
	}
	return out
}

// providerFor is a provider that has the flag; aws if all have it.
func providerFor(flag string) string {
	for _, e := range providers.All() {
		set := pflag.NewFlagSet(e.Name, pflag.ContinueOnError)
		if e.Bind(set); set.Lookup(flag) != nil {
			return e.Name
		}
	}
	return "aws"
}

// parseTheirs gives one flag, and says what the product makes of it.
func parseTheirs(f theirs, more ...string) (warnings []string, err error) {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	flags := Bind(set, providers.All())
	args := []string{"--cloud-provider=" + providerFor(f.name)}
	if f.name != "cloud-provider" {
		args = append(args, "--"+f.name+"="+f.value)
	}
	if err := set.Parse(append(args, more...)); err != nil {
		return nil, err
	}
	_, warnings, err = flags.Config()
	return warnings, err
}

// TestEdgesOfTheirFlags: values that the Cluster Autoscaler starts with, though few would
// think of them, do as much here. For one that cannot there is a warning.
func TestEdgesOfTheirFlags(t *testing.T) {
	for _, c := range []struct {
		name, value string
		warns       bool
	}{
		{"max-scale-down-parallelism", "0", false}, {"max-drain-parallelism", "0", false},
		{"initial-node-group-backoff-duration", "0s", false}, {"node-group-backoff-reset-timeout", "0s", false},
		{"max-node-group-backoff-duration", "3m", true}, {"max-node-group-backoff-duration", "0s", true},
		{"scan-interval", "4m", false}, {"scan-interval", "5m", true}, {"max-inactivity", "10s", true},
		{"kube-client-qps", "-1", false}, {"kube-client-qps", "0", false}, {"kube-client-burst", "0", false},
		{"scale-down-utilization-threshold", "1.1", true}, {"scale-down-gpu-utilization-threshold", "0", false},
		{"scale-down-unneeded-time", "0s", false}, {"max-pod-eviction-time", "0s", false},
		{"max-bulk-soft-taint-count", "0", false}, {"max-graceful-termination-sec", "0", false},
		{"max-total-unready-percentage", "0", false}, {"ok-total-unready-count", "0", false},
	} {
		warnings, err := parseTheirs(theirs{name: c.name, value: c.value})
		if err != nil || (len(warnings) > 0) != c.warns {
			t.Errorf("--%s=%s: warnings %v, %v", c.name, c.value, warnings, err)
		}
	}
}

// TestTheLongestRestIsTheLongest, of the first failure too.
func TestTheLongestRestIsTheLongest(t *testing.T) {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	flags := Bind(set, providers.All())
	if err := set.Parse([]string{"--cloud-provider=kwok", "--max-node-group-backoff-duration=3m"}); err != nil {
		t.Fatal(err)
	}
	c, _, err := flags.Config()
	if r := c.Policy.Rules; err != nil || r.BackoffFirst != 3*time.Minute || r.BackoffMost != 3*time.Minute {
		t.Errorf("first %s, longest %s, %v", r.BackoffFirst, r.BackoffMost, err)
	}
}

func lackOf(name string) *lack {
	if i := slices.IndexFunc(lacking, func(l lack) bool { return l.name == name }); i >= 0 {
		return &lacking[i]
	}
	return nil
}

// TestEveryFlagOfTheClusterAutoscaler: each parses. Without an effect it has one
// warning, which says what happens instead; with one it has none, and its default
// is the one there or is reported as changed.
func TestEveryFlagOfTheClusterAutoscaler(t *testing.T) {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	flags := Bind(set, providers.All())
	known := map[string]bool{}
	for _, f := range theirFlags(t) {
		if known[f.name] {
			t.Errorf("--%s is listed twice", f.name)
		}
		known[f.name] = true
		l := lackOf(f.name)
		warnings, err := parseTheirs(f)
		if def, ok := decisive[f.name]; ok {
			if def != f.def || l == nil {
				t.Errorf("--%s is refused unless it is %q, its default there is %q", f.name, def, f.def)
			}
			if err == nil || !strings.HasPrefix(err.Error(), "--"+f.name+": ") ||
				!strings.Contains(err.Error(), "--"+ignoreUnsupported) {
				t.Errorf("--%s=%s changes what is bought or removed and starts; its error: %v", f.name, f.value, err)
			}
			if warnings, err := parseTheirs(theirs{name: f.name, value: f.def}); err != nil || len(warnings) != 1 {
				t.Errorf("--%s=%s is its default there: warnings %v, %v", f.name, f.def, warnings, err)
			}
			warnings, err = parseTheirs(f, "--"+ignoreUnsupported)
		}
		if err != nil {
			t.Errorf("--%s=%s: %v", f.name, f.value, err)
			continue
		}
		if l == nil {
			if len(warnings) > 0 {
				t.Errorf("--%s=%s has an effect, and warnings: %v", f.name, f.value, warnings)
			}
			d := flags.DifferenceOf(f.name)
			note, there := d.Note, d.There
			def := set.Lookup(f.name).DefValue
			switch changed := there != ""; {
			case changed && (there != f.def || def == f.def || note == ""):
				t.Errorf("--%s: the note has the default %q there; listed is %q, here it is %q; why: %q", f.name, there, f.def,
					def, note)
			case !changed && !sameDefault(f.def, def):
				t.Errorf("--%s: its default is %q there and %q here, and no note says so", f.name, f.def, def)
			}
			continue
		}
		if len(warnings) != 1 {
			t.Errorf("--%s=%s: warnings %v", f.name, f.value, warnings)
			continue
		}
		if name, why, ok := NoEffect(warnings[0]); !ok || name != f.name || why != l.why {
			t.Errorf("--%s: the warning %q does not name it and why", f.name, warnings[0])
		}
		if l.bool {
			if err := pflagParses("--" + f.name); err != nil {
				t.Errorf("--%s without a value: %v", f.name, err)
			}
		} else if f.value == "true" || f.value == "false" {
			t.Errorf("--%s is a switch, and cannot stand without a value", f.name)
		}
	}
	for _, l := range lacking {
		if !known[l.name] {
			t.Errorf("--%s is no flag of the Cluster Autoscaler, and is accepted as one", l.name)
		}
	}
	for name := range differs {
		if !known[name] || lackOf(name) != nil {
			t.Errorf("--%s has a note, and is none of the flags that both have", name)
		}
	}
}

// TestCommandLinesThatMustStart: what installers of the Cluster Autoscaler write is no
// error: the defaults of its published chart, and the command line that Gardener's
// gardenlet writes.
func TestCommandLinesThatMustStart(t *testing.T) {
	for name, line := range map[string][]string{
		"chart": {"--cloud-provider=aws", "--namespace=kube-system",
			"--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/c",
			"--logtostderr=true", "--stderrthreshold=info", "--v=4"},
		"gardener": {"--address=:8085", "--kubeconfig=/etc/kubeconfig", "--cloud-provider=mcm", "--stderrthreshold=info",
			"--skip-nodes-with-system-pods=false", "--skip-nodes-with-local-storage=false",
			"--expendable-pods-priority-cutoff=-10", "--balance-similar-node-groups=true",
			"--ignore-taint=node.gardener.cloud/critical-components-not-ready", "--v=2", "--max-graceful-termination-sec=600",
			"--max-node-provision-time=20m0s", "--scale-down-utilization-threshold=0.5", "--scale-down-unneeded-time=30m0s",
			"--scale-down-delay-after-add=1h0m0s", "--scale-down-delay-after-delete=0s",
			"--scale-down-delay-after-failure=3m0s", "--scan-interval=10s", "--new-pod-scale-up-delay=0s",
			"--max-empty-bulk-delete=10", "--max-scale-down-parallelism=10", "--max-drain-parallelism=1",
			"--ignore-daemonsets-utilization=false", "--max-bulk-soft-taint-count=0",
			"--initial-node-group-backoff-duration=5m0s", "--max-node-group-backoff-duration=30m0s",
			"--node-group-backoff-reset-timeout=3h0m0s",
			"--leader-elect=true", "--enable-provisioning-requests=false", "--kube-client-qps=20", "--kube-client-burst=30",
			"--expander=least-waste", "--nodes=1:3:ns.group"},
	} {
		set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
		flags := Bind(set, providers.All())
		if err := set.Parse(line); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, _, err := flags.Config(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// sameDefault: lists are shown as [], and empty ones of Gardener's fork are 0.
func sameDefault(theirs, ours string) bool {
	return theirs == ours || theirs == "" && (ours == "[]" || ours == "0")
}

func pflagParses(args ...string) error {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	Bind(set, providers.All())
	return set.Parse(args)
}

// TestUnderscoresAreDashes: klog's own spelling of its flags is accepted.
func TestUnderscoresAreDashes(t *testing.T) {
	for _, f := range theirFlags(t) {
		if err := pflagParses("--" + strings.ReplaceAll(f.name, "-", "_") + "=" + f.value); err != nil {
			t.Error(err)
		}
	}
}

// TestChangedDefaults are those that docs/flags.md names.
func TestChangedDefaults(t *testing.T) {
	if diff := cmp.Diff([]string{"kube-client-burst", "kube-client-qps", "max-nodes-per-scaleup"},
		ChangedDefaults()); diff != "" {
		t.Error(diff)
	}
}

const (
	tableBegins = "<!-- Flags: generated by go test ./internal/config -rewrite -->\n"
	tableEnds   = "<!-- End of flags -->\n"
)

// TestTableOfFlags: the table in docs/migrate.md is what the code says.
func TestTableOfFlags(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "migrate.md")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	old, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks of the generated table are missing", file)
	}
	want := table(t)
	if *rewrite {
		if err := os.WriteFile(file, []byte(before+tableBegins+want+tableEnds+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, old); diff != "" {
		t.Errorf("docs/migrate.md is stale; go test ./internal/config -rewrite rewrites it (-want +got):\n%s", diff)
	}
}

func table(t *testing.T) string {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	flags := Bind(set, providers.All())
	var b strings.Builder
	var section string
	for _, f := range theirFlags(t) {
		if f.section != section {
			section = f.section
			fmt.Fprintf(&b, "\n### %s\n\n| flag | default there | default here | what Plimsoll does |\n|---|---|---|---|\n",
				section)
		}
		here, does := set.Lookup(f.name).DefValue, "honoured"
		if l := lackOf(f.name); l != nil {
			here, does = "", "no effect: "+l.why
			if _, ok := decisive[f.name]; ok {
				does = "refused if it is not the default, unless with `--ignore-unsupported-flags`: " + l.why
			}
		} else if note := flags.DifferenceOf(f.name).Note; note != "" {
			does = "honoured: " + note
		}
		if f.name == "cloud-provider" {
			does += " (" + flags.known() + ")"
		}
		fmt.Fprintf(&b, "| `--%s` | %s | %s | %s |\n", f.name, code(f.def), code(here), strings.ReplaceAll(does, "|", `\|`))
	}
	b.WriteString("\n")
	return b.String()
}

func code(s string) string {
	switch s {
	case "", "[]":
		return ""
	}
	return "`" + s + "`"
}
