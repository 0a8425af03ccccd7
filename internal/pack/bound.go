package pack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
)

// A bound holds for every plan that leaves at most as many items unplaced as the plan it stands
// beside; items that fit nowhere do not count. All but the sums are prices for items: if no load of
// a node is worth more than the node, a plan costs at least what the items in it are worth. The
// arithmetic is in floating point; margins are on the safe side, and much larger than its errors.
const margin = 1e-8

// prices are what an item of each class is worth, and what a node of each kind costs beyond its
// price: the toll for a kind of which there are few.
type prices struct {
	item  []float64
	toll  []float64 // by kind; nil: none
	proof Proof
}

// value is what all items but the dearest unplaced ones are worth, less the tolls.
func (c *core) value(p prices, unplaced int) float64 {
	sum := 0.0
	for i, price := range p.item {
		sum += float64(price * float64(c.classes[i].count))
	}
	for k, toll := range p.toll {
		if toll > 0 {
			sum -= float64(toll * float64(c.kinds[k].limit))
		}
	}
	if unplaced > 0 {
		order := make([]int, len(p.item))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(p.item[b], p.item[a]) })
		for _, i := range order {
			n := min(unplaced, c.classes[i].count)
			sum -= float64(p.item[i] * float64(n))
			unplaced -= n
		}
	}
	return sum
}

// bound keeps the best prices for items.
type bound struct {
	c        *core
	unplaced int // of the best plan so far
	best     float64
	prices   prices
	nodes    int   // by sums
	price    int64 // by sums
}

func newBound(c *core) *bound { return &bound{c: c, best: -1} }

// beside sets how many items the plan leaves.
func (b *bound) beside(unplaced int) {
	b.unplaced = unplaced
	b.nodes, b.price = b.c.sums(unplaced)
}

// offer takes prices if they prove more than those that are kept.
func (b *bound) offer(p prices) bool {
	v := b.c.value(p, b.unplaced)
	if v <= b.best {
		return false
	}
	b.best, b.prices = v, prices{slices.Clone(p.item), slices.Clone(p.toll), p.proof}
	return true
}

// columns makes a bound of any prices for items, given what no load of each kind exceeds (Farley): all
// prices are divided by the largest excess. For a kind of which there are few it may be better to let
// the excess be, and to subtract it for each of its nodes.
func (b *bound) columns(item, atMost []float64) (scale float64, better bool) {
	free, all := 1.0, 1e-9
	for k := range b.c.kinds {
		excess := atMost[k] / b.c.cost(k)
		all = max(all, excess)
		if b.c.kinds[k].limit == NoLimit {
			free = max(free, excess)
		}
	}
	p := prices{item: make([]float64, len(item)), proof: ProofColumns}
	for i, v := range item {
		p.item[i] = v / all
	}
	better = b.offer(p)
	if free == all {
		return all, better
	}
	p.toll = make([]float64, len(b.c.kinds))
	for i, v := range item {
		p.item[i] = v / free
	}
	for k := range p.toll {
		if b.c.kinds[k].limit != NoLimit {
			p.toll[k] = max(0, atMost[k]/free-b.c.cost(k))
		}
	}
	return all, b.offer(p) || better
}

// least is the bound on the price.
func (b *bound) least() int64 { return max(b.price, b.c.whole(b.best)) }

// whole rounds a bound up to a multiple of what all prices have in common.
func (c *core) whole(bound float64) int64 {
	n := bound * c.priceMost / float64(c.priceUnit)
	return int64(math.Ceil(n-float64(margin*max(1, n)))) * c.priceUnit
}

// resourcePrices sells capacity by the piece: a price for each resource at which no kind has more
// than it costs. It is the dual of buying fractions of nodes until there is enough of everything.
// What an item takes at these prices is what it is worth.
func (c *core) resourcePrices(cost func(k int) float64, m *meter) prices {
	s := newSimplex(c.dims, m)
	demand := make([]float64, c.dims)
	for i := range c.classes {
		add(demand, float64(c.classes[i].count), c.classes[i].share)
	}
	most := 1.0
	for _, d := range demand {
		most = max(most, d)
	}
	for r := range demand {
		s.put(r, 1)
		s.add(1e6 * most) // dearer than any node
	}
	for k := range c.kinds {
		for r, share := range c.kinds[k].share {
			if share > 0 {
				s.put(r, share)
			}
		}
		s.add(cost(k))
	}
	s.ask(demand)
	s.run(m.spent + 1<<16)
	excess := 1e-9
	for r := range s.dual {
		s.dual[r] = max(0, s.dual[r])
	}
	for k := range c.kinds {
		excess = max(excess, dot(c.kinds[k].share, s.dual)/cost(k))
	}
	p := prices{item: make([]float64, len(c.classes)), proof: ProofResourcePrices}
	for i := range p.item {
		p.item[i] = dot(c.classes[i].share, s.dual) / excess
	}
	return p
}

// classPrices lets the pods of one class pay for each node, as many as it takes of them: those of the class that needs
// most of all nodes first, then those of others, of what the kinds that hold them cost still. It is for classes with a
// limit per node, of which different kinds may hold different ones.
func (c *core) classPrices(m *meter) prices {
	p := prices{item: make([]float64, len(c.classes)), proof: ProofColumns}
	rest := make([]float64, len(c.kinds))
	for k := range rest {
		rest[k] = c.cost(k)
	}
	each := func(i int) float64 {
		least := math.Inf(1)
		for k := range c.kinds {
			if n := c.kinds[k].most[i]; n > 0 {
				least = min(least, rest[k]/float64(n))
			}
		}
		return least
	}
	order, alone := make([]int, len(c.classes)), make([]float64, len(c.classes))
	for i := range order {
		order[i], alone[i] = i, each(i)*float64(c.classes[i].count)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(alone[b], alone[a]) })
	for _, i := range order {
		price := each(i)
		if math.IsInf(price, 1) {
			continue
		}
		p.item[i] = price
		for k := range rest {
			rest[k] = max(0, rest[k]-float64(price*float64(c.kinds[k].most[i])))
		}
	}
	m.work(3 * len(c.classes) * len(c.kinds))
	return p
}

// sums are the plainest bounds, in whole numbers: of one resource over all items, and of a class
// with a limit per node.
func (c *core) sums(unplaced int) (nodes int, price int64) {
	offer := func(n uint64, cheapest int64) {
		nodes = max(nodes, int(n))
		price = max(price, int64(n)*cheapest)
	}
	cheapest := int64(math.MaxInt64)
	for k := range c.kinds {
		cheapest = min(cheapest, c.kinds[k].price)
	}
	if total(c.counts()) > unplaced {
		offer(1, cheapest)
	}
	for r := range c.dims {
		if n, ok := c.sum1(r, unplaced); ok {
			offer(n, cheapest)
		}
	}
	for i := range c.classes {
		most, cheapest := 0, int64(math.MaxInt64)
		for k := range c.kinds {
			if n := int(c.kinds[k].most[i]); n > 0 {
				most, cheapest = max(most, n), min(cheapest, c.kinds[k].price)
			}
		}
		if n := c.classes[i].count - unplaced; n > 0 {
			offer(uint64((n+most-1)/most), cheapest)
		}
	}
	return nodes, price
}

// sum1 is how many of the largest nodes one resource needs, with no rounding on the way.
func (c *core) sum1(r, unplaced int) (nodes uint64, ok bool) {
	var capacity uint64
	for k := range c.kinds {
		capacity = max(capacity, uint64(c.kinds[k].capacity[r]))
	}
	order := make([]int, len(c.classes))
	for i := range order {
		order[i] = i
	}
	if unplaced > 0 { // those that need most are not there
		slices.SortFunc(order, func(a, b int) int {
			return cmp.Compare(c.classes[b].request[r], c.classes[a].request[r])
		})
	}
	var hi, lo uint64
	for _, i := range order {
		left := min(unplaced, c.classes[i].count)
		unplaced -= left
		h, l := bits.Mul64(uint64(c.classes[i].request[r]), uint64(c.classes[i].count-left))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry
	}
	if capacity == 0 || hi >= capacity {
		return 0, false
	}
	n, rest := bits.Div64(hi, lo, capacity)
	if rest > 0 {
		n++
	}
	return n, true
}

// nodeBound is a bound on nodes whatever they cost.
func (c *core) nodeBound(unplaced int, m *meter) int {
	if len(c.classes) == 0 {
		return 0
	}
	p := c.resourcePrices(func(int) float64 { return 1 }, m)
	n := c.value(p, unplaced)
	return max(0, int(math.Ceil(n-float64(margin*max(1, n)))))
}
