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

// Settings are what the operator may choose, and the limits that are shown
// beside the cluster's size.
type Settings struct {
	// Namespace and StatusConfigMap name the status ConfigMap, which events about
	// the cluster and its groups are about as well.
	Namespace       string
	StatusConfigMap string
	// StatusInterval is how often the ConfigMap is written though nothing but
	// times has changed.
	StatusInterval time.Duration
	// PerGroupMetrics adds metrics for each node group; DuplicatedEvents lets
	// an event through that repeats within five minutes.
	PerGroupMetrics  bool
	DuplicatedEvents bool
	Health           HealthLimits
	Policy           model.Policy
	// Observe: nobody carries out the plans. What is told is what would be done.
	Observe bool
}

// Reporter tells. Report and Failed belong to the loop's goroutine; everything
// else may be called from any.
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
	standing standing        // the healths as last told
	promises promises
	// documents are the notices of the last plan.
	documents []provider.Notice
	removals  removals
	told      map[string]string // class key → what was last told of it
	kept      map[keptKey]bool  // what is given up and stays, as last told
	failing   string            // the error last told by Failed
	noticed   []provider.Notice // the plan's notices as last told
}

// New gives a reporter. recorder takes the events and must not block; it may be
// the one of NewRecorder, or of Silent. Where the plans are only observed, it takes
// what would be done and no other event.
func New(recorder record.EventRecorder, s Settings, log *slog.Logger) *Reporter {
	r := &Reporter{
		settings: s,
		log:      log,
		events:   newEvents(recorder, s),
		metrics:  newMetrics(s),
		health:   NewHealth(s.Health),
		standing: standing{groups: map[provider.GroupID]model.Reason{}},
		promises: promises{},
		removals: newRemovals(),
		told:     map[string]string{},
		kept:     map[keptKey]bool{},
	}
	if s.Observe {
		r.events = newEvents(Silent(), s)
		r.shadow = newObserving(recorder, s, r.metrics.registry, log)
	}
	return r
}

// Report tells of one cycle. It waits for nothing, and never fails: what cannot
// be told is dropped.
func (r *Reporter) Report(ctx context.Context, c model.Cycle) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if r.failing != "" {
		r.log.Info("cycles succeed again")
		r.failing = ""
	}
	// 0. What is only observed is told as that, and all else as if there were no call.
	if r.shadow != nil {
		c = r.shadow.told(now, c)
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
		r.tellPending(now, c)
		r.tellKept(c.Plan.Repair)
	}
	r.events.noticed(now, slices.Concat(c.Snapshot.Notices, r.documents))
	// 4. How all of it stands, and what must survive a restart.
	if r.writer != nil {
		r.document = r.stated(status.Of(now, c, r.document))
		r.writer.offer(r.document, &c.Memory)
	}
	// 5. That there was a cycle.
	r.metrics.cycled(now, c)
	r.health.Succeeded(now)
	return nil
}

// stated is a document that says whether the plans are carried out.
func (r *Reporter) stated(d status.Document) status.Document {
	if r.shadow == nil {
		return d
	}
	return d.Observed()
}

// Failed tells of a turn of the loop that failed. The same error is logged
// once, until a cycle succeeds or it changes.
func (r *Reporter) Failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.metrics.failed(now)
	r.health.Failed(now, err)
	if err.Error() != r.failing {
		r.failing = err.Error()
		r.log.Warn("a cycle failed, it is tried again", "err", err)
	}
}

// ReadFailed tells of a read of the cloud that failed. It may be called from any
// goroutine; who reads logs of it.
func (r *Reporter) ReadFailed(err error) { r.metrics.readFailed(err) }

// Health gives the health of the loop, for the host to say when it leads.
func (r *Reporter) Health() *Health { return r.health }

// Registry takes further metrics: those of providers and clients.
func (r *Reporter) Registry() prometheus.Registerer { return r.metrics.registry }
