package pack

import (
	"cmp"
	"math/bits"
	"slices"
)

// grouped packs what has too many classes for column generation: classes of nearly one size become one, as
// large as the largest in every resource, and columns are generated for these. Then each node is
// filled with items in their own sizes, and its spare room with what comes next.
type grouped struct {
	*search
	groups [][]int // classes, largest first
}

// mostGroups are few enough for a good plan in some ten million steps.
const mostGroups = 150

// inGroups offers a plan by groups, of which there are at most so many, and one for each class that is
// not to be grouped; unless these are too many for columns still.
func (s *search) inGroups(worth []float64, most, until int) {
	a := &grouped{search: s, groups: s.c.groups(most)}
	c, half := a.core(), (until-s.m.spent)/2
	s.m.work(s.c.dims * len(s.c.classes) * bits.Len(uint(most)))
	if c == nil || !c.columnsPay(half) {
		return
	}
	inner := begin(c, s.m)
	inner.pack(nil, s.m.spent+half)
	s.offer(a.fill(inner.best, newGreedy(s.c, s.m, worth), until), MethodGroups)
}

// groups cuts the classes into groups: those with a limit alone, the others by the kinds that hold them, and
// then in halves, where most is lost by taking all for the largest.
func (c *core) groups(most int) [][]int {
	var groups [][]int
	known := map[string]int{}
	for i := range c.classes {
		if c.classes[i].limited() {
			groups = append(groups, []int{i})
			continue
		}
		key := make([]byte, len(c.kinds))
		for k := range c.kinds {
			if c.kinds[k].most[i] > 0 {
				key[k] = 1
			}
		}
		at, ok := known[string(key)]
		if !ok {
			at = len(groups)
			known[string(key)] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], i)
	}
	lost := make([]float64, len(groups))
	along := make([]int, len(groups))
	for at := range groups {
		along[at], lost[at] = c.spread(groups[at])
	}
	for len(groups) < most {
		top := 0
		for at := range lost {
			if lost[at] > lost[top] {
				top = at
			}
		}
		if len(groups) == 0 || lost[top] == 0 {
			break
		}
		group, r := groups[top], along[top]
		slices.SortFunc(group, func(a, b int) int {
			return cmp.Or(cmp.Compare(c.classes[a].share[r], c.classes[b].share[r]), cmp.Compare(a, b))
		})
		half := len(group) / 2
		groups[top] = group[:half:half]
		groups, lost, along = append(groups, group[half:]), append(lost, 0), append(along, 0)
		for _, at := range []int{top, len(groups) - 1} {
			along[at], lost[at] = c.spread(groups[at])
		}
	}
	return groups
}

// spread is the resource in which a group is widest, and what is lost there.
func (c *core) spread(group []int) (along int, lost float64) {
	for r := range c.dims {
		most, sum, count := 0.0, 0.0, 0.0
		for _, i := range group {
			n := float64(c.classes[i].count)
			most = max(most, c.classes[i].share[r])
			sum += float64(n * c.classes[i].share[r])
			count += n
		}
		if l := float64(most*count) - sum; len(group) > 1 && l > lost*(1+1e-9) {
			along, lost = r, l
		}
	}
	return along, lost
}

// core is the problem with groups for classes; nil if one of them fits nowhere.
func (a *grouped) core() *core {
	c := *a.c
	c.classes, c.kinds = nil, slices.Clone(a.c.kinds)
	for at, group := range a.groups {
		one := class{request: make([]int64, c.dims), share: make([]float64, c.dims), perNode: a.c.classes[group[0]].perNode}
		for _, i := range group {
			m := &a.c.classes[i]
			one.count += m.count
			for r := range one.request {
				one.request[r] = max(one.request[r], m.request[r])
				one.share[r] = max(one.share[r], m.share[r])
			}
		}
		if len(group) > 1 {
			one.perNode = NoLimit
		}
		c.classes = append(c.classes, one)
		ranked := slices.Clone(group)
		size := func(i int) (sum float64) {
			for _, s := range a.c.classes[i].share {
				sum += s
			}
			return sum
		}
		slices.SortFunc(ranked, func(x, y int) int { return cmp.Or(cmp.Compare(size(y), size(x)), cmp.Compare(x, y)) })
		a.groups[at] = ranked
	}
	held := make([]bool, len(c.classes))
	for k := range c.kinds {
		most := make([]int32, len(c.classes))
		for i := range c.classes {
			if a.c.kinds[k].most[a.groups[i][0]] > 0 {
				one := &c.classes[i]
				most[i] = int32(min(one.fitting(c.kinds[k].capacity), one.perNode, one.count))
				held[i] = held[i] || most[i] > 0
			}
		}
		c.kinds[k].most = most
	}
	if slices.Contains(held, false) || len(c.classes) == 0 {
		return nil
	}
	return &c
}

// slots takes the items of one group.
func (a *grouped) slots(g *greedy, d *draft, p part, l load) load {
	for need := int(p.count); need > 0 && len(a.groups[p.class]) > 0; {
		i := a.groups[p.class][0]
		if d.rest[i] == 0 {
			a.groups[p.class] = a.groups[p.class][1:]
			continue
		}
		n := g.takes(i, min(need, d.rest[i]))
		if n == 0 {
			break
		}
		l = append(l, part{int32(i), int32(n)})
		d.rest[i] -= n
		need -= n
		g.m.spent++
	}
	return l
}

// fill buys the nodes of a draft in groups, one by one: its items are the largest of their groups that
// are left, and the spare room is filled with whatever else fits.
func (a *grouped) fill(groups *draft, g *greedy, until int) *draft {
	d := newDraft(a.c)
	var l load
	for _, e := range groups.entries {
		for range e.nodes {
			copy(g.free, a.c.kinds[e.kind].capacity)
			l = l[:0]
			for _, p := range e.load {
				l = a.slots(g, d, p, l)
			}
			slots := len(l)
			if a.m.spent < until {
				l = g.fillUp(e.kind, d.rest, l, g.ranking(e.kind).limited)
			}
			for _, p := range l[:slots] {
				d.rest[p.class] += int(p.count) // take counts them
			}
			d.take(a.c, e.kind, 1, sorted(l))
		}
	}
	return d
}
