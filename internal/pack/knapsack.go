package pack

import (
	"cmp"
	"math"
	"slices"
)

// knapsack finds the load of one node that is worth most, by depth first search with bounds: the
// classes in the order of their worth for the resources they take, of each as many as fit first.
// The search may end early; its bound holds all the same.
type knapsack struct {
	c       *core
	m       *meter
	relaxed *relaxation

	items   []int     // classes, best first
	request []int64   // items × dims
	value   []float64 // of one
	gain    []float64 // value less the price of what it takes: what one adds to the bound
	most    []int64
	ahead   []float64 // by item: what it and all after it can add to the bound
	free    []int64
	chosen  []int64
	limit   int // of m.spent
	ended   bool

	best  float64
	bound float64 // of what was not looked at
	found [2]load // the best load, and the one before it
	share []float64
	upto  []float64
	order []int
}

func newKnapsack(c *core, m *meter) *knapsack {
	n := len(c.classes)
	return &knapsack{c: c, m: m, relaxed: newRelaxation(c.dims, n), free: make([]int64, c.dims),
		chosen: make([]int64, n), ahead: make([]float64, n+1)}
}

// solve looks for the best load of an empty node of a kind with at most rest of each class, for
// about so many steps. It returns what that load is worth, and what no load exceeds; found has the
// load.
func (k *knapsack) solve(kind int, value []float64, rest []int, steps int) (best, bound float64) {
	k.found = [2]load{}
	k.prepare(kind, value, rest)
	upper := 0.0
	for r, s := range k.c.kinds[kind].share {
		if s > 0 {
			upper += k.relaxed.price[r]
		}
	}
	copy(k.free, k.c.kinds[kind].capacity)
	clear(k.chosen)
	k.best, k.bound, k.ended, k.limit = 0, 0, false, k.m.spent+steps
	k.search(0, upper, 0)
	return k.best, max(k.best, k.bound) * (1 + 2e-9)
}

// prepare lists the classes of which the node may hold some, prices the resources, and sorts.
func (k *knapsack) prepare(kind int, value []float64, rest []int) {
	node, dims := &k.c.kinds[kind], k.c.dims
	k.items, k.share, k.upto, k.value = k.items[:0], k.share[:0], k.upto[:0], k.value[:0]
	for i, v := range value {
		n := min(int(node.most[i]), rest[i])
		if n <= 0 || v <= 0 {
			continue
		}
		k.items = append(k.items, i)
		k.value = append(k.value, v)
		k.upto = append(k.upto, float64(n))
		for r, s := range k.c.classes[i].share {
			if s > 0 {
				s /= node.share[r]
			}
			k.share = append(k.share, s)
		}
	}
	n := len(k.items)
	k.m.work(len(value) + n*(dims+4))
	k.relaxed.solve(k.value, k.share, k.upto, k.m)
	price := k.relaxed.price
	for r := range price {
		price[r] = max(0, price[r])
	}
	paid := make([]float64, 3*n)
	worth, gain := paid[n:2*n], paid[2*n:]
	k.order = k.order[:0]
	for j := range k.items {
		for r, s := range k.share[j*dims : (j+1)*dims] {
			paid[j] += float64(price[r] * s)
		}
		worth[j], gain[j] = k.value[j]/(paid[j]+1e-15), k.value[j]-paid[j]
		k.order = append(k.order, j)
	}
	slices.SortFunc(k.order, func(a, b int) int { return cmp.Or(cmp.Compare(worth[b], worth[a]), cmp.Compare(a, b)) })
	k.request, k.most, k.gain = k.request[:0], k.most[:0], k.gain[:0]
	items := slices.Clone(k.items)
	values := slices.Clone(k.value)
	for at, j := range k.order {
		k.items[at], k.value[at] = items[j], values[j]
		k.gain = append(k.gain, gain[j])
		k.most = append(k.most, int64(k.upto[j]))
		k.request = append(k.request, k.c.classes[items[j]].request...)
	}
	k.ahead = append(k.ahead[:0], make([]float64, n+1)...)
	for at := n - 1; at >= 0; at-- {
		k.ahead[at] = k.ahead[at+1] + max(0, float64(k.gain[at]*float64(k.most[at])))
	}
}

// search chooses how many of item at and of those after it. Upper bounds what is chosen together with
// the room that is left, at the prices of resources; value is what is chosen.
func (k *knapsack) search(at int, upper, value float64) {
	dims := len(k.free)
	var n int64
	var request []int64
	for ; ; at++ { // past all of which none fits
		if at == len(k.items) {
			if value > k.best*(1+1e-12) {
				k.best = value
				k.keep()
			}
			return
		}
		k.m.spent++
		if upper+k.ahead[at] <= k.best*(1+1e-9) {
			return
		}
		n = k.most[at]
		request = k.request[at*dims : (at+1)*dims]
		for r, need := range request {
			if need > 0 && k.free[r] < need*n {
				n = k.free[r] / need
			}
		}
		if n > 0 {
			break
		}
	}
	k.ended = k.ended || k.m.spent > k.limit
	gain, rest := k.gain[at], upper+k.ahead[at+1]
	if gain < 0 { // fewer are better for the bound: begin where it is above the best
		if most := (rest - k.best) / -gain; most < float64(n) {
			n = max(0, int64(math.Ceil(most)))
		}
	}
	for r, need := range request {
		k.free[r] -= need * n
	}
	for ; n >= 0; n-- {
		bound := rest + float64(gain*float64(n))
		if bound > k.best*(1+1e-9) {
			if k.ended && k.best > 0 {
				k.bound = max(k.bound, bound, rest)
				break
			}
			k.chosen[at] = n
			k.search(at+1, upper+float64(gain*float64(n)), value+float64(k.value[at]*float64(n)))
		} else if gain >= 0 {
			break
		}
		if n > 0 {
			for r, need := range request {
				k.free[r] += need
			}
		}
	}
	if n > 0 {
		for r, need := range request {
			k.free[r] += need * n
		}
	}
	k.chosen[at] = 0
}

// keep remembers what is chosen.
func (k *knapsack) keep() {
	l := k.found[1][:0]
	for at, n := range k.chosen[:len(k.items)] {
		if n > 0 {
			l = append(l, part{int32(k.items[at]), int32(n)})
		}
	}
	k.found[0], k.found[1] = l, k.found[0]
}

// load is the best load, or with before the one before it; nil if there is none.
func (k *knapsack) load(before bool) load {
	l := k.found[0]
	if before {
		l = k.found[1]
	}
	return sorted(l)
}
