package check

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// buyingRules are about growths. What a growth is for is the autoscaler's word: so many pods of a class.
var buyingRules = []rule{
	{"N6", "For one pod there are never two units in flight that were bought for it, unless the first failed, was " +
		"given up, or arrived and did not help.", map[What]func(*Judge, *Event){Buys: once, Decided: tempted}},
	{"N7", "A growth that arrived and did not help its pods is not repeated for them within the brake's time.",
		map[What]func(*Judge, *Event){Buys: helped}},
	{"N15", "No tenant's object changes what is bought for others: each node that is bought is for some pod that waits.",
		map[What]func(*Judge, *Event){Buys: wanted}},
}

// flies reports whether a unit may still arrive in time.
func (j *Judge) flies(u *unit) bool {
	return j.since(u.growth.at) < j.flags.ProvisionTime-rounding && j.comes(u, -rounding)
}

// comes reports whether a unit is waited for still, where the times of its machine and node are longer by more.
func (j *Judge) comes(u *unit, more time.Duration) bool {
	m := j.truth.machines[u.machine]
	n := j.truth.nodeOf(m)
	from := u.growth.at
	switch {
	case u.over || m == nil && u.machine != "":
		return false
	case m == nil:
	case m.ending || m.failed || m.had && n == nil:
		return false
	default:
		from = later(from, m.made)
	}
	if n != nil && !n.ever {
		from = n.made.Add(j.flags.StartupTime - j.flags.ProvisionTime) // it has the node's time, longer or not
	}
	return j.since(from) < j.flags.ProvisionTime+more && (n == nil || !n.differs)
}

// odd reports whether a node of a group is another than was promised, or one was that went while what was asked for
// beside it is on its way: the group's units are not relied on then.
func (j *Judge) odd(g *group) bool {
	for _, m := range j.truth.machines {
		if m.group == g.id && m.differs {
			return true
		}
	}
	return !g.strange.IsZero() && j.since(g.strange) < j.flags.ProvisionTime
}

// outlasts is for how long an agreement of the cloud to a growth is to be believed though its answers do not show it.
const outlasts = 2 * time.Minute

// denied reports whether answers with a fresh date have shown for so long that a growth was not, as they would where
// another client had taken it back: that it is on its way cannot be known.
func (j *Judge) denied(w *write) bool {
	t := &j.truth
	lies := t.on(readsLie) && w.ended.After(t.since[readsLie]) || !t.on(readsLie) && j.since(t.since[readsLie]) < settled
	return lies && !w.ended.IsZero() && j.since(w.ended) > outlasts
}

// claimed are the pods of a class that a growth's units in flight are for, rounded down.
func (j *Judge) claimed(o *growth, class string) int {
	w := j.truth.writes[o.call]
	if w != nil && w.answer == Unknown && !w.took && !j.truth.sees.Before(w.ended) {
		return 0 // a read has shown that it was not carried out
	}
	if w != nil && j.denied(w) {
		return 0
	}
	flying := 0
	for _, u := range o.units {
		if j.flies(u) {
			flying++
		}
	}
	return max(0, min(o.claims[class]*flying/max(1, len(o.units)), o.claims[class]-j.served(o, class)))
}

// served counts the pods of a class on those nodes of a growth that have come: the others are not for them.
func (j *Judge) served(o *growth, class string) (n int) {
	for _, u := range o.units {
		if node := j.truth.nodes[u.node]; node != nil {
			for _, p := range node.pods {
				if p.class == class {
					n++
				}
			}
		}
	}
	return n
}

// tempted counts the cycles in which pods wait that units in flight are for.
func tempted(j *Judge, e *Event) {
	for _, g := range j.truth.groups {
		if j.odd(g) {
			continue
		}
		for _, o := range g.growths {
			if slices.ContainsFunc(sorted(o.claims), func(class string) bool { return j.claimed(o, class) > 0 }) {
				j.test(true, e, "", "")
				return
			}
		}
	}
}

// timedOut reports whether the time of a unit that has not come was over within a span. Pods that came before what was
// bought since may have had its room.
func (t *truth) timedOut(from, until time.Time, patience time.Duration) bool {
	for _, g := range t.groups {
		for _, o := range g.growths {
			end := o.at.Add(patience)
			if end.Before(from) || end.After(until) {
				continue
			}
			if slices.ContainsFunc(o.units, func(u *unit) bool { return !u.over }) {
				return true
			}
		}
	}
	return false
}

// gaveUp adds the classes but one that units were bought for which we have given up since then, or whose nodes were not
// ready in time.
func (j *Judge) gaveUp(since time.Time, but string, classes map[string]bool) {
	ended := func(u *unit) bool {
		n := j.truth.nodeOf(j.truth.machines[u.machine])
		return u.givenUp.After(since) || n != nil && j.neverStarted(n, since)
	}
	for _, g := range j.truth.groups {
		for _, o := range g.growths {
			for class := range o.claims {
				if class != but && slices.ContainsFunc(o.units, ended) {
					classes[class] = true
				}
			}
		}
	}
}

// once compares what is claimed for a class with the pods of it that wait. Where something else may have
// taken the room that was bought, pods of other classes that came later, all are counted together. Pods of
// other classes whose nodes came as others than was promised, or were given up since, may take more of it than their
// number tells: then nothing is said. Those of a higher priority have any room before it, and leave it that of their
// own units.
func once(j *Judge, e *Event) {
	t := &j.truth
	before, since, voided := 0, j.now, false
	disappointed := map[string]bool{} // classes that units were bought for which are not relied on
	claims, classes, has := 0, map[string]bool{e.Class: true}, map[string]int{}
	for _, g := range t.groups {
		// Its units may land where they are of no use; or it may be believed to be gone, with all that was asked for.
		if j.odd(g) || g.varies || g.lacked >= 3 {
			for _, o := range g.growths {
				for class := range o.claims {
					if class != e.Class && j.since(o.at) < j.flags.ProvisionTime {
						disappointed[class] = true
					}
				}
			}
			continue
		}
		voided = voided || j.since(g.told) < j.flags.BackoffMost // its units may have been given up
		for _, o := range g.growths {
			if o.call == e.Call {
				continue
			}
			n := j.claimed(o, e.Class)
			if n > 0 {
				since = minTime(since, o.at)
			}
			before += n
			for class := range o.claims {
				claims += j.claimed(o, class)
				has[class] += j.claimed(o, class)
				classes[class] = true
			}
		}
	}
	if before == 0 {
		return
	}
	j.gaveUp(since, e.Class, disappointed)
	// The room of a machine that lost its node counts until its time is over; then its pods need another one. The
	// loss may have been seen late. So it is with a node that did not become ready in time.
	gone := slices.ContainsFunc(sorted(t.machines), func(id string) bool {
		m := t.machines[id]
		over := m.lost.Add(j.flags.ProvisionTime)
		return !m.lost.IsZero() && over.Add(j.tolerance()).After(since) && !over.After(j.now.Add(rounding))
	}) || t.timedOut(since, j.now.Add(rounding), j.flags.ProvisionTime) || j.anyNeverStarted(since)
	own, all, like := 0, 0, t.waitingLike(e.Class)
	for _, uid := range sorted(t.pods) {
		p := t.pods[uid]
		if n := t.nodes[p.node]; n != nil && !p.own && n.tainted != "" {
			all++ // it is to leave its node, and may have the room that was bought
		}
		if p.node != "" || p.expendable || p.own {
			continue
		}
		if p.class == e.Class {
			own++
		}
		voided = voided || disappointed[p.class]
		has[p.class]--
		all += p.takes(like, classes[p.class] || p.made.After(since) || gone, has[p.class] >= 0, gone)
	}
	// So may what was on its way in the place of a machine that the cloud took, which no growth was for.
	voided = voided || t.strayed.After(since) || slices.ContainsFunc(sorted(t.machines), func(id string) bool {
		m := t.machines[id]
		return m.stray() && j.since(m.made) >= j.flags.ProvisionTime-rounding
	})
	// Where units are in flight for more pods than wait, what they are for was said while it changed: the room of one
	// that is no longer waited for was other pods'.
	voided = voided || gone && before > own
	// Pods that depend on others may find no room on what was bought for those that took theirs.
	voided = voided || like != nil && like.coupled && t.taken(e.Class, since)
	g := t.groups[e.Group]
	if voided || t.raised || g == nil || g.varies || j.since(t.stirred) < settled || j.exceeds(e.Call, like, e.N) {
		return
	}
	j.test(before+e.N <= own || claims+e.N <= all, e, e.Class,
		"%s is for %d of its pods, units in flight are for %d, and %d wait", e.Call, e.N, before, own)
}

// taken reports whether others took room that was bought for pods of a class, on nodes that came since then.
func (t *truth) taken(class string, since time.Time) bool {
	for _, g := range t.groups {
		for _, o := range g.growths {
			if o.claims[class] == 0 {
				continue
			}
			others := func(p *pod) bool { return o.claims[p.class] == 0 }
			for _, u := range o.units {
				n := t.nodes[u.node]
				if n != nil && !n.made.Before(since) && slices.ContainsFunc(n.counts(), others) {
					return true
				}
			}
		}
	}
	return false
}

// exceeds reports whether the pods that wait find no room on all units in flight but a call's, the largest first, and
// those that are left are as much as so many like one of them: small ones may have gone first, and have left less room
// than the larger ones were counted for. Those that no unit is large enough for take no room from others.
func (j *Judge) exceeds(call string, like *pod, pods int) bool {
	if like == nil {
		return false
	}
	rooms, waits := j.roomInFlight(call), []*pod{}
	for _, uid := range sorted(j.truth.pods) {
		if p := j.truth.pods[uid]; p.node == "" && !p.own && !p.expendable && slices.ContainsFunc(rooms, p.fits) {
			waits = append(waits, p)
		}
	}
	slices.SortStableFunc(waits, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.memory, a.memory))
	})
	left := room{}
	for _, p := range waits {
		i := slices.IndexFunc(rooms, p.fits)
		if i < 0 {
			left = room{left.cpu + p.cpu, left.memory + p.memory}
			continue
		}
		rooms[i] = room{rooms[i].cpu - p.cpu, rooms[i].memory - p.memory}
	}
	but := int64(pods - 1) // the last one may have room in part
	return left.cpu > but*like.cpu || left.memory > but*like.memory
}

// room is what pods may have of a node.
type room struct{ cpu, memory int64 }

func (p *pod) fits(r room) bool { return p.cpu <= r.cpu && p.memory <= r.memory }

// roomInFlight is the room on each unit in flight but those of a call, without what each node of its group has for
// itself.
func (j *Judge) roomInFlight(call string) (rooms []room) {
	for _, id := range sorted(j.truth.groups) {
		g, own := j.truth.groups[id], room{}
		for _, n := range j.truth.nodes {
			if m := j.truth.machineOf(n); m != nil && m.group == id {
				has := room{}
				for _, p := range n.pods {
					if p.own {
						has = room{has.cpu + p.cpu, has.memory + p.memory}
					}
				}
				own = room{max(own.cpu, has.cpu), max(own.memory, has.memory)}
			}
		}
		for _, o := range g.growths {
			for _, u := range o.units {
				if o.call != call && j.comes(u, rounding) {
					rooms = append(rooms, room{g.cpu - own.cpu, g.memory - own.memory})
				}
			}
		}
	}
	return rooms
}

// waitingLike is a pod of a class that waits, nil if none does.
func (t *truth) waitingLike(class string) *pod {
	for _, p := range t.pods {
		if p.class == class && p.node == "" {
			return p
		}
	}
	return nil
}

// takes is of how many pods like another one a pod that waits may have the room: its own, where it counts, and, where
// it goes first, what it takes elsewhere. Of a unit that is for it the others have the room then. Where room is gone
// that it had, one of the same priority may be first, too.
func (p *pod) takes(like *pod, counts, own, gone bool) (n int) {
	if counts {
		n = 1
	}
	most, least := p.displaces(like, gone)
	if own {
		return n + most - least
	}
	return max(n, most)
}

// displaces is of how many pods like another one a pod that waits may have the room, at most, since the scheduler lets
// it go first, and how many of them have room where it would be, at least.
func (p *pod) displaces(like *pod, peers bool) (most, least int) {
	if like == nil || p.priority < like.priority || p.priority == like.priority && !peers || like.cpu == 0 {
		return 0, 0
	}
	times := func(a, b int64) (up, down int64) {
		if b == 0 {
			return 0, math.MaxInt64
		}
		return (a + b - 1) / b, a / b
	}
	upCPU, downCPU := times(p.cpu, like.cpu)
	upMemory, downMemory := times(p.memory, like.memory)
	return int(max(upCPU, upMemory)), int(min(downCPU, downMemory))
}

// stray reports whether a machine has come in the place of one that the cloud took, and has no node yet.
func (m *machine) stray() bool { return m.unit == nil && m.node == "" && !m.had && !m.instead.IsZero() }

// neverStarted reports whether the time of a node that has not been ready ended since then.
func (j *Judge) neverStarted(n *node, since time.Time) bool {
	over := n.made.Add(j.flags.StartupTime)
	return !n.ever && over.Add(j.tolerance()).After(since) && !over.After(j.now.Add(rounding))
}

// anyNeverStarted reports whether that is so of any node.
func (j *Judge) anyNeverStarted(since time.Time) bool {
	for _, n := range j.truth.nodes {
		if j.neverStarted(n, since) {
			return true
		}
	}
	return false
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

const (
	// shown is how long a node must be ready and empty until anybody can see that it is of no use: what
	// completes a node may come two minutes after it is ready, and the scheduler looks again at a pod
	// that it has refused after five.
	shown         = 2*time.Minute + 30*time.Second
	shownIfAsTold = 7 * time.Minute
	// brake is how long one such node tells of the next.
	brake = time.Hour
	// busy is for how long a scheduler that binds other pods of the class may just not have got to these.
	busy = 30 * time.Minute
)

// helped errs to silence where a node's use depends on more than the node.
func helped(j *Judge, e *Event) {
	t := &j.truth
	g := t.groups[e.Group]
	if g == nil || g.varies {
		return
	}
	for _, o := range g.growths {
		if o.call == e.Call || o.claims[e.Class] == 0 || o.version != g.version {
			continue
		}
		if e.Workload != "" && len(o.of) > 0 && !slices.Contains(o.of, e.Workload) {
			continue // it was for pods of others
		}
		var useless *node
		var came time.Time
		for _, u := range o.units {
			n := t.nodes[u.node]
			m := t.machineOf(n)
			if m == nil || m.ending || u.ready.IsZero() {
				continue // what ends is of no use to anybody
			}
			if n.empty.IsZero() || !n.empty.Equal(n.made) || !n.ready {
				useless = nil // it is used, or was
				break
			}
			// Whether the scheduler has had its time, only who has watched it knows.
			from, took := later(later(n.changed, t.led), minTime(t.lastBound(e.Class), n.changed.Add(busy))), shownIfAsTold
			if from = later(from, t.resumed); n.differs && !t.willful(n.changed) {
				from, took = n.changed, shown
			}
			from = later(from, t.hiddenUntil(m))
			if n.tainted == "" && !n.withheld && !n.drifted && n.cordoned == "" && j.since(from) > took+j.tolerance() &&
				j.since(n.changed) < brake {
				useless, came = n, u.ready
			}
		}
		if useless == nil {
			continue
		}
		waits := slices.ContainsFunc(sorted(t.pods), func(uid string) bool {
			p := t.pods[uid]
			return p.class == e.Class && p.node == "" && p.refused && !p.coupled && p.made.Before(came)
		})
		// Machines of growths that are under way together cannot be told apart.
		mixed := slices.ContainsFunc(g.growths, func(x *growth) bool {
			return x.claims[e.Class] == 0 && x.at.Before(useless.made) && useless.made.Sub(x.at) < j.flags.ProvisionTime
		}) || t.serves(g.id, e.Class, useless.made.Add(-together))
		if !waits || mixed || j.forgotten(useless.changed) {
			continue
		}
		j.test(false, e, e.Group+" for "+e.Class, "%s grows, and its node %s of the same kind is ready since %s and empty, "+
			"while they wait", e.Call, useless.name, j.stamp(useless.changed))
	}
	j.test(true, e, "", "")
}

// willful reports whether the scheduler has left pods without a node that they fit since then, as it does where it
// does not run: a node that is another than promised may be of use to them all the same.
func (t *truth) willful(since time.Time) bool {
	leaves := []string{"scheduler=picky", "scheduler=contrary", "scheduler=down", "scheduler=late"}
	return slices.ContainsFunc(leaves, func(fault string) bool {
		return t.on(fault) || t.since[fault].After(since)
	})
}

// lastBound is when the youngest pod of a class that runs was bound.
func (t *truth) lastBound(class string) (at time.Time) {
	for _, p := range t.pods {
		if p.class == class && p.node != "" {
			at = later(at, p.bound)
		}
	}
	return at
}

// justNow is how long a change may take to be seen and acted on.
const justNow = 2 * time.Second

// together is how far apart the nodes of one growth may come up.
const together = 5 * time.Minute

// serves reports whether a node of the group that is as young runs pods of the class: such nodes are
// of use, if not all of them.
func (t *truth) serves(group, class string, from time.Time) bool {
	for _, p := range t.pods {
		n := t.nodes[p.node]
		if m := t.machineOf(n); m != nil && m.group == group && p.class == class && !n.made.Before(from) {
			return true
		}
	}
	return false
}

// wanted counts a pod that was bound just now as one that waits: who buys cannot know of it yet, and for longer where
// changes are missed.
func wanted(j *Judge, e *Event) {
	waits, known := 0, j.lag(justNow)
	for _, p := range j.truth.pods {
		if p.class == e.Class && (p.node == "" || j.since(p.bound) < known) {
			waits++
		}
	}
	j.test(e.N > 0 && waits > 0 || j.since(j.truth.stirred) < j.lag(settled), e, e.Call,
		"it is for %d pods of %s, of which %d wait", e.N, e.Class, waits)
}
