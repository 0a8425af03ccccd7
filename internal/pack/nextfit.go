package pack

import (
	"cmp"
	"math"
	"slices"
)

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
