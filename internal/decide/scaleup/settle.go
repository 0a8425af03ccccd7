package scaleup

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// This file carries a plan out once more with all of its nodes there before the first pod. A spread constraint counts
// every domain that has a node, so that a node which is opened late can take the place from a pod that has one.

// planted is a new node, and how many pods of one size and reach are still to come to it.
type planted struct {
	node schedsim.Node
	left int
}

// row is planted nodes in order, and by class which of them is tried first: those before it have refused the class.
type row struct {
	nodes []planted
	from  map[model.ClassID]int
}

func rowOf(nodes ...planted) *row { return &row{nodes, map[model.ClassID]int{}} }

// again places the pods of a plan once more, in its order, where they fit: those that it has on new nodes on the ones
// that open has made before, of those that are named for each.
func (pl *planner) again(old schedsim.Layout, open func(), where func(i int) *row) {
	by := map[model.ClassID]*waiting{}
	for _, q := range pl.list {
		by[q.Class] = q
	}
	put := func(i int, on *row) {
		q, left := by[old.Pods[i].Class], old.Pods[i].Count
		first := on.from[q.Class]
		for k := range on.nodes {
			at := (first + k) % len(on.nodes)
			s := &on.nodes[at]
			if s.left == 0 {
				continue
			}
			n, nowhere := pl.w.PutOn(q.Class, s.node, min(left, s.left))
			s.left, left = s.left-n, left-n
			_, _, planned := pl.w.CountByKind([]schedsim.Put{{Node: s.node, Count: n}})
			q.left, q.planned, q.upcoming = q.left-n, q.planned+planned, q.upcoming+n-planned
			if at != first {
				on.from[q.Class] = at
			}
			if left == 0 || nowhere {
				return
			}
		}
	}
	there := func(b *schedsim.Placed) *row { return rowOf(planted{b.Node, b.Count}) }
	for i := range old.Pods {
		if b := &old.Pods[i]; b.Early {
			put(i, there(b))
		}
	}
	open()
	pl.domains = map[model.ClassID]int{}
	for i := range old.Pods {
		b := &old.Pods[i]
		switch {
		case b.Early:
			continue
		case b.Added < 0:
			put(i, there(b))
		default:
			put(i, where(i))
		}
		if _, known := pl.domains[b.Class]; !known {
			pl.domains[b.Class] = pl.w.Domains(b.Class)
		}
	}
}

// settle reports whether the pods of the plan have their places with all of its nodes there from the start. Where it is
// the last plan, those that have none wait for the next cycle.
func (pl *planner) settle(last bool) bool {
	if !pl.domainsMoved() {
		return true
	}
	if pl.w.Open() {
		return false
	}
	plan, was, domains := pl.w.Since(pl.begin.mark), pl.stage(pl.list), pl.domains
	pl.back(pl.begin, pl.list)
	first := model.NodeID(0)
	pl.again(plan, func() {
		pl.limits, pl.grown = was.limits.clone(), slices.Clone(was.grown)
		first = model.NodeID(pl.w.Size())
		for _, t := range plan.Nodes {
			pl.w.AddNodes(t, 1)
		}
		pl.sow(plan, first)
	}, func(i int) *row {
		return rowOf(planted{first + model.NodeID(plan.Pods[i].Added), plan.Pods[i].Count})
	})
	var lost []*waiting
	for i, q := range pl.list {
		q.outOfSteps, q.unseen = was.bulk[i].outOfSteps, was.bulk[i].unseen
		if q.left > was.bulk[i].left {
			lost = append(lost, q)
		}
	}
	if len(lost) > 0 && !last {
		pl.restore(plan, was, domains)
		return false
	}
	pl.dropIdle()
	for _, q := range lost {
		pl.postpone(q)
	}
	return len(lost) == 0
}

// postpone leaves what has no room on the nodes of the plan to the next cycle.
func (pl *planner) postpone(q *waiting) {
	const on = schedsim.OnReady | schedsim.OnComing | schedsim.OnReturning | schedsim.OnPlanned
	put, left, _ := pl.w.Place(q.Class, q.left, on, pl.stepsLeft())
	ready, coming, planned := pl.w.CountByKind(put)
	q.left, q.planned, q.upcoming = left, q.planned+planned, q.upcoming+ready+coming
	for _, h := range pl.heads {
		q.postponed[h.group] = true
	}
}

// restore makes the plan again what it was.
func (pl *planner) restore(plan schedsim.Layout, was stage, domains map[model.ClassID]int) {
	pl.back(pl.begin, pl.list)
	pl.sow(plan, pl.w.Lay(plan))
	pl.limits, pl.grown, pl.domains = was.limits, was.grown, domains
	for i, q := range pl.list {
		*q = was.bulk[i]
	}
}

// sow notes the nodes of a plan, which follow each other, as such that go if they prove idle.
func (pl *planner) sow(plan schedsim.Layout, first model.NodeID) {
	pl.seeds = map[model.NodeID]int{}
	for i, t := range plan.Nodes {
		if pl.filled[t.Group] == 0 {
			pl.seeds[first+model.NodeID(i)] = t.Group
		}
	}
}
