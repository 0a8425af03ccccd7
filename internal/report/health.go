package report

import (
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HealthLimits say when the loop is no longer healthy.
type HealthLimits struct {
	// MaxInactivity: no cycle ended for so long. MaxFailingTime: none succeeded
	// for so long. MaxStartupTime: how long the first may take; the largest of
	// the three counts there.
	MaxInactivity, MaxFailingTime, MaxStartupTime time.Duration
}

// Health knows when the loop last did its work. A process that does not lead
// has no loop, and is healthy.
type Health struct {
	limits HealthLimits

	mu      sync.Mutex
	ready   bool
	since   time.Time // when it began to lead, zero while it does not
	active  time.Time
	success time.Time
	err     error
	// A decision under way counts as activity while its steps go on: steps counts
	// them, stepped is how far they were when they last moved, at moved.
	steps   func() int64
	stepped int64
	moved   time.Time
}

// NewHealth gives the health of a process that does not lead yet.
func NewHealth(l HealthLimits) *Health { return &Health{limits: l} }

// Ready says that the cluster has been read: the process can lead, or take over.
func (h *Health) Ready() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ready = true
}

// Leads says that from now on cycles are expected.
func (h *Health) Leads(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = now
}

// Watch lets a decision under way count as activity while its steps, which steps
// counts, go on: to kill one that is large would be to begin it again, for ever.
func (h *Health) Watch(steps func() int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps, h.stepped, h.moved = steps, steps(), time.Time{}
}

// looked takes in how far the decision under way is.
func (h *Health) looked(now time.Time) {
	if h.steps == nil {
		return
	}
	if n := h.steps(); n != h.stepped {
		h.stepped, h.moved = n, now
	}
}

// led is since when it has led, zero if it does not.
func (h *Health) led() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.since
}

// Succeeded says that a cycle did.
func (h *Health) Succeeded(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active, h.success, h.err = now, now, nil
}

// Failed says that a cycle did.
func (h *Health) Failed(now time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active, h.err = now, err
}

// Check tells what is wrong, nil if nothing is.
func (h *Health) Check(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return nil
	}
	h.looked(now)
	further := h.moved
	if h.err != nil {
		further = time.Time{} // cycles that fail get on, and nowhere
	}
	if h.success.IsZero() {
		most := max(h.limits.MaxStartupTime, h.limits.MaxInactivity, h.limits.MaxFailingTime)
		if d := now.Sub(later(further, h.since)); d > most {
			return h.because(fmt.Errorf(
				"no cycle has succeeded since it began to lead, and none has got any further for %s, which is more than %s",
				d.Round(time.Second), most))
		}
		return nil
	}
	// Taking over again begins anew.
	if d := now.Sub(later(h.moved, later(h.active, h.since))); d > h.limits.MaxInactivity {
		return h.because(fmt.Errorf(
			"the last cycle ended, or got any further, %s ago, which is more than --max-inactivity, %s",
			d.Round(time.Second), h.limits.MaxInactivity))
	}
	if d := now.Sub(later(further, later(h.success, h.since))); d > h.limits.MaxFailingTime {
		return h.because(fmt.Errorf(
			"the last cycle that succeeded ended %s ago, which is more than --max-failing-time, %s",
			d.Round(time.Second), h.limits.MaxFailingTime))
	}
	return nil
}

func (h *Health) because(err error) error {
	if h.err == nil {
		return err
	}
	return fmt.Errorf("%w; the last error: %w", err, h.err)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Handler serves /metrics, /health-check, /livez and /readyz.
func (r *Reporter) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(r.metrics.registry,
		promhttp.HandlerOpts{Registry: r.metrics.registry}))
	healthy := func(w http.ResponseWriter, _ *http.Request) {
		if err := r.health.Check(time.Now()); err != nil {
			http.Error(w, "Error: "+err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "OK")
	}
	mux.HandleFunc("GET /health-check", healthy)
	mux.HandleFunc("GET /livez", healthy)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		r.health.mu.Lock()
		ready := r.health.ready
		r.health.mu.Unlock()
		if !ready {
			http.Error(w, "the cluster has not been read in full yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "OK")
	})
	return mux
}
