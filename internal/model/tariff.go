package model

import (
	"cmp"
	"slices"
)

// tariff is what nodes cost of which kind, and how commitments are dealt out to them. A fleet shares it with its
// clones: which commitments a kind of node has is asked once.
type tariff struct {
	s     *Snapshot
	at    map[nodeKind]int
	kinds []rate
	// last is the kind after that which was asked for last, by group after -1: nodes of a group are mostly alike.
	last []int
	// sorted are the kinds by what they are, so that sums do not depend on the order in which they were met; dealt are
	// the commitments in their order. Both are nil after a kind that is new.
	sorted []int
	dealt  []deal
	// order are the commitments, the one first that the fewest groups share.
	order []int
}

// nodeKind are nodes of a group that are alike; the group is -1 for none.
type nodeKind struct {
	group int
	shape ShapeID
}

// rate is what a node of a kind costs.
type rate struct {
	nodeKind
	price float64
	known bool
	// units are how many of what it counts each commitment pays for of such a node; 0: it is not for it. nil: none is.
	units []float64
}

// deal is a commitment with the kinds for which it saves something, the ones first for which it saves most of each
// unit.
type deal struct {
	*Commitment
	index int
	kinds []int
}

// newTariff knows the nodes that are there and do not leave, and the new ones of each group.
func newTariff(s *Snapshot) *tariff {
	t := &tariff{s: s, at: map[nodeKind]int{}, last: make([]int, len(s.Groups)+1)}
	if !s.Prices.Committed() {
		return t
	}
	for i := range s.Groups {
		if s.Groups[i].HasTemplate {
			t.of(i, s.Groups[i].Shape)
		}
	}
	for i := range s.Nodes {
		if n := s.Nodes[i]; n.Kind != Leaving {
			t.of(n.Group, n.Shape)
		}
	}
	shared := t.shared()
	for i := range shared {
		t.order = append(t.order, i)
	}
	slices.SortStableFunc(t.order, func(a, b int) int { return cmp.Compare(shared[a], shared[b]) })
	return t
}

// shared is how many groups each commitment is for, by the kinds that were met; nodes of no group count as one.
func (t *tariff) shared() []int {
	shared := make([]int, len(t.s.Prices.Commitments))
	for i := range shared {
		groups := map[int]bool{}
		for k := range t.kinds {
			if x := &t.kinds[k]; x.units != nil && x.units[i] > 0 {
				groups[x.group] = true
			}
		}
		shared[i] = len(groups)
	}
	return shared
}

// of is the index of a kind.
func (t *tariff) of(group int, shape ShapeID) int {
	if i := t.last[group+1]; i > 0 && t.kinds[i-1].shape == shape {
		return i - 1
	}
	k := nodeKind{group, shape}
	i, met := t.at[k]
	if !met {
		i = t.met(k)
	}
	t.last[group+1] = i + 1
	return i
}

// met adds a kind.
func (t *tariff) met(k nodeKind) int {
	i := len(t.kinds)
	r := rate{nodeKind: k}
	r.price, r.known = t.s.PriceOf(k.group, k.shape)
	if t.s.Prices.Committed() {
		g, node := t.s.groupOf(k.group), t.s.Contents.Shapes[k.shape]
		for j := range t.s.Prices.Commitments {
			if c := &t.s.Prices.Commitments[j]; c.fits(g, node) {
				if r.units == nil {
					r.units = make([]float64, len(t.s.Prices.Commitments))
				}
				r.units[j] = c.units(node)
			}
		}
	}
	t.at[k], t.kinds = i, append(t.kinds, r)
	t.sorted, t.dealt = nil, nil
	return i
}

// arrange sorts kinds and deals after kinds that are new.
func (t *tariff) arrange() {
	if len(t.sorted) == len(t.kinds) {
		return
	}
	shapes := t.s.Contents.Shapes
	t.sorted = make([]int, len(t.kinds))
	for i := range t.sorted {
		t.sorted[i] = i
	}
	slices.SortFunc(t.sorted, func(a, b int) int {
		x, y := &t.kinds[a], &t.kinds[b]
		return cmp.Or(cmp.Compare(x.group, y.group), cmp.Compare(shapes[x.shape].Key, shapes[y.shape].Key))
	})
	for _, i := range t.order {
		d := deal{Commitment: &t.s.Prices.Commitments[i], index: i}
		for _, k := range t.sorted {
			if x := &t.kinds[k]; x.known && x.units != nil && x.units[i] > 0 && x.price > d.PerHour*x.units[i] {
				d.kinds = append(d.kinds, k)
			}
		}
		each := func(k int) float64 { return t.kinds[k].price / t.kinds[k].units[i] }
		slices.SortStableFunc(d.kinds, func(a, b int) int { return cmp.Compare(each(b), each(a)) })
		t.dealt = append(t.dealt, d)
	}
}

// bills are what nodes of each kind cost, so many of each: the commitments are dealt out in their order, each to the
// nodes for which it saves most of each unit, and to none that costs less without it.
func (t *tariff) bills(counts []int) []float64 {
	t.arrange()
	both := make([]float64, 2*len(t.kinds))
	bills, open := both[:len(t.kinds)], both[len(t.kinds):] // open: nodes that no commitment pays for
	for k := range counts {
		if t.kinds[k].known {
			open[k] = float64(counts[k])
		}
	}
	for i := range t.dealt {
		d := &t.dealt[i]
		left := d.Amount
		for _, k := range d.kinds {
			if open[k] <= 0 || left <= 0 {
				continue
			}
			each := t.kinds[k].units[d.index]
			paid := min(open[k]*each, left)
			bills[k] += paid * d.PerHour
			open[k] -= paid / each
			left -= paid
		}
	}
	for k := range bills {
		bills[k] += open[k] * t.kinds[k].price
	}
	return bills
}

// sum adds up what all nodes cost.
func (t *tariff) sum(bills []float64) (sum float64) {
	for _, k := range t.sorted {
		sum += bills[k]
	}
	return sum
}

// overlaps reports whether some node that a commitment is for is one that another is for as well.
func (t *tariff) overlaps(i int) bool {
	return slices.ContainsFunc(t.kinds, func(x rate) bool {
		if x.units == nil || x.units[i] == 0 {
			return false
		}
		for j, units := range x.units {
			if j != i && units > 0 {
				return true
			}
		}
		return false
	})
}
