package config

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/providers"
	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// some are entries of providers, in this order.
func some(names ...string) []wiring.Entry {
	var out []wiring.Entry
	for _, name := range names {
		all := providers.All()
		out = append(out, all[slices.IndexFunc(all, func(e wiring.Entry) bool { return e.Name == name })])
	}
	return out
}

func parse(t *testing.T, args ...string) (Config, []string, error) {
	t.Helper()
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	f := Bind(set, some("kwok", "aws"))
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
	Bind(set, providers.All())
	for name, want := range map[string]string{
		"scan-interval": "10s", "expander": "least-waste", "leader-elect": "true", "leader-elect-lease-duration": "15s",
		"leader-elect-renew-deadline": "10s", "leader-elect-retry-period": "2s",
		"leader-elect-resource-name": "cluster-autoscaler", "namespace": "kube-system",
		"scale-down-unneeded-time": "10m0s", "scale-down-delay-after-add": "10m0s", "scale-down-delay-after-delete": "0s",
		"scale-down-delay-after-failure": "3m0s", "max-scale-down-parallelism": "10", "node-delete-delay-after-taint": "5s",
		"expendable-pods-priority-cutoff": "-10", "cores-total": "0:320000", "memory-total": "0:6400000",
		"max-nodes-total": "0", "max-nodes-per-scaleup": "0", "kube-client-qps": "200", "kube-client-burst": "400",
		"balance-similar-node-groups": "false", "memory-difference-ratio": "0.015", "max-free-difference-ratio": "0.05",
		"max-allocatable-difference-ratio": "0.05", "scale-up-from-zero": "true", "new-pod-scale-up-delay": "0s",
		"max-node-startup-time": "15m0s", "address": ":8085", "max-inactivity": "10m0s", "max-failing-time": "15m0s",
		"max-startup-time": "20m0s", "emit-per-nodegroup-metrics": "false", "nudge-idle": "250ms", "nudge-max": "2s",
		"logging-format": "text", "v": "0", "scale-down-enabled": "true", "scale-down-utilization-threshold": "0.5",
		"scale-down-gpu-utilization-threshold": "0.5", "ignore-daemonsets-utilization": "false",
		"ignore-mirror-pods-utilization": "false", "max-drain-parallelism": "1", "max-graceful-termination-sec": "600",
		"drain-priority-config": "", "max-pod-eviction-time": "2m0s", "daemonset-eviction-for-empty-nodes": "false",
		"daemonset-eviction-for-occupied-nodes": "true", "cordon-node-before-terminating": "true",
		"node-deletion-delay-timeout": "2m0s", "skip-nodes-with-system-pods": "true",
		"blocking-system-pod-distruption-timeout": "1h0m0s", "skip-nodes-with-local-storage": "true",
		"skip-nodes-with-custom-controller-pods": "true", "min-replica-count": "0", "max-bulk-soft-taint-count": "10",
		"scale-down-delay-type-local": "false", "max-replacement-wait": "2m0s", "decide-budget": "2s",
		"annotate-nodes": "false",
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
	got := mustParse(t, "--cores-total=8:64", "--memory-total=1:2", "--expander=priority,price,random",
		"--price-file="+prices, "--balancing-ignore-label=a", "--balancing-ignore-label=b.c/d",
		"--bypassed-scheduler-names=x,y", "--leader-elect=false", "--scale_down_unneeded_time=1m", "-v=4", "--seed=9",
		"--namespace=own", "--logging-format", "json", "--scale-down-enabled=false")
	want := Defaults()
	want.Cloud.Provider = "kwok"
	want.Cluster.Namespace, want.Leader.Namespace, want.Leader.Enabled = "own", "own", false
	want.Policy.ScaleUp.MaxCoresTotal, want.Policy.ScaleDown.MinCoresTotal = 64, 8
	want.Policy.ScaleUp.MaxMemoryTotal, want.Policy.ScaleDown.MinMemoryTotal = 2<<30, 1<<30
	want.Policy.ScaleUp.Expanders = []model.Expander{model.ByPriority, model.ByPrice, model.AtRandom}
	want.Prices = Prices{prices, &model.Prices{Names: map[string]float64{"a": 0.25, "m5.large": 1}}}
	want.Policy.ScaleUp.BalanceIgnore = []string{"a", "b.c/d"}
	want.Policy.ScaleUp.Bypassed = []string{"x", "y"}
	want.Policy.ScaleDown.UnneededTime, want.Policy.ScaleDown.Enabled = time.Minute, false
	want.Loop.Seed, want.Logging = 9, Logging{"json", 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each flag of scale-down, at a value that is not its default, reaches its own
// place and no other.
func TestFlagsOfScaleDownReachTheirPlace(t *testing.T) {
	d := func(p *model.Policy) *model.DrainPolicy { return &p.ScaleDown.Drain }
	for arg, change := range map[string]func(*model.Policy){
		"scale-down-utilization-threshold=0.25":        func(p *model.Policy) { p.ScaleDown.Threshold = 0.25 },
		"scale-down-gpu-utilization-threshold=1":       func(p *model.Policy) { p.ScaleDown.GPUThreshold = 1 },
		"ignore-daemonsets-utilization":                func(p *model.Policy) { p.ScaleDown.IgnoreDaemons = true },
		"ignore-mirror-pods-utilization":               func(p *model.Policy) { p.ScaleDown.IgnoreMirror = true },
		"max-drain-parallelism=20":                     func(p *model.Policy) { p.ScaleDown.MaxDrains = 20 },
		"max-scale-down-parallelism=3":                 func(p *model.Policy) { p.ScaleDown.MaxParallelism = 3 },
		"max-bulk-soft-taint-count=0":                  func(p *model.Policy) { p.ScaleDown.SoftTaints = 0 },
		"scale-down-delay-type-local":                  func(p *model.Policy) { p.ScaleDown.LocalDelays = true },
		"decide-steps=800":                             func(p *model.Policy) { p.Share(800) },
		"annotate-nodes":                               func(p *model.Policy) { p.ScaleDown.Annotate = true },
		"max-graceful-termination-sec=0":               func(p *model.Policy) { d(p).MaxGrace = 0 },
		"max-pod-eviction-time=5m":                     func(p *model.Policy) { d(p).EvictionTime = 5 * time.Minute },
		"max-replacement-wait=30s":                     func(p *model.Policy) { d(p).ReplacementTime = 30 * time.Second },
		"daemonset-eviction-for-empty-nodes":           func(p *model.Policy) { d(p).EvictDaemonsEmpty = true },
		"daemonset-eviction-for-occupied-nodes=false":  func(p *model.Policy) { d(p).EvictDaemons = false },
		"cordon-node-before-terminating=false":         func(p *model.Policy) { d(p).Cordon = false },
		"node-deletion-delay-timeout=0s":               func(p *model.Policy) { d(p).DelayTimeout = 0 },
		"skip-nodes-with-system-pods=false":            func(p *model.Policy) { d(p).SkipSystem = false },
		"blocking-system-pod-distruption-timeout=2h":   func(p *model.Policy) { d(p).SystemTimeout = 2 * time.Hour },
		"blocking-system-pod-disruption-timeout=3h":    func(p *model.Policy) { d(p).SystemTimeout = 3 * time.Hour },
		"skip-nodes-with-local-storage=false":          func(p *model.Policy) { d(p).SkipLocal = false },
		"skip-nodes-with-custom-controller-pods=false": func(p *model.Policy) { d(p).SkipCustom = false },
		"min-replica-count=2":                          func(p *model.Policy) { d(p).MinReplicas = 2 },
		"drain-priority-config=10000:20,-5:100, 0:60": func(p *model.Policy) {
			d(p).Levels = []model.DrainLevel{{Priority: -5, Grace: 100 * time.Second}, {Priority: 0, Grace: time.Minute},
				{Priority: 10000, Grace: 20 * time.Second}}
		},
		"drain-priority-config=":             func(*model.Policy) {},
		"drain_priority_config=2147483647:0": func(p *model.Policy) { d(p).Levels = []model.DrainLevel{{Priority: 2147483647}} },
	} {
		want := Defaults().Policy
		change(&want)
		if diff := cmp.Diff(want, mustParse(t, "--"+arg).Policy); diff != "" {
			t.Errorf("--%s:\n%s", arg, diff)
		}
	}
	// More nodes to be emptied than nodes on their way out is no contradiction,
	// and an empty list of levels none of the other flag.
	mustParse(t, "--max-drain-parallelism=20", "--max-scale-down-parallelism=10", "--drain-priority-config=",
		"--max-graceful-termination-sec=60")
}

func TestOtherSpellings(t *testing.T) {
	c, _, err := parse(t, "--cloudprovider=aws")
	if err != nil || c.Cloud.Provider != "aws" {
		t.Errorf("%q, %v", c.Cloud.Provider, err)
	}
}

// Every mistake is reported with its flag.
func TestMistakes(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"--cloud-provider", "kwok, aws"}},
		{[]string{"--cloud-provider=gce"}, []string{"--cloud-provider", `"gce"`, "kwok, aws"}},
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
		{[]string{"--max-scale-down-parallelism=-1"}, []string{"--max-scale-down-parallelism"}},
		{[]string{"--memory-difference-ratio=1.5"}, []string{"--memory-difference-ratio"}},
		{[]string{"--kube-client-qps=NaN"}, []string{"--kube-client-qps"}},
		{[]string{"--kube-client-burst=-1"}, []string{"--kube-client-burst"}},
		{[]string{"--return-to-preferred"}, []string{"--return-to-preferred", "first --expander"}},
		{[]string{"--return-to-preferred", "--expander=price,priority"}, []string{"--return-to-preferred"}},
		{[]string{"--nudge-idle=3s"}, []string{"--nudge-idle", "--nudge-max"}},
		{[]string{"--leader-elect-renew-deadline=20s"}, []string{"--leader-elect-lease-duration", "20s"}},
		{[]string{"--leader-elect-retry-period=9s"}, []string{"--leader-elect-renew-deadline"}},
		{[]string{"--leader-elect-resource-lock=endpoints"}, []string{"--leader-elect-resource-lock", "leases"}},
		{[]string{"--address=8085"}, []string{"--address"}},
		{[]string{"--address=127.0.0.1:99999"}, []string{"--address", "99999"}},
		{[]string{"--kube-api-content-type=text/html"}, []string{"--kube-api-content-type", "text/html", "protobuf"}},
		{[]string{"--startup-taint="}, []string{"--startup-taint", "key"}},
		{[]string{"--ignore-taint=a=b:NoSchedule"}, []string{"--startup-taint", "a=b:NoSchedule", "without value"}},
		{[]string{"--startup-taint-prefix="}, []string{"--startup-taint-prefix"}},
		{[]string{"--status-taint=a:NoSchedule"}, []string{"--status-taint"}},
		{[]string{"--balancing-label="}, []string{"--balancing-label"}},
		{[]string{"--logging-format=xml"}, []string{"--logging-format", "xml"}},
		{[]string{"--namespace="}, []string{"--namespace"}},
		{[]string{"--status-config-map-name=A_B"}, []string{"--status-config-map-name", "A_B", "lower case"}},
		{[]string{"--balancing-label=a", "--balancing-ignore-label=b"}, []string{"--balancing-label", "--balancing-ignore-label"}},
		{[]string{"--price-file=/does/not/exist"}, []string{"--price-file", "/does/not/exist"}},
		{[]string{"--scale-down-utilization-threshold=Inf"}, []string{"--scale-down-utilization-threshold", "not a share of a node"}},
		{[]string{"--scale-down-utilization-threshold=NaN"}, []string{"--scale-down-utilization-threshold"}},
		{[]string{"--scale-down-gpu-utilization-threshold=-0.1"}, []string{"--scale-down-gpu-utilization-threshold"}},
		{[]string{"--max-drain-parallelism=-1"}, []string{"--max-drain-parallelism", "below 0"}},
		{[]string{"--decide-budget=0"}, []string{"--decide-budget"}},
		{[]string{"--decide-steps=-1"}, []string{"--decide-steps"}},
		{[]string{"--min-replica-count=-1"}, []string{"--min-replica-count"}},
		{[]string{"--max-bulk-soft-taint-count=-1"}, []string{"--max-bulk-soft-taint-count"}},
		{[]string{"--max-pod-eviction-time=-1s"}, []string{"--max-pod-eviction-time"}},
		{[]string{"--node-deletion-delay-timeout=-1s"}, []string{"--node-deletion-delay-timeout"}},
		{[]string{"--blocking-system-pod-disruption-timeout=-1s"}, []string{"--blocking-system-pod-distruption-timeout"}},
		{[]string{"--maintenance-conditions=Ready"}, []string{"--maintenance-conditions", "Ready is true"}},
		{[]string{"--max-interruptions=-1"}, []string{"--max-interruptions", "below 0"}},
		{[]string{"--interruption-span=0"}, []string{"--interruption-span", "above 0"}},
		{[]string{"--max-replacement-wait=0"}, []string{"--max-replacement-wait"}},
		{[]string{"--max-graceful-termination-sec=-1"}, []string{"--max-graceful-termination-sec"}},
		{[]string{"--max-graceful-termination-sec=9223372037"}, []string{"--max-graceful-termination-sec"}},
		{[]string{"--drain-priority-config=0:60", "--max-graceful-termination-sec=600"}, []string{"--drain-priority-config", "--max-graceful-termination-sec"}},
		{[]string{"--drain-priority-config=0:60,high:20"}, []string{"--drain-priority-config", `"high:20"`, "priority:seconds"}},
		{[]string{"--drain-priority-config=0:60,5"}, []string{"--drain-priority-config", `"5"`}},
		{[]string{"--drain-priority-config=0:60,"}, []string{"--drain-priority-config", `""`}},
		{[]string{"--drain-priority-config=2147483648:60"}, []string{"--drain-priority-config", `"2147483648:60"`}},
		{[]string{"--drain-priority-config=1:-1"}, []string{"--drain-priority-config", `"1:-1"`, "at least 0"}},
		{[]string{"--drain-priority-config=1:9223372037"}, []string{"--drain-priority-config", `"1:9223372037"`}},
		{[]string{"--drain-priority-config=1:20,0:5,+1:60"}, []string{"--drain-priority-config", `"+1:60"`, "twice"}},
		{[]string{"--leader-elect-resource-namespace=../.."}, []string{"--leader-elect-resource-namespace", `"../.."`}},
		{[]string{"--leader-elect-resource-namespace= "}, []string{"--leader-elect-resource-namespace", `" "`}},
		{[]string{"--leader-elect-resource-namespace=a\nb"}, []string{"--leader-elect-resource-namespace"}},
		{[]string{"--leader-elect-resource-namespace=" + strings.Repeat("a", 300)}, []string{"--leader-elect-resource-namespace"}},
		{[]string{"--namespace=my.own"}, []string{"--namespace", `"my.own"`}},
		{[]string{"--allowed-scheduler-names=a,,b"}, []string{"--allowed-scheduler-names", `""`}},
		{[]string{"--bypassed-scheduler-names=my scheduler"}, []string{"--bypassed-scheduler-names", `"my scheduler"`}},
		{[]string{"--balancing-ignore-label=a b"}, []string{"--balancing-ignore-label", `"a b"`, "key"}},
		{[]string{"--user-agent=a\nb"}, []string{"--user-agent", `"a\nb"`}},
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
		"--skip-nodes-with-system-pods", "--nodes=1:10:a", "--nodes=1:10:b", "--scale-down-candidates-pool-ratio=0.2",
		"--expander=least-waste", "--max-bulk-soft-taint-time=3s", "--node-deletion-candidate-ttl=1h",
		"--scale-down-simulation-timeout=30s", "--unremovable-node-recheck-timeout=5m",
		"--spread-step-limit=7", "--scale-down-step-limit=7")
	if err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 10 {
		t.Errorf("warnings:\n%s", strings.Join(warnings, "\n"))
	}
	for name, says := range map[string]string{"stderrthreshold": "--v", "logtostderr": "--v", "nodes": "its templates",
		"scale-down-candidates-pool-ratio": "not read it any more", "max-bulk-soft-taint-time": "queued",
		"node-deletion-candidate-ttl": "survives a restart", "scale-down-simulation-timeout": "--decide-budget",
		"spread-step-limit": "--decide-budget", "scale-down-step-limit": "--decide-budget",
		"unremovable-node-recheck-timeout": "each cycle"} {
		n := 0
		for _, w := range warnings {
			if strings.HasPrefix(w, "--"+name+" has no effect: ") && strings.Contains(w, says) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d warnings about --%s that say %q", n, name, says)
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
	for _, s := range Bind(set, providers.All()).sections {
		s.set.VisitAll(func(f *pflag.Flag) {
			if seen[f.Name] {
				t.Errorf("--%s is had and lacked", f.Name)
			}
		})
	}
}

func TestHelpFitsTwoScreens(t *testing.T) {
	set := pflag.NewFlagSet("plimsoll", pflag.ContinueOnError)
	f := Bind(set, providers.All())
	help := f.Help()
	if n := strings.Count(help, "\n"); n > 90 {
		t.Errorf("%d lines", n)
	}
	if strings.Contains(help, "estimator") || !strings.Contains(help, "--expander") {
		t.Error(help)
	}
	all := f.AllHelp()
	if !strings.Contains(help, "mcm (or gardener)") {
		t.Error("the other name of mcm is not in the help")
	}
	if !strings.Contains(all, "\n      --"+ignoreUnsupported+" ") ||
		!strings.Contains(help, "\n      --"+ignoreUnsupported+" ") {
		t.Errorf("--%s has no line of its own", ignoreUnsupported)
	}
	set.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "help-all" && !strings.Contains(all, "--"+flag.Name+" ") {
			t.Errorf("--%s is not on the long help", flag.Name)
		}
	})
}

func TestPriceFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "no price",
		"a: 1\na: 2\n":      "a",
		"a: cheap\n":        "a",
		"a: {hourly: 1}\n":  "a",
		"a: -1\n":           "a",
		"a: .inf\n":         "a",
		"- a\n":             "map",
		"a: 1\n---\nb: 2\n": "more than one",
		"a: 1\n...\nb: 2\n": "want one YAML document",
		"# none\n---\n":     "no price",
	} {
		file := write(t, "prices.yaml", text)
		if _, err := ReadPrices(file); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestLongPriceFile: what the long form says arrives, and each mistake is told with its field.
func TestLongPriceFile(t *testing.T) {
	good := `currency: EUR
groups: {web: 0.2}
instances:
- {type: m5.large, perHour: 0.1}
- {type: m5.large, zone: a, capacityType: spot, perHour: 0}
perCore: 0.03
perGiB: 0.004
perUnit: {nvidia.com/gpu: 2}
commitments:
- {name: r, types: [m5.large], zone: a, capacityType: on-demand, nodes: 3, perHour: 0}
- {name: s, cores: 0.5, perHour: 0.01}
- {name: t, gib: 64, perHour: 0.002}
`
	core, gib := 0.03, 0.004
	want := &model.Prices{Currency: "EUR", Groups: map[provider.GroupID]float64{"web": 0.2},
		Instances: []provider.Price{{InstanceType: "m5.large", PerHour: 0.1},
			{InstanceType: "m5.large", Zone: "a", CapacityType: provider.Spot}}, PerCore: &core, PerGiB: &gib,
		PerUnit: map[corev1.ResourceName]float64{"nvidia.com/gpu": 2},
		Commitments: []model.Commitment{
			{Name: "r", Types: []string{"m5.large"}, Zone: "a", CapacityType: provider.OnDemand, Amount: 3},
			{Name: "s", Unit: model.CommittedCores, Amount: 0.5, PerHour: 0.01},
			{Name: "t", Unit: model.CommittedGiB, Amount: 64, PerHour: 0.002}}}
	got, err := ReadPrices(write(t, "prices.yaml", good))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for text, want := range map[string]string{
		"currency: euro\ngroups: {a: 1}\n":                                              "currency: \"euro\" is not",
		"currency: EUR\n":                                                               "no price in it",
		"groups: {a: -1}\n":                                                             "groups.a: -1 is not a price",
		"groups: {a: .nan}\n":                                                           "groups.a: NaN is not a price",
		"groups: {a: 1}\nb: 2\n":                                                        "field b: there is no such field",
		"groups: [a]\n":                                                                 "groups, instances",
		"instances: [{type: a, perhour: 1}]\n":                                          "field perhour: there is no such field",
		"instances: [{type: a}]\n":                                                      "instances[0].perHour",
		"instances: [{perHour: 1}]\n":                                                   "instances[0].type",
		"instances: [{type: a, perHour: -2}]\n":                                         "instances[0].perHour: -2 is not a price",
		"perCore: 0.1\n":                                                                "perCore and perGiB",
		"perCore: .inf\nperGiB: 1\n":                                                    "perCore: +Inf is not a price",
		"groups: {a: , b: 0.1}\n":                                                       "groups.a: the price is missing",
		"groups: {a: 0,17, b: 0.1}\n":                                                   "groups.17: the price is missing",
		"perCore: 1\nperGiB: 1\nperUnit: {nvidia.com/gpu: ~}\n":                         "perUnit.nvidia.com/gpu: the price is missing",
		"commitments: [{nodes: 1, perHour: 1}]\n":                                       "commitments[0].name",
		"commitments: [{name: a, perHour: 1}]\n":                                        "commitments[0]: want one of nodes",
		"commitments: [{name: a, nodes: 1, cores: 1, perHour: 1}]\n":                    "commitments[0]: want one of nodes",
		"commitments: [{name: a, nodes: 0, perHour: 1}]\n":                              "commitments[0]: 0 is no number",
		"commitments: [{name: a, nodes: .nan, perHour: 1}]\n":                           "commitments[0]: NaN is no number",
		"commitments: [{name: a, nodes: 1, perHour: 1, groups: [a, \"s[pot]\"]}]\n":     `commitments[0].groups[1]: "s[pot]": "[" has no`,
		"commitments: [{name: a, nodes: 1, perHour: 1, groups: [\"\"]}]\n":              "commitments[0].groups[0]: it is empty",
		"commitments: [{name: a, nodes: 1}]\n":                                          "commitments[0].perHour: the price is missing",
		"commitments: [{name: a, nodes: 1, perHour: -1}]\n":                             "commitments[0].perHour: -1 is not a price",
		"commitments: [{name: a, nodes: 1, perHour: 1, capacityType: x}]\n":             "commitments[0].capacityType",
		"commitments: [{name: a, nodes: 1, perHour: 1}, {name: a, gib: 1, perHour: 1}]": "commitments[1].name: there is",
		"perUnit: {nvidia.com/gpu: 1}\n":                                                "perCore and perGiB are missing",
		"perCore: 1\nperGiB: 1\nperUnit: {gpu: 1}\n":                                    "perUnit: \"gpu\" is no extended resource",
		"perCore: 1\nperGiB: 1\nperUnit: {a.io/b: -1}\n":                                "perUnit.a.io/b: -1 is not a price",
		"instances: [{type: a, capacityType: Spot, perHour: 1}]\n":                      "instances[0].capacityType",
		"instances: [{type: a, perHour: 1}, {type: a, perHour: 2}]\n":                   "instances[1]: the same type",
	} {
		file := write(t, "prices.yaml", text)
		if _, err := ReadPrices(file); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestLineOfPriceFile: a mistake whose line the reader of YAML tells is at FILE:LINE, and said once.
func TestLineOfPriceFile(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\nb: 2\na: 2\n":                    ":3: want one YAML document",
		"a: 1\nb: [\n":                          ":2: want one YAML document",
		"currency: EUR\ngroups: {a: 1}\nb: 2\n": ":3: want currency",
		"groups:\n  a: cheap\n":                 ":2: want currency",
		"a: -1\n":                               ": a: -1 is not a price",
	} {
		file := write(t, "prices.yaml", text)
		_, err := ReadPrices(file)
		if err == nil || !strings.HasPrefix(err.Error(), file+want) || strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// TestPriceFileWithAHead: comments alone are no document, and neither is a directive.
func TestPriceFileWithAHead(t *testing.T) {
	for _, text := range []string{
		"# our prices\n---\na: 1\n",
		"%YAML 1.1\n---\na: 1\n", "%YAML 1.2\n---\na: 1\n", "# ours\n%YAML 1.1\n---\na: 1\n", "---\na: 1\n...\n",
		"a: 1\n---\n# no more\n", "a: 1\n...\n# no more\n", "{a: 1}\n", "\ufeffa: 1\n", "a: 1\r\n...\r\n",
		"# one\n---\n# two\n---\na: 1\n",
	} {
		prices, err := ReadPrices(write(t, "prices.yaml", text))
		if diff := cmp.Diff(&model.Prices{Names: map[string]float64{"a": 1}}, prices); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
}

// TestSchedulerNamesWithBlanks: a blank after a comma is part of no name.
func TestSchedulerNamesWithBlanks(t *testing.T) {
	c := mustParse(t, "--allowed-scheduler-names=default-scheduler, mine", "--bypassed-scheduler-names= a ,b")
	want := [][]string{{"default-scheduler", "mine"}, {"a", "b"}}
	if diff := cmp.Diff(want, [][]string{c.Policy.ScaleUp.Allowed, c.Policy.ScaleUp.Bypassed}); diff != "" {
		t.Error(diff)
	}
}

// TestWarnings: what is accepted, and most likely not meant, is one warning.
func TestWarnings(t *testing.T) {
	prices := write(t, "prices.yaml", "a: 1\n")
	for _, c := range []struct {
		args []string
		want []string // none: no warning
	}{
		{[]string{"--scale-down-utilization-threshold=1"}, nil},
		{[]string{"--scale-down-utilization-threshold=50"},
			[]string{"--scale-down-utilization-threshold=50", "every node counts as little used", "0.5 is 50 %"}},
		{[]string{"--scale-down-gpu-utilization-threshold=1e300"},
			[]string{"--scale-down-gpu-utilization-threshold=1e+300", "every node counts as little used"}},
		{[]string{"--call-deadline=1ns"}, []string{"--call-deadline=1ns", "below a second", "writes fail"}},
		{[]string{"--inventory-deadline=1ms"}, []string{"--inventory-deadline=1ms", "below a second"}},
		{[]string{"--max-node-provision-time=15ms"}, []string{"--max-node-provision-time=15ms", "15m is 15 minutes"}},
		{[]string{"--max-node-startup-time=999ms"}, []string{"--max-node-startup-time=999ms", "below a second"}},
		{[]string{"--max-replacement-wait=2ms"}, []string{"--max-replacement-wait=2ms", "rolled back"}},
		{[]string{"--max-replacement-wait=1s"}, nil},
		{[]string{"--price-file=" + prices}, nil},
	} {
		_, warnings, err := parse(t, append(c.args, "--cloud-provider=kwok")...)
		if err != nil || len(warnings) != min(1, len(c.want)) {
			t.Errorf("%v: %v, warnings %q", c.args, err, warnings)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(warnings[0], want) {
				t.Errorf("%v: %q does not say %q", c.args, warnings[0], want)
			}
		}
	}
}

// TestPricesFromAPipe: a pipe without a writer would be read for ever.
func TestPricesFromAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "prices")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPrices(pipe); err == nil || !strings.Contains(err.Error(), pipe+" is not a regular file") {
		t.Error(err)
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

// TestGroupsOfAWS: what says which groups there are is handed on as it is, commas
// included.
func TestGroupsOfAWS(t *testing.T) {
	tags := "asg:tag=k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/prod"
	c, warnings, err := parse(t, "--cloud-provider=aws", "--nodes=1:10:a", "--nodes=0:5:b",
		"--node-group-auto-discovery="+tags, "--aws-template-precedence=eks-api")
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	want := Cloud{
		Provider: "aws", InventoryDeadline: time.Minute, Nodes: []string{"1:10:a", "0:5:b"}, Discovery: []string{tags},
	}
	if diff := cmp.Diff(want, c.Cloud); diff != "" {
		t.Error(diff)
	}
}

// TestNodesOfClusterAPI: a flag that the provider does not read is reported, with where
// groups come from.
func TestNodesOfClusterAPI(t *testing.T) {
	set := pflag.NewFlagSet("t", pflag.ContinueOnError)
	f := Bind(set, some("aws", "clusterapi", "kwok"))
	if err := set.Parse([]string{"--cloud-provider=clusterapi", "--cloud-config=m.kubeconfig",
		"--clusterapi-cloud-config-authoritative", "--nodes=1:2:x"}); err != nil {
		t.Fatal(err)
	}
	_, warnings, err := f.Config()
	if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "--nodes has no effect") {
		t.Fatal(err, warnings)
	}
}

// commandOfGardener is the command line that Gardener gives its autoscaler, for a shoot
// with two zones, a pool with a priority, and taints of each kind.
var commandOfGardener = []string{
	"--address=:8085", "--kubeconfig=/var/run/secrets/gardener.cloud/shoot/generic-kubeconfig/kubeconfig",
	"--cloud-provider=mcm", "--stderrthreshold=info", "--skip-nodes-with-system-pods=false",
	"--skip-nodes-with-local-storage=false", "--expendable-pods-priority-cutoff=-10",
	"--balance-similar-node-groups=true", "--ignore-taint=node.gardener.cloud/critical-components-not-ready",
	"--expander=priority,least-waste", "--max-graceful-termination-sec=600", "--max-node-provision-time=20m0s",
	"--initial-node-group-backoff-duration=5m0s", "--max-node-group-backoff-duration=30m0s",
	"--node-group-backoff-reset-timeout=3h0m0s", "--scale-down-utilization-threshold=0.500000",
	"--scale-down-unneeded-time=30m0s", "--scale-down-delay-after-add=1h0m0s", "--scale-down-delay-after-delete=0s",
	"--scale-down-delay-after-failure=3m0s", "--scan-interval=10s", "--ignore-daemonsets-utilization=false", "--v=2",
	"--max-scale-down-parallelism=10", "--max-drain-parallelism=1", "--new-pod-scale-up-delay=0s", "--max-nodes-total=0",
	"--emit-per-nodegroup-metrics=false", "--max-binpacking-time=5m0s", "--startup-taint=a", "--status-taint=b",
	"--ignore-taint=c", "--nodes=1:2:shoot--core--prod.shoot--core--prod-web-z1",
	"--nodes=1:1:shoot--core--prod.shoot--core--prod-web-z2", "--max-total-unready-percentage=100",
}

// TestTheCommandLineOfGardener: it is accepted as it is, with --nodes and with the
// discovery that GEP-24 puts in their place; what has no effect is a warning.
func TestTheCommandLineOfGardener(t *testing.T) {
	for _, args := range [][]string{
		commandOfGardener,
		append(slices.DeleteFunc(slices.Clone(commandOfGardener), func(a string) bool { return strings.HasPrefix(a, "--nodes=") }), "--node-group-auto-discovery=mcm:k8s.io/cluster-autoscaler/prod", "--mcm-sizing=Lax-Greedy"),
		append(slices.Clone(commandOfGardener), "--control-apiserver-qps=50", "--control-apiserver-burst=60", "--target-apiserver-qps=50", "--target-apiserver-burst=60", "--min-resync-period=12h"),
	} {
		set := pflag.NewFlagSet("t", pflag.ContinueOnError)
		f := Bind(set, some("kwok", "mcm"))
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		c, warnings, err := f.Config()
		if err != nil {
			t.Fatal(err)
		}
		if c.Cloud.Provider != "mcm" || c.Policy.ScaleDown.UnneededTime != 30*time.Minute ||
			c.Policy.Rules.ProvisionTime != 20*time.Minute || !c.Policy.ScaleUp.BalanceSimilar {
			t.Errorf("%+v", c.Cloud)
		}
		if len(c.Cloud.Nodes)+len(c.Cloud.Discovery) == 0 {
			t.Error("it says nothing of groups")
		}
		for _, w := range warnings {
			if strings.Contains(w, "--nodes") || strings.Contains(w, "discovery") || strings.Contains(w, "mcm") ||
				strings.Contains(w, "control-apiserver") {
				t.Errorf("warning %q", w)
			}
		}
	}
}

// TestGardenerIsMCM: the provider has two names, and flags that no other provider has.
func TestGardenerIsMCM(t *testing.T) {
	set := pflag.NewFlagSet("t", pflag.ContinueOnError)
	f := Bind(set, some("kwok", "mcm"))
	if err := set.Parse([]string{"--cloud-provider=gardener", "--mcm-sizing=lax-greedy", "--mcm-deletion-marker=names",
		"--mcm-require-available=false", "--control-apiserver-qps=7"}); err != nil {
		t.Fatal(err)
	}
	c, warnings, err := f.Config()
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if c.Cloud.Provider != "mcm" {
		t.Error(c.Cloud.Provider)
	}
}
