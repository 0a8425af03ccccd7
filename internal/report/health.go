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
	// MaxInactivity is the longest time without the end of a cycle, MaxFailingTime without a
	// success. MaxStartupTime is for the first cycle; the largest of the three counts there.
	MaxInactivity, MaxFailingTime, MaxStartupTime time.Duration
}

// Health knows when the loop last made progress. A process that does not lead has no loop, and is
// healthy.
type Health struct {
	limits HealthLimits

	mu      sync.Mutex
	ready   bool
	since   time.Time // when it began to lead, zero while it does not
	active  time.Time
	success time.Time
	err     error
	// A decision under way counts as activity while its steps increase: steps counts them, stepped
	// is the last count, which changed at moved.
	steps   func() int64
	stepped int64
	moved   time.Time
}

// newHealth gives the health of a process that does not lead yet.
func newHealth(l HealthLimits) *Health { return &Health{limits: l} }

// Ready notes that the cluster has been read: the process can lead, or take over.
func (h *Health) Ready() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ready = true
}

// Leads notes that cycles are expected from now on.
func (h *Health) Leads(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since = now
}

// Watch lets a decision under way count as activity while the count of its steps increases: to kill
// a process over a large decision would repeat the decision for ever.
func (h *Health) Watch(steps func() int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.steps, h.stepped, h.moved = steps, steps(), time.Time{}
}

// progressed notes the progress of the decision under way.
func (h *Health) progressed(now time.Time) {
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

// Succeeded notes a cycle that succeeded.
func (h *Health) Succeeded(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active, h.success, h.err = now, now, nil
}

// Failed notes a cycle that failed.
func (h *Health) Failed(now time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.active, h.err = now, err
}

// Check returns what is wrong, nil if the loop is healthy.
func (h *Health) Check(now time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since.IsZero() {
		return nil
	}
	h.progressed(now)
	further := h.moved
	if h.err != nil {
		further = time.Time{} // failing cycles make no progress
	}
	if h.success.IsZero() {
		most := max(h.limits.MaxStartupTime, h.limits.MaxInactivity, h.limits.MaxFailingTime)
		if d := now.Sub(later(further, h.since)); d > most {
			return h.because(fmt.Errorf(
				"no cycle has succeeded since it began to lead, and none has made progress for %s, which is more than %s",
				d.Round(time.Second), most))
		}
		return nil
	}
	// A process that leads again starts with its startup time.
	if d := now.Sub(later(h.moved, later(h.active, h.since))); d > h.limits.MaxInactivity {
		return h.because(fmt.Errorf(
			"the last cycle ended, or made progress, %s ago, which is more than --max-inactivity, %s",
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
