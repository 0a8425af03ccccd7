package scaleup

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file spares packings. What an option is at best is known without one, so that only those are packed that may be
// chosen.

// offers are what the groups could do for the pods that are left. One that stays rough is worse than the best of the
// others, however it were packed.
func (pl *planner) offers(known []*option, bulk []*waiting, apart cliques) []option {
	var list []*option
	made := map[int]*option{}
	for i, h := range pl.heads {
		if known[i] == nil && len(list) > 0 && pl.w.Exhausted() {
			continue // one of those that have been made is taken, and no other
		}
		if known[i] == nil {
			known[i] = pl.offer(h, bulk, made[pl.looksOf(h)], apart)
			if known[i].shared {
				made[pl.looksOf(h)] = known[i]
			}
			pl.options++
		}
		if known[i].nodes > 0 {
			list = append(list, known[i])
		}
	}
	pl.refine(list)
	options := make([]option, 0, len(list))
	for _, o := range list {
		options = append(options, *o)
	}
	return options
}

// refine packs what is rough, the best first by the first expander, until the best of all is packed.
func (pl *planner) refine(list []*option) {
	if !slices.ContainsFunc(list, func(o *option) bool { return o.rough }) {
		return
	}
	made := map[int]*option{}
	scores := make([]float64, len(list))
	score := func(i int) { scores[i] = expanders[pl.first()].score(pl, list[i]) }
	for i := range list {
		score(i)
	}
	for {
		best := 0
		for i, o := range list {
			if scores[i] < scores[best] || scores[i] == scores[best] && o.rough && !list[best].rough {
				best = i
			}
		}
		o := list[best]
		if !o.rough {
			return
		}
		pl.packUp(o, made[pl.looksOf(o.head)])
		if o.shared {
			made[pl.looksOf(o.head)] = o
		}
		score(best)
	}
}

// fewest is how many nodes of a group any packing has that puts all of these pods onto new ones. It is not sure where
// what Pack does may leave some of them, for want of nodes or by a plugin's word.
func (pl *planner) fewest(h head, pods []model.Batch, most int, apart cliques) (nodes int, sure bool) {
	if len(pl.p.Expanders) == 0 || pl.first() == model.AtRandom {
		return 0, false // what is better cannot be said of fewer nodes
	}
	count, of := 0, make([]int, apart.count)
	for _, b := range pods {
		count += b.Count
		switch clique, ok := apart.of[b.Class]; {
		case ok:
			of[clique] += b.Count
		case pl.w.OnePerNode(b.Class):
			nodes = max(nodes, b.Count)
		}
	}
	if most < count || !pl.w.PacksAll(pods, h.template) {
		return 0, false
	}
	nodes = max(nodes, slices.Max(append(of, 1)))
	room, need := pl.w.Allocatable(h.template), pl.sum(pods)
	need.Pods = int64(count)
	atLeast := func(need, of int64) {
		if need > 0 && of > 0 {
			nodes = max(nodes, int((need+of-1)/of))
		}
	}
	atLeast(need.MilliCPU, room.MilliCPU)
	atLeast(need.Memory, room.Memory)
	atLeast(need.Pods, room.Pods)
	return nodes, true
}
