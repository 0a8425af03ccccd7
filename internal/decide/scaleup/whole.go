package scaleup

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// This file packs a whole plan again, pods included that depend on topology domains (ADR 62). One class after the
// other, each buys what is best for itself; packed together, they share nodes.

// packWhole looks for other nodes for all that the plan has bought for. Pods that depend on topology domains stay
// in theirs, so that what they count there stays the same. All nodes are there before the first pod is placed: none
// that comes later can take a pod's place from it. The plan stands if the new one serves as many of each class and
// is not cheaper.
func (pl *planner) packWhole() {
	pl.w.Allow(pl.stepsLeft())
	if !pl.wholeComes() {
		return
	}
	old := pl.w.Since(pl.begin.mark)
	lots, of := pl.lots(old)
	bought := slices.Clone(pl.grown)
	price, most := pl.rating(batches(lots), pl.begin, func(group int) int {
		if pl.limits.last[group] {
			return bought[group].nodes // it has no more nodes than others leave to it
		}
		return pl.begin.limits.most(group)
	})
	cost, ok := pl.cost(pl.begin, price)
	if !ok {
		return
	}
	p := pl.purchase(lots, pl.heads, price, most)
	p.Budget = min(p.Budget, podsIn(lots)*wholeStepsPerPod)
	plan, ok := pl.cheaper(p, cost)
	if !ok {
		return
	}
	orders := pl.orders(p, pl.list, pl.begin, plan.Nodes)
	was, domains, unbound := pl.stage(pl.list), pl.domains, pl.unbound(p, pl.begin, orders)
	pl.back(pl.begin, pl.list)
	pl.replant(p, plan, old, of)
	settled := pl.settle(false)
	now, ok := pl.cost(pl.begin, price)
	ok = ok && pl.keepsTo(pl.begin, most)
	ok = ok && !pl.poolsLack() // the nodes for a pool's minimum may have been bought for pods
	for i, q := range pl.list {
		ok = ok && q.left <= was.bulk[i].left
	}
	if ok && settled && now < cost {
		then := pl.unbound(p, pl.begin, orders)
		if now+then < cost+unbound {
			pl.tighter = ""
			return
		}
		pl.tighter = pl.passedOver(now, now+then, cost+unbound)
	}
	pl.restore(old, was, domains)
}

// wholeComes reports whether the plan that is being made will be packed again with all of its pods: those that were not
// packed together with the others. What is bought for moves, where no pods wait, is not.
func (pl *planner) wholeComes() bool {
	alone := func(q *waiting) bool { return q.planned > 0 && !pl.packed(q) }
	return slices.ContainsFunc(pl.list, alone) && pl.packable()
}

// packable reports whether the plan is one that may be packed again: nothing was bought but for pods, each group's
// nodes are alike, and there are steps to do it all once more.
func (pl *planner) packable() bool {
	used := pl.w.Work().Steps - pl.begin.steps
	return !pl.committed(pl.begin.grown) &&
		!pl.p.BalanceSimilar && pl.step == nil && pl.w.Remaining() > 2*used &&
		!slices.ContainsFunc(pl.filled, func(n int) bool { return n > 0 }) &&
		!pl.w.Open() && !slices.ContainsFunc(pl.heads, func(h head) bool {
		return pl.w.Landing(h.group) != nil && pl.grown[h.group].nodes > 0
	})
}

// lots are the pods on new nodes by class and region; of says which lot those that were placed belong to, -1 for
// what is on nodes that were there.
func (pl *planner) lots(plan schedsim.Layout) (lots []lot, of []int) {
	type key struct {
		class  model.ClassID
		region int32
	}
	type berth struct {
		class model.ClassID
		node  int
	}
	known, most, on := map[key]int{}, map[model.ClassID]int{}, map[berth]int{}
	keysOf := map[model.ClassID]string{}
	of = make([]int, len(plan.Pods))
	for i, b := range plan.Pods {
		of[i] = -1
		if b.Added < 0 {
			continue
		}
		keys, ok := keysOf[b.Class]
		if !ok {
			keys = pl.w.RegionKeys(b.Class)
			keysOf[b.Class] = keys
		}
		k := key{class: b.Class}
		if keys != "" {
			k.region = pl.w.Region(keys, plan.Nodes[b.Added].Shape)
		}
		at, ok := known[k]
		if !ok {
			at = len(lots)
			known[k] = at
			lots = append(lots, lot{class: b.Class, keys: keys, region: k.region, perNode: pack.NoLimit})
		}
		of[i] = at
		lots[at].count += b.Count
		on[berth{b.Class, b.Added}] += b.Count
		most[b.Class] = max(most[b.Class], on[berth{b.Class, b.Added}])
	}
	for i := range lots {
		// More pods on one host than the plan has there would need more on all others.
		if l := &lots[i]; pl.w.CountsHosts(l.class) && most[l.class] < l.count {
			l.perNode = most[l.class]
		}
	}
	return lots, of
}

func podsIn(lots []lot) (n int) {
	for _, l := range lots {
		n += l.count
	}
	return n
}

func batches(lots []lot) []model.Batch {
	out := make([]model.Batch, len(lots))
	for i, l := range lots {
		out[i] = model.Batch{Class: l.class, Count: l.count}
	}
	return out
}

// replant buys the nodes of a packing, and places on them, in the order in which the plan before did, what that has
// on new nodes. Pods of equal requests that may be on the same nodes take each other's places; what finds none is
// bought for as ever.
func (pl *planner) replant(p *purchase, plan pack.Plan, old schedsim.Layout, of []int) {
	var alike []int
	var room []*row
	pl.again(old, func() { alike, room = pl.plant(p, plan) }, func(i int) *row { return room[alike[of[i]]] })
	pl.growFor(pl.list)
	pl.dropIdle()
}

// plant buys the nodes of a packing. Lots that are alike have one number; room is what is to come, by that.
func (pl *planner) plant(p *purchase, plan pack.Plan) (alike []int, room []*row) {
	alike = p.alike()
	room = make([]*row, slices.Max(alike)+1)
	for i := range room {
		room[i] = rowOf()
	}
	pl.seeds = map[model.NodeID]int{}
	why := pl.whyPacked(plan)
	for _, pattern := range plan.Patterns {
		for _, d := range pl.deal(p.kinds[pattern.Type], p.pods(pattern), pattern.Nodes) {
			pl.limits.take(d.group, d.nodes)
			pl.record(d.group, d.nodes, why)
			for _, id := range pl.addNodes(d.template, d.nodes) {
				pl.seeds[id] = d.group
				for _, item := range pattern.Items {
					r := room[alike[item.Class]]
					if last := len(r.nodes) - 1; last >= 0 && r.nodes[last].node == id {
						r.nodes[last].left += item.Count
					} else {
						r.nodes = append(r.nodes, planted{id, item.Count})
					}
				}
			}
		}
	}
	return alike, room
}
