package gardener

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// TestFlagsReachTheConfig, and what is wrong with any of them is reported.
func TestFlagsReachTheConfig(t *testing.T) {
	host := wiring.Host{Nodes: []string{"1:2:a"}, Discovery: []string{"mcm:a=b"}, Getenv: func(name string) string {
		return map[string]string{"CONTROL_NAMESPACE": ns}[name]
	}}
	parsed := func(args ...string) *flags {
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f := bind(set)
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		set.VisitAll(func(flag *pflag.Flag) {
			if len(args) > 2 && !flag.Changed {
				t.Errorf("give --%s another value than its default below, and say where it is to arrive", flag.Name)
			}
		})
		return f
	}
	want := Config{
		Nodes: host.Nodes, Discovery: host.Discovery, Namespace: ns, DeletionMarker: "timestamped", RequireAvailable: true,
	}
	if diff := cmp.Diff(want, parsed().config(host)); diff != "" {
		t.Error(diff)
	}
	want.Sizing, want.DeletionMarker, want.RequireAvailable = "lax-greedy", "names", false
	f := parsed("--mcm-sizing=lax-greedy", "--mcm-deletion-marker=names", "--mcm-require-available=false",
		"--control-apiserver-qps=7", "--control-apiserver-burst=8")
	if diff := cmp.Diff(want, f.config(host)); diff != "" || f.qps != 7 || f.burst != 8 || f.Check(host) != nil {
		t.Error(diff, f.qps, f.burst, f.Check(host))
	}
	err := parsed("--control-apiserver-qps=-1", "--mcm-sizing=fair").Check(host)
	if err == nil || !strings.Contains(err.Error(), "--control-apiserver-qps=-1") ||
		!strings.Contains(err.Error(), "--mcm-sizing") {
		t.Error(err)
	}
}
