package pack

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// greedy packs node after node: each is filled by one rule, and of several kinds the one whose
// load is worth most for its price is bought, as often as the load is there in whole.
type greedy struct {
	c     *core
	m     *meter
	worth []float64 // what an item of each class is worth
	alike bool      // a node of any kind costs the same
	short []int     // the kinds to begin with
	free  []int64
	ranks []*ranking // by kind
	list  []candidate
	share []float64 // of the candidates
}

func newGreedy(c *core, m *meter, worth []float64) *greedy {
	return &greedy{c: c, m: m, worth: worth, short: c.shortlist(worth), free: make([]int64, c.dims),
		ranks: make([]*ranking, len(c.kinds)), share: make([]float64, c.dims*len(c.classes))}
}

// filler fills an empty node of a kind with some of rest. It appends what it takes to an empty load.
type filler func(g *greedy, k int, rest []int, l load) load

// run packs what a draft has left, each time into the best of some kinds; where none of these has
// room, into those of the shortlist, and then into any. With share 2 a load is bought half as often as
// it could be, and so on. It reports whether it got through before the steps were spent.
func (g *greedy) run(d *draft, kinds []int, fill filler, share, until int) bool {
	for _, r := range g.ranks {
		r.reset()
	}
	var l, best load
	others := [][]int{g.short, g.c.every()}
	for left := d.left(); left > 0; {
		if g.m.spent > until {
			return false
		}
		top, kind := 0.0, -1
		for _, k := range kinds {
			if d.room(g.c, k) <= 0 {
				continue
			}
			l = fill(g, k, d.rest, l[:0])
			if value := g.value(k, l); value > top {
				top, kind = value, k
				l, best = best, l
			}
		}
		if kind < 0 {
			if len(others) == 0 {
				return true
			}
			kinds, others = others[0], others[1:]
			continue
		}
		times := math.MaxInt
		for _, p := range best {
			times = min(times, d.rest[p.class]/int(p.count))
		}
		left -= d.take(g.c, kind, max(1, times/share), sorted(best))
	}
	return true
}

func (g *greedy) value(k int, l load) float64 {
	value := 0.0
	for _, p := range l {
		value += float64(g.worth[p.class] * float64(p.count))
	}
	if g.alike {
		return value
	}
	return value / g.c.cost(k)
}

func (c *core) every() []int {
	all := make([]int, len(c.kinds))
	for k := range all {
		all[k] = k
	}
	return all
}

// ranking has the classes that a kind may hold: those with a limit per node first, since they go on few
// of the nodes that are bought for others if they come last; then by size, largest first. What a
// node takes is found without looking at what is too large for the room that is left, or used up.
type ranking struct {
	classes []int32
	size    []float64 // where each resource is as dear as it is scarce
	dear    []float64 // by resource
	limited int       // so many have a limit per node
	next    []int32   // the first place from here on that is not used up, as far as is known
}

func (r *ranking) reset() {
	if r != nil {
		for at := range r.next {
			r.next[at] = int32(at)
		}
	}
}

// from is the first place from at on whose class is not used up.
func (r *ranking) from(at int, rest []int) int {
	end := at
	for end < len(r.classes) && (int(r.next[end]) > end || rest[r.classes[end]] == 0) {
		end = max(end+1, int(r.next[end]))
	}
	for at < end {
		at, r.next[at] = max(at+1, int(r.next[at])), int32(end)
	}
	return end
}

func (g *greedy) ranking(k int) *ranking {
	if g.ranks[k] != nil {
		return g.ranks[k]
	}
	kind := &g.c.kinds[k]
	r := &ranking{dear: g.demand(kind, g.c.counts())}
	size := make([]float64, len(g.c.classes))
	for i := range g.c.classes {
		if kind.most[i] == 0 {
			continue
		}
		r.classes = append(r.classes, int32(i))
		for d, s := range g.c.classes[i].share {
			if s > 0 {
				size[i] += float64(r.dear[d] * s / kind.share[d])
			}
		}
		if g.c.classes[i].limited() {
			r.limited++
		}
	}
	slices.SortFunc(r.classes, func(a, b int32) int {
		if la, lb := g.c.classes[a].limited(), g.c.classes[b].limited(); la != lb {
			if la {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(size[b], size[a]), cmp.Compare(a, b))
	})
	for _, i := range r.classes {
		r.size = append(r.size, size[i])
	}
	r.next = make([]int32, len(r.classes))
	r.reset()
	g.m.work(16 * len(r.classes) * bits.Len(uint(len(r.classes))))
	g.ranks[k] = r
	return r
}

// largestFirst takes as many as fit of each class, in the order of the ranking.
func largestFirst(g *greedy, k int, rest []int, l load) load {
	copy(g.free, g.c.kinds[k].capacity)
	return g.fillUp(k, rest, l, 0)
}

// fillUp fills the free room of a node, in the order of the ranking from one place on.
func (g *greedy) fillUp(k int, rest []int, l load, from int) load {
	r, room := g.ranking(k), 0.0
	for d, capacity := range g.c.kinds[k].capacity {
		if capacity > 0 {
			room += float64(r.dear[d] * float64(g.free[d]) / float64(capacity))
		}
	}
	for at := r.from(from, rest); at < len(r.classes); at = r.from(at, rest) {
		end := len(r.classes)
		if at < r.limited {
			end = r.limited
		}
		if r.size[at] > room*(1+1e-9) { // too large: go to where they are not
			at += sort.Search(end-at, func(n int) bool { return r.size[at+n] <= room*(1+1e-9) })
			g.m.spent++
			continue
		}
		i := int(r.classes[at])
		if n := g.takes(i, rest[i]); n > 0 {
			l = append(l, part{int32(i), int32(n)})
			room -= float64(r.size[at] * float64(n))
		}
		g.m.spent++
		at++
	}
	return l
}

// smallestFirst serves most items where not all can be served.
func smallestFirst(g *greedy, k int, rest []int, l load) load {
	r := g.ranking(k)
	copy(g.free, g.c.kinds[k].capacity)
	for at := len(r.classes) - 1; at >= 0; at-- {
		i := int(r.classes[at])
		if n := g.takes(i, rest[i]); n > 0 {
			l = append(l, part{int32(i), int32(n)})
		}
	}
	g.m.spent += len(r.classes)/2 + 1
	return l
}

// takes puts as many of a class as fit into the free room, and returns how many.
func (g *greedy) takes(i, rest int) int {
	class := &g.c.classes[i]
	n := min(rest, class.perNode)
	for r, request := range class.request {
		if request > 0 && n > 0 {
			n = int(min(int64(n), g.free[r]/request))
		}
	}
	for r, request := range class.request {
		g.free[r] -= request * int64(n)
	}
	return n
}

// limited reports whether the limit per node can matter.
func (c *class) limited() bool { return c.perNode < c.count }

// demand is how many nodes of a kind the items would fill, by each resource.
func (g *greedy) demand(kind *kind, rest []int) []float64 {
	sum := make([]float64, g.c.dims)
	for i, n := range rest {
		if n > 0 && kind.most[i] > 0 {
			for r, s := range g.c.classes[i].share {
				sum[r] += float64(s * float64(n))
			}
		}
	}
	for r := range sum {
		if sum[r] > 0 {
			sum[r] /= kind.share[r]
		}
	}
	g.m.work(len(rest) * g.c.dims)
	return sum
}

// dotProduct takes one by one what is most like the room that is left; bestFit what leaves least.
func dotProduct(g *greedy, k int, rest []int, l load) load { return g.oneByOne(k, rest, l, false) }
func bestFit(g *greedy, k int, rest []int, l load) load    { return g.oneByOne(k, rest, l, true) }

// Of fewer than so many items that may come, one is taken at a time; of more, a part.
const fewAtOnce = 128

// candidate is a class that may still fit on the node.
type candidate struct {
	class int
	left  int       // how many may come
	taken int       // how many are there
	share []float64 // of the node
	bonus float64
}

func (g *greedy) oneByOne(k int, rest []int, l load, tight bool) load {
	kind := &g.c.kinds[k]
	copy(g.free, kind.capacity)
	weight := g.demand(kind, rest)
	nodes := 0.0
	for _, w := range weight {
		nodes = max(nodes, w)
	}
	room := make([]float64, g.c.dims)
	for r := range room {
		weight[r] /= max(nodes, 1e-12)
		room[r] = 1
	}
	list := g.candidates(kind, rest, nodes)
	for len(list) > 0 {
		top, best := math.Inf(-1), -1
		kept := list[:0]
		for _, c := range list {
			if c.left == 0 || !fits(g.c.classes[c.class].request, g.free) {
				if c.taken > 0 {
					l = append(l, part{int32(c.class), int32(c.taken)})
				}
				continue
			}
			score := c.bonus
			for r, s := range c.share {
				if tight {
					score -= float64(weight[r] * float64((room[r]-s)*(room[r]-s)))
				} else {
					score += float64(weight[r] * float64(s*room[r]))
				}
			}
			if score > top {
				top, best = score, len(kept)
			}
			kept = append(kept, c)
		}
		g.m.work(len(list) * (2*g.c.dims + 2))
		list = kept
		if best < 0 {
			break
		}
		c := &list[best]
		n := min(1+c.left/fewAtOnce, g.c.classes[c.class].fitting(g.free))
		c.left -= n
		c.taken += n
		for r, request := range g.c.classes[c.class].request {
			g.free[r] -= request * int64(n)
			room[r] -= float64(c.share[r] * float64(n))
		}
	}
	return l
}

func fits(request, free []int64) bool {
	for r, n := range request {
		if n > free[r] {
			return false
		}
	}
	return true
}

// candidates are the classes of which a kind may hold some. One with a limit per node that needs as
// many nodes as all the rest decides how many there are, and comes first.
func (g *greedy) candidates(kind *kind, rest []int, nodes float64) []candidate {
	dims := g.c.dims
	list, most := g.list[:0], 1
	for i, n := range rest {
		if n > 0 && kind.most[i] > 0 {
			most = max(most, n)
			share := g.share[i*dims : (i+1)*dims]
			for r, s := range g.c.classes[i].share {
				if s > 0 {
					share[r] = s / kind.share[r]
				}
			}
			list = append(list, candidate{class: i, left: min(n, int(kind.most[i])), share: share})
		}
	}
	for at := range list {
		c := &list[at]
		if class := &g.c.classes[c.class]; class.limited() {
			c.bonus = 0.02 * float64(rest[c.class]) / float64(most)
			if float64(rest[c.class])/float64(class.perNode) >= 0.95*nodes {
				c.bonus += 10
			}
		}
	}
	g.list = list
	g.m.work(len(list) * 8)
	return list
}

// nextFit goes through the classes once: each fills up the node that is open, then nodes of its own,
// of the kind that is cheapest for it, and its last items open another. It takes no time to speak
// of, and is what is left where the steps are spent.
func (c *core) nextFit(d *draft, m *meter) {
	var open struct {
		kind int
		free []int64
		load load
	}
	flush := func() {
		if len(open.load) > 0 {
			d.entries = append(d.entries, entry{open.kind, 1, open.load})
			open.load = nil
		}
	}
	put := func(i, n int) {
		if n > 0 {
			open.load = append(open.load, part{int32(i), int32(n)})
			d.rest[i] -= n
			for r, request := range c.classes[i].request {
				open.free[r] -= request * int64(n)
			}
		}
	}
	for i := range c.classes {
		class := &c.classes[i]
		if open.load != nil && c.kinds[open.kind].most[i] > 0 {
			put(i, min(d.rest[i], class.perNode, class.fitting(open.free)))
		}
		for d.rest[i] > 0 {
			k := c.home(i, d)
			m.work(len(c.kinds))
			if k < 0 {
				break
			}
			most := int(c.kinds[k].most[i])
			if d.rest[i] >= most {
				d.take(c, k, d.rest[i]/most, load{{int32(i), int32(most)}})
				continue
			}
			flush()
			open.kind, open.free = k, slices.Clone(c.kinds[k].capacity)
			d.nodes[k]++
			put(i, d.rest[i])
		}
	}
	flush()
}

// home is the kind with room for which an item of a class costs least, if nothing else is on the
// node; or -1.
func (c *core) home(i int, d *draft) int {
	least, home := math.Inf(1), -1
	for k := range c.kinds {
		most := c.kinds[k].most[i]
		if most == 0 || d != nil && d.room(c, k) <= 0 {
			continue
		}
		if cost := c.cost(k) / float64(most); cost < least {
			least, home = cost, k
		}
	}
	return home
}

// shortlist are the kinds that a search begins with: the homes of all classes, and of more than
// eight those that are home to most.
func (c *core) shortlist(worth []float64) []int {
	weight := make([]float64, len(c.kinds))
	homes := make([]int, len(c.classes))
	for i := range c.classes {
		homes[i] = c.home(i, nil)
		weight[homes[i]] += float64(worth[i] * float64(c.classes[i].count))
	}
	order := c.every()
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(weight[b], weight[a]) })
	list := order[:min(len(order), 8)]
	for i, home := range homes {
		held := false
		for _, k := range list {
			held = held || c.kinds[k].most[i] > 0
		}
		if !held {
			list = append(slices.Clip(list), home)
		}
	}
	return list
}

// guess is what an item of each class may cost: the cheapest way to buy what it needs most of.
func (c *core) guess() []float64 {
	cost := make([]float64, len(c.classes))
	for i := range cost {
		cost[i] = math.Inf(1)
		for k := range c.kinds {
			if c.kinds[k].most[i] == 0 {
				continue
			}
			part := 1e-9
			for r, s := range c.classes[i].share {
				if s > 0 {
					part = max(part, s/c.kinds[k].share[r])
				}
			}
			cost[i] = min(cost[i], part*c.cost(k))
		}
	}
	return cost
}
