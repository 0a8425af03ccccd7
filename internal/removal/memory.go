package removal

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// What is remembered of removals is bounded, since the object that keeps it is. A drain
// that is not remembered is taken back after a restart.
const (
	mostDrains = 50
	// mostPods is how many pods are remembered of all drains together: they are named by
	// UIDs, which no compression makes shorter.
	mostPods = 1000
	// mostDisplaced is how many controllers of evicted pods are remembered, and
	// mostFailures how many nodes whose removal failed.
	mostDisplaced = 200
	mostFailures  = 200
)

// Remember writes into a memory what a later leader must know of all removals.
func Remember(m *model.Memory, nodes map[string]model.NodeStanding, displaced map[types.UID]model.Displaced) {
	for name, n := range nodes {
		if n.Drain != nil {
			if d, ok := remembered(*n.Drain); ok {
				m.Drains = append(m.Drains, d)
			}
		}
		if !n.Failed.At.IsZero() {
			if m.Failures == nil {
				m.Failures = map[string]model.Failure{}
			}
			m.Failures[name] = n.Failed
		}
	}
	m.Drains = bounded(m.Drains)
	// Of too many failures, those with the longest rests; of too many controllers, those of
	// the last evictions.
	m.Failures = firstOfMap(m.Failures, mostFailures, func(a, b model.Failure) int { return b.Until().Compare(a.Until()) })
	m.Displaced = firstOfMap(displaced, mostDisplaced, func(a, b model.Displaced) int { return b.Last.Compare(a.Last) })
}

// firstOfMap is a copy of a map with as many entries at most as are said, the first by an
// order and then by key; nil if there are none.
func firstOfMap[K cmp.Ordered, V any](all map[K]V, most int, order func(a, b V) int) map[K]V {
	if len(all) == 0 {
		return nil
	}
	out := maps.Clone(all)
	if len(all) <= most {
		return out
	}
	keys := slices.SortedFunc(maps.Keys(all), func(a, b K) int { return cmp.Or(order(all[a], all[b]), cmp.Compare(a, b)) })
	for _, k := range keys[most:] {
		delete(out, k)
	}
	return out
}

// remembered is what a later leader must know of a drain. The taint alone says enough of
// an empty node. Of a node whose taint is being written nothing is lost if it is given
// back. To cordon a node twice does no harm, so that of a cordon under way only its
// beginning is remembered.
func remembered(d model.Drain) (model.Drain, bool) {
	if !d.Occupied {
		return d, false
	}
	for i := range d.Evictions {
		switch e := &d.Evictions[i]; {
		case e.Granted || e.Busy && e.Why == "":
			d.Moved = model.Latest(d.Moved, e.Last)
		case e.Why != "" && (d.Refused.IsZero() || e.First.Before(d.Refused)):
			d.Refused = e.First
		}
	}
	d.Evictions, d.Before = nil, nil
	next, _ := Advance(&d, noted{})
	if next == nil {
		return d, false
	}
	return *next, true
}

// noted: a removal is written into a memory.
type noted struct{}

func (noted) on(a *advance) {
	if !a.step(remembering) {
		a.drain = nil // a memory that no leader has written has such a stage
	}
}

// bounded keeps as many drains as may be remembered, first those whose pods have begun to
// leave; sorted by node.
func bounded(drains []model.Drain) []model.Drain {
	waits := func(d *model.Drain) int {
		if d.Stage == model.Tainted {
			return 1
		}
		return 0
	}
	slices.SortFunc(drains, func(a, b model.Drain) int { return cmp.Or(waits(&a)-waits(&b), cmp.Compare(a.Node, b.Node)) })
	kept, pods := drains[:0], 0
	for _, d := range drains {
		if len(kept) < mostDrains && pods+len(d.Pods) <= mostPods {
			kept, pods = append(kept, d), pods+len(d.Pods)
		}
	}
	slices.SortFunc(kept, func(a, b model.Drain) int { return cmp.Compare(a.Node, b.Node) })
	return kept
}

// Recalled are the drains of a memory, without those that no leader would have written.
func Recalled(m *model.Memory) []model.Drain {
	var out []model.Drain
	for _, d := range m.Drains {
		if d, ok := remembered(d); ok && d.Node != "" && (d.Stage != model.Removing || d.Instance != "") {
			out = append(out, d)
		}
	}
	return out
}

// Mended is what was remembered of a node's removals at the first look: times that cannot
// be are put right, and we err to waiting longer.
func Mended(n model.NodeStanding, now time.Time) model.NodeStanding {
	if n.Drain != nil {
		d := *n.Drain
		d.Since, d.Began = model.Earlier(d.Since, now), model.Earlier(d.Began, now)
		d.NotBefore = model.Earlier(d.NotBefore, now.Add(retry))
		d.Refused, d.Moved = model.Earlier(d.Refused, now), model.Earlier(d.Moved, now)
		n.Drain = &d
	}
	n.Failed.At, n.Failed.Rest = model.Earlier(n.Failed.At, now), min(max(n.Failed.Rest, 0), mostNodeRest)
	return n
}

// MendDisplaced does the same with the controllers of evicted pods.
func MendDisplaced(all map[types.UID]model.Displaced, now time.Time) {
	for owner, d := range all {
		for _, at := range []*time.Time{&d.First, &d.Last, &d.Again, &d.Resting, &d.Settled} {
			*at = model.Earlier(*at, now)
		}
		d.Known = model.Earlier(d.Known, now.Add(known))
		all[owner] = d
	}
}
