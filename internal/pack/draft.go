package pack

import (
	"cmp"
	"slices"
)

// load is what lies on one node: so many of each class, sorted by class.
type load []part

type part struct{ class, count int32 }

// loadOf lists what used has.
func loadOf(used []int) load {
	n := 0
	for _, u := range used {
		if u > 0 {
			n++
		}
	}
	l := make(load, 0, n)
	for i, u := range used {
		if u > 0 {
			l = append(l, part{int32(i), int32(u)})
		}
	}
	return l
}

// sorted is a copy, sorted by class, with one part for each.
func sorted(l load) load {
	l = slices.Clone(l)
	slices.SortFunc(l, func(a, b part) int { return cmp.Compare(a.class, b.class) })
	n := 0
	for _, p := range l {
		if n > 0 && l[n-1].class == p.class {
			l[n-1].count += p.count
			continue
		}
		l[n] = p
		n++
	}
	return l[:n]
}

// draft is a plan in the making, in kinds and folded classes.
type draft struct {
	entries []entry
	nodes   []int // by kind
	rest    []int // by class: what is not placed
}

// entry is a number of nodes of one kind with the same load.
type entry struct {
	kind, nodes int
	load        load
}

func newDraft(c *core) *draft { return &draft{nodes: make([]int, len(c.kinds)), rest: c.counts()} }

func (d *draft) clone() *draft {
	return &draft{slices.Clone(d.entries), slices.Clone(d.nodes), slices.Clone(d.rest)}
}

// left is how many items are not placed.
func (d *draft) left() int { return total(d.rest) }

func total(counts []int) int {
	n := 0
	for _, c := range counts {
		n += c
	}
	return n
}

// room is how many more nodes of a kind there may be.
func (d *draft) room(c *core, k int) int { return c.kinds[k].limit - d.nodes[k] }

// take buys up to nodes nodes of a kind with a load, and trims the load where less is left. It
// stops where nothing of it is left or the kind has reached its limit. It returns how many items it has
// placed.
func (d *draft) take(c *core, k, nodes int, l load) (placed int) {
	nodes = min(nodes, d.room(c, k))
	for nodes > 0 && len(l) > 0 {
		trimmed, n := d.trim(l, nodes)
		if n == 0 {
			break
		}
		for _, p := range trimmed {
			d.rest[p.class] -= int(p.count) * n
			placed += int(p.count) * n
		}
		d.nodes[k] += n
		d.entries = append(d.entries, entry{k, n, trimmed})
		nodes -= n
	}
	return placed
}

// trim is what is left of a load, and on how many nodes.
func (d *draft) trim(l load, nodes int) (load, int) {
	whole := true
	for _, p := range l {
		if d.rest[p.class] < int(p.count) {
			whole = false
		} else {
			nodes = min(nodes, d.rest[p.class]/int(p.count))
		}
	}
	if whole {
		return l, nodes
	}
	nodes = max(1, nodes)
	trimmed := make(load, 0, len(l))
	for _, p := range l {
		if n := min(int(p.count), d.rest[p.class]); n > 0 {
			nodes = min(nodes, d.rest[p.class]/n)
			trimmed = append(trimmed, part{p.class, int32(n)})
		}
	}
	if len(trimmed) == 0 {
		return nil, 0
	}
	return trimmed, nodes
}

// worth is what drafts are compared by.
type worth struct {
	left  int
	price int64
	nodes int
	loads int // different patterns: where one fails, fewer are affected
}

func (d *draft) worth(c *core) worth {
	w := worth{left: d.left(), loads: len(d.entries)}
	for k, n := range d.nodes {
		w.price += int64(n) * c.kinds[k].price
		w.nodes += n
	}
	return w
}

func (w worth) less(o worth) bool {
	return cmp.Or(cmp.Compare(w.left, o.left), cmp.Compare(w.price, o.price),
		cmp.Compare(w.nodes, o.nodes), cmp.Compare(w.loads, o.loads)) < 0
}

// typeLast gives each node the cheapest kind that holds its load, as far as limits allow.
func (d *draft) typeLast(c *core, m *meter) {
	if len(c.kinds) == 1 {
		return
	}
	sum := make([]int64, c.dims)
	for e := 0; e < len(d.entries); e++ {
		here := d.entries[e]
		c.sum(here.load, sum)
		m.work(len(c.kinds) + c.dims*len(here.load))
		best := here.kind
		for k := range c.kinds {
			if c.kinds[k].price < c.kinds[best].price && d.room(c, k) > 0 && c.kinds[k].takes(here.load, sum) {
				best = k
			}
		}
		if best == here.kind {
			continue
		}
		n := min(here.nodes, d.room(c, best))
		d.nodes[here.kind] -= n
		d.nodes[best] += n
		d.entries[e].kind, d.entries[e].nodes = best, n
		if n < here.nodes {
			here.nodes -= n
			d.entries = append(d.entries, here)
		}
	}
}

// sum is what a load needs, which fits some node and so never overflows.
func (c *core) sum(l load, into []int64) {
	clear(into)
	for _, p := range l {
		for r, request := range c.classes[p.class].request {
			into[r] += request * int64(p.count)
		}
	}
}

// takes reports whether a node of this kind takes a load that needs sum.
func (k *kind) takes(l load, sum []int64) bool {
	for r, n := range sum {
		if n > k.capacity[r] {
			return false
		}
	}
	for _, p := range l {
		if k.most[p.class] < p.count {
			return false
		}
	}
	return true
}
