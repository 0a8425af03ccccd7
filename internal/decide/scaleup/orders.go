package scaleup

import (
	"cmp"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
)

// This file asks what is left of a plan when the scheduler, which is not told of it, binds the pods in an
// order of its own (ADR 55).

// bindLooks is the most nodes that one order may look at, in the larger of the plans that are compared.
const bindLooks = 1 << 21

// run is a number of pods of one class that are bound one after the other.
type run struct{ class, count int }

// orders are ways in which the pods may be bound: as the plan has them, which is the largest first; the other
// way around; and as the scheduler's queue has them, by priority and age. The plan since a stage and one of so many
// other nodes are both bound in the same ones: those that are short enough for either.
func (pl *planner) orders(p *purchase, bulk []*waiting, since stage, others int) [][]run {
	planned := make([]run, len(p.Classes))
	for i := range p.Classes {
		planned[i] = run{i, p.Classes[i].Count}
	}
	reversed := slices.Clone(planned)
	slices.Reverse(reversed)
	type queued struct {
		priority int32
		created  int64
		class    int
	}
	var queue []queued
	ages := map[model.ClassID][]int64{} // of the class's pods that no lot before has
	for _, q := range bulk {
		for _, pod := range q.Pods {
			ages[q.Class] = append(ages[q.Class], pod.Created)
		}
		slices.Sort(ages[q.Class])
	}
	for i, l := range p.lots {
		// The older ones have found room on nodes that are there. Of pods that are moved no age is known.
		created := ages[l.class]
		for n := range l.count {
			at := int64(0)
			if n < len(created) {
				at = created[len(created)-1-n]
			}
			queue = append(queue, queued{pl.s.Classes[l.class].Spec.Priority, at, i})
		}
		ages[l.class] = created[:max(0, len(created)-l.count)]
	}
	slices.SortFunc(queue, func(a, b queued) int {
		return cmp.Or(-cmp.Compare(a.priority, b.priority), cmp.Compare(a.created, b.created), cmp.Compare(a.class, b.class))
	})
	var inQueue []run
	for _, q := range queue {
		if n := len(inQueue); n > 0 && inQueue[n-1].class == q.class {
			inQueue[n-1].count++
		} else {
			inQueue = append(inQueue, run{q.class, 1})
		}
	}
	_, nodes := pl.kindsOf(p, since)
	nodes = max(nodes, others)
	return slices.DeleteFunc([][]run{planned, reversed, inQueue}, func(o []run) bool { return len(o)*nodes > bindLooks })
}

// unbound is the price of the nodes that pods still need which found no place on those that were bought since a
// stage, in the worst of the orders.
func (pl *planner) unbound(p *purchase, since stage, orders [][]run) (worst int64) {
	nodes, count := pl.kindsOf(p, since)
	for _, order := range orders {
		more := *p
		more.Problem.Classes = slices.Clone(p.Classes)
		any := false
		for i, left := range p.bind(order, nodes) {
			more.Problem.Classes[i].Count = left
			any = any || left > 0
		}
		pl.w.Looked(len(order) * count)
		if any {
			plan, _ := pl.pack(&more, 0)
			worst = max(worst, plan.Price)
		}
	}
	return worst
}

// kindsOf are how many nodes were bought since a stage, by type and in all.
func (pl *planner) kindsOf(p *purchase, since stage) (nodes []int, count int) {
	nodes = make([]int, len(p.kinds))
	for i, kind := range p.kinds {
		for _, h := range kind {
			nodes[i] += pl.grown[h.group].nodes - since.grown[h.group].nodes
		}
		count += nodes[i]
	}
	return nodes, count
}

// bind puts pods onto so many nodes of each type, each where the scheduler's scores are highest. It says how many
// are left, by class.
func (p *purchase) bind(order []run, nodes []int) []int {
	left := make([]int, len(p.Classes))
	count, names := 0, 0
	for kind, n := range nodes {
		count, names = count+n, len(p.Types[kind].Capacity)
	}
	sites, free := make([]site, 0, count), make([]int64, 0, count*names)
	for kind, n := range nodes {
		for range n {
			free = append(free, p.Types[kind].Capacity...)
			sites = append(sites, site{at: len(sites), of: &p.Types[kind], free: free[len(free)-names:]})
		}
	}
	open := make(bestFirst, 0, count)
	for _, r := range order {
		c := &p.Classes[r.class]
		open = open[:0]
		for i := range sites {
			if s := &sites[i]; s.takes(r.class, c) {
				open = append(open, rated{s.rate(c), s})
			}
		}
		open.order()
		n := r.count
		for ; n > 0 && len(open) > 0; n-- {
			s := open[0].site
			for i, amount := range c.Request {
				s.free[i] -= amount
			}
			if c.PerNode == 1 {
				s.alone = append(s.alone, r.class)
			}
			if s.takes(r.class, c) {
				open[0].score = s.rate(c)
			} else {
				open[0] = open[len(open)-1]
				open = open[:len(open)-1]
			}
			open.sink(0)
		}
		left[r.class] += n
	}
	return left
}

// site is a node that pods are bound to.
type site struct {
	at    int
	of    *pack.Type
	free  []int64
	alone []int // classes that have their only pod there
}

func (s *site) takes(class int, c *pack.Class) bool {
	if !s.of.Holds.Has(class) || slices.Contains(s.alone, class) {
		return false
	}
	for i, amount := range c.Request {
		if amount > s.free[i] {
			return false
		}
	}
	return true
}

// rate scores the node for one more pod as the scheduler's defaults do: much room is good, and as much of the CPU
// as of the memory. What else it scores, such as soft taints, is equal on new nodes as a rule.
func (s *site) rate(c *pack.Class) int64 {
	const whole = 10000
	share := func(r int) int64 {
		if s.of.Capacity[r] <= 0 {
			return 0
		}
		return (s.free[r] - c.Request[r]) * whole / s.of.Capacity[r]
	}
	cpu, memory := share(0), share(1)
	return (cpu+memory)/2 + whole - max(cpu-memory, memory-cpu)/2
}

// bestFirst is a heap of nodes. The scheduler draws lots between equals; here the first of them is taken. It is asked
// for each pod of a plan, so that a score lies beside its node, and nothing is called by an interface.
type bestFirst []rated

type rated struct {
	score int64
	site  *site
}

func (b bestFirst) before(i, j int) bool {
	return b[i].score > b[j].score || b[i].score == b[j].score && b[i].site.at < b[j].site.at
}

// order makes a heap of any list.
func (b bestFirst) order() {
	for i := len(b)/2 - 1; i >= 0; i-- {
		b.sink(i)
	}
}

// sink moves a node down to where those below it come after it.
func (b bestFirst) sink(i int) {
	for {
		first, child := i, 2*i+1
		if child < len(b) && b.before(child, first) {
			first = child
		}
		if child++; child < len(b) && b.before(child, first) {
			first = child
		}
		if first == i {
			return
		}
		b[i], b[first] = b[first], b[i]
		i = first
	}
}
