package config

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
)

var providers = []string{"kwok", "aws"}

func parse(t *testing.T, args ...string) (Config, []string, error) {
	t.Helper()
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	f := Bind(set, providers)
	if err := set.Parse(args); err != nil {
		return Config{}, nil, err
	}
	return f.Config()
}

func mustParse(t *testing.T, args ...string) Config {
	t.Helper()
	c, warnings, err := parse(t, append([]string{"--cloud-provider=kwok"}, args...)...)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v: %v, warnings %v", args, err, warnings)
	}
	return c
}

func TestNoFlagsAreTheDefaults(t *testing.T) {
	want := Defaults()
	want.Cloud.Provider = "kwok"
	want.Leader.Namespace = "kube-system"
	got := mustParse(t)
	if got.Loop.Seed == 0 {
		t.Error("no seed was drawn")
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Loop{}, "Seed")); diff != "" {
		t.Error(diff)
	}
}

// The Cluster Autoscaler's defaults, by the flag's own words.
func TestDefaultsOfFlags(t *testing.T) {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	Bind(set, providers)
	for name, want := range map[string]string{
		"scan-interval": "10s", "expander": "least-waste", "leader-elect": "true", "leader-elect-lease-duration": "15s",
		"leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s", "leader-elect-resource-name": "cluster-autoscaler",
		"namespace": "kube-system", "scale-down-unneeded-time": "10m0s", "scale-down-delay-after-add": "10m0s",
		"scale-down-delay-after-delete": "0s", "scale-down-delay-after-failure": "3m0s", "max-scale-down-parallelism": "10",
		"node-delete-delay-after-taint": "5s", "expendable-pods-priority-cutoff": "-10", "cores-total": "0:320000",
		"memory-total": "0:6400000", "max-nodes-total": "0", "max-nodes-per-scaleup": "0", "kube-client-qps": "200",
		"kube-client-burst": "400", "balance-similar-node-groups": "false", "memory-difference-ratio": "0.015",
		"max-free-difference-ratio": "0.05", "max-allocatable-difference-ratio": "0.05", "scale-up-from-zero": "true",
		"new-pod-scale-up-delay": "0s", "max-node-startup-time": "15m0s", "address": ":8085", "max-inactivity": "10m0s",
		"max-failing-time": "15m0s", "max-startup-time": "20m0s", "emit-per-nodegroup-metrics": "false", "nudge-idle": "250ms",
		"nudge-max": "2s", "logging-format": "text", "v": "0", "scale-down-enabled": "true",
	} {
		flag := set.Lookup(name)
		if flag == nil {
			t.Errorf("--%s does not exist", name)
		} else if flag.DefValue != want {
			t.Errorf("--%s is %q by default, want %q", name, flag.DefValue, want)
		}
	}
}

func TestFlagsReachTheirPlace(t *testing.T) {
	prices := write(t, "prices.yaml", "a: 0.25\nm5.large: 1\n")
	got := mustParse(t, "--cores-total=8:64", "--memory-total=1:2", "--expander=priority,price,random", "--price-file="+prices,
		"--balancing-ignore-label=a", "--balancing-ignore-label=b,c", "--bypassed-scheduler-names=x,y", "--leader-elect=false",
		"--scale_down_unneeded_time=1m", "-v=4", "--seed=9", "--namespace=own", "--logging-format", "json", "--scale-down-enabled=false")
	want := Defaults()
	want.Cloud.Provider = "kwok"
	want.Cluster.Namespace, want.Leader.Namespace, want.Leader.Enabled = "own", "own", false
	want.Policy.ScaleUp.MaxCoresTotal, want.Policy.ScaleDown.MinCoresTotal = 64, 8
	want.Policy.ScaleUp.MaxMemoryTotal, want.Policy.ScaleDown.MinMemoryTotal = 2<<30, 1<<30
	want.Policy.ScaleUp.Expanders = []string{"priority", "price", "random"}
	want.Policy.ScaleUp.Prices = map[string]float64{"a": 0.25, "m5.large": 1}
	want.Policy.ScaleUp.BalanceIgnore = []string{"a", "b,c"}
	want.Policy.ScaleUp.Bypassed = []string{"x", "y"}
	want.Policy.ScaleDown.UnneededTime, want.Policy.ScaleDown.Enabled = time.Minute, false
	want.Loop.Seed, want.Logging = 9, Logging{"json", 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAliasOfTheProvider(t *testing.T) {
	c, _, err := parse(t, "--cloudprovider=aws")
	if err != nil || c.Cloud.Provider != "aws" {
		t.Errorf("%q, %v", c.Cloud.Provider, err)
	}
}

// Every mistake is told with its flag.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"--cloud-provider", "kwok, aws"}},
		{[]string{"--cloud-provider=gce"}, []string{"--cloud-provider", `"gce"`, "kwok, aws"}},
		{[]string{"--expander=price"}, []string{"--expander", "--price-file"}},
		{[]string{"--expander=cheapest"}, []string{"--expander", "cheapest", "least-waste"}},
		{[]string{"--expander="}, []string{"--expander"}},
		{[]string{"--expander=random,random"}, []string{"--expander", "twice"}},
		{[]string{"--expander=grpc"}, []string{"--expander", "grpc"}},
		{[]string{"--cores-total=8"}, []string{"cores-total", "min:max"}},
		{[]string{"--cores-total=9:8"}, []string{"cores-total", "maximum"}},
		{[]string{"--memory-total=-1:8"}, []string{"memory-total", "at least 0"}},
		{[]string{"--memory-total=0:9223372036854775807"}, []string{"memory-total"}},
		{[]string{"--max-nodes-total=-1"}, []string{"--max-nodes-total"}},
		{[]string{"--scan-interval=0"}, []string{"--scan-interval"}},
		{[]string{"--scan-interval=10"}, []string{"scan-interval"}},
		{[]string{"--max-scale-down-parallelism=0"}, []string{"--max-scale-down-parallelism"}},
		{[]string{"--memory-difference-ratio=1.5"}, []string{"--memory-difference-ratio"}},
		{[]string{"--kube-client-qps=0"}, []string{"--kube-client-qps"}},
		{[]string{"--nudge-idle=3s"}, []string{"--nudge-idle", "--nudge-max"}},
		{[]string{"--leader-elect-renew-deadline=20s"}, []string{"--leader-elect-lease-duration", "20s"}},
		{[]string{"--leader-elect-retry-period=9s"}, []string{"--leader-elect-renew-deadline"}},
		{[]string{"--leader-elect-resource-lock=endpoints"}, []string{"--leader-elect-resource-lock", "leases"}},
		{[]string{"--address=8085"}, []string{"--address"}},
		{[]string{"--logging-format=xml"}, []string{"--logging-format", "xml"}},
		{[]string{"--namespace="}, []string{"--namespace"}},
		{[]string{"--balancing-label=a", "--balancing-ignore-label=b"}, []string{"--balancing-label", "--balancing-ignore-label"}},
		{[]string{"--price-file=/does/not/exist"}, []string{"--price-file", "/does/not/exist"}},
		{[]string{"--no-such-flag"}, []string{"no-such-flag"}},
		{[]string{"--scan-interval=0", "--max-nodes-total=-1"}, []string{"--scan-interval", "--max-nodes-total"}},
	} {
		_, _, err := parse(t, c.args...)
		if err == nil {
			t.Errorf("%v: no error", c.args)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v: does not say %q", c.args, err, want)
			}
		}
	}
}

// A command line of the Cluster Autoscaler works, with a warning for each flag
// that does nothing here, and one only.
func TestFlagsThatAreLacking(t *testing.T) {
	_, warnings, err := parse(t, "--cloud-provider=kwok", "--v=4", "--stderrthreshold=info", "--logtostderr=true",
		"--skip-nodes-with-system-pods", "--nodes=1:10:a", "--nodes=1:10:b", "--scale-down-candidates-pool-ratio=0.2", "--expander=least-waste")
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 5 {
		t.Errorf("warnings:\n%s", strings.Join(warnings, "\n"))
	}
	for _, name := range []string{"stderrthreshold", "logtostderr", "skip-nodes-with-system-pods", "nodes", "scale-down-candidates-pool-ratio"} {
		if n := strings.Count(strings.Join(warnings, "\n"), "--"+name+" "); n != 1 {
			t.Errorf("%d warnings about --%s", n, name)
		}
	}
}

// No flag is both had and lacked; pflag would panic at the second definition,
// this says which.
func TestLackingNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range lacking {
		if seen[l.name] {
			t.Errorf("--%s is there twice", l.name)
		}
		seen[l.name] = true
	}
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	for _, s := range Bind(set, providers).sections {
		s.set.VisitAll(func(f *pflag.Flag) {
			if seen[f.Name] {
				t.Errorf("--%s is had and lacked", f.Name)
			}
		})
	}
}

func TestHelpFitsTwoScreens(t *testing.T) {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	f := Bind(set, providers)
	help := f.Help()
	if n := strings.Count(help, "\n"); n > 90 {
		t.Errorf("%d lines", n)
	}
	if strings.Contains(help, "estimator") || !strings.Contains(help, "--expander") {
		t.Error(help)
	}
	all := f.AllHelp()
	set.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help-all" && !strings.Contains(all, "--"+flag.Name+" ") {
			t.Errorf("--%s is not on the long help", flag.Name)
		}
	})
}

func TestPriceFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "no price",
		"a: 1\na: 2\n":     "a",
		"a: cheap\n":       "a",
		"a: {hourly: 1}\n": "a",
		"a: -1\n":          "a",
		"a: .inf\n":        "a",
		"- a\n":            "map",
	} {
		file := write(t, "prices.yaml", text)
		if _, err := ReadPrices(file); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
