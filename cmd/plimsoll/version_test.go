package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuild(t *testing.T) {
	info := &debug.BuildInfo{
		GoVersion: "go1.26.8",
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "c0ffee"}, {Key: "vcs.time", Value: "2026-11-22T01:02:03Z"},
			{Key: "vcs.modified", Value: "true"},
		},
		Deps: []*debug.Module{
			{Path: "k8s.io/api", Version: "v0.37.0"},
			{Path: "k8s.io/client-go", Version: "v0.37.0"},
			{Path: "k8s.io/kubernetes", Version: "v1.37.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v1.37.9"}},
		},
	}
	libraries := map[string]string{"k8s.io/client-go": "v0.37.0", "k8s.io/kubernetes": "v1.37.9"}
	for name, c := range map[string]struct {
		commit, date string
		info         *debug.BuildInfo
		want         build
	}{
		"stamped": {
			"feed", "2026-11-20T00:00:00Z", info,
			build{Version: "v1", Commit: "feed", Date: "2026-11-20T00:00:00Z", Modified: true, GoVersion: "go1.26.8",
				Kubernetes: libraries},
		},
		"known to Go": {
			"", "", info,
			build{Version: "v1", Commit: "c0ffee", Date: "2026-11-22T01:02:03Z", Modified: true, GoVersion: "go1.26.8",
				Kubernetes: libraries},
		},
		"not known": {"", "", &debug.BuildInfo{GoVersion: "go1.26.8"}, build{Version: "v1", GoVersion: "go1.26.8"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, buildOf("v1", c.commit, c.date, c.info)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVersionCommand(t *testing.T) {
	run := func(args ...string) (string, error) {
		var out bytes.Buffer
		cmd := versionCommand()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetOut(&out)
		cmd.SetArgs(args)
		err := cmd.Execute()
		return out.String(), err
	}
	text, err := run()
	if err != nil {
		t.Fatal(err)
	}
	for _, say := range []string{
		"plimsoll", version, "commit", "go1.", "k8s.io/client-go   v0.", "k8s.io/kubernetes  v1.",
	} {
		if !strings.Contains(text, say) {
			t.Errorf("the text does not say %q:\n%s", say, text)
		}
	}
	out, err := run("--output=json")
	if err != nil {
		t.Fatal(err)
	}
	var got build
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if got.Version != version || !strings.HasPrefix(got.GoVersion, "go1.") || got.Platform == "" ||
		len(got.Kubernetes) != len(libraries) {
		t.Errorf("the JSON lacks something: %s", out)
	}
	if _, err := run("--output=yaml"); err == nil || !strings.Contains(err.Error(), `"yaml"`) {
		t.Errorf("an unknown format: %v", err)
	}
}

// TestTheTestedKubernetes: the version of Kubernetes that go.mod asks for is the one
// that README, the chart's notes and the document about installing name.
func TestTheTestedKubernetes(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile("../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	found := regexp.MustCompile(`k8s.io/kubernetes v(1\.[0-9]+)\.`).FindStringSubmatch(read("go.mod"))
	if found == nil {
		t.Fatal("go.mod has no k8s.io/kubernetes")
	}
	for path, sentence := range map[string]string{
		"README.md":                           "tested against, v" + found[1],
		"charts/plimsoll/templates/NOTES.txt": "tested with Kubernetes " + found[1],
		"docs/install.md":                     "tested with Kubernetes " + found[1],
	} {
		if !strings.Contains(read(path), sentence) {
			t.Errorf("%s does not say %q", path, sentence)
		}
	}
	b := build{Kubernetes: map[string]string{"k8s.io/kubernetes": "v1.37.9", "k8s.io/client-go": "v0.37.0"}}
	if b.tested() != "v1.37.9" {
		t.Errorf("the start's log would say %q", b.tested())
	}
}
