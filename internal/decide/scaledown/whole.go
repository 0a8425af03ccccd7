package scaledown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/repair"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is about groups whose nodes go together or not at all: those that are
// either at their maximum or at zero, and those in which the cloud chooses who goes.

// acceptWhole commits the candidates of each such group if all of its nodes are
// among them and can go together, and says of each why not.
func (f *finder) acceptWhole(m *mover, list []*candidate) {
	members := map[int][]*candidate{}
	for _, c := range list {
		if g := f.Snapshot.Nodes[c.node].Group; f.Snapshot.Groups[g].GoesWhole() {
			members[g] = append(members[g], c)
		}
	}
	for _, g := range slices.Sorted(maps.Keys(members)) {
		why := f.whole(g, members[g])
		if why == nil && m.enough {
			why = m.moveAll(members[g])
		}
		for _, c := range members[g] {
			switch {
			case !m.enough:
				f.postpone(c)
			case why != nil:
				f.keep(c.node, *why)
			default:
				f.take(c)
			}
		}
	}
}

// whole tells what keeps a group from going as a whole, as far as its nodes
// themselves tell.
func (f *finder) whole(group int, members []*candidate) *model.Verdict {
	s, g := f.Snapshot, &f.Snapshot.Groups[group]
	all := map[model.NodeID]bool{}
	for _, c := range members {
		all[c.node] = true
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Group != group || all[model.NodeID(i)] {
			continue
		}
		reason := f.verdicts[i].Reason
		if n.Kind == model.Coming {
			reason = model.TargetNotReached
		}
		return gate.OneStays(n.Name, string(reason))
	}
	if w := f.minimums.weight(members); f.minimums.cores < w.MilliCPU || f.minimums.memory < w.Memory {
		return &model.Verdict{Reason: model.MinimalResourceLimit,
			Detail: "the group goes as a whole, and the cluster would have less than --cores-total's or " +
				"--memory-total's minimum"}
	}
	if over := f.minimums.groups[group]; over < len(members) {
		return &model.Verdict{Reason: model.GroupAtMin,
			Detail: fmt.Sprintf("min %d, and the group goes as a whole", g.Min), Fix: "a minimum of 0"}
	}
	if left, ok := f.minimums.pools[g.Pool]; ok && left < len(members) {
		return &model.Verdict{Reason: model.PoolAtMin,
			Detail: fmt.Sprintf("pool %s, and the group goes as a whole", g.Pool), Fix: "a lower minimum of the pool"}
	}
	return nil
}

// Unlisted is how old a node must be for a cloud that chooses who goes to have listed its
// machine, if it is one of its group: infrastructure providers look at their clouds every
// ten minutes at the latest, and are read after that. Nodes that are drained wait as long for
// what could end with them.
const Unlisted = 20 * time.Minute

// Unnamed says what would end with the nodes of a group though no removal names it, since the
// cloud chooses which machines go: a machine without a node, or a node that registered a
// short while ago and belongs to no known instance. It may be a machine of the group that the
// cloud does not list yet, with pods. We err to waiting.
func Unnamed(s *model.Snapshot, g *model.Group) *model.Verdict {
	if !g.CloudChooses {
		return nil
	}
	if len(g.Waiting) > 0 {
		return gate.Whole(fmt.Sprintf("its machine %s has no node", g.Waiting[0].Instance),
			"it registers, or a person ends it")
	}
	var youngest *model.Node
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Group >= 0 || n.Object == nil || !n.Object.CreationTimestamp.Add(Unlisted).After(s.Now) ||
			!repair.CouldBe(g, n.Object) {
			continue
		}
		if youngest == nil || youngest.Object.CreationTimestamp.Before(&n.Object.CreationTimestamp) {
			youngest = n
		}
	}
	if youngest == nil {
		return nil
	}
	v := gate.Whole(fmt.Sprintf("node %s, which came less than %s ago and is in no group, may be one of it",
		youngest.Name, Unlisted), "time, or the group lists it")
	v.Until = youngest.Object.CreationTimestamp.Add(Unlisted)
	return v
}

// moveAll commits all members, or none.
func (m *mover) moveAll(members []*candidate) *model.Verdict {
	mark := m.moves.Mark()
	budgets, receivers := m.Room.Budgets.Clone(), maps.Clone(m.receivers)
	for _, c := range members {
		m.moves.Exclude(c.node) // none of them takes the pods of another
	}
	for _, c := range members {
		why := m.move(c)
		if why == nil && m.enough {
			continue
		}
		if !m.enough {
			m.resume = m.Snapshot.Nodes[c.node].Name
		}
		m.moves.Undo(mark)
		copy(m.Room.Budgets, budgets)
		m.receivers = receivers
		if why != nil {
			why = gate.OneStays(m.Snapshot.Nodes[c.node].Name, fmt.Sprintf("%s (%s)", why.Reason, why.Detail))
		}
		return why
	}
	return nil
}

// beginWhole starts the removal of whole groups.
func (f *finder) beginWhole(b *starts, now *present, begun []Start) []Start {
	members := map[int][]*candidate{}
	for _, c := range f.accepted {
		if g := f.Snapshot.Nodes[c.node].Group; f.Snapshot.Groups[g].GoesWhole() {
			members[g] = append(members[g], c)
		}
	}
	for _, g := range slices.Sorted(maps.Keys(members)) {
		why, at := f.obstacle(b, now, members[g], begun)
		others := why
		if at != nil {
			others = gate.OneStays(f.Snapshot.Nodes[at.node].Name, string(why.Reason))
			others.Until = why.Until
		}
		for _, c := range members[g] {
			v := why
			if at != nil && c != at {
				v = cmp.Or(b.blocked(c, f.since(c)), others)
			}
			begun = f.settle(b, c, v, begun)
		}
	}
	return begun
}

// obstacle says what keeps a whole group for now, and at which of its nodes it is, nil if at none in particular. A
// group that is larger than the limits on what runs at a time goes when nothing else does, unless a limit lets nothing
// like it go at all.
func (f *finder) obstacle(
	b *starts, now *present, members []*candidate, begun []Start,
) (why *model.Verdict, at *candidate) {
	for _, c := range members {
		if why := b.blocked(c, f.since(c)); why != nil {
			return why, c
		}
	}
	if why := Unnamed(f.Snapshot, &f.Snapshot.Groups[f.Snapshot.Nodes[members[0].node].Group]); why != nil {
		return why, nil
	}
	if w := b.weight(members); b.cores < w.MilliCPU || b.memory < w.Memory {
		return &model.Verdict{Reason: model.MinimalResourceLimit, Detail: "the group goes as a whole"}, nil
	}
	if why := b.unhealthyWithout(members); why != nil {
		return why, nil
	}
	if why, at := b.crowded(members, len(begun) > 0); why != nil {
		return why, at
	}
	if why := b.overBudget(members); why != nil {
		return why, nil
	}
	if why, pod := lastOf(b.Room, b.serving(members)); why != nil {
		return why, members[slices.IndexFunc(members, func(c *candidate) bool { return slices.Contains(c.moving, pod) })]
	}
	return now.leave(members, begun)
}

// crowded says which limit on removals at a time keeps a whole group, and at which node with pods.
func (b *starts) crowded(members []*candidate, others bool) (why *model.Verdict, at *candidate) {
	occupied := members[0]
	if i := slices.IndexFunc(members, func(c *candidate) bool { return !c.empty() }); i >= 0 {
		occupied = members[i]
	}
	if b.open == 0 && !others && !b.never(occupied) {
		return nil, nil
	}
	if why = b.tooMany(occupied, len(members)); why != nil && why.Reason == model.MaxDrainsReached {
		at = occupied
	}
	return why, at
}

// serving are the pods that leave ready nodes when a group goes: it stays with the last ones of a controller while
// another of it has no node. Of those without one that waits the last waits in the drain itself.
func (b *starts) serving(members []*candidate) (leaving []*model.Pod) {
	for _, c := range members {
		if b.Snapshot.Nodes[c.node].Kind == model.Ready {
			leaving = append(leaving, c.moving...)
		}
	}
	return leaving
}
