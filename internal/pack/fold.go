package pack

import (
	"encoding/binary"
	"math"
)

// core is a problem without what makes no difference: equal classes are one, types that differ in
// their zone alone are one kind, and resources that no class requests, classes that fit nowhere
// and kinds that are no better than a cheaper one are left out.
type core struct {
	dims      int
	classes   []class
	kinds     []kind
	priceUnit int64   // divides every price
	priceMost float64 // the highest price
}

// class is one or more of the problem's classes, which are alike.
type class struct {
	request []int64
	share   []float64 // request as a part of the largest capacity that any kind has
	count   int
	perNode int
	members []int // of Problem.Classes
}

// kind is one or more of the problem's types, which differ in nothing but zone and limit.
type kind struct {
	capacity []int64
	share    []float64 // as class.share
	price    int64
	limit    int     // nodes, over all its types
	most     []int32 // by class: how many an empty node takes
	types    []int   // of Problem.Types
}

// cost is the price as a part of the highest, which suits a simplex better.
func (c *core) cost(k int) float64 { return float64(c.kinds[k].price) / c.priceMost }

func (c *core) counts() []int {
	counts := make([]int, len(c.classes))
	for i := range c.classes {
		counts[i] = c.classes[i].count
	}
	return counts
}

// fold makes the core of a problem.
func fold(p *Problem, m *meter) *core {
	f := folder{p: p}
	f.resources()
	kinds := f.kinds()
	classes := f.classes(kinds)
	c := &core{dims: len(f.used)}
	fits := make([]bool, len(classes))
	for _, k := range kinds {
		k.most = make([]int32, len(classes))
		for i := range classes {
			if f.holds(k, classes[i].members[0]) {
				k.most[i] = int32(min(classes[i].fitting(k.capacity), classes[i].perNode, classes[i].count))
				fits[i] = fits[i] || k.most[i] > 0
			}
		}
	}
	m.work(4 * len(kinds) * len(classes) * (c.dims + 1))
	for i := range classes {
		if fits[i] {
			c.classes = append(c.classes, classes[i])
		}
	}
	for _, k := range kinds {
		k.most = keep(k.most, fits)
	}
	for i, k := range kinds {
		if !useless(kinds, i) {
			c.kinds = append(c.kinds, *k)
		}
	}
	m.work(len(kinds) * len(kinds))
	c.scale()
	return c
}

// folder carries what the steps of folding share.
type folder struct {
	p       *Problem
	used    []int   // the resources that some class requests
	divisor []int64 // of all requests, by used resource
}

// resources finds which are requested, and the greatest common divisor of the requests: a
// node's load is a multiple of it, so that the rest of a capacity is of no use.
func (f *folder) resources() {
	var divisors []int64
	for _, c := range f.p.Classes {
		for r := 0; c.Count > 0 && r < len(c.Request); r++ {
			for len(divisors) <= r {
				divisors = append(divisors, 0)
			}
			divisors[r] = gcd(divisors[r], c.Request[r])
		}
	}
	for r, d := range divisors {
		if d > 0 {
			f.used, f.divisor = append(f.used, r), append(f.divisor, d)
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// row is what a list has of the used resources.
func (f *folder) row(of []int64) []int64 {
	row := make([]int64, len(f.used))
	for d, r := range f.used {
		if r < len(of) {
			row[d] = max(0, of[r])
		}
	}
	return row
}

func (f *folder) kinds() []*kind {
	var kinds []*kind
	known := map[string]*kind{}
	for t, ty := range f.p.Types {
		if ty.Max <= 0 {
			continue
		}
		row := f.row(ty.Capacity)
		for d := range row {
			row[d] -= row[d] % f.divisor[d]
		}
		key := appendAll(nil, append(row, ty.Price))
		if ty.Holds != nil {
			for i := range f.p.Classes {
				if i%8 == 0 {
					key = append(key, 0)
				}
				if ty.Holds.Has(i) {
					key[len(key)-1] |= 1 << (i % 8)
				}
			}
		}
		k := known[string(key)]
		if k == nil {
			k = &kind{capacity: row, price: ty.Price}
			known[string(key)] = k
			kinds = append(kinds, k)
		}
		k.types = append(k.types, t)
		k.limit = added(k.limit, ty.Max)
	}
	return kinds
}

// added is a sum of limits.
func added(a, b int) int {
	if a > NoLimit-b {
		return NoLimit
	}
	return a + b
}

func (f *folder) holds(k *kind, class int) bool {
	set := f.p.Types[k.types[0]].Holds
	return set == nil || set.Has(class)
}

// classes folds those that are alike. Two with a limit per node are never one: each has its own.
func (f *folder) classes(kinds []*kind) []class {
	var classes []class
	known := map[string]int{}
	for i, c := range f.p.Classes {
		if c.Count == 0 || c.PerNode <= 0 {
			continue
		}
		row := f.row(c.Request)
		if c.PerNode < c.Count {
			classes = append(classes, class{request: row, count: c.Count, perNode: c.PerNode, members: []int{i}})
			continue
		}
		key := appendAll(nil, row)
		for n, k := range kinds {
			if n%8 == 0 {
				key = append(key, 0)
			}
			if f.holds(k, i) {
				key[len(key)-1] |= 1 << (n % 8)
			}
		}
		at, ok := known[string(key)]
		if !ok {
			at = len(classes)
			known[string(key)] = at
			classes = append(classes, class{request: row, perNode: NoLimit})
		}
		classes[at].count += c.Count
		classes[at].members = append(classes[at].members, i)
	}
	return classes
}

func appendAll(key []byte, numbers []int64) []byte {
	for _, n := range numbers {
		key = binary.AppendVarint(key, n)
	}
	return key
}

// fitting is how many fit into free room.
func (c *class) fitting(free []int64) int {
	most := c.count
	for r, request := range c.request {
		if request > 0 && int64(most) > 0 {
			most = int(min(int64(most), free[r]/request))
		}
	}
	return most
}

func keep(most []int32, which []bool) []int32 {
	kept := most[:0]
	for i, n := range most {
		if which[i] {
			kept = append(kept, n)
		}
	}
	return kept
}

// useless reports whether kind i holds nothing, or another one of no limit holds as much of
// everything for no more. Of two that are equal in all that, the first stays.
func useless(kinds []*kind, i int) bool {
	k, any := kinds[i], false
	for _, n := range k.most {
		any = any || n > 0
	}
	if !any {
		return true
	}
other:
	for j, o := range kinds {
		if j == i || o.limit != NoLimit || o.price > k.price {
			continue
		}
		equal := o.price == k.price && k.limit == NoLimit
		for r, c := range k.capacity {
			if o.capacity[r] < c {
				continue other
			}
			equal = equal && o.capacity[r] == c
		}
		for n, most := range k.most {
			if most > 0 && o.most[n] == 0 {
				continue other
			}
			equal = equal && (most > 0 || o.most[n] == 0)
		}
		if !equal || j < i {
			return true
		}
	}
	return false
}

// scale fills in the shares, and what the prices have in common.
func (c *core) scale() {
	largest := make([]float64, c.dims)
	for k := range c.kinds {
		for r, n := range c.kinds[k].capacity {
			largest[r] = max(largest[r], float64(n))
		}
		c.priceUnit = gcd(c.priceUnit, c.kinds[k].price)
		c.priceMost = max(c.priceMost, float64(c.kinds[k].price))
	}
	share := func(row []int64) []float64 {
		s := make([]float64, c.dims)
		for r, n := range row {
			if largest[r] > 0 {
				s[r] = float64(n) / largest[r]
			} else if n > 0 {
				s[r] = math.Inf(1)
			}
		}
		return s
	}
	for k := range c.kinds {
		c.kinds[k].share = share(c.kinds[k].capacity)
	}
	for i := range c.classes {
		c.classes[i].share = share(c.classes[i].request)
	}
}
