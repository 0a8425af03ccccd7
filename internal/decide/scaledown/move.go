package scaledown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// mover commits candidates to the world.
type mover struct {
	*finder
	world  *schedsim.Mover
	enough bool
	// untried: no node's pods have been moved, or tried to, so far.
	untried bool
	resume  string
	// guests are the nodes that pods of others were moved to.
	guests map[model.NodeID]bool
}

// hosts are the nodes that pods may be moved to, in the order in which they are
// tried. They go to nodes that stay, the fullest first, and only then to candidates,
// the last that would go first: each that takes a pod is needed from then on. Nodes
// that are not ready yet come last.
func hosts(s *model.Snapshot, candidates []candidate) []model.NodeID {
	rank := make(map[model.NodeID]int, len(candidates))
	for i := range candidates {
		rank[candidates[i].node] = i + 1
	}
	type host struct {
		id   model.NodeID
		kind model.NodeKind
		rank int
		free int64
	}
	var list []host
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Kind != model.Ready && n.Kind != model.Booting && n.Kind != model.Coming {
			continue
		}
		id := model.NodeID(i)
		list = append(list, host{id, n.Kind, rank[id], free(s, n)})
	}
	slices.SortStableFunc(list, func(a, b host) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), compareBool(a.rank > 0, b.rank > 0), -cmp.Compare(a.rank, b.rank), cmp.Compare(a.free, b.free))
	})
	order := make([]model.NodeID, len(list))
	for i := range list {
		order[i] = list[i].id
	}
	return order
}

// Rooms are the nodes that pods of open drains may go to: those that are ready, the
// fullest first. One on its way may never come.
func Rooms(s *model.Snapshot) []model.NodeID { return ready(s, hosts(s, nil)) }

func ready(s *model.Snapshot, list []model.NodeID) []model.NodeID {
	return slices.DeleteFunc(list, func(id model.NodeID) bool { return s.Nodes[id].Kind != model.Ready })
}

// free is how much CPU a node has left, in thousandths.
func free(s *model.Snapshot, n *model.Node) int64 {
	left := s.Contents.Shapes[n.Shape].Allocatable.MilliCPU
	for _, b := range n.Batches {
		left -= s.Classes[b.Class].Spec.Requests.MilliCPU * int64(b.Count)
	}
	return left
}

// place moves the pods of drafts to nodes that are ready. It returns those that stay,
// with why; nil where the steps did not suffice. One that is refused is tried again when
// others have been moved: the order in which they come decides nothing. Guests gets the
// nodes that pods were moved to.
func place(s *model.Snapshot, m *schedsim.Mover, list []Draft, guests map[model.NodeID]bool) (stay map[model.NodeID]*model.Verdict) {
	stay = map[model.NodeID]*model.Verdict{}
	for again := true; again; {
		left := list[:0:0]
		for _, d := range list {
			puts, stuck, enough := m.Move(d.Node, Batches(s, d.Moving))
			for _, put := range puts {
				guests[put.Node] = true
			}
			switch {
			case !enough:
				stay[d.Node] = nil
			case stuck != nil:
				stay[d.Node], left = NoPlace(s, d.Moving, stuck), append(left, d)
			default:
				delete(stay, d.Node)
			}
		}
		again = len(left) > 0 && len(left) < len(list)
		list = left
	}
	return stay
}

// ground is the world as it will be if nothing more goes than what has begun, and
// nothing comes. Pods of nodes that are unneeded and stay for now may be the company
// that others need, and nodes on their way the room.
type ground struct {
	*finder
	mover  *schedsim.Mover // nil until it is needed
	mark   schedsim.Mark
	order  []model.NodeID
	guests map[model.NodeID]bool
}

// stand takes the world back to before candidates were accepted, and lets go what has
// begun: the question about the next one is then the one that is asked when it is
// tainted.
func (g *ground) stand(begun []Start) {
	if g.mover != nil {
		return
	}
	g.World.Undo(g.mark)
	g.guests = map[model.NodeID]bool{}
	g.mover = g.World.Mover(ready(g.Snapshot, slices.Clone(g.order)), g.Policy.ScaleDown.StepLimit)
	place(g.Snapshot, g.mover, g.Drafts, g.guests)
	for i := range begun {
		g.mover.Exclude(begun[i].Node) // all of these are empty: else it had been needed
	}
}

// leave lets some candidates go together, or says why they cannot by themselves.
func (g *ground) leave(list []*candidate, begun []Start) *model.Verdict {
	if g.mover == nil && !slices.ContainsFunc(list, func(c *candidate) bool { return !c.empty() }) {
		return nil
	}
	for _, c := range list {
		if why := g.companyMoves(c); why != nil {
			return why
		}
	}
	g.stand(begun)
	mark := g.mover.Mark()
	for _, c := range list {
		g.mover.Exclude(c.node)
	}
	guests := maps.Clone(g.guests)
	var why *model.Verdict
	for _, c := range list {
		if guests[c.node] {
			why = movedThere()
			break
		}
		puts, stuck, enough := g.mover.Move(c.node, Batches(g.Snapshot, c.housed))
		for _, put := range puts {
			guests[put.Node] = true
		}
		if !enough {
			why = tooFewSteps(g.Policy.ScaleDown)
			break
		}
		if stuck != nil {
			why = NoPlace(g.Snapshot, c.housed, stuck)
			why.Detail = "not yet: " + why.Detail
			why.Fix = "nodes on their way are ready, or other unneeded nodes have gone"
			break
		}
	}
	if why != nil {
		g.mover.Undo(mark)
		return why
	}
	g.guests = guests
	for _, c := range list {
		for _, b := range Batches(g.Snapshot, c.housed) {
			g.Moving = append(g.Moving, b.Class)
		}
	}
	return nil
}

// companyMoves keeps a node while pods are on their way that some of its pods follow by
// affinity, or that follow some of them. Where those come to lie is the scheduler's to
// choose, and both at once might miss each other.
func (g *ground) companyMoves(c *candidate) *model.Verdict {
	for _, b := range Batches(g.Snapshot, c.housed) {
		for _, other := range g.Moving {
			if g.World.Follows(b.Class, other) || g.World.Follows(other, b.Class) {
				return &model.Verdict{Reason: model.CompanyMoves, Detail: fmt.Sprintf("pod %s: pods that it is to be beside by affinity, or that are to be beside it, are on their way", podOf(g.Snapshot, c.housed, b.Class)), Fix: "those have a node"}
			}
		}
	}
	return nil
}

// move commits one candidate, or says why it cannot go. With enough unset there
// was no answer.
func (m *mover) move(c *candidate) *model.Verdict {
	if m.guests[c.node] {
		return movedThere()
	}
	if c.empty() {
		m.world.Exclude(c.node)
		return nil
	}
	// 1. What may be disrupted.
	left := m.Budgets.Clone()
	if v := m.Rules.TakeAll(c.moving, left); v != nil {
		return v
	}
	// 2. Room, for all of its pods.
	puts, stuck, enough := m.world.Move(c.node, Batches(m.Snapshot, c.housed))
	m.untried = false
	if !enough {
		m.enough = false
		return nil
	}
	if stuck != nil {
		return NoPlace(m.Snapshot, c.housed, stuck)
	}
	copy(m.Budgets, left)
	for _, put := range puts {
		m.guests[put.Node] = true
	}
	return nil
}

// movedThere keeps a node for pods of others.
func movedThere() *model.Verdict {
	return &model.Verdict{Reason: model.ReservedForMovedPods, Detail: "pods of other nodes that go have room there", Fix: "those are gone"}
}

// NoPlace names a pod that finds no room.
func NoPlace(s *model.Snapshot, pods []*model.Pod, stuck *schedsim.Stuck) *model.Verdict {
	return &model.Verdict{Reason: model.NoPlaceToMovePods, Detail: fmt.Sprintf("pod %s: %s", podOf(s, pods, stuck.Class), cmp.Or(stuck.Verdict.Detail, string(stuck.Verdict.Reason))), Fix: "a node that stays, that has room for the pod, and that its spread, affinity and tolerations allow"}
}

// podOf names the first pod of a class.
func podOf(s *model.Snapshot, pods []*model.Pod, class model.ClassID) string {
	for _, p := range pods {
		if c, ok := s.ClassOf(p); ok && c == class {
			return s.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name
		}
	}
	return ""
}

// Batches counts pods by class, sorted by class.
func Batches(s *model.Snapshot, pods []*model.Pod) []model.Batch {
	var out []model.Batch
	for _, p := range pods {
		id, ok := s.ClassOf(p)
		if !ok {
			continue // it takes no room
		}
		i, found := slices.BinarySearchFunc(out, id, func(b model.Batch, c model.ClassID) int { return cmp.Compare(b.Class, c) })
		if !found {
			out = slices.Insert(out, i, model.Batch{Class: id})
		}
		out[i].Count++
	}
	return out
}
