package scaledown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// mover commits candidates to the world.
type mover struct {
	*finder
	moves  *schedsim.Mover
	enough bool
	// untried: no node's pods have been moved, or tried to, so far.
	untried bool
	resume  string
	// receivers are the nodes that pods of others were moved to.
	receivers map[model.NodeID]bool
}

// placeDrafts moves the pods of drafts to nodes that are ready, and notes those nodes as
// receivers. It returns the drafts that stay, with why; nil where the steps did not
// suffice. One that is refused is tried again when others have been moved: the order in
// which they come decides nothing.
func (f *finder) placeDrafts(m *schedsim.Mover, receivers map[model.NodeID]bool) map[model.NodeID]*model.Verdict {
	stay := map[model.NodeID]*model.Verdict{}
	list := f.Room.Drafts()
	for again := true; again; {
		left := list[:0:0]
		for _, d := range list {
			if why := f.disputed(d.Moving); why != nil {
				stay[d.Node] = why
				continue
			}
			puts, stuck, enough := m.Move(d.Node, reserve.Batches(f.Snapshot, d.Moving))
			for _, put := range puts {
				receivers[put.Node] = true
			}
			switch {
			case !enough:
				stay[d.Node] = nil
			case stuck != nil:
				stay[d.Node], left = reserve.NoPlace(f.Snapshot, d.Moving, stuck), append(left, d)
			default:
				delete(stay, d.Node)
			}
		}
		again = len(left) > 0 && len(left) < len(list)
		list = left
	}
	return stay
}

// present is the world in which nothing goes but what has begun, and nothing comes. A
// removal that begins has to find room in it: an unneeded node that stays for now may
// have pods that others must be beside, and nodes on their way may never come.
type present struct {
	*finder
	mover     *schedsim.Mover // nil until it is needed
	mark      schedsim.Mark
	order     []model.NodeID
	receivers map[model.NodeID]bool
	// uneven are the classes, of those that could move, that are spread less evenly than they may be, and leaving those
	// of pods that removals move: any others that wait may wait for long, and for another zone.
	uneven  map[model.ClassID]bool
	leaving []model.ClassID
}

// prepare takes the world back to before candidates were accepted, and takes out the
// nodes that have begun to go. The next candidate is asked here what it will be asked
// again once it is tainted.
func (g *present) prepare(begun []Start) {
	if g.mover != nil {
		return
	}
	g.Room.World.Undo(g.mark)
	g.findUneven()
	g.leaving = g.Room.Leaving()
	g.receivers = map[model.NodeID]bool{}
	g.mover = g.readyMover(g.order)
	g.placeDrafts(g.mover, g.receivers)
	for i := range begun {
		g.mover.Exclude(begun[i].Node) // they are empty, or there would be a mover already
	}
}

// leave lets some candidates go together, or says why they cannot by themselves, and at which of them that is.
func (g *present) leave(list []*candidate, begun []Start) (why *model.Verdict, at *candidate) {
	if g.mover == nil && !slices.ContainsFunc(list, func(c *candidate) bool { return !c.empty() }) {
		return nil, nil
	}
	for _, c := range list {
		if why := g.companyMoves(c); why != nil {
			return why, c
		}
	}
	g.prepare(begun)
	for _, c := range list {
		if why := g.unevenMove(c); why != nil {
			return why, c
		}
	}
	mark := g.mover.Mark()
	if why, at := g.notInEachOrder(list, begun); why != nil {
		return why, at
	}
	for _, c := range list {
		g.mover.Exclude(c.node)
	}
	receivers := maps.Clone(g.receivers)
	for _, c := range list {
		at = c
		if receivers[c.node] {
			why = movedThere
			break
		}
		puts, stuck, enough := g.mover.Move(c.node, g.housed(c))
		for _, put := range puts {
			receivers[put.Node] = true
		}
		if !enough {
			why = tooFewSteps(g.Policy.ScaleDown)
			break
		}
		if stuck != nil {
			why = reserve.NoPlace(g.Snapshot, c.housed, stuck)
			why.Detail = "not yet: " + why.Detail
			why.Fix = "nodes on their way are ready, or other unneeded nodes have gone"
			break
		}
	}
	if why != nil {
		g.mover.Undo(mark)
		return why, at
	}
	g.receivers = receivers
	for _, c := range list {
		for _, b := range g.housed(c) {
			g.Moving, g.leaving = append(g.Moving, b.Class), append(g.leaving, b.Class)
		}
	}
	return nil, nil
}

// notInEachOrder keeps a node that others have cordoned while its pods would not all have room if the scheduler bound
// them in another order. From any other node, one that is left over goes back when the node is untainted.
func (g *present) notInEachOrder(list []*candidate, begun []Start) (*model.Verdict, *candidate) {
	closed := func(c *candidate) bool {
		n := g.Snapshot.Nodes[c.node]
		return n.Object.Spec.Unschedulable && n.Kind == model.Ready && !g.interrupted(n)
	}
	if !slices.ContainsFunc(list, closed) {
		return nil, nil
	}
	mark, w := g.mover.Mark(), g.Room.World
	defer func() { g.mover.Undo(mark) }()
	for i := range begun {
		w.Shut(begun[i].Node)
	}
	for _, c := range list {
		w.Vacate(c.node, g.housed(c))
	}
	for _, c := range list {
		if left := w.BindEvenly(g.smallestFirst(c), schedsim.OnReady, g.mover.Left()); len(left) > 0 && closed(c) {
			return &model.Verdict{Reason: model.NoPlaceToMovePods,
				Detail: fmt.Sprintf("pod %s: it has room if it is bound before the others of the node, which is cordoned, "+
					"so that it could not go back", reserve.PodOf(g.Snapshot, c.housed, left[0].Class)),
				Fix: "more room on nodes that stay, or the node is uncordoned"}, c
		}
	}
	return nil, nil
}

// smallestFirst are the pods of a candidate that must find room elsewhere. The large ones, with few places, are last.
func (g *present) smallestFirst(c *candidate) []model.Batch {
	order := slices.Clone(g.housed(c))
	slices.SortStableFunc(order, func(a, b model.Batch) int {
		x, y := &g.Snapshot.Classes[a.Class].Spec.Requests, &g.Snapshot.Classes[b.Class].Spec.Requests
		return cmp.Or(cmp.Compare(x.MilliCPU, y.MilliCPU), cmp.Compare(x.Memory, y.Memory))
	})
	return order
}

// companyMoves keeps a node while pods are on their way that some of its pods follow by
// affinity, or that follow some of them. The scheduler chooses where those go, and pods
// that move at the same time might miss each other.
func (g *present) companyMoves(c *candidate) *model.Verdict {
	for _, b := range g.housed(c) {
		for _, other := range g.Moving {
			if g.Room.World.Follows(b.Class, other) || g.Room.World.Follows(other, b.Class) {
				pod := reserve.PodOf(g.Snapshot, c.housed, b.Class)
				return &model.Verdict{Reason: model.CompanyMoves, Fix: "those have a node",
					Detail: "pod " + pod + ": pods that it has an affinity to, or that have one to it, are on their way"}
			}
		}
	}
	return nil
}

// findUneven is asked before anything that begins has moved: until its pods have a node, they do not even anything out.
func (g *present) findUneven() {
	g.uneven = map[model.ClassID]bool{}
	for _, o := range g.Room.Drafts() {
		for _, b := range reserve.Batches(g.Snapshot, o.Moving) {
			g.uneven[b.Class] = g.Room.World.Uneven(b.Class)
		}
	}
	for _, c := range g.accepted {
		for _, b := range g.housed(c) {
			g.uneven[b.Class] = g.Room.World.Uneven(b.Class)
		}
	}
}

// unevenMove keeps a node while other pods are on their way, where its pods or some of those are spread less evenly
// than they may be: one that leaves cannot come back, only few nodes may take it, and the scheduler may give others the
// room there.
func (g *present) unevenMove(c *candidate) *model.Verdict {
	housed := g.housed(c)
	if len(housed) == 0 || len(g.leaving) == 0 {
		return nil
	}
	why := ""
	if i := slices.IndexFunc(housed, func(b model.Batch) bool { return g.uneven[b.Class] }); i >= 0 {
		why = "pods like " + reserve.PodOf(g.Snapshot, c.housed, housed[i].Class) +
			" are spread less evenly than they may be, and others are on their way"
	} else if g.Room.Uneven() || slices.ContainsFunc(g.leaving, func(c model.ClassID) bool { return g.uneven[c] }) {
		why = "pods are on their way that are spread less evenly than they may be"
	} else {
		return nil
	}
	return &model.Verdict{Reason: model.UnevenMove, Detail: why, Fix: "those have a node"}
}

// move commits one candidate, or says why it cannot go. With enough unset there
// was no answer.
func (m *mover) move(c *candidate) *model.Verdict {
	if m.receivers[c.node] {
		return movedThere
	}
	if c.empty() {
		m.moves.Exclude(c.node)
		return nil
	}
	// 1. What may be disrupted.
	if v := m.overBudget(c.judgement, m.Room.Budgets); v != nil {
		return v
	}
	// 2. Room, for all of its pods.
	puts, stuck, enough := m.moves.Move(c.node, m.housed(c))
	m.untried = false
	if !enough {
		m.enough = false
		return nil
	}
	if stuck != nil {
		return reserve.NoPlace(m.Snapshot, c.housed, stuck)
	}
	m.Room.Budgets.Spend(c.asks)
	for _, put := range puts {
		m.receivers[put.Node] = true
	}
	return nil
}

// movedThere keeps a node for pods of others.
var movedThere = &model.Verdict{Reason: model.ReservedForMovedPods,
	Detail: "pods of other nodes that go have room there", Fix: "those are gone"}
