package sim

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/config"
)

// This file is the faults of the API server as Plimsoll reaches it. Random worlds draw them from a
// stream of their own.
const (
	// Nothing is answered, and no change comes through. A leader that cannot renew its lease ends.
	apiDown What = "api=down"
	// Requests take up to half a minute longer.
	apiSlow What = "api=slow"
	// Reads are answered from an older state; every says how old it is.
	apiStale What = "api=stale"
	// Another client writes a node right before Plimsoll does.
	apiConflict What = "api=conflict"
)

// apiKinds are the faults of this file.
var apiKinds = []What{apiDown, apiSlow, apiStale, apiConflict}

// lease is how a process leads.
var lease = config.Defaults().Leader

// apiFails is the beginning of one of these faults.
func (w *world) apiFails(f *fault) {
	switch f.What {
	case apiDown:
		leads := w.leader
		w.after(lease.RenewDeadline, func() {
			if f.on && leads != nil && w.leader == leads {
				w.log.say("the lease cannot be renewed")
				w.Crash(0)
			}
		})
	case apiStale:
		if w.stale == nil {
			w.stale = newWatch(w, Span{f.Every, f.Every}, 0, func() {}, func() bool { return false })
		}
	}
}

// apiMends is the end of one of these faults.
func (w *world) apiMends(f *fault) {
	switch {
	case w.suffers(f.What) != nil:
	case f.What == apiDown && w.leader != nil:
		w.leader.watch.catchUp()
	case f.What == apiStale:
		w.stale.closed = true
		w.stale = nil
	}
}

// elect has a process lead if none does, as soon as the API server can be reached.
func (w *world) elect() {
	switch {
	case w.leader != nil:
	case w.suffers(apiDown) != nil:
		w.after(lease.RetryPeriod, w.elect)
	default:
		w.lead()
	}
}

// unreachable sends a request to an API server that is down: it is refused at once, or never answered.
func (w *world) unreachable(from deadline) error {
	if w.dice.api.IntN(2) == 0 {
		return from.send(request{lost: true})
	}
	if err := from.send(request{took: time.Millisecond}); err != nil {
		return err
	}
	return fmt.Errorf("dial tcp 10.96.0.1:443: connect: connection refused")
}

// delayed is how long a request takes that meets an API server that is slow.
func (w *world) delayed(took time.Duration) time.Duration {
	if w.meets(apiSlow, nil, "") != nil {
		took += Span{time.Second, 30 * time.Second}.draw(w.dice.api)
	}
	return took
}

// served is what a read is answered from.
func (w *world) served() *view {
	if w.stale != nil && w.meets(apiStale, nil, "") != nil {
		return w.stale.seen
	}
	return w.truth
}

// others write a node, for all that can be seen of it by its version alone, if a fault says so.
func (w *world) others(old *corev1.Node) *corev1.Node {
	own, zone := w.groupOf(old.Name), ""
	if own != nil {
		zone = zoneOf(own)
	}
	if w.meets(apiConflict, own, zone) == nil {
		return old
	}
	return w.putNode(old.DeepCopy())
}
