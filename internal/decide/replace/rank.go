package replace

import (
	"cmp"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// rankDue lists the nodes that are to be replaced whatever that costs: what hurts most first, and those of a group
// together.
func (f *finder) rankDue(rests map[string]bool) {
	for i := range f.s.Nodes {
		if n := f.s.Nodes[i]; n.Group >= 0 {
			f.wakeAt(f.Search.MovesOf(n.Group).Expires(n)) // others are to know then, too
			f.wakeAt(f.Search.MovesOf(n.Group).Hopeless(n))
		}
	}
	for _, n := range f.Search.Movable() {
		node := f.s.Nodes[n.Node]
		if n.Due == nil || rests[node.Name] && n.Due.Reason != model.NodeInterrupted || f.Search.Received(n.Node) {
			continue
		}
		f.list = append(f.list, candidate{Movable: n, pain: pain(f.s, n.Moving)})
	}
	slices.SortStableFunc(f.list, func(a, b candidate) int {
		return cmp.Or(slices.Index(dueOrder, a.Due.Reason)-slices.Index(dueOrder, b.Due.Reason),
			f.s.Nodes[a.Node].Group-f.s.Nodes[b.Node].Group, a.Due.Since.Compare(b.Due.Since))
	})
}

var dueOrder = []model.Reason{
	model.NodeInterrupted, model.NodeUnready, model.NodeUnsound, model.NodeDrifted, model.NodeExpired,
}

// rankBehind lists the nodes of groups that come behind others in the priorities: what is furthest behind first, and of
// that what hurts least. They rest like those that go for the money.
func (f *finder) rankBehind(rests map[string]bool) {
	for _, n := range f.Search.Movable() {
		node := f.s.Nodes[n.Node]
		if n.Due != nil || !f.Search.Behind(node.Group) || f.Search.Received(n.Node) || rests[node.Name] ||
			f.movedLately(n.Moving) || f.led(n.Housed) {
			continue
		}
		f.list = append(f.list, candidate{Movable: n, behind: true, first: f.p.GoesFirst(node), pain: pain(f.s, n.Moving)})
	}
	slices.SortStableFunc(f.list, func(a, b candidate) int {
		return cmp.Or(turn(a.first)-turn(b.first),
			cmp.Compare(f.Search.Preference(f.s.Nodes[b.Node].Group), f.Search.Preference(f.s.Nodes[a.Node].Group)),
			cmp.Compare(a.pain, b.pain))
	})
}

// rank lists the nodes that could be worth a move: those that are to be maintained, then what saves most for each pod.
func (f *finder) rank(rests map[string]bool) {
	for _, n := range f.Search.Movable() {
		node := f.s.Nodes[n.Node]
		price, ok := f.priceOf(node)
		own := f.Search.MovesOf(node.Group)
		if n.Due != nil || !own.Cheaper() || !ok || f.Search.Received(n.Node) || rests[node.Name] || f.taken(n.Node) {
			continue
		}
		if f.movedLately(n.Moving) || f.led(n.Housed) {
			continue
		}
		c := candidate{Movable: n, first: f.p.GoesFirst(node), pain: pain(f.s, n.Moving)}
		if c.waste = price - f.Buyer.Least(n.Housed); c.waste > 0 && c.waste >= own.MinSavingsShare*price {
			f.list = append(f.list, c)
		}
	}
	slices.SortStableFunc(f.list, func(a, b candidate) int {
		return cmp.Or(turn(a.first)-turn(b.first), cmp.Compare(b.waste/b.pain, a.waste/a.pain))
	})
}

// taken reports whether a node goes in a move that was found.
func (f *finder) taken(id model.NodeID) bool {
	return slices.ContainsFunc(f.found, func(m found) bool { return slices.Contains(m.nodes, id) })
}

// turn is less for what goes first.
func turn(first bool) int {
	if first {
		return 0
	}
	return 1
}

// resting are the nodes of moves that are over, and that are left alone.
func (f *finder) resting() map[string]bool {
	rests := map[string]bool{}
	for i := range f.s.Moves {
		m := &f.s.Moves[i]
		for _, name := range append(m.Bought(), m.Going()...) {
			rests[name] = true
		}
		if !m.Open() {
			f.wakeAt(m.Rests())
		}
	}
	return rests
}

// movedLately reports whether some of the pods came for pods that a move has evicted, and rest as long as its nodes.
func (f *finder) movedLately(pods []*model.Pod) bool {
	if len(f.s.Moves) == 0 {
		return false
	}
	return slices.ContainsFunc(pods, func(p *model.Pod) bool {
		d, ok := f.s.Displaced[p.Owner]
		return ok && d.Moved(p.Created)
	})
}

// led reports whether some of the pods follow others by affinity, or are followed. Those move with company only,
// which the ordinary search for unneeded nodes sees to.
func (f *finder) led(pods []model.Batch) bool {
	return slices.ContainsFunc(pods, func(b model.Batch) bool { return f.World.Led(b.Class) })
}

func (f *finder) priceOf(n *model.Node) (float64, bool) {
	return f.Buyer.Saves(n)
}

// pain is what it costs to evict pods, in pods of ordinary priority: one with a higher priority or deletion cost counts
// more, up to ten, and one with lower ones less. A node counts as one pod beside its own.
func pain(s *model.Snapshot, pods []*model.Pod) float64 {
	sum := 1.0
	for _, p := range pods {
		priority := float64(s.Contents.Specs[p.Spec].Priority)
		cost := float64(s.Contents.Facts[p.Facts].DeletionCost)
		sum += min(max(1+priority/(1<<25)+cost/(1<<27), 0), mostPain)
	}
	return sum
}

const mostPain = 10
