package ledger

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Standing is what the ledger adds to a snapshot. It is frozen: whoever has it
// changes nothing in it, and neither does the ledger.
func (l *Ledger) Standing() model.Standing {
	s := model.Standing{
		Groups: make(map[provider.GroupID]model.GroupStanding, len(l.groups)),
		Nodes:  l.nodes.give(), LastGrowth: l.last.Growth, LastRemoval: l.last.Removal, LastFailure: l.last.Failure,
		FailureWhy: l.last.Why,
		Counts:     l.counts, Others: l.others, Unhealthy: l.unhealthy,
		Brakes: slices.Clone(l.brakes), Arrivals: slices.Clone(l.fold.Arrivals), Resume: l.resume, Unseen: l.unseen,
		Displaced: maps.Clone(l.displaced), Doubts: l.doubts, Strays: maps.Clone(l.strays),
	}
	for id, g := range l.groups {
		if g.Sighted {
			s.Groups[id] = g.Standing(l.inherited)
		}
	}
	for _, g := range l.order {
		if g.Skew != 0 {
			s.Notices = append(s.Notices, provider.Notice{Group: g.ID, Code: "ClockSkewed",
				Message: fmt.Sprintf("the cloud's clock is at least %s ours; "+
					"its times are taken for the nearest that is possible", ahead(g.Skew))})
		}
	}
	for _, c := range l.Open() {
		if !busiesGroup(&c) {
			continue
		}
		for gid, g := range s.Groups {
			// A call on one group of a pool keeps the whole pool busy.
			if gid == c.Group || (c.Pool != "" && l.groups[gid].Pool == c.Pool) {
				g.Busy = &c
				s.Groups[gid] = g
			}
		}
	}
	return s
}

// ahead says which way a clock is off, and how far.
func ahead(skew time.Duration) string {
	if skew > 0 {
		return skew.String() + " ahead of"
	}
	return (-skew).String() + " behind"
}

// busiesGroup tells whether a call changes its group's target. The others are
// writes to one node, or to one pod.
func busiesGroup(c *model.Call) bool {
	return c.Verb == model.Grow || c.Verb == model.Cancel || c.Verb == model.Remove
}

// busiesNode tells whether a call writes to its node. An eviction does not: many
// of one node may be under way.
func busiesNode(c *model.Call) bool { return c.Node != "" && c.Verb != model.Evict }

// standings are those of all nodes that there is something to say of, and in a
// large cluster that is of every node. To copy them for each snapshot would cost
// more than to fold what is seen: they are copied before the first change that
// follows, and not at all where nothing changes.
type standings struct {
	of    map[string]model.NodeStanding
	given bool // somebody else holds the map by now
	// unneeded is how many of them are unneeded since some time.
	unneeded int
	// leaving is how many of them have a drain.
	leaving int
}

func newStandings() *standings { return &standings{of: map[string]model.NodeStanding{}} }

// give hands the map out.
func (s *standings) give() map[string]model.NodeStanding {
	s.given = true
	return s.of
}

// own makes sure that nobody else holds the map.
func (s *standings) own() {
	if s.given {
		s.of, s.given = maps.Clone(s.of), false
	}
}

// put sets a node's standing; an empty one is forgotten.
func (s *standings) put(name string, n model.NodeStanding) {
	was := s.of[name]
	if n == was {
		return
	}
	s.own()
	if !was.UnneededSince.IsZero() {
		s.unneeded--
	}
	if !n.UnneededSince.IsZero() {
		s.unneeded++
	}
	if was.Drain != nil {
		s.leaving--
	}
	if n.Drain != nil {
		s.leaving++
	}
	if n == (model.NodeStanding{}) {
		delete(s.of, name)
		return
	}
	s.of[name] = n
}
