package growth

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// health answers S2: is the group in a shape to grow? Nodes that never started say
// no where they are a large share of it (UC3): of many machines, one is a dud now and then.
// What the cloud has no machines for says nothing about the group: it backs off for that.
func (g *Group) health(f *Fold) {
	c := &g.Counts
	without := c.Lost
	for i := range g.waiting {
		if w := &g.waiting[i]; !w.Lost && w.Long && w.Err == nil {
			without++
		}
	}
	absent := g.unexplained + without
	unready := c.Unready + c.NeverStarted + absent
	all := c.Total - c.BeingDeleted + absent
	switch {
	case f.Rules.TooMany(unready, all):
		g.unhealthy = model.Verdict{
			Reason: model.GroupUnhealthy,
			Detail: fmt.Sprintf("%d of its %s %s missing or not ready", unready, spelling.Count(all, "node"),
				spelling.Are(unready)) + c.LostText(),
			Fix: fmt.Sprintf("at most %d of them, or %.0f%%, are missing or not ready", f.Rules.MaxUnready,
				f.Rules.MaxUnreadyShare*100),
		}.After(g.unhealthy, f.Seen.Now)
	case g.dudsStop(f):
		g.unhealthy = model.Verdict{
			Reason: model.NodeNeverStarted, Fix: "they become ready, or go",
			Detail: fmt.Sprintf("%s did not become ready in time, %s among them", spelling.Count(c.NeverStarted, "node"),
				g.neverStarted),
		}.After(g.unhealthy, f.Seen.Now)
	default:
		g.unhealthy = nil
	}
}

// Departed counts the group's nodes whose machines are gone, as far as the cloud tells: neither listed nor counted by
// the target. Unlisted are only those that were kept since their nodes are ready. An answer that lacks machines for no
// reason leaves the target as it was.
func (g *Group) Departed(pg *provider.Group) (n int) {
	more := g.Counts.Total - g.Counts.BeingDeleted - g.Expected
	for i := 0; i < len(pg.Instances) && n < more; i++ {
		if pg.Instances[i].Unlisted {
			n++
		}
	}
	return n
}

// dudsStop reports whether the group's nodes that never started stop its growth.
func (g *Group) dudsStop(f *Fold) bool {
	return f.Rules.DudsStop(g.Counts.NeverStarted, g.Counts.Total-g.Counts.BeingDeleted)
}
