package model

import (
	"cmp"
	"maps"
	"math"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Commitment is a price that holds for the first few nodes, cores or GiB only, such as that of a reservation. What is
// beyond them costs what it does without.
type Commitment struct {
	Name string
	// Groups and Types say which nodes it is for, by the names of their groups and by instance type; empty: all.
	Groups []*regexp.Regexp
	Types  []string
	// Zone and CapacityType are those of the nodes; empty: any.
	Zone, CapacityType string
	Unit               CommitmentUnit
	// Amount is how many units it is for, and PerHour what each of them costs.
	Amount, PerHour float64
}

// CommitmentUnit is what a commitment counts.
type CommitmentUnit uint8

// The units of commitments.
const (
	CommittedNodes CommitmentUnit = iota
	CommittedCores
	CommittedGiB
)

// units are how many of what a commitment counts a node has.
func (c *Commitment) units(node *Shape) float64 {
	switch c.Unit {
	case CommittedCores:
		return float64(whatIs(node).MilliCPU) / 1000
	case CommittedGiB:
		return float64(whatIs(node).Memory) / (1 << 30)
	}
	return 1
}

// fits reports whether it is for a node. One that does not tell what it is asked for is not taken for cheaper.
func (c *Commitment) fits(g *Group, node *Shape) bool {
	labels := node.Node.Labels
	capacity := CapacityType(labels)
	if capacity == "" && g != nil {
		capacity = g.CapacityType
	}
	switch {
	case len(c.Groups) > 0 && (g == nil || !slices.ContainsFunc(c.Groups, func(p *regexp.Regexp) bool {
		return p.MatchString(string(g.ID))
	})):
	case len(c.Types) > 0 && !slices.Contains(c.Types, labels[corev1.LabelInstanceTypeStable]):
	case c.Zone != "" && c.Zone != labels[corev1.LabelTopologyZone]:
	case c.CapacityType != "" && c.CapacityType != capacity:
	default:
		return c.units(node) > 0
	}
	return false
}

// Committed reports whether some prices hold for the first few only: a node has no price of its own then.
func (p *Prices) Committed() bool { return p != nil && len(p.Commitments) > 0 }

// Fleet is a number of nodes, for what they cost together. What a node costs is what the fleet costs more with it
// than without: where a commitment has something left, that is its price, and else the price of the list.
type Fleet struct {
	s     *Snapshot
	nodes map[nodeKind]int
	// bills are what the nodes of each kind cost; nil until they are asked for.
	bills map[nodeKind]float64
	// asked are answers of More.
	asked map[nodeCount]float64
}

// nodeKind are nodes of a group that are alike; the group is -1 for none.
type nodeKind struct {
	group int
	shape ShapeID
}

type nodeCount struct {
	nodeKind
	count int
}

// Fleet is that of the nodes that are there or on their way, and do not leave.
func (s *Snapshot) Fleet() *Fleet {
	return s.fleet(func(n *Node) bool { return n.Kind != Leaving })
}

func (s *Snapshot) fleet(counts func(*Node) bool) *Fleet {
	f := &Fleet{s: s, nodes: map[nodeKind]int{}}
	// Nodes of a group are mostly alike: those in a row are counted first.
	rows := make([]struct {
		shape ShapeID
		count int
	}, len(s.Groups)+1)
	for i := range s.Nodes {
		n := s.Nodes[i]
		if !counts(n) {
			continue
		}
		r := &rows[n.Group+1]
		if r.count > 0 && r.shape != n.Shape {
			f.nodes[nodeKind{n.Group, r.shape}] += r.count
			r.count = 0
		}
		r.shape = n.Shape
		r.count++
	}
	for i, r := range rows {
		if r.count > 0 {
			f.nodes[nodeKind{i - 1, r.shape}] += r.count
		}
	}
	return f
}

// Clone is a fleet that changes by itself.
func (f *Fleet) Clone() *Fleet {
	return &Fleet{s: f.s, nodes: maps.Clone(f.nodes)}
}

// Add adds nodes, or takes some away, and says what the fleet costs more then by the hour. It is not ok where their
// price is not known.
func (f *Fleet) Add(group int, shape ShapeID, count int) (more float64, ok bool) {
	more, ok = f.More(group, shape, count)
	f.nodes[nodeKind{group, shape}] += count
	f.bills, f.asked = nil, nil
	return more, ok
}

// More is what nodes cost more, or less, without adding them.
func (f *Fleet) More(group int, shape ShapeID, count int) (more float64, ok bool) {
	k := nodeCount{nodeKind{group, shape}, count}
	price, ok := f.s.PriceOf(group, shape)
	if !ok || !f.covered(k.nodeKind) {
		return price * float64(count), ok
	}
	if more, ok = f.asked[k]; ok {
		return more, true
	}
	with := f.Clone()
	with.nodes[k.nodeKind] += count
	more = with.Cost() - f.Cost()
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
	if !f.s.Groups[group].HasTemplate {
		return 0, false
	}
	return f.More(group, f.s.Groups[group].Shape, 1)
}

// AtOnePrice is how many more nodes, of most, cost each what the first of them does.
func (f *Fleet) AtOnePrice(group int, shape ShapeID, most int) int {
	first, ok := f.More(group, shape, 1)
	if !ok || !f.covered(nodeKind{group, shape}) {
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
	list, _ := f.s.PriceOf(group, shape)
	next, ok := f.More(group, shape, 1)
	return ok && next != list
}

// Cost is what all nodes cost whose price is known.
func (f *Fleet) Cost() (sum float64) {
	bills := f.all()
	for _, k := range f.kinds() {
		sum += bills[k]
	}
	return sum
}

// Nodes is how many there are.
func (f *Fleet) Nodes() (count int) {
	for _, n := range f.nodes {
		count += n
	}
	return count
}

// Unknown is how many nodes have no price.
func (f *Fleet) Unknown() (count int) {
	for k, n := range f.nodes {
		if _, ok := f.s.PriceOf(k.group, k.shape); !ok {
			count += n
		}
	}
	return count
}

// Mean is what a node of a kind that is there costs, what commitments pay for shared evenly among those alike.
func (f *Fleet) Mean(group int, shape ShapeID) (price float64, ok bool) {
	k := nodeKind{group, shape}
	price, ok = f.s.PriceOf(group, shape)
	if n := f.nodes[k]; ok && n > 0 && f.covered(k) {
		return f.all()[k] / float64(n), true
	}
	return price, ok
}

func (f *Fleet) kinds() []nodeKind {
	return slices.SortedFunc(maps.Keys(f.nodes), func(a, b nodeKind) int {
		shapes := f.s.Contents.Shapes
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(shapes[a.shape].Key, shapes[b.shape].Key))
	})
}

// covered reports whether a commitment may be for nodes of a kind.
func (f *Fleet) covered(k nodeKind) bool {
	return f.s.Prices.Committed() && slices.ContainsFunc(f.s.Prices.Commitments, func(c Commitment) bool {
		return c.fits(f.s.groupOf(k.group), f.s.Contents.Shapes[k.shape])
	})
}

// all deals the commitments out, in their order, each to the nodes for which it saves most of each unit, and to none
// that costs less without it.
func (f *Fleet) all() map[nodeKind]float64 {
	if f.bills != nil {
		return f.bills
	}
	prices, open := map[nodeKind]float64{}, map[nodeKind]float64{} // open: nodes that no commitment pays for
	kinds := f.kinds()
	for _, k := range kinds {
		if price, ok := f.s.PriceOf(k.group, k.shape); ok {
			prices[k], open[k] = price, float64(f.nodes[k])
		}
	}
	f.bills = make(map[nodeKind]float64, len(kinds))
	if f.s.Prices.Committed() {
		for i := range f.s.Prices.Commitments {
			f.deal(&f.s.Prices.Commitments[i], kinds, prices, open)
		}
	}
	for _, k := range kinds {
		f.bills[k] += open[k] * prices[k]
	}
	return f.bills
}

func (f *Fleet) deal(c *Commitment, kinds []nodeKind, prices, open map[nodeKind]float64) {
	shapes := f.s.Contents.Shapes
	mine := slices.DeleteFunc(slices.Clone(kinds), func(k nodeKind) bool {
		node := shapes[k.shape]
		return open[k] <= 0 || !c.fits(f.s.groupOf(k.group), node) || prices[k] <= c.PerHour*c.units(node)
	})
	slices.SortStableFunc(mine, func(a, b nodeKind) int {
		return cmp.Compare(prices[b]/c.units(shapes[b.shape]), prices[a]/c.units(shapes[a.shape]))
	})
	left := c.Amount
	for _, k := range mine {
		each := c.units(shapes[k.shape])
		paid := min(open[k]*each, left)
		f.bills[k] += paid * c.PerHour
		open[k] -= paid / each
		left -= paid
	}
}

// MostSaved is what commitments save at most in a fleet of any number of such nodes.
func (f *Fleet) MostSaved() (sum float64) {
	for i := range f.s.Prices.Commitments {
		c, most := &f.s.Prices.Commitments[i], 0.0
		for k := range f.nodes {
			node := f.s.Contents.Shapes[k.shape]
			if price, ok := f.s.PriceOf(k.group, k.shape); ok && c.fits(f.s.groupOf(k.group), node) {
				most = max(most, price/c.units(node)-c.PerHour)
			}
		}
		sum += c.Amount * most
	}
	return sum
}

// Least is what each of any number of new nodes costs more at least. Where two commitments are for the same nodes,
// those that lose the one to a new node may get the other: it is only certain then that the fleet costs no less.
func (f *Fleet) Least(group int, shape ShapeID) (price float64, ok bool) {
	price, ok = f.s.PriceOf(group, shape)
	if k := (nodeKind{group, shape}); !ok || !f.covered(k) {
		return price, ok
	}
	node := f.s.Contents.Shapes[shape]
	for i := range f.s.Prices.Commitments {
		c := &f.s.Prices.Commitments[i]
		switch {
		case !c.fits(f.s.groupOf(group), node):
		case f.overlaps(i):
			return 0, true
		default:
			price = min(price, c.PerHour*c.units(node))
		}
	}
	return price, true
}

// overlaps reports whether a node that is there, or a new one, is one that another commitment is for as well.
func (f *Fleet) overlaps(i int) bool {
	kinds := slices.Collect(maps.Keys(f.nodes))
	for j := range f.s.Groups {
		if f.s.Groups[j].HasTemplate {
			kinds = append(kinds, nodeKind{j, f.s.Groups[j].Shape})
		}
	}
	return slices.ContainsFunc(kinds, func(k nodeKind) bool {
		g, node := f.s.groupOf(k.group), f.s.Contents.Shapes[k.shape]
		if !f.s.Prices.Commitments[i].fits(g, node) {
			return false
		}
		for j := range f.s.Prices.Commitments {
			if j != i && f.s.Prices.Commitments[j].fits(g, node) {
				return true
			}
		}
		return false
	})
}

// IdleCommitments are the names of those that are for no node that is there, and for no new one of any group.
func (s *Snapshot) IdleCommitments() (names []string) {
	if !s.Prices.Committed() {
		return nil
	}
	for i := range s.Prices.Commitments {
		c := &s.Prices.Commitments[i]
		if !slices.ContainsFunc(s.Groups, func(g Group) bool {
			return g.HasTemplate && c.fits(&g, s.Contents.Shapes[g.Shape])
		}) && !slices.ContainsFunc(s.Nodes, func(n *Node) bool {
			return c.fits(s.groupOf(n.Group), s.Contents.Shapes[n.Shape])
		}) {
			names = append(names, c.Name)
		}
	}
	return names
}
