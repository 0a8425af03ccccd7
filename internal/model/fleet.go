package model

import (
	"math"
	"slices"
)

// Fleet is a number of nodes, for what they cost together. What a node costs is what the fleet costs more with it
// than without: where a commitment has something left, that is its price, and else the price of the list.
type Fleet struct {
	tariff *tariff
	counts []int // by kind of the tariff, those of further kinds are 0
	// bills are what the nodes of each kind cost, and cost is all of them; nil until they are asked for.
	bills []float64
	cost  float64
	// asked are answers of More.
	asked map[nodeCount]float64
}

type nodeCount struct{ kind, count int }

// Fleet is that of the nodes that are there or on their way, and do not leave.
func (s *Snapshot) Fleet() *Fleet {
	return s.fleet(func(n *Node) bool { return n.Kind != Leaving })
}

func (s *Snapshot) fleet(counts func(*Node) bool) *Fleet {
	f := &Fleet{tariff: newTariff(s)}
	for i := range s.Nodes {
		if n := s.Nodes[i]; counts(n) {
			f.counts[f.kind(n.Group, n.Shape)]++
		}
	}
	return f
}

// Clone is a fleet that changes by itself.
func (f *Fleet) Clone() *Fleet {
	return &Fleet{tariff: f.tariff, counts: slices.Clone(f.counts)}
}

// kind is the index of a kind, with a count of its own.
func (f *Fleet) kind(group int, shape ShapeID) int {
	k := f.tariff.of(group, shape)
	for len(f.counts) <= k {
		f.counts = append(f.counts, 0)
	}
	return k
}

// Add adds nodes, or takes some away, and says what the fleet costs more then by the hour. It is not ok where their
// price is not known.
func (f *Fleet) Add(group int, shape ShapeID, count int) (more float64, ok bool) {
	more, ok = f.More(group, shape, count)
	f.counts[f.kind(group, shape)] += count
	f.bills, f.asked = nil, nil
	return more, ok
}

// More is what nodes cost more, or less, without adding them.
func (f *Fleet) More(group int, shape ShapeID, count int) (more float64, ok bool) {
	k := nodeCount{f.kind(group, shape), count}
	r := &f.tariff.kinds[k.kind]
	if !r.known || r.units == nil {
		return r.price * float64(count), r.known
	}
	if more, ok = f.asked[k]; ok {
		return more, true
	}
	before := f.Cost()
	f.counts[k.kind] += count
	more = f.tariff.sum(f.tariff.bills(f.counts)) - before
	f.counts[k.kind] -= count
	if f.asked == nil {
		f.asked = map[nodeCount]float64{}
	}
	f.asked[k] = more
	return more, true
}

// Saves is what the fleet costs less without one of its nodes.
func (f *Fleet) Saves(n *Node) (price float64, ok bool) {
	more, ok := f.More(n.Group, n.Shape, -1)
	return -more, ok
}

// Next is what the next node of a group costs more.
func (f *Fleet) Next(group int) (price float64, ok bool) {
	g := &f.tariff.s.Groups[group]
	if !g.HasTemplate {
		return 0, false
	}
	return f.More(group, g.Shape, 1)
}

// AtOnePrice is how many more nodes, of most, cost each what the first of them does.
func (f *Fleet) AtOnePrice(group int, shape ShapeID, most int) int {
	first, ok := f.More(group, shape, 1)
	if !ok || f.tariff.kinds[f.kind(group, shape)].units == nil {
		return most
	}
	same, over := 1, most+1
	for same+1 < over {
		n := same + (over-same)/2
		if all, _ := f.More(group, shape, n); math.Abs(all-first*float64(n)) > 1e-9*(1+math.Abs(all)) {
			over = n
		} else {
			same = n
		}
	}
	return min(same, most)
}

// Left reports whether the next node of a group is one that a commitment pays for in part at least.
func (f *Fleet) Left(group int, shape ShapeID) bool {
	next, ok := f.More(group, shape, 1)
	return ok && next != f.tariff.kinds[f.kind(group, shape)].price
}

// Cost is what all nodes cost whose price is known.
func (f *Fleet) Cost() float64 {
	f.all()
	return f.cost
}

// Nodes is how many there are.
func (f *Fleet) Nodes() (count int) {
	for _, n := range f.counts {
		count += n
	}
	return count
}

// Unknown is how many nodes have no price.
func (f *Fleet) Unknown() (count int) {
	for k, n := range f.counts {
		if !f.tariff.kinds[k].known {
			count += n
		}
	}
	return count
}

// Mean is what a node of a kind that is there costs, what commitments pay for shared evenly among those alike.
func (f *Fleet) Mean(group int, shape ShapeID) (price float64, ok bool) {
	k := f.kind(group, shape)
	r := &f.tariff.kinds[k]
	if n := f.counts[k]; r.known && n > 0 && r.units != nil {
		return f.all()[k] / float64(n), true
	}
	return r.price, r.known
}

// all are the bills. Kinds that are new since they were written have no nodes, and cost nothing.
func (f *Fleet) all() []float64 {
	if f.bills == nil {
		f.bills = f.tariff.bills(f.counts)
		f.cost = f.tariff.sum(f.bills)
	}
	return f.bills
}

// MostSaved is what commitments save at most in a fleet of any number of such nodes.
func (f *Fleet) MostSaved() (sum float64) {
	commitments := f.tariff.s.Prices.Commitments
	for i := range commitments {
		most := 0.0
		for k := range f.counts {
			if r := &f.tariff.kinds[k]; r.known && r.units != nil && r.units[i] > 0 {
				most = max(most, r.price/r.units[i]-commitments[i].PerHour)
			}
		}
		sum += commitments[i].Amount * most
	}
	return sum
}

// Least is what each of any number of new nodes costs more at least. Where two commitments are for the same nodes,
// those that lose the one to a new node may get the other: it is only certain then that the fleet costs no less.
func (f *Fleet) Least(group int, shape ShapeID) (price float64, ok bool) {
	r := &f.tariff.kinds[f.kind(group, shape)]
	price = r.price
	for i, units := range r.units {
		switch {
		case !r.known || units == 0:
		case f.tariff.overlaps(i):
			return 0, true
		default:
			price = min(price, f.tariff.s.Prices.Commitments[i].PerHour*units)
		}
	}
	return price, r.known
}
