package report

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Settings are the operator's, and the limits that are shown beside the cluster's size.
type Settings struct {
	// Namespace and StatusConfigMap name the status ConfigMap. Events on the cluster and its groups
	// are attached to it as well.
	Namespace       string
	StatusConfigMap string
	// StatusInterval is how often the ConfigMap is written when only times have changed.
	StatusInterval time.Duration
	// PerGroupMetrics adds metrics for each node group; DuplicatedEvents lets
	// an event through that repeats within five minutes.
	PerGroupMetrics  bool
	DuplicatedEvents bool
	Health           HealthLimits
	// Observe: the plans are not carried out. The reports say what would be done.
	Observe bool
}

// Reporter reports cycles. Report and Failed belong to the loop's goroutine; everything else may be
// called from any.
type Reporter struct {
	settings Settings
	log      *slog.Logger
	events   *events
	metrics  *metrics
	health   *Health
	shadow   *observing // nil: the plans are carried out

	mu       sync.Mutex
	writer   *StatusWriter   // nil: the status ConfigMap is not kept
	document status.Document // the last one offered to it
	standing standing        // the healths as last logged
	promises promises
	// documents are the notices of the last plan.
	documents []provider.Notice
	removals  removals
	reported  map[string]string // class key → what was last reported of it
	kept      map[keptKey]bool  // machines that are given up and stay, as last logged
	failing   string            // the error that Failed last logged
	noticed   []provider.Notice // the plan's notices as last sent
}

// New gives a reporter. recorder takes the events and must not block; it may be the one of
// NewRecorder, or of Silent. An observer sends the events of what would be done, and no others.
func New(recorder record.EventRecorder, s Settings, log *slog.Logger) *Reporter {
	r := &Reporter{
		settings: s,
		log:      log,
		events:   newEvents(recorder, s),
		metrics:  newMetrics(s),
		health:   newHealth(s.Health),
		standing: standing{groups: map[provider.GroupID]model.Reason{}},
		promises: promises{},
		removals: newRemovals(),
		reported: map[string]string{},
		kept:     map[keptKey]bool{},
	}
	if s.Observe {
		r.events = newEvents(Silent(), s)
		r.shadow = newObserving(recorder, s, r.metrics.registry, log)
	}
	return r
}

// Report reports one cycle. It waits for nothing, and never fails: what cannot be sent is dropped.
func (r *Reporter) Report(ctx context.Context, c model.Cycle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.failing != "" {
		r.log.Info("cycles succeed again")
		r.failing = ""
	}
	// 0. An observer reports what would be done, and then the cycle without any call.
	if r.shadow != nil {
		c = r.shadow.news(now, c)
	}
	// 1. Calls that ended.
	for _, out := range c.Ended {
		r.logEnd(out)
		r.events.ended(now, c.Snapshot, out)
		r.metrics.ended(out)
		if out.Call.Verb == model.Remove && out.Call.Node != "" {
			if why := r.removals.ended(c.Snapshot, out.Call); out.Err == nil {
				r.metrics.removed(why, out.Call.Group)
			}
		}
	}
	r.promises.failed(c.Ended, c.Changes)
	// 2. What happened in the registry, and how healthy all of it is.
	for _, ch := range summed(c.Changes) {
		r.logChange(ch)
		r.events.changed(now, ch)
		r.metrics.changed(ch)
	}
	r.logHealth(c.Snapshot)
	r.events.unhealthy(now, c.Snapshot)
	// 3. What was decided.
	if c.Decided {
		r.documents = c.Plan.Notices
		diverged := r.promises.keep(c.Snapshot, c.Plan)
		r.metrics.decided(c, r.health.led(), diverged)
		r.metrics.spared(r.removals.planned(c))
		r.logPlan(ctx, c, diverged)
		r.events.planned(now, c)
		r.logPending(c)
		r.tellKept(c.Plan.Repair)
	}
	r.events.tellPods(now, c)
	r.events.noticed(now, slices.Concat(c.Snapshot.Notices, r.documents))
	// 4. The status, and what must survive a restart.
	if r.writer != nil {
		r.document = r.stated(status.Of(now, c, r.document))
		r.writer.offer(r.document, &c.Memory)
	}
	// 5. The cycle itself.
	if c.Recheck != nil && len(c.Recheck.Differs) > 0 {
		r.log.Error("a decision from nothing differs from one with what was kept of earlier cycles: that is dropped; "+
			"please report it with a dump", "parts", c.Recheck.Differs)
	}
	if c.Replay != nil && c.Replay.Refused != nil {
		no := c.Replay.Refused
		r.log.Error("the scheduler's filters do not allow what a plan had found for a pod: they alone say from now on where "+
			"pods like it may go; please report it with a dump",
			"pod", no.Pod, "node", no.Node, "reason", no.Reason, "said", no.Detail)
	}
	r.metrics.cycled(now, c)
	r.health.Succeeded(now)
	return nil
}

// stated marks the document of an observer as such.
func (r *Reporter) stated(d status.Document) status.Document {
	if r.shadow == nil {
		return d
	}
	return d.Observed()
}

// Failed reports a turn of the loop that failed. The same error is logged once, until a cycle
// succeeds or the error changes.
func (r *Reporter) Failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.metrics.failed(now)
	r.health.Failed(now, err)
	if err.Error() != r.failing {
		r.failing = err.Error()
		r.log.Warn("a cycle failed, and is tried again", "err", err)
	}
}

// ReadFailed counts a failed read of the cloud. It may be called from any goroutine; the reader
// logs the failure.
func (r *Reporter) ReadFailed(err error) { r.metrics.readFailed(err) }

// Health is the health of the loop. The host tells it when it leads.
func (r *Reporter) Health() *Health { return r.health }

// Registry takes further metrics: those of providers and clients.
func (r *Reporter) Registry() prometheus.Registerer { return r.metrics.registry }
