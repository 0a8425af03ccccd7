package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lack is a flag of the Cluster Autoscaler that Plimsoll accepts and does not
// have.
type lack struct {
	name string
	bool bool // may stand without a value
	why  string
}

// Why a flag has no effect, and what happens instead, where several have the same
// reason.
const (
	dead = "the Cluster Autoscaler does not read it any more either"
	logs = "logs go to standard error; use --logging-format and --v"

	// There, not here.
	buffers   = "CapacityBuffers are not read: no room is kept for them"
	requests  = "ProvisioningRequests are not read: no room is booked for them, and their pods count as soon as they exist"
	ahead     = "nothing is bought for pods that do not exist yet"
	sizesOnly = "groups are never made or deleted here, only their sizes change"
	noGCE     = "there is no gce provider"
	noGRPC    = "there is no grpc expander: name another one in --expander"

	// What there is instead.
	queued     = "writes to nodes are queued, and no cycle waits for them; --max-bulk-soft-taint-count bounds their number"
	remembered = "the status ConfigMap keeps since when nodes are unneeded, and survives a restart"
	inSteps    = "the search ends after a while, and goes on in the next cycle: see --decide-budget"
	upInSteps  = "scale-up ends after a while, and goes on in the next cycle: see --decide-budget"
	bounded    = "requests to the shoot are limited by --kube-client-qps and --kube-client-burst"
	checked    = "every node is checked in each cycle"
	budgeted   = "one budget bounds all of a decision: see --decide-budget"
	oneplan    = "one plan scales up all groups that are needed, and their calls run side by side"
)

// former are flags of earlier versions of Plimsoll, which are accepted as well.
var former = []lack{
	{"scale-down-step-limit", false, budgeted},
	{"spread-step-limit", false, budgeted},
}

// lacking is sorted by reason, then name.
var lacking = []lack{
	{"cluster-snapshot-parallelism", false, dead},
	{"max-empty-bulk-delete", false, dead},
	{"scale-down-candidates-pool-min-count", false, dead},
	{"scale-down-candidates-pool-ratio", false, dead},
	{"scale-down-non-empty-candidates-count", false, dead},

	{"add-dir-header", true, logs},
	{"alsologtostderr", true, logs},
	{"alsologtostderrthreshold", false, logs},
	{"legacy-stderr-threshold-behavior", true, logs},
	{"log-backtrace-at", false, logs},
	{"log-dir", false, logs},
	{"log-file", false, logs},
	{"log-file-max-size", false, logs},
	{"log-flush-frequency", false, logs},
	{"log-json-info-buffer-size", false, logs},
	{"log-json-split-stream", true, logs},
	{"log-text-info-buffer-size", false, logs},
	{"log-text-split-stream", true, logs},
	{"logtostderr", true, logs},
	{"one-output", true, logs},
	{"skip-headers", true, logs},
	{"skip-log-headers", true, logs},
	{"stderrthreshold", false, logs},
	{"vmodule", false, logs},

	{"capacity-buffer-controller-enabled", true, buffers},
	{"capacity-buffer-pod-dry-run-enabled", true, buffers},
	{"capacity-buffer-pod-injection-enabled", true, buffers},
	{"capacity-buffer-ready-replicas-enabled", true, buffers},

	{"check-capacity-batch-processing", true, requests},
	{"check-capacity-processor-instance", false, requests},
	{"check-capacity-provisioning-request-batch-timebox", false, requests},
	{"check-capacity-provisioning-request-max-batch-size", false, requests},
	{"enable-provisioning-requests", true, requests},
	{"provisioning-request-initial-backoff-time", false, requests},
	{"provisioning-request-max-backoff-cache-size", false, requests},
	{"provisioning-request-max-backoff-time", false, requests},

	{"enable-proactive-scaleup", true, ahead},
	{"pod-injection-limit", false, ahead},

	{"async-node-groups", true, sizesOnly},
	{"max-autoprovisioned-node-group-count", false, sizesOnly},
	{"node-autoprovisioning-enabled", true, sizesOnly},

	{"bulk-mig-instances-listing-enabled", true, noGCE},
	{"gce-concurrent-refreshes", false, noGCE},
	{"gce-mig-instances-min-refresh-wait-time", false, noGCE},
	{"regional", true, noGCE},

	{"grpc-expander-cert", false, noGRPC},
	{"grpc-expander-url", false, noGRPC},

	{"capacity-quotas-enabled", true, "CapacityQuotas are not read: the limits are those of the groups, " +
		"--max-nodes-total, --cores-total and --memory-total"},
	{"cluster-name", false, "no provider here reads it"},
	{"debugging-snapshot-enabled", true, "there is no /snapshotz: see plimsoll status for nodes, events for pods"},
	{"enable-csi-node-aware-scheduling", true, "the volumes that a node can take are always counted"},
	{"enable-dynamic-resource-allocation", true, "pods with resource claims wait, with the verdict Unsupported"},
	{"feature-gates", false, "the scheduler's filters have their default gates"},
	{"gpu-total", false, "there is no limit on the cluster's accelerators: set the maximum of each group that has them"},
	{"profiling", true, "there is no /debug/pprof"},
	{"scheduler-config-file", false, "the filters are those of kube-scheduler's default profile"},

	{"dynamic-node-delete-delay-after-taint-enabled", true, "a node's pods are listed again after its taint is written"},
	{"enable-graceful-degradation", true, upInSteps},
	{"max-binpacking-time", false, upInSteps},
	{"max-nodegroup-binpacking-duration", false, upInSteps},
	{"pending-pods-batching-timeout", false, upInSteps},
	{"salvo-scale-up-budget", false, upInSteps},

	{"parallel-scale-up", true, oneplan},
	{"salvo-scale-up", true, oneplan},

	{"enable-inter-pod-affinity-hostname-fast-path", true, "there is always a fast path for affinity to hostnames"},
	{"estimator", false, "there is one way to pack: by the scheduler's own filters"},
	{"fastpath-binpacking-enabled", true, "pods that are alike are always packed together"},
	{"force-ds", true, "a new node always has room for the pods of the DaemonSets that suit it"},
	{"frequent-loops-enabled", true, "changes in the cluster wake the loop: see --nudge-idle and --nudge-max"},
	{"min-resync-period", false, "changes are watched, and nothing is read again without a change"},
	{"node-deletion-batcher-interval", false, "removals are not batched: each begins as soon as its node may go"},
	{"node-info-cache-expire-time", false, "templates come from the provider, with each read of the cloud"},
	{"node-removal-latency-tracking-enabled", true, "the status ConfigMap says since when each node is unneeded"},
	{"predicate-parallelism", false, "the filters are asked once for pods and nodes that are alike"},
	{"scale-from-unschedulable", true, "templates come from the provider, not from cordoned nodes"},
	{"scaleup-simulation-for-skipped-node-groups-enabled", true, "every group that is left out always has a verdict"},
	{"scheduler-verbosity", false, "the filters log by --v, like everything else"},

	{"max-bulk-soft-taint-time", false, queued},
	{"max-node-skip-eval-time-tracker-enabled", true, checked},
	{"node-deletion-candidate-ttl", false, remembered},
	{"target-apiserver-burst", false, bounded},
	{"target-apiserver-qps", false, bounded},
	{"scale-down-simulation-timeout", false, inSteps},
	{"unremovable-node-recheck-timeout", false, checked},
}

// decisive are the flags of lacking that change which nodes are bought or removed, each
// with its default in the Cluster Autoscaler. Another value is refused, so that the change
// is no surprise; --ignore-unsupported-flags starts all the same.
var decisive = map[string]string{
	"capacity-buffer-pod-injection-enabled": "false",
	"capacity-quotas-enabled":               "false",
	"enable-proactive-scaleup":              "false",
	"enable-provisioning-requests":          "false",
	"feature-gates":                         "",
	"gpu-total":                             "",
	"node-autoprovisioning-enabled":         "false",
	"scheduler-config-file":                 "",
}

// unsupported has an error for each decisive flag that was given another value than
// its default.
func (f *Flags) unsupported() []error {
	if f.ignoreUnsupported {
		return nil
	}
	var errs []error
	for _, l := range lacking {
		flag := f.set.Lookup(l.name)
		if !flag.Changed || !Decisive(l.name, flag.Value.String()) {
			continue
		}
		errs = append(errs, fmt.Errorf("--%s: Plimsoll does not support it, and without it other nodes would be bought or "+
			"removed: %s; remove the flag, or add --%s to start without its effect", l.name, l.why, ignoreUnsupported))
	}
	return errs
}

// Decisive reports whether Plimsoll lacks a flag, and other nodes are bought or removed
// without it and this value.
func Decisive(flag, value string) bool {
	def, ok := decisive[flag]
	return ok && !sameValue(value, def)
}

// ignoreUnsupported is the flag that turns the refusal of decisive flags into
// warnings.
const ignoreUnsupported = "ignore-unsupported-flags"

// sameValue reports whether two texts are the same value of a flag: switches have
// several spellings.
func sameValue(a, b string) bool {
	x, errA := strconv.ParseBool(a)
	y, errB := strconv.ParseBool(b)
	return a == b || errA == nil && errB == nil && x == y
}

// Difference is what a user of the Cluster Autoscaler would not expect of a flag
// that Plimsoll has.
type Difference struct {
	// There is its default there, where that is another one.
	There string
	Note  string
	// Minor: most users of the flag need not know.
	Minor bool
}

// anyGroup is true of both limits on unready nodes.
const anyGroup = "nodes of no group do not count, unless --unmanaged-nodes-count-as-unready"

// startTaint is what a startup taint does.
const startTaint = "a new node with it counts as booting, for --max-node-startup-time at most"

// aboveZero: a time that the Cluster Autoscaler accepts, and that makes no sense.
const aboveZero = "0 is refused"

// slowClient is why Plimsoll's client is faster.
const slowClient = "a client that is slower than the server makes every scale-up wait"

// aboveOne: a share that the Cluster Autoscaler accepts without a word.
const aboveOne = "above 1 every node counts as little used, and a warning says so"

var differs = map[string]Difference{
	"address":                     {"", "/livez and /readyz are served there too", true},
	"bypassed-scheduler-names":    {"", "they need not be among --allowed-scheduler-names", true},
	"cloud-provider":              {"gce", "it must be named, and be one that Plimsoll has", true},
	"enforce-node-group-min-size": {"", "of groups alone: a pool with a sizing always gets its minimum", true},
	"drain-priority-config":       {"", "it is refused together with --max-graceful-termination-sec", true},
	"expander": {"", "grpc is refused: name another one; price and price-per-pod need prices, of the provider or in " +
		"--price-file; ties that are left go to the first group by name, unless the last expander is random", false},
	"ignore-taint":                    {"", startTaint, true},
	"kube-client-burst":               {"10", slowClient, true},
	"kube-client-qps":                 {"5", slowClient, true},
	"max-failing-time":                {"", aboveZero, true},
	"max-inactivity":                  {"", aboveZero, true},
	"max-node-group-backoff-duration": {"", "a group rests no longer than this after its first failure either", true},
	"max-node-provision-time":         {"", aboveZero, true},
	"max-node-startup-time":           {"", aboveZero, true},
	"scan-interval":                   {"", aboveZero, true},
	"leader-elect-resource-lock":      {"", "leases only", true},
	"leader-elect-resource-namespace": {"", "it has an effect here; there it has none, and the lease is in --namespace: " +
		"leave it out as long as both may run", true},
	"logging-format":               {"", "text is key=value", true},
	"max-nodes-per-scaleup":        {"1000", "0: no limit; a plan of many nodes costs little more than one of few", true},
	"max-total-unready-percentage": {"", anyGroup, false},
	"node-group-auto-discovery":    {"", "of several, one is enough; there aws wants all", true},
	"ok-total-unready-count":       {"", anyGroup, false},
	"startup-taint":                {"", startTaint, true},
	"startup-taint-prefix":         {"", startTaint, true},
	"v":                            {"", "4 and above show details of each cycle", true},
	"write-status-configmap":       {"", "it also has what must survive a restart", true},

	"scale-down-utilization-threshold":     {"", aboveOne, true},
	"scale-down-gpu-utilization-threshold": {"", aboveOne, true},
}

// DifferenceOf is empty for a flag that is as it is in the Cluster Autoscaler. Which
// providers it is for is what their entries say.
func (f *Flags) DifferenceOf(flag string) Difference {
	name := string(normalize(nil, flag))
	d, known := differs[name]
	if only := f.onlyFor(name); only != "" && !known {
		return Difference{Note: "only for " + only + ": " + f.set.Lookup(name).Usage, Minor: true}
	}
	var without []string
	for _, e := range f.entries {
		if name == nodesFlag && e.Nodes == "" || name == discoveryFlag && e.Discovery == "" {
			without = append(without, e.Name)
		}
	}
	if len(without) > 0 {
		note := "no effect with " + strings.Join(without, " and ")
		if d.Note != "" {
			note += "; " + d.Note
		}
		d.Note, d.Minor = note, true
	}
	return d
}

// onlyFor is the provider that a flag is for; empty if it is for all.
func (f *Flags) onlyFor(flag string) string {
	for _, s := range f.sections {
		if s.provider != "" && s.set.Lookup(flag) != nil {
			return s.provider
		}
	}
	return ""
}

// ChangedDefaults are the flags with another default than in the Cluster
// Autoscaler, but for those that must be given anyway.
func ChangedDefaults() []string {
	var out []string
	for name, d := range differs {
		if d.There != "" && name != "cloud-provider" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// NoEffect takes a warning of Flags.Config apart: which flag has no effect, and
// what happens instead.
func NoEffect(warning string) (flag, why string, ok bool) {
	flag, why, ok = strings.Cut(strings.TrimPrefix(warning, "--"), " has no effect: ")
	return flag, why, ok
}
