package pack

import "math"

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
