package scaleup

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// This file buys nodes of several groups at once, where that serves the same pods for less than
// one group after the other (ADR 41).

const (
	// goodEnough is how far above its bound a plan may be before a better one is looked for.
	goodEnough = 1.002
	// packSteps is the most that one packing may take, some 0.15 s; packStepsPerPod is what it may
	// take for each pod, so that few pods are not thought about for long.
	packSteps       = 6_000_000
	packStepsPerPod = 5_000
	// beforeWhole is how much less a packing may take that is only what a whole plan begins with. The whole plan may take
	// wholeStepsPerPod: what more would find is less than what is lost where pods find no place (replant).
	beforeWhole      = 4
	wholeStepsPerPod = 2_500
	// priceUnits is how finely prices are told apart, wasteUnits the same of the largest node's share.
	priceUnits = 1e5
	wasteUnits = 1e6
)

// aim is what the first expander wants little of, as a price of a node that may be compared and
// summed over groups; not ok for a group that it cannot rate. It is nil for an expander that prefers
// groups or options for what they are.
func (pl *planner) aim(pods []model.Batch) func(head) (price int64, ok bool) {
	switch pl.first() {
	case model.ByLeastNodes:
		return aNode
	case model.ByPrice, model.ByPricePerPod:
		return pl.inMoney
	case model.ByLeastWaste:
		return pl.leastRoom(pods)
	}
	return nil
}

// first is the first expander.
func (pl *planner) first() model.Expander {
	if len(pl.p.Expanders) == 0 {
		return model.ByLeastWaste
	}
	return pl.p.Expanders[0]
}

// rating is what plans for the same pods are compared by, and how many nodes of each group one that is packed again may
// buy since a stage, of so many as the limits leave. Where groups are preferred for what they are, no node stands for
// one of another group: it is all that was bought but for nodes that are not needed.
func (pl *planner) rating(
	pods []model.Batch, since stage, limit func(int) int,
) (price func(head) (int64, bool), most func(group int) int) {
	if price = pl.aim(pods); price != nil {
		return price, limit
	}
	bought := slices.Clone(pl.grown)
	return aNode, func(group int) int { return min(limit(group), bought[group].nodes-since.grown[group].nodes) }
}

// keepsTo reports whether no group has been bought more of since a stage.
func (pl *planner) keepsTo(since stage, most func(group int) int) bool {
	return !slices.ContainsFunc(pl.heads, func(h head) bool {
		return pl.grown[h.group].nodes-since.grown[h.group].nodes > most(h.group)
	})
}

// aNode rates all nodes alike.
func aNode(head) (int64, bool) { return 1, true }

// inMoney rates a node by its price, in units that are rounded down, but for what floating point adds and takes.
func (pl *planner) inMoney(h head) (int64, bool) {
	return units(pl.price(h))
}

func units(price float64, ok bool) (int64, bool) {
	return max(1, int64(price*priceUnits+1e-6)), ok && price*priceUnits <= math.MaxInt32
}

// leastRoom rates a node by its shares of all the CPU and of all the memory that the pods request. What
// has the least of it in sum for the same pods wastes least.
func (pl *planner) leastRoom(pods []model.Batch) func(head) (int64, bool) {
	sum := pl.sum(pods)
	room := func(h head) float64 {
		a := pl.w.Allocatable(h.template)
		share := func(of, all int64) float64 {
			if all <= 0 {
				return 0
			}
			return float64(of) / float64(all)
		}
		return share(a.MilliCPU, sum.MilliCPU) + share(a.Memory, sum.Memory)
	}
	most := 0.0
	for _, h := range pl.heads {
		most = max(most, room(h))
	}
	return func(h head) (int64, bool) {
		if most == 0 {
			return 1, true
		}
		return max(1, int64(wasteUnits*room(h)/most)), true
	}
}

// byName reports whether the pods ask for nodes by their names: no two nodes are alike for them.
func (pl *planner) byName(b model.Batch) bool { return pl.w.ReadsHost(b.Class) }

// cheaper looks for a packing of all the pods that costs less than they do now. It is not looked for where
// the bound that is known at once says that there is little to gain.
func (pl *planner) cheaper(p *purchase, cost int64) (plan pack.Plan, found bool) {
	asked := *p
	asked.Enough = int64(math.Ceil(float64(cost) / goodEnough))
	plan, ok := pl.pack(&asked, min(p.Budget, pl.w.Remaining()/4*model.LooksPerStep))
	return plan, ok && plan.Price < cost && slices.Max(append(plan.Unplaced, 0)) == 0
}

// pack is not ok for numbers that no cluster has.
func (pl *planner) pack(p *purchase, budget int) (pack.Plan, bool) {
	problem := p.Problem
	problem.Budget = budget
	plan, err := pack.Solve(problem)
	pl.w.Looked(plan.Steps)
	return plan, err == nil
}

// fewer is an option on fewer nodes of its group, where there is such a packing. It is for expanders that
// prefer a group for what it is, so that no other may be bought in its place.
func (pl *planner) fewer(o option) option {
	if slices.ContainsFunc(o.placed, pl.byName) {
		return o
	}
	p := pl.purchase(lotsOf(o.placed), []head{o.head}, aNode, pl.limits.most)
	plan, ok := pl.cheaper(p, int64(o.nodes))
	if !ok {
		return o
	}
	packing := schedsim.Packing{Template: o.template, Nodes: plan.Nodes, Placed: o.placed}
	for _, pattern := range plan.Patterns {
		pods := p.pods(pattern)
		if !slices.Equal(pl.w.Takes(o.template, pods), pods) {
			return o
		}
		packing.Patterns = append(packing.Patterns, schedsim.Pattern{Pods: pods, Times: pattern.Nodes})
	}
	o.nodes, o.packing = plan.Nodes, packing
	return o
}

// stage is what the plan was before a part of it, to go back to.
type stage struct {
	mark   schedsim.Mark
	limits *limits
	grown  []growth
	bulk   []waiting
	steps  int
}

func (pl *planner) stage(bulk []*waiting) stage {
	s := stage{mark: pl.w.Mark(), limits: pl.limits.clone(), grown: slices.Clone(pl.grown), steps: pl.w.Work().Steps}
	for _, q := range bulk {
		s.bulk = append(s.bulk, *q)
	}
	return s
}

func (pl *planner) back(to stage, bulk []*waiting) {
	pl.w.Undo(to.mark)
	pl.limits, pl.grown = to.limits.clone(), slices.Clone(to.grown)
	for i, q := range bulk {
		*q = to.bulk[i]
	}
}

// cost is what was bought since a stage; not ok where a group cannot be rated.
func (pl *planner) cost(since stage, price func(head) (int64, bool)) (sum int64, ok bool) {
	for _, h := range pl.heads {
		nodes := pl.grown[h.group].nodes - since.grown[h.group].nodes
		if nodes == 0 {
			continue
		}
		each, ok := price(h)
		if !ok {
			return 0, false
		}
		sum += each * int64(nodes)
	}
	return sum, true
}

// growTogether looks for nodes of any groups that serve the pods which the plan has bought for since a
// stage, and cost less, also with what more is needed if the scheduler binds the pods in another way.
// Otherwise the plan is as it was, which deeds have made.
func (pl *planner) growTogether(bulk []*waiting, since stage, deeds []deed) {
	used := pl.w.Work().Steps - since.steps
	var pods []model.Batch
	for i, q := range bulk {
		if n := since.bulk[i].left - q.left; n > 0 {
			pods = append(pods, model.Batch{Class: q.Class, Count: n})
		}
	}
	price, most := pl.rating(pods, since, since.limits.most)
	if len(pods) == 0 || pl.committed(since.grown) || pl.w.Remaining() < 2*used {
		return
	}
	cost, ok := pl.cost(since, price)
	if !ok {
		return
	}
	after := pl.stage(bulk)
	p := pl.purchase(lotsOf(slices.DeleteFunc(pods, pl.byName)), pl.heads, price, most)
	if pl.wholeComes() {
		p.Budget /= beforeWhole
	}
	plan, ok := pl.cheaper(p, cost)
	if pl.whole(p) {
		pl.proven.nodes = max(pl.proven.nodes, plan.NodeBound)
		if pl.first().AsksForLowPrice() && !pl.s.Prices.Committed() {
			pl.proven.price = max(pl.proven.price, plan.PriceBound)
		}
	}
	if !ok {
		return
	}
	orders := pl.orders(p, bulk, since, plan.Nodes)
	unbound := pl.unbound(p, since, orders)
	pl.back(since, bulk)
	pl.buy(p, plan, bulk)
	pl.growByGroups(bulk)
	now, ok := pl.cost(since, price)
	ok = ok && pl.keepsTo(since, most)
	for i, q := range bulk {
		ok = ok && q.left <= after.bulk[i].left
	}
	if !ok || now >= cost {
		pl.back(since, bulk)
		pl.growAgain(bulk, deeds)
		return
	}
	if then := pl.unbound(p, since, orders); now+then >= cost+unbound {
		pl.tighter = pl.passedOver(now, now+then, cost+unbound)
		pl.back(since, bulk)
		pl.growAgain(bulk, deeds)
	}
}

// passedOver says of nodes that cost less why they are not bought: bound in another order, the pods may need more
// nodes, with which they cost as much as what is bought comes to then, or more (ADR 55).
func (pl *planner) passedOver(cost, then, instead int64) string {
	if !pl.first().AsksForLowPrice() {
		return "a tighter packing was found and is not bought: if the scheduler binds the pods in another order, more " +
			"may have to be bought after it than after this one"
	}
	return fmt.Sprintf("nodes for %.2f per hour were found and are not bought: if the scheduler binds the pods in "+
		"another order, they may come to %.2f, and these to %.2f", float64(cost)/priceUnits, float64(then)/priceUnits,
		float64(instead)/priceUnits)
}

// buy carries out a packing. A node takes what the scheduler's plugins let onto it, which may be less
// than the packing has there; the rest is left.
func (pl *planner) buy(p *purchase, plan pack.Plan, bulk []*waiting) {
	why := pl.whyPacked(plan)
	for _, pattern := range plan.Patterns {
		kind := p.kinds[pattern.Type]
		pods := pl.w.Takes(kind[0].template, p.pods(pattern))
		for _, d := range pl.deal(kind, pods, pattern.Nodes) {
			placed := make([]model.Batch, len(pods))
			for i, b := range pods {
				placed[i] = model.Batch{Class: b.Class, Count: b.Count * d.nodes}
			}
			pl.carryOut(schedsim.Packing{
				Template: d.template, Patterns: []schedsim.Pattern{{Pods: pods, Times: d.nodes}}, Nodes: d.nodes, Placed: placed,
			}, bulk, why)
		}
	}
	pl.fillPlanned(bulk)
}

// whyPacked says of a group why nodes of it are bought.
func (pl *planner) whyPacked(plan pack.Plan) string {
	used := map[int]bool{}
	for _, pattern := range plan.Patterns {
		used[pattern.Type] = true
	}
	if len(used) == 1 {
		return pl.first().String() + ", packed"
	}
	return fmt.Sprintf("%s, as one of %d kinds of nodes packed together", pl.first(), len(used))
}

// deal is how many nodes of a load which groups buy.
func (pl *planner) deal(kind []head, pods []model.Batch, nodes int) (out []option) {
	if len(pods) == 0 {
		return nil
	}
	if pl.p.BalanceSimilar {
		partners := pl.likePartners(kind, pods)
		for i, n := range pl.balance(partners, nodes) {
			if n > 0 {
				out = append(out, option{head: partners[i], nodes: n})
			}
		}
		return out
	}
	for _, h := range kind {
		if n := min(nodes, pl.limits.most(h.group)); n > 0 {
			out = append(out, option{head: h, nodes: n})
			pl.limits.take(h.group, n) // so that limits which groups share are not taken twice
			nodes -= n
		}
	}
	for _, d := range out {
		pl.limits.take(d.group, -d.nodes)
	}
	return out
}

// likePartners are the groups that nodes of a kind may be balanced over, in order of id: the kind's own,
// and those similar to its first that take the same load.
func (pl *planner) likePartners(kind []head, pods []model.Batch) []head {
	list := slices.Clone(kind)
	for _, h := range pl.heads {
		if pl.limits.most(h.group) == 0 || slices.ContainsFunc(kind, func(k head) bool { return k.group == h.group }) {
			continue
		}
		if pl.similar(kind[0], h) && pl.suitsAll(pods, h) && slices.Equal(pl.w.Takes(h.template, pods), pods) {
			list = append(list, h)
		}
	}
	slices.SortFunc(list, func(a, b head) int { return cmp.Compare(a.group, b.group) })
	return list
}
