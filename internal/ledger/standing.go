package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Standing is what the ledger adds to a snapshot. It is frozen: neither the ledger nor its
// readers change it.
func (l *Ledger) Standing() model.Standing {
	s := model.Standing{
		Groups: make(map[provider.GroupID]model.GroupStanding, len(l.groups)),
		Nodes:  l.nodes.give(), LastGrowth: l.last.Growth, LastDemand: l.last.Demand,
		LastRemoval: l.last.Removal,
		LastFailure: l.last.Failure, FailureWhy: l.last.Why,
		Counts: l.counts, Others: l.others, Unhealthy: l.unhealthy,
		Brakes: slices.Clone(l.brakes), Arrivals: slices.Clone(l.fold.Arrivals), Resume: l.resume, Unseen: l.unseen,
		Displaced: maps.Clone(l.displaced), Doubts: l.doubts, Strays: maps.Clone(l.strays),
		Moves: model.CopyMoves(l.moves), Exits: slices.Clone(l.exits), Interruptions: slices.Clone(l.interruptions),
	}
	for id, g := range l.groups {
		if g.Sighted {
			s.Groups[id] = g.Standing(l.inherited)
		}
	}
	s.Unread = l.unread()
	for _, g := range l.order {
		if g.Skew != 0 {
			const message = "the cloud's clock is at least %s ours; its times are taken for the nearest that is possible"
			s.Notices = append(s.Notices, provider.Notice{
				Group: g.ID, Code: "ClockSkewed", Message: fmt.Sprintf(message, ahead(g.Skew)),
			})
		}
	}
	for _, c := range l.Open() {
		if g, ok := s.Groups[c.Group]; ok && endsAmiss(c) {
			g.Amiss++
			s.Groups[c.Group] = g
		}
		if !busiesGroup(&c) {
			continue
		}
		for gid, g := range s.Groups {
			if g.Busy != nil && g.Busy.Verb == model.Grow && g.Busy.Group == gid {
				continue // no removal begins in a group that grows, whatever else is under way in it
			}
			// A call on one group of a pool keeps the whole pool busy.
			if gid == c.Group || (c.Pool != "" && l.groups[gid].Pool == c.Pool) {
				g.Busy = &c
				s.Groups[gid] = g
			}
		}
	}
	return s
}

// unread lists what was asked for of groups of which this process has no picture yet, not even an old one.
func (l *Ledger) unread() (out []model.Unread) {
	if len(l.of) == 0 {
		return nil // nothing has been read
	}
	for id, g := range l.groups {
		pictured := func(pg provider.Group) bool { return pg.ID == id && pg.Template != nil }
		if !g.Sighted && !slices.ContainsFunc(l.of, pictured) {
			out = append(out, g.Unread(l.rules, l.folded)...)
		}
	}
	slices.SortFunc(out, func(a, b model.Unread) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), a.Until.Compare(b.Until), slices.Compare(a.For, b.For))
	})
	return out
}

// ahead says which way a clock is off, and how far.
func ahead(skew time.Duration) string {
	if skew > 0 {
		return skew.String() + " ahead of"
	}
	return (-skew).String() + " behind"
}
