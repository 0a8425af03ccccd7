package scaleup

import (
	"cmp"
	"maps"
	"slices"
)

// This file is about limits that leave too little for all pods: those of the highest priority come first.

// strictness is whether a plan is made for one priority after the other. At first it is not; then it may be, and be
// held to the plan before.
type strictness struct {
	strict  bool
	settled bool
	free    map[int32]int // what the first plan left, by priority
	steps   int           // that it took
}

// again reports whether the plan is to be made once more from the start, in another order.
func (o *strictness) again(pl *planner) bool {
	switch {
	case o.settled:
		return false
	case !o.strict:
		o.steps = pl.w.Work().Steps - (pl.end - pl.p.SpreadStepLimit)
		o.strict = 3*o.steps <= pl.p.SpreadStepLimit && pl.overtaken()
		o.settled, o.free = !o.strict, pl.leftByPriority()
		return o.strict
	}
	// Where no steps are left for the first plan, this one stands.
	o.settled = true
	o.strict = fewer(pl.leftByPriority(), o.free) || pl.stepsLeft() < o.steps
	return !o.strict
}

// overtaken reports whether pods are left that a limit keeps from a node, while there are new nodes for pods of a lower
// priority.
func (pl *planner) overtaken() bool {
	served := slices.DeleteFunc(slices.Clone(pl.list), func(q *waiting) bool { return q.planned == 0 })
	if len(served) == 0 {
		return false
	}
	lowest := slices.MinFunc(served, func(a, b *waiting) int { return cmp.Compare(pl.priority(a), pl.priority(b)) })
	return slices.ContainsFunc(pl.list, func(q *waiting) bool {
		return q.left > 0 && pl.priority(q) > pl.priority(lowest) && slices.ContainsFunc(pl.heads, func(h head) bool {
			return pl.limits.most(h.group) == 0 && pl.opening.most(h.group) > 0 && pl.suits(q.Class, h)
		})
	})
}

func (pl *planner) priority(q *waiting) int32 { return pl.s.Classes[q.Class].Spec.Priority }

func (pl *planner) leftByPriority() map[int32]int {
	out := map[int32]int{}
	for _, q := range pl.list {
		out[pl.priority(q)] += q.left
	}
	return out
}

// fewer reports whether fewer pods are left of the highest priority at which two plans differ.
func fewer(a, b map[int32]int) bool {
	for _, priority := range slices.Backward(slices.Sorted(maps.Keys(a))) {
		if a[priority] != b[priority] {
			return a[priority] < b[priority]
		}
	}
	return false
}
