package reserve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is about controllers whose pods were evicted: which pods they have made
// since, and which of those have no node yet. A pod that came after the eviction
// counts, whatever it came for: we err to waiting.

// arrives is how long after a pod has left its controller may take to make the
// next one. Some do so only then.
const arrives = 10 * time.Second

// made is what one controller has made.
type made struct {
	unplaced []unplaced // oldest first
	youngest int64      // when its youngest pod came to be
	ending   bool       // a pod of it that has a node is being deleted
}

// unplaced is a pod that has no node. At is its place in the snapshot.
type unplaced struct {
	*model.Pod
	at int
}

func (u *unplaced) since() time.Time              { return time.Unix(u.Created, 0) }
func (u *unplaced) name(s *model.Snapshot) string { return nameOf(s, u.Pod) }

// longest is the pod that has waited for longer; of two, the first in the snapshot.
func longest(a, b *unplaced) *unplaced {
	switch {
	case a == nil:
		return b
	case b == nil, a.Created < b.Created, a.Created == b.Created && a.at <= b.at:
		return a
	}
	return b
}

// madeSince finds what controllers have made whose pods were evicted a short while ago.
func madeSince(s *model.Snapshot) map[types.UID]*made {
	all := map[types.UID]*made{}
	for owner := range s.Displaced {
		all[owner] = &made{}
	}
	for i := range s.Nodes {
		if d := s.Nodes[i].Standing.Drain; d != nil {
			for j := range d.Evictions {
				all[d.Evictions[j].Owner] = &made{}
			}
		}
	}
	delete(all, "")
	if len(all) == 0 {
		return nil
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Bound {
			p := &s.Nodes[i].Bound[j]
			if m := all[p.Owner]; m != nil {
				m.youngest = max(m.youngest, p.Created)
				m.ending = m.ending || p.Flags&model.Terminating != 0
			}
		}
	}
	at := 0
	add := func(p *model.Pod) {
		if m := all[p.Owner]; m != nil {
			m.youngest = max(m.youngest, p.Created)
			m.unplaced = append(m.unplaced, unplaced{p, at})
			at++
		}
	}
	for i := range s.Pending {
		for _, p := range s.Pending[i].Pods {
			add(p)
		}
	}
	for _, p := range s.Gated {
		add(p)
	}
	for _, m := range all {
		slices.SortStableFunc(m.unplaced, func(a, b unplaced) int { return cmp.Compare(a.Created, b.Created) })
	}
	return all
}

// waiting is the pod that has waited longest for a node, of those that came after t; nil
// if there is none.
func (m *made) waiting(t time.Time) *unplaced {
	for i := range m.unplaced {
		if model.CameAfter(m.unplaced[i].Created, t) {
			return &m.unplaced[i]
		}
	}
	return nil
}

// lack is what a controller still lacks: a node for a pod that came for an evicted one,
// or that pod itself.
type lack struct {
	// pod has no node; nil where none has come since the last eviction.
	pod   *unplaced
	since time.Time
}

// Lacks says what the controller of a pod lacks, whichever removal its pods were evicted
// for; empty if nothing. To evict more of them would leave fewer to serve, and so on to
// the last.
func (r *Room) Lacks(owner types.UID) string {
	l, ok := r.lacks[owner]
	at := l.since.UTC().Format(time.TimeOnly)
	switch {
	case !ok:
		return ""
	case l.pod == nil:
		return fmt.Sprintf("no pod has come for one that was evicted at %s", at)
	}
	return fmt.Sprintf("pod %s, which came for an evicted one, has had no node since %s", l.pod.name(r.snap), at)
}

// LacksForLong reports whether a controller has a pod that has had no node for longer than a drain waits for one, or
// has made none for as long.
func (r *Room) LacksForLong(owner types.UID) bool {
	l, ok := r.lacks[owner]
	return ok && !r.snap.Now.Before(l.since.Add(model.Patience))
}

// MadeUp are the controllers that have made a pod since the last of theirs was evicted, sorted. The youngest pods go
// first where a controller is scaled down: later, nothing may show that one came.
func (r *Room) MadeUp() (owners []types.UID) {
	for owner, d := range r.snap.Displaced {
		if m := r.made[owner]; m != nil && !d.Last.IsZero() && !d.Came && model.CameAfter(m.youngest, d.Last) {
			owners = append(owners, owner)
		}
	}
	slices.Sort(owners)
	return owners
}

// Replaces reports whether a pod may have come for one that was evicted a short while ago.
func (r *Room) Replaces(p *model.Pod) bool {
	return r.snap.Displaced[p.Owner].CameFor(p.Created)
}

// Unseen names a pod that came for an evicted one and that the scheduler has neither bound nor refused, and says
// since when it is there; empty if there is none. Until it has, it is not known to work: more evicted pods might find
// no node, whatever their controller. Pods that are gated, or that another scheduler is for, do not count: else any
// user who makes pods could hold all removals with them.
func (r *Room) Unseen() (words string, since time.Time) {
	var first *unplaced
	for owner, d := range r.snap.Displaced {
		m := r.made[owner]
		if m == nil || d.First.IsZero() {
			continue
		}
		for i := range m.unplaced {
			p := &m.unplaced[i]
			if p.Flags&(model.Refused|model.Gated) == 0 && model.CameAfter(p.Created, d.First) &&
				r.snap.Contents.Specs[p.Spec].Unsupported == "" {
				first = longest(first, p)
			}
		}
	}
	if first == nil {
		return "", time.Time{}
	}
	return fmt.Sprintf("the scheduler has not looked at pod %s, which came for an evicted one at %s",
		first.name(r.snap), first.since().UTC().Format(time.TimeOnly)), first.since()
}

// lacking finds, of the controllers whose pods were evicted a short while ago, those
// that have not made up for it.
//
// Where no pod has come, the controller may have been scaled down. That looks the same
// as a controller that cannot make pods. Wake is when the next of them has had its time, or has lacked for long.
func lacking(s *model.Snapshot, all map[types.UID]*made) (out map[types.UID]lack, wake time.Time) {
	out = map[types.UID]lack{}
	at := func(due time.Time) {
		if wake.IsZero() || due.Before(wake) {
			wake = due
		}
	}
	for owner, d := range s.Displaced {
		m := all[owner]
		if m == nil || d.First.IsZero() {
			continue
		}
		if pod := m.waiting(d.First); pod != nil {
			out[owner] = lack{pod, pod.since()}
			if long := pod.since().Add(model.Patience); s.Now.Before(long) {
				at(long)
			}
			continue
		}
		if m.ending || d.Came || model.CameAfter(m.youngest, d.Last) {
			continue // some controllers make the next one when the last has ended
		}
		due := d.Last.Add(arrives)
		if !s.Now.Before(due) {
			out[owner], due = lack{since: d.Last}, d.Last.Add(model.Patience)
		}
		if s.Now.Before(due) {
			at(due)
		}
	}
	return out, wake
}

// replacement is the pod that came for one that a removal has evicted and that has no
// node yet, the one that has waited longest; nil if there is none.
func replacement(d *model.Drain, all map[types.UID]*made) (pod *unplaced) {
	for i := range d.Evictions {
		if e := &d.Evictions[i]; all[e.Owner] != nil && (e.Granted || e.Busy) {
			pod = longest(pod, all[e.Owner].waiting(e.First))
		}
	}
	return pod
}

// missing reports whether a pod that is to come for an evicted one is awaited: its
// controller has not made one since, and has had no time to.
func missing(now time.Time, d *model.Drain, all map[types.UID]*made) bool {
	return slices.ContainsFunc(d.Evictions, func(e model.Eviction) bool {
		return all[e.Owner] != nil && !e.Gone.IsZero() && now.Before(e.Gone.Add(arrives)) &&
			!model.CameAfter(all[e.Owner].youngest, e.First)
	})
}
