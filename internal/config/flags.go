package config

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Flags are the product's flags, bound to a flag set. Parse the set, then ask
// for the Config.
type Flags struct {
	set      *pflag.FlagSet
	at       time.Time // what is decided on is of that time; zero: of now
	sections []section
	entries  []wiring.Entry
	makers   map[string]wiring.Maker // by the provider's name
	config   Config

	// What needs more than pflag to be read.
	expanders      string
	cores, memory  minMax
	unreadyPercent float64
	graceSeconds   int64
	levels         levels
	ignoreTaints   []string
	consolidation  string
	lock           string
	helpAll        bool

	// file is the configuration file, document what was read of it, and fromFile its values by
	// flag. misread are the flags among them that could not be set. given are the flags of the command line.
	file     string
	given    map[string]v1alpha1.Value
	document *v1alpha1.Document
	fromFile map[string]v1alpha1.Value
	// restored are the flags that a cluster's file says, with the places where they stand.
	restored map[string]string
	misread  map[string]bool
	misform  error // of these

	ignoreUnsupported bool
	withoutProvider   bool
	elsewhere         bool
	notHere           []string // files that were not read, and need not be
	servingHidden     bool
}

// section is a part of the help.
type section struct {
	title string
	set   *pflag.FlagSet
	main  []string // flags on the short help, in order
	// provider is the only one that reads these flags, empty if they are for all.
	provider string
}

// Bind adds the flags to a set: the program's own, and those of the providers that
// there are.
func Bind(set *pflag.FlagSet, entries []wiring.Entry) *Flags {
	f := &Flags{set: set, entries: entries, makers: map[string]wiring.Maker{}, config: Defaults()}
	c := &f.config
	set.SetNormalizeFunc(normalize)
	f.cores = minMax{0, c.Policy.ScaleUp.MaxCoresTotal}
	f.memory = minMax{0, c.Policy.ScaleUp.MaxMemoryTotal / gib}
	f.lock = "leases"
	f.expanders = c.Policy.ScaleUp.Expanders[0].String()

	f.cloud()
	f.section(titleCluster, func(s *pflag.FlagSet) {
		s.StringVar(&c.Cluster.Kubeconfig, "kubeconfig", "", "kubeconfig file; empty in a pod")
		s.StringVar(&c.Cluster.Server, "kubernetes", "",
			"address of the API server, if it differs from that of the kubeconfig")
		s.StringVar(&c.Cluster.Namespace, "namespace", c.Cluster.Namespace, "namespace that Plimsoll runs in")
		s.Float32Var(&c.Cluster.QPS, "kube-client-qps", c.Cluster.QPS,
			"requests per second to the API server; 0: 5, below 0: no limit")
		s.IntVar(&c.Cluster.Burst, "kube-client-burst", c.Cluster.Burst, "requests to the API server at once; 0: 10")
		s.StringVar(&c.Cluster.ContentType, "kube-api-content-type", c.Cluster.ContentType,
			"content type of requests to the API server")
		s.StringVar(&c.Cluster.UserAgent, "user-agent", c.Cluster.UserAgent, "user agent of requests to the API server")
	}, "kubeconfig", "namespace", "kube-client-qps", "kube-client-burst")

	f.section("Loop", func(s *pflag.FlagSet) {
		s.DurationVar(&c.Loop.ScanInterval, "scan-interval", c.Loop.ScanInterval, "longest time between two scans")
		s.DurationVar(&c.Loop.NudgeIdle, "nudge-idle", c.Loop.NudgeIdle,
			"start a scan when nothing has changed for this long after a change")
		s.DurationVar(&c.Loop.NudgeMax, "nudge-max", c.Loop.NudgeMax,
			"longest delay between a change and the next scan")
		s.DurationVar(&c.Loop.DecideBudget, "decide-budget", c.Loop.DecideBudget,
			"how long one scan may take to decide; what is left over comes first in the next. Raise it if the notice "+
				"StepsUsedUp stays")
		s.IntVar(&c.Loop.DecideSteps, "decide-steps", 0,
			"the same in steps, so that plans are the same on every machine; 0: as many as this machine takes in the "+
				"budget, measured at the start")
		s.Uint64Var(&c.Loop.Seed, "seed", 0, "seed of random choices; 0 draws one")
	}, "scan-interval")

	f.scaleUp()
	f.scaleDown()
	f.moves()
	f.registry()

	f.leaderAndReports()

	f.section("Configuration file", func(s *pflag.FlagSet) {
		s.StringVar(&f.file, fileFlag, "", "YAML file with what flags can say, and policies of groups; flags win over it")
	}, fileFlag)
	set.BoolVar(&f.helpAll, "help-all", false, "show all flags")
	f.section("Compatibility", func(s *pflag.FlagSet) {
		s.BoolVar(&f.ignoreUnsupported, ignoreUnsupported, false,
			"start even if flags are given that Plimsoll does not support and that would change which nodes are bought or "+
				"removed; each is a warning instead of an error")
	}, ignoreUnsupported)
	for _, l := range slices.Concat(lacking, former) {
		flag := set.VarPF(&ignored{}, l.name, "", "")
		flag.Hidden = true
		if l.bool {
			flag.NoOptDefVal = "true"
		}
	}
	return f
}

// leaderAndReports binds the flags that say which process acts, and how it reports.
func (f *Flags) leaderAndReports() {
	c := &f.config
	f.section("Leader election", func(s *pflag.FlagSet) {
		s.BoolVar(&c.Leader.Enabled, "leader-elect", c.Leader.Enabled, "act only while holding the lease")
		s.DurationVar(&c.Leader.LeaseDuration, "leader-elect-lease-duration", c.Leader.LeaseDuration,
			"how long other replicas wait before they take over a lease that is not renewed")
		s.DurationVar(&c.Leader.RenewDeadline, "leader-elect-renew-deadline", c.Leader.RenewDeadline,
			"stop leading when the lease could not be renewed for this long")
		s.DurationVar(&c.Leader.RetryPeriod, "leader-elect-retry-period", c.Leader.RetryPeriod,
			"time between two attempts to get or renew the lease")
		s.StringVar(&f.lock, "leader-elect-resource-lock", f.lock, "kind of the lock: leases")
		s.StringVar(&c.Leader.Name, "leader-elect-resource-name", c.Leader.Name, "name of the lease")
		s.StringVar(&c.Leader.Namespace, "leader-elect-resource-namespace", "",
			"namespace of the lease; empty: that of --namespace")
	}, "leader-elect")

	f.section("Health, metrics, logs, events", func(s *pflag.FlagSet) {
		s.StringVar(&c.HTTP.Address, "address", c.HTTP.Address,
			"address that serves /metrics, /health-check, /livez and /readyz")
		s.DurationVar(&c.HTTP.MaxInactivity, "max-inactivity", c.HTTP.MaxInactivity,
			"unhealthy when no scan has ended for this long")
		s.DurationVar(&c.HTTP.MaxFailingTime, "max-failing-time", c.HTTP.MaxFailingTime,
			"unhealthy when no scan has succeeded for this long")
		s.DurationVar(&c.HTTP.MaxStartupTime, "max-startup-time", c.HTTP.MaxStartupTime,
			"longest time that the first scan may take before the process is unhealthy")
		s.StringVar(&c.Page.Address, "ui-address", c.Page.Address,
			"address of the page and its API; empty: none. Other addresses than the loopback's want a bearer token and TLS")
		s.StringVar(&c.Page.CertFile, "ui-tls-cert-file", "",
			"certificate of the page, where it uses TLS; none: one is made at the start")
		s.StringVar(&c.Page.KeyFile, "ui-tls-private-key-file", "", "key of that certificate")
		s.StringVar(&c.Page.DecisionLog, "decision-log", "", "file that keeps all decisions, as lines of JSON")
		s.IntVar(&c.Page.LogMegabytes, "decision-log-max-size", c.Page.LogMegabytes,
			"size of that file in MiB at which it is put aside; two older ones are kept")
		s.BoolVar(&c.Report.PerGroupMetrics, "emit-per-nodegroup-metrics", false,
			"serve metrics of each node group")
		s.BoolVar(&c.Report.DuplicatedEvents, "record-duplicated-events", false,
			"record events again that repeat within 5 minutes")
		s.BoolVar(&c.Report.WriteStatus, "write-status-configmap", c.Report.WriteStatus,
			"write the status ConfigMap, which also holds what must survive a restart")
		s.StringVar(&c.Report.StatusConfigMap, "status-config-map-name", c.Report.StatusConfigMap,
			"name of the status ConfigMap; events about groups are attached to it")
		s.StringVar(&c.Logging.Format, "logging-format", c.Logging.Format, "format of logs: text or json")
		s.IntVarP(&c.Logging.Verbosity, "v", "v", 0, "verbosity of logs; 4 shows the details of each scan")
	}, "address", "ui-address", "emit-per-nodegroup-metrics", "logging-format", "v")
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
		s.StringVar(&c.Cloud.Provider, "cloud-provider", "",
			"cloud to buy nodes from: "+f.known()+" (--cloudprovider is the same)")
		s.DurationVar(&c.Cloud.InventoryDeadline, "inventory-deadline", c.Cloud.InventoryDeadline,
			"longest time that one read of the cloud may take")
		s.DurationVar(&c.Policy.InventoryMaxAge, "inventory-max-age", c.Policy.InventoryMaxAge,
			"do not write to the cloud when its last successful read is older than this, and decide "+
				"nothing when what is known of the cluster is older")
		s.DurationVar(&c.Policy.CallDeadline, "call-deadline", c.Policy.CallDeadline,
			"longest time that one write to the cloud or to a node may take")
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
		name := e.Name
		if e.Alias != "" {
			name += " (or " + e.Alias + ")"
		}
		names = append(names, name)
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
		s.StringVar(&f.expanders, "expander", f.expanders,
			"how to choose among groups, comma-separated, first to last: "+strings.Join(model.ExpanderNames(), ", "))
		s.StringVar(&f.config.Prices.File, "price-file", "",
			"YAML file of prices per hour (by group, instance type, or core and GiB), read again when it changes")
		s.IntVar(&u.MaxNodesTotal, "max-nodes-total", 0, "maximum number of nodes in the cluster; 0: no limit")
		s.Var(&f.cores, "cores-total", "minimum and maximum number of cores in the cluster, min:max")
		s.Var(&f.memory, "memory-total", "minimum and maximum memory of the cluster in GiB, min:max")
		s.IntVar(&u.MaxNodesPerScaleUp, "max-nodes-per-scaleup", 0,
			"maximum number of nodes that one scan adds; 0: no limit")
		s.BoolVar(&u.BalanceSimilar, "balance-similar-node-groups", false,
			"spread scale-ups over groups that differ only in zone")
		s.StringArrayVar(&u.BalanceIgnore, "balancing-ignore-label", nil,
			"node label that similar groups may differ in (repeat)")
		s.StringArrayVar(&u.BalanceLabels, "balancing-label", nil,
			"compare groups by this node label only (repeat)")
		s.Float64Var(&u.MemoryRatio, "memory-difference-ratio", u.MemoryRatio,
			"share by which the memory of similar groups may differ")
		s.Float64Var(&u.FreeRatio, "max-free-difference-ratio", u.FreeRatio,
			"share by which what DaemonSets leave free in similar groups may differ")
		s.Float64Var(&u.AllocRatio, "max-allocatable-difference-ratio", u.AllocRatio,
			"share by which the allocatable resources of similar groups may differ")
		s.BoolVar(&u.EnforceMin, "enforce-node-group-min-size", false,
			"scale up groups that are below their minimum, even if no pod needs the nodes")
		s.BoolVar(&u.ScaleFromZero, "scale-up-from-zero", u.ScaleFromZero,
			"scale up a cluster that has no ready node")
		s.DurationVar(&u.NewPodDelay, "new-pod-scale-up-delay", 0,
			"do not scale up for pods that are younger than this")
		s.Int32Var(&p.Rules.ExpendableBelow, "expendable-pods-priority-cutoff", p.Rules.ExpendableBelow,
			"pods with a lower priority cause no scale-up and block no scale-down")
		s.StringSliceVar(&u.Bypassed, "bypassed-scheduler-names", nil,
			"schedulers whose pods cause a scale-up before the scheduler has tried them")
		s.StringSliceVar(&u.Allowed, "allowed-scheduler-names", nil,
			"schedulers whose pods cause a scale-up; empty: all")
	}, "expander", "price-file", "max-nodes-total", "cores-total", "memory-total", "max-nodes-per-scaleup",
		"balance-similar-node-groups", "balancing-ignore-label", "scale-up-from-zero", "new-pod-scale-up-delay",
		"expendable-pods-priority-cutoff")
}

func (f *Flags) registry() {
	r, p := &f.config.Policy.Rules, &f.config.Policy.Repair
	f.section("Nodes that do not come, or break", func(s *pflag.FlagSet) {
		s.DurationVar(&r.ProvisionTime, "max-node-provision-time", r.ProvisionTime,
			"longest time that a requested node may take to register")
		s.DurationVar(&r.StartupTime, "max-node-startup-time", r.StartupTime,
			"longest time that a registered node may take to become ready")
		s.StringArrayVar(&r.Passing.Startup, "startup-taint", nil,
			"key of a taint that new nodes carry until they are complete; such a node counts as "+
				"booting (repeat)")
		s.StringArrayVar(&f.ignoreTaints, "ignore-taint", nil, "old name of --startup-taint (repeat)")
		s.StringArrayVar(&r.Passing.StartupPrefixes, "startup-taint-prefix", nil,
			"prefix of the keys of startup taints, see --startup-taint (repeat)")
		s.StringArrayVar(&r.Passing.Status, "status-taint", nil,
			"key of a taint that tells a node's state; it is left out of templates (repeat)")
		s.IntVar(&r.MaxUnready, "ok-total-unready-count", r.MaxUnready,
			"number of nodes that may be unready or missing, in the cluster and in each group, before "+
				"--max-total-unready-percentage applies")
		s.Float64Var(&f.unreadyPercent, "max-total-unready-percentage", 100*r.MaxUnreadyShare,
			"percentage of nodes that may be unready or missing; above it, and above "+
				"--ok-total-unready-count, the cluster or the group is not scaled")
		s.BoolVar(&r.StopOnFirstDud, "stop-group-on-first-dud", false,
			"do not scale up a group while one of its nodes has never become ready")
		s.BoolVar(&r.CountOthers, "unmanaged-nodes-count-as-unready", false,
			"count unready nodes of no group, too, as the Cluster Autoscaler does")
		s.DurationVar(&r.BackoffFirst, "initial-node-group-backoff-duration", r.BackoffFirst,
			"how long a group is not scaled up after its first failed scale-up; at least 10s")
		s.DurationVar(&r.BackoffMost, "max-node-group-backoff-duration", r.BackoffMost,
			"longest backoff of a group; it doubles with each failure up to this")
		s.DurationVar(&r.BackoffReset, "node-group-backoff-reset-timeout", r.BackoffReset,
			"forget a failed scale-up after this time")
		s.BoolVar(&p.ForceUnregistered, "force-delete-unregistered-nodes", false,
			"delete instances that never registered even if their group falls below its minimum")
		s.BoolVar(&p.ForceFailed, "force-delete-failed-nodes", false,
			"delete instances that the cloud could not create even if their group falls below its "+
				"minimum")
		s.BoolVar(&p.WholeCycle, "resize-skips-whole-cycle", false,
			"while the target of one group is corrected to what it has, do nothing to other groups")
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

// WithoutProvider makes the provider's name optional: where it is not given, Provider must not be
// called.
func (f *Flags) WithoutProvider() { f.withoutProvider = true }

// Elsewhere has the configuration be for another machine: a file that it names need not be on this one.
func (f *Flags) Elsewhere() { f.elsewhere = true }

// sectionsThatDecide are the titles of those whose flags have a part in what is bought and removed,
// whatever the provider is.
var sectionsThatDecide = append([]string{"Loop"}, sectionsThatReload...)

// Deciding are the flags that were given and have a part in what is bought and removed. Those that say
// how the cluster and the cloud are reached are not among them. With plain, only those whose values are
// numbers, times, or yes and no.
func (f *Flags) Deciding(plain bool) map[string]string {
	out := map[string]string{}
	for _, s := range f.sections {
		if !slices.Contains(sectionsThatDecide, s.title) {
			continue
		}
		s.set.VisitAll(func(flag *pflag.Flag) {
			names := slices.Contains([]string{"string", "stringArray", "stringSlice"}, flag.Value.Type())
			if f.set.Changed(flag.Name) && !(plain && names) {
				out[flag.Name] = flag.Value.String()
			}
		})
	}
	return out
}

// Reaching are the flags of the command line that say how a cluster and its cloud are reached, and nothing else. Call
// it after Config.
func (f *Flags) Reaching() []string {
	var out []string
	for _, s := range f.sections {
		if s.title != titleCloud && s.title != titleCluster && s.provider == "" {
			continue
		}
		s.set.VisitAll(func(flag *pflag.Flag) {
			_, fromFile := f.fromFile[flag.Name]
			_, restored := f.restored[flag.Name]
			// What is read of files is looked for in the namespace, too, and their age counts.
			counts := slices.Contains([]string{"namespace", "inventory-max-age"}, flag.Name)
			if flag.Changed && !fromFile && !restored && !counts {
				out = append(out, "--"+flag.Name)
			}
		})
	}
	if f.set.Changed("request-timeout") {
		out = append(out, "--request-timeout")
	}
	return out
}

// Restore takes flags as Deciding gave them, but for those that are given, and those that the configuration
// file says. places say where each stands, as FILE:LINE. An error is one of that file.
func (f *Flags) Restore(values, places map[string]string) error {
	if err := f.load(); err != nil && f.document == nil {
		return err
	}
	f.restored = map[string]string{}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		flag := f.set.Lookup(name)
		if flag == nil {
			errs = append(errs, fmt.Errorf("%s: flags.%s: there is no such flag", places[name], name))
			continue
		}
		if name == "config" || name == "price-file" {
			errs = append(errs, fmt.Errorf("%s: flags.%s: it names a file of who reads the dump, and has no place in one; "+
				"say --%[2]s on the command line", places[name], name))
			continue
		}
		if flag.Changed || values[name] == "[]" {
			continue
		}
		f.restored[name] = places[name]
		parts := []string{values[name]}
		if _, list := flag.Value.(pflag.SliceValue); list {
			text := strings.TrimSuffix(strings.TrimPrefix(values[name], "["), "]")
			var err error
			if parts, err = csv.NewReader(strings.NewReader(text)).Read(); err != nil {
				errs = append(errs, fmt.Errorf("%s: flags.%s: %q is no list, such as [a,b]", places[name], name, values[name]))
				continue
			}
		}
		for _, part := range parts {
			if err := f.set.Set(name, part); err != nil {
				errs = append(errs, fmt.Errorf("%s: flags.%s: %w", places[name], name, valueAlone(err)))
				break
			}
		}
	}
	return errors.Join(errs...)
}

// HelpAll reports whether every flag is to be shown instead of running.
func (f *Flags) HelpAll() bool { return f.helpAll }

// At says of what time that is which is decided on: a dump has its own.
func (f *Flags) At(t time.Time) { f.at = t }

// Config gives what the parsed flags say, with a warning for each that has no
// effect, or another one than it says. An error lists all that is wrong.
func (f *Flags) Config() (Config, []string, error) {
	misread := f.load()
	if misread != nil && f.document == nil {
		return Config{}, nil, broken{misread}
	}
	c := f.config
	c.Policy.ScaleUp.MaxCoresTotal, c.Policy.ScaleDown.MinCoresTotal = f.cores.most, f.cores.least
	c.Policy.ScaleUp.MaxMemoryTotal, c.Policy.ScaleDown.MinMemoryTotal = f.memory.most*gib, f.memory.least*gib
	c.Policy.Rules.MaxUnreadyShare = f.unreadyPercent / 100
	c.Policy.Rules.Passing.Startup = slices.Concat(c.Policy.Rules.Passing.Startup, f.ignoreTaints)
	c.Policy.ScaleDown.Drain.MaxGrace = time.Duration(f.graceSeconds) * time.Second
	c.Policy.ScaleDown.Drain.Levels = f.levels
	c.Policy.ScaleUp.Allowed = trimmed(c.Policy.ScaleUp.Allowed)
	c.Policy.ScaleUp.Bypassed = trimmed(c.Policy.ScaleUp.Bypassed)
	if c.Leader.Namespace == "" {
		c.Leader.Namespace = c.Cluster.Namespace
	}
	if c.Loop.Seed == 0 {
		c.Loop.Seed = rand.Uint64()
	}
	if e := f.entry(c.Cloud.Provider); e != nil {
		c.Cloud.Provider = e.Name
	}
	if err := f.wrong(&c, misread); err != nil {
		return Config{}, nil, err
	}
	c.Policy.Share(c.Loop.Steps(model.StepsPerSecond))
	warnings := slices.Concat(f.warnings(c.Cloud), doubtful(&c), f.notHere)
	if f.document != nil {
		warnings = append(warnings, f.idle()...)
		warnings = append(warnings, odd(f.document, &c.Policy.Groups, c.Policy.Budgets, cmp.Or(f.at, time.Now()))...)
	}
	if c.Loop.ScanInterval >= c.HTTP.MaxInactivity {
		warnings = append(warnings, fmt.Sprintf("--scan-interval=%s is not below --max-inactivity=%s: in a quiet cluster, "+
			"liveness probes fail and restart Plimsoll", c.Loop.ScanInterval, c.HTTP.MaxInactivity))
	}
	if c.Loop.ScanInterval >= c.Policy.InventoryMaxAge {
		warnings = append(warnings, fmt.Sprintf("--scan-interval=%s is not below --inventory-max-age=%s: before each read "+
			"of the cloud the last one is too old, and nothing is bought or removed",
			c.Loop.ScanInterval, c.Policy.InventoryMaxAge))
	}
	if r := &c.Policy.Rules; r.BackoffFirst > r.BackoffMost {
		warnings = append(warnings, fmt.Sprintf("--max-node-group-backoff-duration=%s is below "+
			"--initial-node-group-backoff-duration=%s, and limits the rest after the first failure, too",
			r.BackoffMost, r.BackoffFirst))
		r.BackoffFirst = r.BackoffMost
	}
	return c, warnings, nil
}

// wrong is all that is wrong with a configuration; misread is what is with the form of its file. It reads the
// files that it names on the way.
func (f *Flags) wrong(c *Config, misread error) error {
	given := slices.Concat(f.check(c), f.unsupported(), f.checkCloud(c))
	read := []error{misread}
	for _, err := range given {
		if at := f.placed(err); at != err { // it is the file's, or is told already
			read = append(read, at)
		}
	}
	given = slices.DeleteFunc(given, func(err error) bool { return f.placed(err) != err })
	f.notHere = nil
	if c.Prices.File != "" {
		prices, err := ReadPrices(c.Prices.File)
		if err != nil {
			at := f.placed(flagError{flag: "price-file", text: err.Error()})
			if f.elsewhere && errors.Is(err, fs.ErrNotExist) {
				f.notHere = []string{fmt.Sprintf("%s: it was not checked", at)}
			} else {
				read = append(read, at)
			}
		}
		c.Prices.First = prices
	}
	if f.document != nil {
		set, budgets, err := policies(f.document)
		c.Policy.Groups, c.Policy.Budgets = set, budgets
		c.Policy.Rules.RateSpan = budget.LongestRate(budgets)
		read = append(read, err)
	}
	if len(given) == 0 {
		if err := errors.Join(read...); err != nil {
			return broken{err}
		}
		return nil
	}
	return errors.Join(append(read, given...)...)
}

// broken is what is wrong with a file that a flag names.
type broken struct{ error }

func (b broken) Unwrap() error { return b.error }

// Misused reports whether an error of Config is one in the command line, and not in a file that it names.
func Misused(err error) bool { return !errors.As(err, new(broken)) }

// doubtful has a line for each value that is accepted, and is most likely not meant.
func doubtful(c *Config) []string {
	var out []string
	for flag, share := range map[string]float64{
		"scale-down-utilization-threshold":     c.Policy.ScaleDown.Threshold,
		"scale-down-gpu-utilization-threshold": c.Policy.ScaleDown.GPUThreshold,
	} {
		if share > 1 {
			out = append(out, fmt.Sprintf("--%s=%v is above 1: every node counts as little used; 0.5 is 50 %%", flag, share))
		}
	}
	for flag, short := range map[string]struct {
		time time.Duration
		then string
	}{
		"inventory-deadline":      {c.Cloud.InventoryDeadline, "reads of the cloud fail"},
		"call-deadline":           {c.Policy.CallDeadline, "writes fail"},
		"max-node-provision-time": {c.Policy.Rules.ProvisionTime, "every requested node counts as failed"},
		"max-node-startup-time":   {c.Policy.Rules.StartupTime, "every new node counts as failed"},
		"max-replacement-wait":    {c.Policy.ScaleDown.Drain.ReplacementTime, "removals are rolled back"},
	} {
		if short.time < time.Second {
			out = append(out, fmt.Sprintf("--%s=%s is below a second: %s; 15s is 15 seconds, 15m is 15 minutes",
				flag, short.time, short.then))
		}
	}
	for flag, most := range map[string]int64{
		"cores-total": c.Policy.ScaleUp.MaxCoresTotal, "memory-total": c.Policy.ScaleUp.MaxMemoryTotal,
	} {
		if most == 0 {
			out = append(out, fmt.Sprintf("--%s has a maximum of 0, which is no limit", flag))
		}
	}
	slices.Sort(out)
	return out
}

// trimmed gives names without the blanks around them.
func trimmed(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, strings.TrimSpace(name))
	}
	return out
}

// warnings has a line for each flag that was given and does nothing here.
func (f *Flags) warnings(cloud Cloud) []string {
	var out []string
	if e := f.entry(cloud.Provider); e != nil {
		for name, form := range map[string]string{nodesFlag: e.Nodes, discoveryFlag: e.Discovery} {
			if form == "" && f.set.Changed(name) {
				out = append(out, fmt.Sprintf("--%s has no effect: %s", name, e.Groups))
			}
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
	for _, l := range slices.Concat(lacking, former) {
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
