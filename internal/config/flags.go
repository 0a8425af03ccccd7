package config

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Flags are the product's flags, bound to a flag set. Parse the set, then ask
// for the Config.
type Flags struct {
	set      *pflag.FlagSet
	sections []section
	entries  []wiring.Entry
	makers   map[string]wiring.Maker // by the provider's name
	config   Config

	// What needs more than pflag to be read.
	expanders      string
	cores, memory  limits
	unreadyPercent float64
	graceSeconds   int64
	levels         levels
	ignoreTaints   []string
	priceFile      string
	lock           string
	helpAll        bool

	ignoreUnsupported bool
}

// section is a part of the help.
type section struct {
	title string
	set   *pflag.FlagSet
	main  []string // flags on the short help, in order
	// provider is the one that alone reads these flags; empty: they are everybody's.
	provider string
}

// Bind adds the flags to a set: the program's own, and those of the providers that
// there are.
func Bind(set *pflag.FlagSet, entries []wiring.Entry) *Flags {
	f := &Flags{set: set, entries: entries, makers: map[string]wiring.Maker{}, config: Defaults()}
	c := &f.config
	set.SetNormalizeFunc(normalize)
	f.cores = limits{0, c.Policy.ScaleUp.MaxCoresTotal}
	f.memory = limits{0, c.Policy.ScaleUp.MaxMemoryTotal / gib}
	f.lock = "leases"
	f.expanders = c.Policy.ScaleUp.Expanders[0].String()

	f.cloud()
	f.section(titleCluster, func(s *pflag.FlagSet) {
		s.StringVar(&c.Cluster.Kubeconfig, "kubeconfig", "", "kubeconfig file; empty inside of a cluster")
		s.StringVar(&c.Cluster.Server, "kubernetes", "", "the API server's address, if not the kubeconfig's")
		s.StringVar(&c.Cluster.Namespace, "namespace", c.Cluster.Namespace, "the namespace that Plimsoll runs in")
		s.Float32Var(&c.Cluster.QPS, "kube-client-qps", c.Cluster.QPS, "requests per second to the API server; 0: 5, below 0: no limit")
		s.IntVar(&c.Cluster.Burst, "kube-client-burst", c.Cluster.Burst, "requests to the API server at once; 0: 10")
		s.StringVar(&c.Cluster.ContentType, "kube-api-content-type", c.Cluster.ContentType, "content type of requests to the API server")
		s.StringVar(&c.Cluster.UserAgent, "user-agent", c.Cluster.UserAgent, "user agent of requests to the API server")
	}, "kubeconfig", "namespace", "kube-client-qps", "kube-client-burst")

	f.section("Loop", func(s *pflag.FlagSet) {
		s.DurationVar(&c.Loop.ScanInterval, "scan-interval", c.Loop.ScanInterval, "longest time between two cycles")
		s.DurationVar(&c.Loop.NudgeIdle, "nudge-idle", c.Loop.NudgeIdle, "after a change, begin a cycle when nothing more has changed for this long")
		s.DurationVar(&c.Loop.NudgeMax, "nudge-max", c.Loop.NudgeMax, "begin a cycle at most this long after a change")
		s.Uint64Var(&c.Loop.Seed, "seed", 0, "seed of what is left to chance; 0 draws one")
	}, "scan-interval")

	f.scaleUp()
	f.scaleDown()
	f.registry()

	f.section("Leader election", func(s *pflag.FlagSet) {
		s.BoolVar(&c.Leader.Enabled, "leader-elect", c.Leader.Enabled, "act only while holding the lease")
		s.DurationVar(&c.Leader.LeaseDuration, "leader-elect-lease-duration", c.Leader.LeaseDuration, "how long others wait before they take a lease over")
		s.DurationVar(&c.Leader.RenewDeadline, "leader-elect-renew-deadline", c.Leader.RenewDeadline, "give up the lease when it could not be renewed for so long")
		s.DurationVar(&c.Leader.RetryPeriod, "leader-elect-retry-period", c.Leader.RetryPeriod, "time between two attempts")
		s.StringVar(&f.lock, "leader-elect-resource-lock", f.lock, "the kind of lock: leases")
		s.StringVar(&c.Leader.Name, "leader-elect-resource-name", c.Leader.Name, "the lease's name")
		s.StringVar(&c.Leader.Namespace, "leader-elect-resource-namespace", "", "the lease's namespace, if not --namespace")
	}, "leader-elect")

	f.section("Health, metrics, logs, events", func(s *pflag.FlagSet) {
		s.StringVar(&c.HTTP.Address, "address", c.HTTP.Address, "where /metrics, /health-check, /livez and /readyz are served")
		s.DurationVar(&c.HTTP.MaxInactivity, "max-inactivity", c.HTTP.MaxInactivity, "unhealthy when no cycle ended for so long")
		s.DurationVar(&c.HTTP.MaxFailingTime, "max-failing-time", c.HTTP.MaxFailingTime, "unhealthy when no cycle succeeded for so long")
		s.DurationVar(&c.HTTP.MaxStartupTime, "max-startup-time", c.HTTP.MaxStartupTime, "how long the first cycle may take")
		s.BoolVar(&c.Report.PerGroupMetrics, "emit-per-nodegroup-metrics", false, "metrics for each node group")
		s.BoolVar(&c.Report.DuplicatedEvents, "record-duplicated-events", false, "events that repeat within 5 minutes too")
		s.BoolVar(&c.Report.WriteStatus, "write-status-configmap", c.Report.WriteStatus, "write the status ConfigMap; what must survive a restart is in it")
		s.StringVar(&c.Report.StatusConfigMap, "status-config-map-name", c.Report.StatusConfigMap, "the ConfigMap with the status, which events about groups are about")
		s.StringVar(&c.Logging.Format, "logging-format", c.Logging.Format, "text or json")
		s.IntVarP(&c.Logging.Verbosity, "v", "v", 0, "verbosity of logs; 4 shows details of each cycle")
	}, "address", "emit-per-nodegroup-metrics", "logging-format", "v")

	set.BoolVar(&f.helpAll, "help-all", false, "every flag")
	f.section("Compatibility", func(s *pflag.FlagSet) {
		s.BoolVar(&f.ignoreUnsupported, ignoreUnsupported, false, "start although flags are given that Plimsoll does not support and that would change which nodes are bought or removed; each is a warning instead of an error")
	}, ignoreUnsupported)
	for _, l := range lacking {
		flag := set.VarPF(&ignored{}, l.name, "", "")
		flag.Hidden = true
		if l.bool {
			flag.NoOptDefVal = "true"
		}
	}
	return f
}

// cloud binds the flags that say which provider, and those of each provider.
func (f *Flags) cloud() {
	c := &f.config
	nodes, discovery := "a node group (repeat)", "how to find node groups"
	for _, e := range f.entries {
		if e.Nodes != "" {
			nodes += fmt.Sprintf("; %s: %s", e.Name, e.Nodes)
		}
		if e.Discovery != "" {
			discovery += fmt.Sprintf("; %s: %s", e.Name, e.Discovery)
		}
	}
	discovery += "; of one all must hold (repeat: any one is enough)"
	f.section(titleCloud, func(s *pflag.FlagSet) {
		s.StringVar(&c.Cloud.Provider, "cloud-provider", "", "the cloud to buy nodes from: "+f.known()+" (--cloudprovider is the same)")
		s.DurationVar(&c.Cloud.InventoryDeadline, "inventory-deadline", c.Cloud.InventoryDeadline, "how long one read of the cloud may take")
		s.DurationVar(&c.Policy.InventoryMaxAge, "inventory-max-age", c.Policy.InventoryMaxAge, "with an older picture of the cloud nothing is written to it, and with one of the cluster nothing is decided")
		s.DurationVar(&c.Policy.CallDeadline, "call-deadline", c.Policy.CallDeadline, "how long one write to the cloud or a node may take")
		s.StringArrayVar(&c.Cloud.Nodes, nodesFlag, nil, nodes)
		s.StringArrayVar(&c.Cloud.Discovery, discoveryFlag, nil, discovery)
	}, "cloud-provider", nodesFlag, discoveryFlag)
	for _, e := range f.entries {
		f.section(e.Title, func(s *pflag.FlagSet) { f.makers[e.Name] = e.Bind(s) }, e.Main...)
		f.sections[len(f.sections)-1].provider = e.Name
	}
}

// Names of flags and titles of sections that are in more than one place.
const (
	nodesFlag     = "nodes"
	discoveryFlag = "node-group-auto-discovery"
	titleCloud    = "Cloud"
	titleCluster  = "Cluster"
)

// known are the names of the providers, for a person.
func (f *Flags) known() string {
	var names []string
	for _, e := range f.entries {
		names = append(names, e.Name)
	}
	return strings.Join(names, ", ")
}

// entry is that of a provider, by its name or its other one; nil if there is none.
func (f *Flags) entry(name string) *wiring.Entry {
	for i := range f.entries {
		if e := &f.entries[i]; name != "" && (name == e.Name || name == e.Alias) {
			return e
		}
	}
	return nil
}

// Provider gives what makes the provider that a Config names, and its entry.
func (f *Flags) Provider(c Config) (wiring.Entry, wiring.Maker) {
	return *f.entry(c.Cloud.Provider), f.makers[c.Cloud.Provider]
}

func (f *Flags) scaleUp() {
	p := &f.config.Policy
	u := &p.ScaleUp
	f.section("Scale up", func(s *pflag.FlagSet) {
		s.StringVar(&f.expanders, "expander", f.expanders, "how to choose among groups, comma-separated, first to last: "+strings.Join(model.ExpanderNames(), ", "))
		s.StringVar(&f.priceFile, "price-file", "", "YAML file of prices per hour by group or instance type, for --expander=price")
		s.IntVar(&u.MaxNodesTotal, "max-nodes-total", 0, "most nodes in the cluster, 0: no limit")
		s.Var(&f.cores, "cores-total", "least and most cores in the cluster, min:max")
		s.Var(&f.memory, "memory-total", "least and most memory in the cluster in GiB, min:max")
		s.IntVar(&u.MaxNodesPerScaleUp, "max-nodes-per-scaleup", 0, "most nodes that one cycle adds, 0: no limit")
		s.BoolVar(&u.BalanceSimilar, "balance-similar-node-groups", false, "spread growth over groups that differ only in zone")
		s.StringArrayVar(&u.BalanceIgnore, "balancing-ignore-label", nil, "label that does not make groups differ (repeat)")
		s.StringArrayVar(&u.BalanceLabels, "balancing-label", nil, "compare groups by this label alone (repeat)")
		s.Float64Var(&u.MemoryRatio, "memory-difference-ratio", u.MemoryRatio, "how far similar groups may differ in memory")
		s.Float64Var(&u.FreeRatio, "max-free-difference-ratio", u.FreeRatio, "how far similar groups may differ in what DaemonSets leave free")
		s.Float64Var(&u.AllocRatio, "max-allocatable-difference-ratio", u.AllocRatio, "how far similar groups may differ in allocatable")
		s.BoolVar(&u.EnforceMin, "enforce-node-group-min-size", false, "buy nodes for each group that has fewer than its minimum, whether or not pods need them")
		s.BoolVar(&u.ScaleFromZero, "scale-up-from-zero", u.ScaleFromZero, "grow a cluster that has no node")
		s.DurationVar(&u.NewPodDelay, "new-pod-scale-up-delay", 0, "pods younger than this wait")
		s.Int32Var(&p.Rules.ExpendableBelow, "expendable-pods-priority-cutoff", p.Rules.ExpendableBelow, "pods of a lower priority cause no growth and prevent no removal")
		s.StringSliceVar(&u.Bypassed, "bypassed-scheduler-names", nil, "schedulers whose refusal is not waited for")
		s.StringSliceVar(&u.Allowed, "allowed-scheduler-names", nil, "schedulers whose pods count; empty: all")
		s.IntVar(&u.SpreadStepLimit, "spread-step-limit", u.SpreadStepLimit, "most work of one cycle when it decides on growth, in answers of the scheduler's filters; pods that were not looked at are first in the next cycle. Raise it if the notice StepsUsedUp stays")
	}, "expander", "price-file", "max-nodes-total", "cores-total", "memory-total", "max-nodes-per-scaleup",
		"balance-similar-node-groups", "balancing-ignore-label", "scale-up-from-zero", "new-pod-scale-up-delay",
		"expendable-pods-priority-cutoff")
}

func (f *Flags) registry() {
	r, p := &f.config.Policy.Rules, &f.config.Policy.Repair
	f.section("Nodes that do not come, or break", func(s *pflag.FlagSet) {
		s.DurationVar(&r.ProvisionTime, "max-node-provision-time", r.ProvisionTime, "how long a node that was asked for may take to register")
		s.DurationVar(&r.StartupTime, "max-node-startup-time", r.StartupTime, "how long a registered node may take to be ready")
		s.StringArrayVar(&r.Passing.Startup, "startup-taint", nil, "key of a taint that a new node carries until it is complete: a node with it counts as one that boots (repeat)")
		s.StringArrayVar(&f.ignoreTaints, "ignore-taint", nil, "old name of --startup-taint (repeat)")
		s.StringArrayVar(&r.Passing.StartupPrefixes, "startup-taint-prefix", nil, "what the keys of startup taints begin with, see --startup-taint (repeat)")
		s.StringArrayVar(&r.Passing.Status, "status-taint", nil, "key of a taint that tells of a node's state; templates are read without it (repeat)")
		s.IntVar(&r.MaxUnready, "ok-total-unready-count", r.MaxUnready, "up to this many nodes that are not ready or missing, nothing is stopped, in one group or in the whole cluster")
		s.Float64Var(&f.unreadyPercent, "max-total-unready-percentage", 100*r.MaxUnreadyShare, "percent of the nodes that may be not ready or missing; when this and --ok-total-unready-count are both passed, nothing is bought or removed")
		s.BoolVar(&r.StopOnFirstDud, "stop-group-on-first-dud", false, "one node that never became ready stops the growth of its group until it is gone")
		s.BoolVar(&r.CountOthers, "unmanaged-nodes-count-as-unready", false, "count nodes of no group among the nodes that are not ready, as the Cluster Autoscaler does")
		s.DurationVar(&r.BackoffFirst, "initial-node-group-backoff-duration", r.BackoffFirst, "how long a group rests after a growth failed; 10s at least")
		s.DurationVar(&r.BackoffMost, "max-node-group-backoff-duration", r.BackoffMost, "longest rest of a group whose growths fail; a rest doubles with each failure")
		s.DurationVar(&r.BackoffReset, "node-group-backoff-reset-timeout", r.BackoffReset, "a failure is forgotten after so long")
		s.BoolVar(&p.ForceUnregistered, "force-delete-unregistered-nodes", false, "instances that never registered go below their group's minimum")
		s.BoolVar(&p.ForceFailed, "force-delete-failed-nodes", false, "instances that the cloud could not make go below their group's minimum")
		s.BoolVar(&p.WholeCycle, "resize-skips-whole-cycle", false, "while one group is resized to what it has, nothing is done to any other")
	}, "max-node-provision-time", "max-node-startup-time", "ok-total-unready-count", "max-total-unready-percentage")
}

func (f *Flags) section(title string, fill func(*pflag.FlagSet), main ...string) {
	s := pflag.NewFlagSet(title, pflag.ContinueOnError)
	s.SortFlags = false
	fill(s)
	f.sections = append(f.sections, section{title: title, set: s, main: main})
	f.set.AddFlagSet(s)
}

// normalize lets flags be spelled with underscores, as the Cluster Autoscaler
// does, and knows other spellings of some.
func normalize(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	name = strings.ReplaceAll(name, "_", "-")
	switch name {
	case "cloudprovider":
		name = "cloud-provider"
	case systemTimeoutToo:
		name = systemTimeout
	}
	return pflag.NormalizedName(name)
}

// HelpAll tells whether every flag is to be shown instead of running.
func (f *Flags) HelpAll() bool { return f.helpAll }

// Config gives what the parsed flags say, with a warning for each that has no
// effect, or another one than it says. An error lists all that is wrong.
func (f *Flags) Config() (Config, []string, error) {
	c := f.config
	c.Policy.ScaleUp.MaxCoresTotal, c.Policy.ScaleDown.MinCoresTotal = f.cores.most, f.cores.least
	c.Policy.ScaleUp.MaxMemoryTotal, c.Policy.ScaleDown.MinMemoryTotal = f.memory.most*gib, f.memory.least*gib
	c.Policy.Rules.MaxUnreadyShare = f.unreadyPercent / 100
	c.Policy.Rules.Passing.Startup = slices.Concat(c.Policy.Rules.Passing.Startup, f.ignoreTaints)
	c.Policy.ScaleDown.Drain.MaxGrace = time.Duration(f.graceSeconds) * time.Second
	c.Policy.ScaleDown.Drain.Levels = f.levels
	if c.Leader.Namespace == "" {
		c.Leader.Namespace = c.Cluster.Namespace
	}
	if c.Loop.Seed == 0 {
		c.Loop.Seed = rand.Uint64()
	}
	if e := f.entry(c.Cloud.Provider); e != nil {
		c.Cloud.Provider = e.Name
	}
	errs := append(f.check(&c), f.unsupported()...)
	if f.priceFile != "" {
		prices, err := ReadPrices(f.priceFile)
		if err != nil {
			errs = append(errs, fmt.Errorf("--price-file: %w", err))
		}
		c.Policy.ScaleUp.Prices = prices
	}
	if len(errs) > 0 {
		return Config{}, nil, errors.Join(errs...)
	}
	warnings := f.warnings(c.Cloud)
	if c.Loop.ScanInterval >= c.HTTP.MaxInactivity {
		warnings = append(warnings, fmt.Sprintf("--scan-interval=%s is not below --max-inactivity=%s: a quiet cluster looks as if Plimsoll stood still, and a liveness probe ends it", c.Loop.ScanInterval, c.HTTP.MaxInactivity))
	}
	if c.Loop.ScanInterval >= c.Policy.InventoryMaxAge {
		warnings = append(warnings, fmt.Sprintf("--scan-interval=%s is not below --inventory-max-age=%s: nothing is bought or removed between the end of one and the next reading of the cloud", c.Loop.ScanInterval, c.Policy.InventoryMaxAge))
	}
	if r := &c.Policy.Rules; r.BackoffFirst > r.BackoffMost {
		warnings = append(warnings, fmt.Sprintf("--max-node-group-backoff-duration=%s is below --initial-node-group-backoff-duration=%s: a group rests no longer than that, after the first failure too", r.BackoffMost, r.BackoffFirst))
		r.BackoffFirst = r.BackoffMost
	}
	return c, warnings, nil
}

// warnings has a line for each flag that was given and does nothing here.
func (f *Flags) warnings(cloud Cloud) []string {
	var out []string
	e := f.entry(cloud.Provider)
	for name, form := range map[string]string{nodesFlag: e.Nodes, discoveryFlag: e.Discovery} {
		if form == "" && f.set.Changed(name) {
			out = append(out, fmt.Sprintf("--%s has no effect: %s", name, e.Groups))
		}
	}
	slices.Sort(out)
	for _, s := range f.sections {
		if s.provider == "" || s.provider == cloud.Provider {
			continue
		}
		s.set.VisitAll(func(flag *pflag.Flag) {
			if f.set.Changed(flag.Name) {
				out = append(out, fmt.Sprintf("--%s has no effect: only the %s provider has it", flag.Name, s.provider))
			}
		})
	}
	for _, l := range lacking {
		if flag := f.set.Lookup(l.name); flag != nil && flag.Changed {
			out = append(out, fmt.Sprintf("--%s has no effect: %s", l.name, l.why))
		}
	}
	return out
}

// ignored is the value of a flag that is accepted and does nothing.
type ignored struct{ text string }

func (i *ignored) String() string     { return i.text }
func (i *ignored) Set(s string) error { i.text = s; return nil }
func (i *ignored) Type() string       { return "ignored" }
