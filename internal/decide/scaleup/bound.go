package scaleup

import (
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// This file says what no plan is below (ADR 41).

// proof is how many nodes, and what price, no plan is below for pods that it serves.
type proof struct {
	nodes int
	price int64
}

// whole reports whether the problem has every node that any plan may buy, so that its bound holds for all plans.
func (pl *planner) whole(p *purchase) bool {
	groups := 0
	for _, h := range pl.heads {
		if pl.w.Landing(h.group) != nil {
			return false // a node may be one of the forms that has more than all of them
		}
		if pl.opening.hard(h.group) > 0 {
			groups++
		}
	}
	for i, kind := range p.kinds {
		if p.Types[i].Max != pack.NoLimit {
			return false
		}
		groups -= len(kind)
	}
	return groups == 0
}

// bound says what the new nodes cost, and what is proven of any plan that puts the same pods onto new nodes
// within the limits.
func (pl *planner) bound(r *Result) {
	fleet := pl.fleet.Clone()
	for _, h := range pl.heads {
		more, _ := fleet.Add(h.group, h.template.Shape, pl.grown[h.group].nodes)
		r.Price += more
	}
	nodes, price, priced := pl.least(r.Grow, 0)
	r.LowerBound = max(nodes, pl.proven.nodes)
	if !priced {
		r.Price = 0
		return
	}
	r.Price = math.Round(r.Price*priceUnits) / priceUnits
	r.PriceBound = float64(max(price, pl.proven.price)) / priceUnits
}

// least is how many nodes, and what price, no plan is below that puts the pods of some growth onto new nodes within
// the limits, as far as a search of so many steps proves. It is not priced where the price of a group is not known
// that may grow.
func (pl *planner) least(grow []model.Growth, steps int) (nodes int, price int64, priced bool) {
	pods, forms := grownFor(grow), []head(nil)
	priced = true
	for _, h := range pl.heads {
		cost, ok := pl.fleet.Least(h.group, h.template.Shape)
		priced = priced && (ok && cost*priceUnits >= 1 || pl.opening.hard(h.group) == 0 && pl.grown[h.group].nodes == 0)
		if h.landing = pl.w.Landing(h.group); h.landing == nil {
			forms = append(forms, h)
			continue
		}
		for _, t := range h.landing.Variants {
			h.template = t
			forms = append(forms, h)
		}
	}
	most := func(group int) int { return max(pl.opening.hard(group), pl.grown[group].nodes) }
	solve := func(rate func(head) (int64, bool)) pack.Plan {
		p := pl.purchase(lotsOf(pods), forms, rate, most)
		if steps > 0 {
			pl.perHost(p)
		}
		plan, _ := pl.pack(p, steps)
		return plan
	}
	nodes = solve(aNode).NodeBound
	if priced {
		price = solve(func(h head) (int64, bool) {
			return units(pl.fleet.Least(h.group, h.template.Shape))
		}).PriceBound
	}
	return nodes, price, priced
}

// grownFor are the pods that groups grow for, by class.
func grownFor(grow []model.Growth) (pods []model.Batch) {
	counts := map[model.ClassID]int{}
	for i := range grow {
		for _, b := range grow[i].Pods {
			counts[b.Class] += b.Count
		}
	}
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		pods = append(pods, model.Batch{Class: c, Count: counts[c]})
	}
	return pods
}

// perHost says of classes that are spread over hostnames how many pods a new node takes. It is proven only in a world
// without the plan's own nodes; and not of a constraint that wants a number of domains, of which new nodes make more.
func (pl *planner) perHost(p *purchase) {
	for i, l := range p.lots {
		if !slices.ContainsFunc(pl.s.Classes[l.class].Spec.Pod.Spec.TopologySpreadConstraints,
			func(s corev1.TopologySpreadConstraint) bool { return s.MinDomains != nil }) {
			p.Classes[i].PerNode = min(p.Classes[i].PerNode, pl.w.MostPerHost(l.class))
		}
	}
}

// Bound searches for what no plan is below in nodes and in price, for the pods that groups of a snapshot grow for. The
// world is the snapshot's, without that growth. The price is not ok where one is not known.
func Bound(
	w *schedsim.World, s *model.Snapshot, p model.Policy, access *gate.Gate, grow []model.Growth, steps int,
) (nodes int, price float64, ok bool) {
	pl := newPlanner(w, s, p, access)
	pl.candidates()
	pl.limits = newLimits(s, pl.p, access)
	pl.opening = pl.limits.clone()
	for i := range grow {
		at := groupIndex(s, model.Brake{Group: grow[i].Group})
		pl.grown[at].nodes = grow[i].To - grow[i].From
	}
	nodes, units, ok := pl.least(grow, steps)
	return nodes, float64(units) / priceUnits, ok
}
