package pack

import (
	"cmp"
	"math"
	"slices"
)

// rounder makes whole plans of the fractions that the master buys.
type rounder struct {
	*search
	g      *generator
	greedy *greedy
	kinds  []int // that the master buys of
}

// So many dives are made while there is more to prove, and so many in a row that find nothing better.
const (
	fewDives  = 4
	mostDives = 30
)

// rounds rounds what the master buys, first in the plain ways, and then by dives.
func (r *rounder) rounds(dives, until int) {
	list := r.amounts()
	r.kinds = r.g.c.bought(list)
	for i := range r.greedy.worth {
		r.greedy.worth[i] = max(0, r.g.master.dual[i])
	}
	over := func() bool { return r.done() || r.m.spent > until }
	for _, up := range []float64{2, 0.8, 0.6, 0.4} {
		if !over() {
			r.round(list, up, until)
		}
	}
	for n := 0; n < dives && !over(); n++ {
		before := r.worth
		r.dive(slices.Clone(list), n > 0, until)
		if dives == mostDives && r.worth.less(before) {
			n = 0
		}
	}
}

// bought are the kinds for which most is paid, eight at most.
func (c *core) bought(list []amount) []int {
	paid := make([]float64, len(c.kinds))
	for _, a := range list {
		paid[a.pattern.kind] += float64(a.nodes * c.cost(a.pattern.kind))
	}
	kinds := c.every()
	slices.SortStableFunc(kinds, func(a, b int) int { return cmp.Compare(paid[b], paid[a]) })
	kinds = kinds[:min(8, len(kinds))]
	return slices.DeleteFunc(kinds, func(k int) bool { return paid[k] == 0 })
}

// amounts are sorted by how far they are above a whole number, farthest first.
func (r *rounder) amounts() []amount {
	list := r.g.amounts()
	slices.SortStableFunc(list, func(a, b amount) int { return cmp.Compare(fraction(b.nodes), fraction(a.nodes)) })
	return list
}

func fraction(x float64) float64 { return x - math.Floor(x+1e-6) }

// round takes the whole part of each amount, one more where the fraction is at least up, and packs
// what is left by the small packers.
func (r *rounder) round(list []amount, up float64, until int) {
	d := newDraft(r.c)
	for _, a := range list {
		n := int(math.Floor(a.nodes + 1e-6))
		if a.nodes-float64(n) >= up {
			n++
		}
		d.take(r.c, a.pattern.kind, n, a.pattern.load)
	}
	r.finish(d, MethodColumns, until)
}

// dive takes the whole parts and one more node, generates columns for what is left, and so on. The
// one more is of the largest fraction, or with chance of one of the largest four.
func (r *rounder) dive(list []amount, chance bool, until int) {
	d := newDraft(r.c)
	for left := d.left(); left > 0 && len(list) > 0 && r.m.spent < until; {
		for _, a := range list {
			d.take(r.c, a.pattern.kind, int(math.Floor(a.nodes+1e-6)), a.pattern.load)
		}
		if chance {
			at := r.g.dice.below(min(len(list), 4))
			list[0], list[at] = list[at], list[0]
		}
		if a := list[0]; fraction(a.nodes) > 0 || d.left() == left {
			d.take(r.c, a.pattern.kind, 1, a.pattern.load)
		}
		before := left
		if left = d.left(); left == 0 || left == before || d.worth(r.c).price >= r.worth.price {
			break
		}
		r.g.refine(d, 8, until)
		list = r.amounts()
	}
	r.finish(d, MethodDive, until)
}

// finish packs what a draft has left in several ways, and offers each.
func (r *rounder) finish(d *draft, method Method, until int) {
	if d.left() == 0 {
		r.offer(d, method)
		return
	}
	for _, f := range []struct {
		fill  filler
		share int
	}{{largestFirst, 1}, {dotProduct, 2}, {bestFit, 2}} {
		e := d.clone()
		if r.greedy.run(e, r.kinds, f.fill, f.share, until) {
			r.offer(e, method)
		}
	}
	for _, k := range r.kinds {
		e := d.clone()
		if len(r.kinds) > 1 && r.greedy.run(e, []int{k}, largestFirst, 1, until) {
			r.offer(e, method)
		}
	}
	for _, size := range []float64{0, 0.15, 0.6} {
		if e := d.clone(); r.byKnapsack(e, size, until) {
			r.offer(e, method)
		}
	}
}

// byKnapsack packs node by node what is worth most; large items are worth more than their price, since
// they are harder to place later.
func (r *rounder) byKnapsack(d *draft, size float64, until int) bool {
	worth := make([]float64, len(r.c.classes))
	for i := range worth {
		largest := 0.0
		for _, s := range r.c.classes[i].share {
			largest = max(largest, s)
		}
		worth[i] = max(r.greedy.worth[i], 1e-6) * (1 + float64(size*largest))
	}
	for left := d.left(); left > 0; {
		if r.m.spent > until {
			return false
		}
		top, kind := 0.0, -1
		var best load
		for _, k := range r.kinds {
			if d.room(r.c, k) <= 0 {
				continue
			}
			value, _ := r.g.knapsack.solve(k, worth, d.rest, fewest(r.c))
			if value /= r.c.cost(k); value > top {
				top, kind, best = value, k, r.g.knapsack.load(false)
			}
		}
		if kind < 0 {
			return true
		}
		d.take(r.c, kind, 1, best)
		left = d.left()
	}
	return true
}
