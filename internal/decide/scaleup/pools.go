package scaleup

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/pool"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// fillPools buys what pools lack of their minimums, without any pod that asks for
// it: what the plan buys for pods counts. A group's share never keeps its pool below
// the minimum, all other limits do. It reports whether anything was bought.
func (pl *planner) fillPools() (bought bool) {
	templates := map[int]head{}
	for _, h := range pl.heads {
		templates[h.group] = h
	}
	for _, p := range pl.limits.pooled {
		// A group takes what its limits allow; what it cannot take is the others'.
		for pl.fill(p, templates) {
			bought = true
		}
	}
	return bought
}

// fillGroups buys what groups lack of their own minimums, where these are enforced. These nodes come first, so that
// pods use them before more are bought. A share of a pool never keeps a group below its own minimum; all other
// limits do.
func (pl *planner) fillGroups() {
	for _, h := range pl.heads {
		g := &pl.s.Groups[h.group]
		if !g.EnforcesMin(pl.p) {
			continue
		}
		has := g.Expected + pl.grown[h.group].nodes
		n := min(g.Min-has, pl.limits.hard(h.group))
		if n <= 0 {
			continue
		}
		pl.fillWith(h, n, fmt.Sprintf("the group has %s of at least %d%s", spelling.Count(has, "node"), g.Min,
			g.Settled.Bound(g.Settled.MinFrom)))
	}
}

// fillWith adds nodes that no pod asked for.
func (pl *planner) fillWith(h head, n int, why string) {
	pl.w.AddNodes(h.template, n)
	pl.limits.take(h.group, n)
	pl.filled[h.group] += n
	pl.record(h.group, n, why)
}

func (pl *planner) fill(p pool.Pool, templates map[int]head) (bought bool) {
	has, missing := pl.missing(p)
	for i, n := range missing {
		group := p.Groups[i]
		if n = min(n, pl.limits.hard(group)); n <= 0 {
			continue
		}
		pl.fillWith(templates[group], n, fmt.Sprintf("pool %s has %s of at least %d", p.ID,
			spelling.Count(has, "node"), p.Bounds.Min))
		bought = true
	}
	return bought
}

// missing is how many nodes a pool has, with what the plan buys, and by how many each of its groups is to be raised.
func (pl *planner) missing(p pool.Pool) (has int, raise []int) {
	members := slices.Clone(p.Members)
	for i, group := range p.Groups {
		members[i].Target += pl.grown[group].nodes
		members[i].Blocked = members[i].Blocked || pl.limits.hard(group) <= 0 && !pl.restsShortly(group)
	}
	return pool.Targets(members), pool.Fill(p.Sizing, p.Bounds, members)
}

// poolsLack reports whether a pool has less than its minimum, and a group of it could grow.
func (pl *planner) poolsLack() bool {
	return slices.ContainsFunc(pl.limits.pooled, func(p pool.Pool) bool {
		_, missing := pl.missing(p)
		return slices.ContainsFunc(missing, func(n int) bool { return n > 0 })
	})
}

// soon is how short the rest of a group must be for its pool's minimum to wait for it.
const soon = time.Minute

// restsShortly reports whether nothing but a short rest keeps a group from growing, after a
// call that failed for no fault of its own. Its part of the minimum waits for it: bought
// elsewhere, it would stay there for good.
func (pl *planner) restsShortly(group int) bool {
	v := pl.limits.closed[group]
	return v != nil && v.Reason == model.GroupPaused && v.Until.Before(pl.limits.s.Now.Add(soon))
}
