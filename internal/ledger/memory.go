package ledger

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/growth"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/move"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Memory is what a later ledger must know to go on where this one stands.
func (l *Ledger) Memory() model.Memory {
	m := model.Memory{
		Brakes: slices.Clone(l.brakes), Arrivals: slices.Clone(l.fold.Arrivals),
		LastGrowth: l.last.Growth, LastDemand: l.last.Demand,
		LastRemoval: l.last.Removal, LastFailure: l.last.Failure,
		Interruptions: slices.Clone(l.interruptions),
		Resume:        l.resume, Strays: firstStrays(l.strays), Moves: model.CopyMoves(l.moves), Exits: slices.Clone(l.exits),
	}
	for _, id := range slices.Sorted(maps.Keys(l.groups)) {
		l.groups[id].Remember(&m)
	}
	l.underWay(&m)
	m.Unneeded = l.nodes.times()
	removal.Remember(&m, l.nodes.of, l.displaced)
	return m
}

// firstStrays lists the strays that are remembered: of too many, the first by name.
func firstStrays(all map[string]provider.GroupID) map[string]provider.GroupID {
	if len(all) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(all))
	out := map[string]provider.GroupID{}
	for _, n := range names[:min(len(names), mostStrays)] {
		out[n] = all[n]
	}
	return out
}

// mostStrays is how many nodes are remembered whose instance is no longer listed.
const mostStrays = 200

// Restore gives a ledger that knows what an earlier one remembered.
func Restore(rules model.Rules, m model.Memory) *Ledger {
	last := growth.Lasts{Growth: m.LastGrowth, Demand: m.LastDemand, Removal: m.LastRemoval, Failure: m.LastFailure}
	l := &Ledger{
		rules: rules, groups: map[provider.GroupID]*growth.Group{}, calls: map[string]model.Call{}, nodes: newStandings(),
		timed: map[string]bool{}, homes: model.NewHomes(0, nil),
		brakes: slices.Clone(m.Brakes), resume: m.Resume, written: m.Written, last: last, inherited: last,
		moves: model.CopyMoves(m.Moves), exits: slices.Clone(m.Exits), interruptions: slices.Clone(m.Interruptions),
		displaced: map[types.UID]model.Displaced{}, strays: map[string]provider.GroupID{},
	}
	l.fold = growth.Fold{
		Rules: rules, Calls: l.calls, Strays: l.strays, Arrivals: slices.Clone(m.Arrivals),
		Inherited: !m.Written.IsZero() && !m.Closed,
	}
	maps.Copy(l.displaced, m.Displaced)
	maps.Copy(l.strays, m.Strays)
	growth.Restore(m, l.group)
	for name, since := range m.Unneeded {
		l.nodes.put(name, model.NodeStanding{UnneededSince: since})
	}
	for name, f := range m.Failures {
		n := l.nodes.of[name]
		n.Failed = f
		l.nodes.put(name, n)
	}
	for _, d := range removal.Recalled(&m) {
		n := l.nodes.of[d.Node]
		n.Drain = &d
		l.nodes.put(d.Node, n)
	}
	return l
}

// gap is how old a memory may be for its times to count in full: in the meantime unneeded nodes may have been
// needed, and nothing looked at what is waited for.
const gap = 2 * time.Minute

// trust corrects, at the first observation, times in the memory that cannot be. We err to
// waiting longer.
func (l *Ledger) trust(seen *model.Observation) {
	now := seen.Now
	late, alone := !l.written.IsZero() && now.Sub(l.written) > gap, time.Duration(0)
	if late {
		alone = now.Sub(l.written)
	}
	for name, n := range l.nodes.of {
		if late || n.UnneededSince.After(now) {
			n.UnneededSince = time.Time{}
		}
		l.nodes.put(name, removal.Mended(n, now))
	}
	for i := range seen.Nodes {
		object := seen.Nodes[i].Object
		n := l.nodes.of[object.Name]
		if !n.UnneededSince.IsZero() && !l.written.IsZero() &&
			!model.ReadinessChanged(object).Before(l.written.Add(-time.Second)) {
			n.UnneededSince = time.Time{} // it has turned ready since then, or stopped to be
			l.nodes.put(object.Name, n)
		}
	}
	for _, g := range l.groups {
		g.Trust(l.rules, now, alone)
	}
	removal.MendDisplaced(l.displaced, now)
	l.moves = move.Mended(l.moves, now)
	for i := range l.exits {
		l.exits[i].At = model.Earlier(l.exits[i].At, now)
	}
	for i := range l.interruptions {
		l.interruptions[i].At = model.Earlier(l.interruptions[i].At, now)
	}
	l.last.Trust(now, alone)
	l.inherited.Trust(now, alone)
}
