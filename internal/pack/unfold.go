package pack

import (
	"cmp"
	"slices"
	"sort"
)

// plan writes the best draft in the problem's own classes and types.
func (s *search) plan(p *Problem, columns []pattern) Plan {
	u := newUnfolder(p, s.c)
	for _, e := range s.best.entries {
		u.entry(e)
	}
	plan := Plan{Patterns: merged(u.patterns), Unplaced: make([]int, len(p.Classes)), Price: s.worth.price,
		Nodes: s.worth.nodes, Method: s.method, Proof: s.bound.prices.proof}
	for i, class := range p.Classes {
		plan.Unplaced[i] = class.Count
	}
	for _, pattern := range plan.Patterns {
		for _, item := range pattern.Items {
			plan.Unplaced[item.Class] -= item.Count * pattern.Nodes
		}
	}
	if plan.Nodes == 0 {
		plan.Method, plan.Proof, plan.Steps = MethodNone, ProofNone, s.m.spent
		return plan
	}
	plan.PriceBound = s.bound.least()
	if plan.PriceBound == s.bound.price {
		plan.Proof = ProofSums
	}
	plan.NodeBound = max(s.bound.nodes, s.c.nodeBound(s.worth.left, s.m))
	if s.c.priceUnit == int64(s.c.priceMost) {
		plan.NodeBound = max(plan.NodeBound, int(plan.PriceBound/s.c.priceUnit))
	}
	for _, pattern := range columns {
		plan.Columns = append(plan.Columns, u.column(pattern))
	}
	plan.Steps = s.m.spent
	return plan
}

// unfolder deals folded classes out to their members, and kinds to their types.
type unfolder struct {
	p        *Problem
	c        *core
	next     []int // by class: the member that is served now
	rest     []int // by class: how many that one still needs
	bought   []int // by type
	zones    map[int]int
	patterns []Pattern
}

func newUnfolder(p *Problem, c *core) *unfolder {
	u := &unfolder{p: p, c: c, next: make([]int, len(c.classes)), rest: make([]int, len(c.classes)),
		bought: make([]int, len(p.Types)), zones: map[int]int{}}
	for i, class := range c.classes {
		u.rest[i] = p.Classes[class.members[0]].Count
	}
	return u
}

// entry serves the members in order: as many nodes alike as they allow, then the next.
func (u *unfolder) entry(e entry) {
	for e.nodes > 0 {
		var items []Item
		times := e.nodes
		for _, p := range e.load {
			parts := u.parts(p)
			items = append(items, parts...)
			if times = min(times, u.rest[p.class]/int(p.count)); len(parts) > 1 {
				times = 1
			}
		}
		for _, p := range e.load {
			u.serve(int(p.class), int(p.count)*times)
		}
		slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Class, b.Class) })
		u.deal(e.kind, times, items)
		e.nodes -= times
	}
}

// parts are the members that are served next.
func (u *unfolder) parts(p part) []Item {
	var items []Item
	class := &u.c.classes[p.class]
	at, rest := u.next[p.class], u.rest[p.class]
	for need := int(p.count); need > 0; {
		n := min(need, rest)
		items = append(items, Item{class.members[at], n})
		if need -= n; need > 0 {
			at++
			rest = u.p.Classes[class.members[at]].Count
		}
	}
	return items
}

func (u *unfolder) serve(i, n int) {
	members := u.c.classes[i].members
	for n >= u.rest[i] && u.next[i]+1 < len(members) {
		n -= u.rest[i]
		u.next[i]++
		u.rest[i] = u.p.Classes[members[u.next[i]]].Count
	}
	u.rest[i] -= n
}

// deal buys nodes of a kind's types: evenly over zones, and in a zone evenly over types, counting
// what was bought before.
func (u *unfolder) deal(k, nodes int, items []Item) {
	zones := map[int]int{}
	var types [][]int
	var have, room []int
	for _, t := range u.c.kinds[k].types {
		z, ok := zones[u.p.Types[t].Zone]
		if !ok {
			z = len(types)
			zones[u.p.Types[t].Zone] = z
			types, have, room = append(types, nil), append(have, u.zones[u.p.Types[t].Zone]), append(room, 0)
		}
		types[z] = append(types[z], t)
		room[z] = added(room[z], u.p.Types[t].Max-u.bought[t])
	}
	for z, n := range evenly(nodes, have, room) {
		haveType, roomType := make([]int, len(types[z])), make([]int, len(types[z]))
		for at, t := range types[z] {
			haveType[at], roomType[at] = u.bought[t], u.p.Types[t].Max-u.bought[t]
		}
		for at, n := range evenly(n, haveType, roomType) {
			if t := types[z][at]; n > 0 {
				u.bought[t] += n
				u.zones[u.p.Types[t].Zone] += n
				u.patterns = append(u.patterns, Pattern{t, items, n})
			}
		}
	}
}

// evenly deals n out, so that what they have then is as even as their room allows.
func evenly(n int, have, room []int) []int {
	give := make([]int, len(have))
	upTo := func(level int) (sum int) {
		for i := range give {
			give[i] = min(room[i], max(0, level-have[i]))
			sum += give[i]
		}
		return sum
	}
	// The highest level that n reaches; what is left then goes one by one.
	level := sort.Search(slices.Max(have)+n+1, func(level int) bool { return upTo(level+1) > n })
	n -= upTo(level)
	for i := range give {
		if n > 0 && give[i] < room[i] && have[i]+give[i] == level {
			give[i]++
			n--
		}
	}
	return give
}

// column is a pattern in the problem's own terms, for the next cycle.
func (u *unfolder) column(p pattern) Pattern {
	out := Pattern{Type: u.c.kinds[p.kind].types[0]}
	for _, l := range p.load {
		out.Items = append(out.Items, Item{u.c.classes[l.class].members[0], int(l.count)})
	}
	slices.SortFunc(out.Items, func(a, b Item) int { return cmp.Compare(a.Class, b.Class) })
	return out
}

// warm are the patterns of a cycle before, as far as they still fit.
func (c *core) warm(p *Problem) (list []pattern) {
	if len(p.Warm) == 0 {
		return nil
	}
	kindOf, classOf := map[int]int{}, map[int]int{}
	for k := range c.kinds {
		for _, t := range c.kinds[k].types {
			kindOf[t] = k
		}
	}
	for i := range c.classes {
		for _, member := range c.classes[i].members {
			classOf[member] = i
		}
	}
	for _, w := range p.Warm {
		used := make([]int, len(c.classes))
		k, ok := kindOf[w.Type]
		for _, item := range w.Items {
			i, known := classOf[item.Class]
			ok = ok && known && item.Count > 0 && item.Count <= c.classes[i].count
			if ok {
				used[i] = min(used[i]+item.Count, c.classes[i].count)
			}
		}
		if !ok {
			continue
		}
		if l := loadOf(used); c.fit(k, l) {
			list = append(list, pattern{k, l})
		}
	}
	return list
}

// fit reports whether an empty node takes a load that has not been checked before.
func (c *core) fit(k int, l load) bool {
	free := slices.Clone(c.kinds[k].capacity)
	for _, p := range l {
		if c.kinds[k].most[p.class] < p.count {
			return false
		}
		for r, request := range c.classes[p.class].request {
			if request > 0 && free[r]/request < int64(p.count) {
				return false
			}
			free[r] -= request * int64(p.count)
		}
	}
	return true
}

// merged sorts patterns, and makes one of those that are equal.
func merged(patterns []Pattern) []Pattern {
	slices.SortStableFunc(patterns, func(a, b Pattern) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), slices.CompareFunc(a.Items, b.Items, func(x, y Item) int {
			return cmp.Or(cmp.Compare(x.Class, y.Class), cmp.Compare(x.Count, y.Count))
		}))
	})
	var out []Pattern
	for _, p := range patterns {
		if last := len(out) - 1; last >= 0 && out[last].Type == p.Type && slices.Equal(out[last].Items, p.Items) {
			out[last].Nodes += p.Nodes
			continue
		}
		out = append(out, p)
	}
	return out
}
