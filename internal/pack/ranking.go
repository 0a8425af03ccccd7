package pack

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
)

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
