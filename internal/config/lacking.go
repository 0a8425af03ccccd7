package config

// lack is a flag of the Cluster Autoscaler that Plimsoll accepts and does not
// have.
type lack struct {
	name string
	bool bool // may stand without a value
	why  string
}

// Why a flag has no effect.
const (
	notYet  = "Plimsoll does not have this yet"
	dead    = "the Cluster Autoscaler reads it no more either"
	logs    = "logs go to standard error; use --logging-format and --v"
	notNeed = "Plimsoll has no use for it"

	// What there is instead.
	queued     = "writes to nodes are queued, and no cycle waits for them; --max-bulk-soft-taint-count bounds their number"
	remembered = "since when nodes are unneeded is kept in the status ConfigMap, and survives a restart"
	inSteps    = "the search is bounded in steps, and goes on in the next cycle where it stopped: see --scale-down-step-limit"
	judged     = "every node is judged in each cycle"
)

// lacking is sorted by reason, then name.
var lacking = []lack{
	{"cluster-snapshot-parallelism", false, dead},
	{"max-empty-bulk-delete", false, dead},
	{"scale-down-candidates-pool-min-count", false, dead},
	{"scale-down-candidates-pool-ratio", false, dead},
	{"scale-down-non-empty-candidates-count", false, dead},

	{"add-dir-header", true, logs},
	{"alsologtostderr", true, logs},
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

	{"check-capacity-batch-processing", true, notYet},
	{"check-capacity-processor-instance", false, notYet},
	{"check-capacity-provisioning-request-batch-timebox", false, notYet},
	{"check-capacity-provisioning-request-max-batch-size", false, notYet},
	{"async-node-groups", true, notYet},
	{"bulk-mig-instances-listing-enabled", true, notYet},
	{"capacity-buffer-controller-enabled", true, notYet},
	{"capacity-buffer-pod-dry-run-enabled", true, notYet},
	{"capacity-buffer-pod-injection-enabled", true, notYet},
	{"capacity-quotas-enabled", true, notYet},
	{"cluster-name", false, notYet},
	{"debugging-snapshot-enabled", true, notYet},
	{"enable-csi-node-aware-scheduling", true, notYet},
	{"enable-dynamic-resource-allocation", true, notYet},
	{"enable-proactive-scaleup", true, notYet},
	{"enable-provisioning-requests", true, notYet},
	{"enforce-node-group-min-size", true, notYet},
	{"feature-gates", false, notYet},
	{"gce-concurrent-refreshes", false, notYet},
	{"gce-mig-instances-min-refresh-wait-time", false, notYet},
	{"gpu-total", false, notYet},
	{"grpc-expander-cert", false, notYet},
	{"grpc-expander-url", false, notYet},
	{"ignore-taint", false, notYet},
	{"node-autoprovisioning-enabled", true, notYet},
	{"max-autoprovisioned-node-group-count", false, notYet},
	{"pod-injection-limit", false, notYet},
	{"profiling", true, notYet},
	{"provisioning-request-initial-backoff-time", false, notYet},
	{"provisioning-request-max-backoff-cache-size", false, notYet},
	{"provisioning-request-max-backoff-time", false, notYet},
	{"regional", true, notYet},
	{"scale-from-unschedulable", true, notYet},
	{"scheduler-config-file", false, notYet},
	{"startup-taint", false, notYet},
	{"startup-taint-prefix", false, notYet},
	{"status-taint", false, notYet},

	{"dynamic-node-delete-delay-after-taint-enabled", true, notNeed},
	{"enable-graceful-degradation", true, notNeed},
	{"enable-inter-pod-affinity-hostname-fast-path", true, notNeed},
	{"estimator", false, notNeed},
	{"fastpath-binpacking-enabled", true, notNeed},
	{"force-ds", true, notNeed},
	{"frequent-loops-enabled", true, notNeed},
	{"max-binpacking-time", false, notNeed},
	{"max-node-skip-eval-time-tracker-enabled", true, notNeed},
	{"max-nodegroup-binpacking-duration", false, notNeed},
	{"node-deletion-batcher-interval", false, notNeed},
	{"node-info-cache-expire-time", false, notNeed},
	{"node-removal-latency-tracking-enabled", true, notNeed},
	{"parallel-scale-up", true, notNeed},
	{"pending-pods-batching-timeout", false, notNeed},
	{"predicate-parallelism", false, notNeed},
	{"salvo-scale-up", true, notNeed},
	{"salvo-scale-up-budget", false, notNeed},
	{"scaleup-simulation-for-skipped-node-groups-enabled", true, notNeed},
	{"scheduler-verbosity", false, notNeed},

	{"max-bulk-soft-taint-time", false, queued},
	{"node-deletion-candidate-ttl", false, remembered},
	{"scale-down-simulation-timeout", false, inSteps},
	{"unremovable-node-recheck-timeout", false, judged},
}
