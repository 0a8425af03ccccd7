package providertest

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is how time passes in a Cloud: a unit's life, and what is due next.

// NextChange is when the next change by time alone is due: a machine is found, boots, or is gone.
// The virtual world sets its clock by it.
func (c *Cloud) NextChange() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	return c.next()
}

// advance does all that is due by now, one instant after the other, so that the number of calls
// does not matter.
func (c *Cloud) advance() {
	now := c.now()
	for {
		due, any := c.next()
		if !any || due.After(now) {
			break
		}
		c.at = due
		for _, id := range slices.Sorted(maps.Keys(c.groups)) {
			c.groups[id].pass(c.at)
		}
	}
	if now.After(c.at) {
		c.at = now
	}
}

// next is the earliest instant, not before at, at which a unit changes.
func (c *Cloud) next() (time.Time, bool) {
	var earliest time.Time
	var any bool
	for _, g := range c.groups {
		for _, u := range g.units {
			due, changes := g.due(u)
			if !changes {
				continue
			}
			if due.Before(c.at) {
				due = c.at
			}
			if !any || due.Before(earliest) {
				earliest, any = due, true
			}
		}
	}
	return earliest, any
}

// due is when a unit reaches its next state, if nothing delays it.
func (g *fakeGroup) due(u *unit) (time.Time, bool) {
	switch {
	case u.id == "":
		return u.asked.Add(u.paced(g.spec.Find)), g.inStock()
	case u.state == provider.Creating:
		if u.err != nil {
			return u.since.Add(u.retry), u.retry > 0
		}
		return u.since.Add(u.paced(g.spec.Boot)), !u.never
	case u.state == provider.Deleting:
		return u.since.Add(u.paced(g.spec.End)), true
	}
	return time.Time{}, false
}

func (u *unit) paced(d time.Duration) time.Duration { return time.Duration(u.pace * float64(d)) }

func (g *fakeGroup) newUnit(at time.Time) *unit {
	u := &unit{asked: at, pace: 1}
	if g.spec.Pace != nil {
		u.pace = g.spec.Pace()
	}
	return u
}

// pass moves every unit that is due at the instant to its next state.
func (g *fakeGroup) pass(at time.Time) {
	var gone []*unit
	for _, u := range g.units {
		due, changes := g.due(u)
		if !changes || due.After(at) {
			continue
		}
		switch {
		case u.id == "":
			g.name(u, at)
		case u.state == provider.Creating && u.err != nil: // it is tried again
			u.since = at
			if len(g.boots) == 0 {
				u.err, u.retry = nil, 0
			}
		case u.state == provider.Creating:
			u.state, u.since = provider.Running, at
		case u.state == provider.Deleting:
			gone = append(gone, u)
			g.gone = append(g.gone, u.id)
		}
	}
	g.units = slices.DeleteFunc(g.units, func(u *unit) bool { return slices.Contains(gone, u) })
}

func (g *fakeGroup) inStock() bool {
	if g.stock < 0 {
		return true
	}
	machines := 0
	for _, u := range g.units {
		if u.id != "" {
			machines++
		}
	}
	return machines < g.stock
}

// name gives the unit a machine, and with it a name for life.
func (g *fakeGroup) name(u *unit, at time.Time) {
	if len(g.gone) > 0 && g.spec.UsedNames != nil && g.spec.UsedNames() {
		u.id, g.gone = g.gone[0], g.gone[1:]
	} else {
		g.named++
		u.id = provider.InstanceID(fmt.Sprintf("%s-%05d", g.spec.ID, g.named))
	}
	u.never = g.spec.NeverRuns != nil && g.spec.NeverRuns()
	u.state, u.since, u.made, u.zone, u.like = provider.Creating, at, at, g.zone(), g.version()
	if len(g.boots) == 0 {
		return
	}
	err := g.boots[0].err
	err.Op, err.Group = provider.OpGrow, g.spec.ID
	u.err, u.retry = &err, g.boots[0].retry
	if g.boots[0].times--; g.boots[0].times == 0 {
		g.boots = g.boots[1:]
	}
}

func (g *fakeGroup) ask(n int, at time.Time) []*unit {
	var more []*unit
	for range n {
		more = append(more, g.newUnit(at))
	}
	g.units = append(g.units, more...)
	if n > 0 {
		g.since = at
	}
	return more
}

func (g *fakeGroup) end(u *unit, at time.Time) {
	u.state, u.since = provider.Deleting, at
	g.since = at
}

// takeBack drops at most n anonymous units, the newest first.
func (g *fakeGroup) takeBack(n int, at time.Time) int {
	taken := 0
	for i := len(g.units) - 1; i >= 0 && taken < n; i-- {
		if g.units[i].id == "" {
			g.units = slices.Delete(g.units, i, i+1)
			taken++
		}
	}
	if taken > 0 {
		g.since = at
	}
	return taken
}
