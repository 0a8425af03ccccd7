package report

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// metrics are the counters and histograms, and the gauges of the last cycle.
// Names that begin with cluster_autoscaler_ mean what they mean there; what
// only Plimsoll has begins with plimsoll_.
type metrics struct {
	registry *prometheus.Registry
	gauges   *gauges
	perGroup bool

	durations    *prometheus.HistogramVec
	errors       *prometheus.CounterVec
	legacy       legacy
	scaledUp     *prometheus.CounterVec
	failedUps    *prometheus.CounterVec
	failedNodes  *prometheus.CounterVec
	scaledDown   *prometheus.CounterVec
	evicted      *prometheus.CounterVec
	unregistered prometheus.Counter
	lastActivity *prometheus.GaugeVec

	divergence prometheus.Counter
	rechecks   *prometheus.CounterVec
	replays    *prometheus.CounterVec
	decide     prometheus.Histogram
	calls      *prometheus.HistogramVec
	work       *prometheus.CounterVec
	refused    prometheus.Counter
}

// gpuLabels are on the counters of nodes. What is not known is empty.
var gpuLabels = []string{"gpu_resource_name", "gpu_name", "dra_drivers"}

func newMetrics(s Settings) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		o := prometheus.CounterOpts{Namespace: "cluster_autoscaler", Name: name, Help: help}
		return prometheus.NewCounterVec(o, labels)
	}
	byReason := append([]string{"reason"}, gpuLabels...)
	m := &metrics{
		registry: prometheus.NewRegistry(),
		gauges:   newGauges(),
		perGroup: s.PerGroupMetrics,
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "cluster_autoscaler", Name: "function_duration_seconds", Help: "Time that parts of a cycle took.",
			Buckets: []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800},
		}, []string{"function"}),
		legacy:      newLegacy(counter),
		errors:      counter("errors_total", "Errors by type.", "type"),
		scaledUp:    counter("scaled_up_nodes_total", "Nodes asked of the cloud.", gpuLabels...),
		failedUps:   counter("failed_scale_ups_total", "Scale-ups that failed, by reason.", byReason...),
		failedNodes: counter("failed_node_creations_total", "Nodes of scale-ups that did not come, by reason.", "reason"),
		unregistered: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "cluster_autoscaler", Name: "old_unregistered_nodes_removed_count",
			Help: "Instances removed because they did not register in time."}),
		scaledDown: counter("scaled_down_nodes_total", "Nodes removed, by reason.", byReason...),
		evicted:    counter("evicted_pods_total", "Pods to be evicted, by whether that was granted.", "eviction_result"),
		lastActivity: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "cluster_autoscaler", Name: "last_activity",
			Help: "When an activity last took place, in seconds since 1970."}, []string{"activity"}),
		divergence: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "plan_divergence_total",
			Help: "Classes of pods that needed another scale-up after the nodes bought for them were ready."}),
		rechecks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "decide_rechecks_total",
			Help: "Decisions that were made once more from nothing, by whether the plan was the same."}, []string{"result"}),
		replays: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "plan_replays_total",
			Help: "Plans that were put before the scheduler's filters once more in idle time, by what came of it."},
			[]string{"result"}),
		decide: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "plimsoll", Name: "decide_duration_seconds", Help: "Time that deciding took.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2, 16)}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "plimsoll", Name: "call_duration_seconds",
			Help:    "Time that writes to the cloud and to nodes took, by verb and end.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 16)}, []string{"verb", "end"}),
		work: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "decide_steps_total",
			Help: "Steps of deciding and of replays, by kind; they do not depend on the machine."}, []string{"kind"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "plimsoll", Name: "evictions_refused_total",
			Help: "Evictions that a disruption budget refused; each is tried again for a while."}),
	}
	m.registry.MustRegister(m.gauges, m.durations, m.errors, m.scaledUp, m.failedUps, m.failedNodes, m.scaledDown,
		m.evicted, m.unregistered, m.lastActivity, m.divergence, m.rechecks, m.replays, m.decide, m.calls, m.work, m.refused,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.registry.MustRegister(m.legacy.all()...)
	// Counters that an alert may be on are there from the beginning.
	for _, kind := range []string{
		"cloudProviderError", "apiCallError", "internalError", "transientError", "configurationError",
		"nodeGroupDoesNotExistError",
	} {
		m.errors.WithLabelValues(kind)
	}
	m.scaledUp.WithLabelValues("", "", "")
	for _, reason := range []string{downEmpty, downUnderutilized, downUnready} {
		m.scaledDown.WithLabelValues(reason, "", "", "")
	}
	for _, result := range []string{recheckSame, recheckDiffers} {
		m.rechecks.WithLabelValues(result)
	}
	for _, result := range []string{replayAllowed, replayRefused, replayUnfinished} {
		m.replays.WithLabelValues(result)
	}
	for _, result := range []string{evictionSucceeded, evictionFailed} {
		m.evicted.WithLabelValues(result)
	}
	for _, reason := range []string{"cloudProviderError", "apiCallError", reasonTimeout} {
		m.failedUps.WithLabelValues(reason, "", "", "")
		m.failedNodes.WithLabelValues(reason)
	}
	return m
}

// What became of evictions, as the Cluster Autoscaler says it.
const (
	evictionSucceeded = "succeeded"
	evictionFailed    = "failed"
)

// The results of a recheck.
const (
	recheckSame    = "same"
	recheckDiffers = "differs"
)

// The results of a replay. It is unfinished where the next decision came first.
const (
	replayAllowed    = "allowed"
	replayRefused    = "refused"
	replayUnfinished = "unfinished"
)

// reasonTimeout is the Cluster Autoscaler's word for a scale-up that did not end
// in time.
const reasonTimeout = "timeout"

// endOf is the word for how a call ended.
func endOf(out model.Outcome) string {
	switch {
	case out.Err == nil:
		return "done"
	case !begun(out):
		return "not_begun"
	case len(out.Landed) > 0:
		return "landed"
	case refused(out):
		return "refused"
	case out.Err.MayHaveHappened:
		return "unknown"
	}
	return "failed"
}

// ended counts a call that ended. One that was never begun is no failure of anything
// that was asked.
func (m *metrics) ended(out model.Outcome) {
	m.calls.WithLabelValues(string(out.Call.Verb), endOf(out)).Observe(out.Ended.Sub(out.Began).Seconds())
	if !begun(out) {
		return
	}
	gpu := m.gauges.accelerator(out.Call.Group)
	switch {
	case out.Err == nil && out.Call.Verb == model.Grow:
		m.scaledUp.WithLabelValues("", gpu, "").Add(float64(out.Call.To - out.Call.From))
		m.legacy.grew(gpu, out.Call.To-out.Call.From)
	case out.Err == nil && out.Call.Verb == model.Remove && out.Call.Node == "":
		if out.Call.Reason == model.ProvisionTimeout {
			m.unregistered.Inc()
		}
	case out.Err == nil && out.Call.Verb == model.Evict && !out.Unchanged:
		m.evicted.WithLabelValues(evictionSucceeded).Inc()
	case refused(out):
		m.refused.Inc()
	case out.Err == nil || len(out.Landed) > 0:
	default:
		kind := errorType(out)
		m.errors.WithLabelValues(kind).Inc()
		if out.Call.Verb == model.Grow {
			if errors.Is(out.Err, context.DeadlineExceeded) {
				kind = reasonTimeout
			}
			m.failedGrowth(kind, out.Call.Group, inVain(out))
		}
	}
}

// removed counts a node that went.
func (m *metrics) removed(why string, group provider.GroupID) {
	gpu := m.gauges.accelerator(group)
	m.scaledDown.WithLabelValues(why, "", gpu, "").Inc()
	m.legacy.removed(why, gpu)
}

// spared counts pods that were to be evicted, and are not.
func (m *metrics) spared(pods int) { m.evicted.WithLabelValues(evictionFailed).Add(float64(pods)) }

// inVain is how many nodes a scale-up that failed will not bring. Where that is
// unknown, it is none: what does not arrive is counted when it is given up.
func inVain(out model.Outcome) int {
	switch {
	case out.Target >= out.Call.From && out.Target > 0:
		return max(0, out.Call.To-out.Target)
	case out.Err.MayHaveHappened:
		return 0
	}
	return out.Call.To - out.Call.From
}

// errorType is the Cluster Autoscaler's word for a call's error.
func errorType(out model.Outcome) string {
	switch out.Call.Verb {
	case model.Grow, model.Cancel, model.Remove:
		return errorTypeOf(out.Err.Kind)
	}
	return "apiCallError"
}

// errorTypeOf is its word for a cloud's error.
func errorTypeOf(k provider.Kind) string {
	switch k {
	case provider.NotFound:
		return "nodeGroupDoesNotExistError"
	case provider.BadConfig, provider.Unsupported:
		return "configurationError"
	case provider.Transient, provider.Unavailable, provider.Throttled, provider.Conflict:
		return "transientError"
	default:
		return "cloudProviderError"
	}
}

// apiCallFailed counts a request to the API server that failed.
func (m *metrics) apiCallFailed() { m.errors.WithLabelValues("apiCallError").Inc() }

// readFailed counts a read of the cloud that failed.
func (m *metrics) readFailed(err error) {
	m.errors.WithLabelValues(errorTypeOf(provider.AsError(provider.OpInventory, "", err).Kind)).Inc()
}

// decided takes in a cycle that decided, of a process that has led since a time.
func (m *metrics) decided(c model.Cycle, led time.Time, diverged int) {
	m.gauges.set(cycle{Cycle: c, led: led, perGroup: m.perGroup})
	m.divergence.Add(float64(diverged))
	m.legacy.decided(c.Plan)
	m.decide.Observe(c.Took.Decide.Seconds())
	w := c.Plan.Work
	for kind, n := range map[string]int{
		"filter": w.Filters, "prefilter": w.PreFilters, "node_scanned": w.NodesScanned, "option": w.Options,
	} {
		m.work.WithLabelValues(kind).Add(float64(n))
	}
	now := float64(c.Snapshot.Now.Unix())
	if len(c.Plan.Pending) > 0 {
		m.lastActivity.WithLabelValues("scaleUp").Set(now)
	}
	if len(c.Plan.Unneeded)+len(c.Plan.Kept) > 0 {
		m.lastActivity.WithLabelValues("scaleDown").Set(now)
	}
}

// cycled takes in that there was a cycle.
func (m *metrics) cycled(now time.Time, c model.Cycle) {
	for _, activity := range []string{"main", "mainSuccessful"} {
		m.lastActivity.WithLabelValues(activity).Set(float64(now.Unix()))
	}
	m.durations.WithLabelValues("main").Observe((c.Took.Observe + c.Took.Decide).Seconds())
	m.durations.WithLabelValues("updateClusterState").Observe(c.Took.Observe.Seconds())
	switch {
	case c.Recheck == nil:
	case len(c.Recheck.Differs) > 0:
		m.rechecks.WithLabelValues(recheckDiffers).Inc()
	default:
		m.rechecks.WithLabelValues(recheckSame).Inc()
	}
	switch {
	case c.Replay == nil:
		return
	case c.Replay.Refused != nil:
		m.replays.WithLabelValues(replayRefused).Inc()
	case c.Replay.Ended:
		m.replays.WithLabelValues(replayAllowed).Inc()
	default:
		m.replays.WithLabelValues(replayUnfinished).Inc()
	}
	m.work.WithLabelValues("replay").Add(float64(c.Replay.Steps))
}

// failed takes in that a cycle failed.
func (m *metrics) failed(now time.Time) {
	m.lastActivity.WithLabelValues("main").Set(float64(now.Unix()))
	m.errors.WithLabelValues("internalError").Inc()
}
