package clusterapi

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	// passing is how long the controllers of a MachineDeployment or a MachineSet may take
	// to see a scale-up, or that a Machine was deleted, and to make what is missing, which
	// are milliseconds as a rule. Nothing is held within that time, unless they say that they
	// cannot: a drain that was begun before is not rolled back for a moment's delay.
	passing = 30 * time.Second
	// standstill is how long nothing must have moved in a MachinePool before its size is
	// lowered to what there is. Infrastructure providers read their clouds again when
	// something changes, and every ten minutes at the latest, as far as we know them.
	standstill = 10 * time.Minute
)

// whyShort says why no Machine of a group is to be removed: fewer are there than were
// asked for, so that a removal would be refused (see planRemoval), after its node was
// drained for nothing. Empty if that is not so. stood is for how long the group has
// been as it is.
//
// It is said of each instance, and not of the group: a group that is held is not taken
// back to what there is, and that is what ends this. What it says does not change by
// the minute, since it is noted on nodes.
func whyShort(g *scalable, c circumstances, stood time.Duration) string {
	s := standingOf(c.members, c.sets, deref(g.replicas))
	switch {
	case len(s.live) >= deref(g.replicas), c.machineless, s.rolling: // the last two are holds of the group
		return ""
	case g.kind != machinePool && stuckHold(g, c) == nil && stood < passing:
		return ""
	}
	return fmt.Sprintf(
		"Machines that the %s was asked for are not there: to lower its replicas would only keep these from coming", g.kind,
	)
}

// stood is for how long a group that is short has been seen as it is now. We err to a
// shorter time: the first read began at zero.
func (p *Provider) stood(g *scalable, members []*machine) time.Duration {
	now := p.now()
	if live := standingOf(members, nil, deref(g.replicas)).live; len(live) >= deref(g.replicas) {
		p.memory.enough(g.id())
		return 0
	}
	return now.Sub(p.memory.shortSince(g.id(), pictureOf(g, members), now))
}

// pictureOf is all that would move if anything did.
func pictureOf(g *scalable, members []*machine) string {
	var out []string
	for _, m := range members {
		out = append(out, fmt.Sprintf("%s %q %q %v", m.name, m.providerID, m.nodeName, m.deleting))
	}
	slices.Sort(out)
	return fmt.Sprintf("%s %d %v %d %d %q\n%s", g.object.GetUID(), g.object.GetGeneration(), g.settled, deref(g.replicas),
		g.statusReplicas, g.providerIDs, strings.Join(out, "\n"))
}

// atStandstill reports whether a MachinePool may be lowered to the number of its Machines:
// who goes would be its infrastructure's choice if it had, or were about to have, one
// more than these. So it must have seen what is asked of it, count as many machines as
// there are Machines, list none beside them, delete none, and not have moved for long.
// Without any Machine it may be one whose infrastructure makes none, which is never
// lowered.
//
// That does not rule out a cloud that finds a machine after minutes without one, at
// this very moment and unseen by its infrastructure provider; but there is no
// read that could.
func (p *Provider) atStandstill(l look) bool {
	g := l.group
	if g.kind != machinePool || len(l.members) == 0 || !g.settled || g.statusReplicas != len(l.members) ||
		p.stood(g, l.members) < p.standstill {
		return false
	}
	known := map[string]bool{}
	for _, m := range l.members {
		if m.deleting {
			return false
		}
		known[m.providerID] = true
	}
	return !slices.ContainsFunc(g.providerIDs, func(id string) bool { return !known[id] })
}
