package check

import (
	"slices"
	"time"
)

// endingRules are about machines that we end, whichever write does it: one that names the machine, or
// one that lowers a target.
var endingRules = []rule{
	{"N1", "A machine whose node is ready and runs pods that a drain waits for ends only by a drain: " +
		"first the taint, then its pods leave or are granted eviction, then its end.",
		map[What]func(*Judge, *Event){MachineEnds: drained}},
	{"N2", "A machine that is healthy is never ended because its id, its name or its node could not be matched.",
		map[What]func(*Judge, *Event){MachineEnds: matched}},
	{"N3", "No machine is ended on a picture that is older than --inventory-max-age, and none that has no drained " +
		"node on one that began before our last write to its group ended.", map[What]func(*Judge, *Event){Asks: pictured}},
	{"N4", "Of machines that are neither empty nor drained, at most 3 or a tenth of a group, and 10 or a " +
		"twentieth of all, are ended within ten minutes.", map[What]func(*Judge, *Event){MachineEnds: rated}},
}

// drained leaves out pods that tolerate the taint and came after the end was asked for: it cannot be taken back
// then, and by their toleration they accept it.
func drained(j *Judge, e *Event) {
	m := j.truth.machines[e.Machine]
	n := j.truth.nodeOf(m)
	if e.Call == "" || n == nil || !n.ready {
		return
	}
	w := j.truth.writes[e.Call]
	if j.truth.outdone(w) {
		return
	}
	left := slices.DeleteFunc(n.counts(), func(p *pod) bool {
		return w != nil && n.tainted != "" && p.tolerant && p.bound.After(w.began)
	})
	which := ""
	if len(left) > 0 {
		which = left[0].uid
	}
	j.test(len(left) == 0, e, n.name, "it was ready since %s and ran %d pods, %s among them; tainted: %t",
		j.stamp(n.changed), len(left), which, n.tainted != "")
}

// decided is when the cycle began that had a node tainted.
func (t *truth) decided(n *node) time.Time {
	if w := t.writes[n.tainted]; w != nil && w.cycle.After(t.led) {
		return w.cycle
	}
	return n.taintedAt
}

// outdone reports whether the cloud made a machine of what a write takes back, after the picture by which that was
// decided: one that ends others in its place does what could not be known.
func (t *truth) outdone(w *write) bool {
	return w != nil && w.Verb == Cancel && slices.ContainsFunc(sorted(t.machines), func(id string) bool {
		m := t.machines[id]
		return m.group == w.Group && m.made.After(w.picture)
	})
}

// matched holds for machines that are ended as having no node: the call names none. One that has turned
// healthy within the tolerance may be unknown as such.
func matched(j *Judge, e *Event) {
	m := j.truth.machines[e.Machine]
	n := j.truth.nodeOf(m)
	w := j.truth.writes[e.Call]
	if m == nil || w == nil || w.Node != "" || j.truth.outdone(w) {
		return
	}
	healthy := n != nil && n.ready && n.tainted == "" && j.since(n.changed) > j.tolerance()
	if n == nil {
		n = &node{}
	}
	j.test(!healthy, e, e.Machine, "its node %s is ready since %s", n.name, j.stamp(n.changed))
}

// pictured asks about the writes that may end machines. An empty or drained node is named and looked at
// again before it goes: an older picture of its group cannot make that another machine.
func pictured(j *Judge, e *Event) {
	if e.Verb != Remove && e.Verb != Cancel {
		return
	}
	t := &j.truth
	age := j.now.Sub(t.sees)
	j.test(j.flags.InventoryMaxAge == 0 || age <= j.flags.InventoryMaxAge, e, e.Call,
		"the picture of the cloud was %s old", age)
	if e.Node != "" {
		return
	}
	var last *write
	for _, id := range sorted(t.writes) {
		w := t.writes[id]
		if w.Group != e.Group || !w.cloud() || w.cycle.Equal(t.cycle) || w.answer == NotBegun {
			continue
		}
		if last == nil || w.ended.IsZero() || !last.ended.IsZero() && w.ended.After(last.ended) {
			last = w
		}
	}
	if last != nil {
		j.test(!last.ended.IsZero() && !t.sees.Before(last.ended), e, e.Call,
			"the picture is of %s, and %s of the same group, begun at %s, ended at %s", j.stamp(t.sees), last.Call,
			j.stamp(last.began), j.stamp(last.ended))
	}
}

// cloud reports whether a write is to the cloud.
func (w *write) cloud() bool { return w.Verb == Grow || w.Verb == Cancel || w.Verb == Remove }

// few machines of a group may end within so long that are neither empty nor drained.
const (
	few       = 3
	fewWithin = 10 * time.Minute
)

// rated counts no machine that never was one: what the cloud could not make, and what it made, of requests that were
// taken back, after the picture by which they were, or ended in its place.
func rated(j *Judge, e *Event) {
	t := &j.truth
	m := t.machines[e.Machine]
	n := t.nodeOf(m)
	w := t.writes[e.Call]
	if w == nil || m == nil || m.failed && m.ran.IsZero() || t.outdone(w) {
		return
	}
	if g := t.groups[m.group]; g == nil || g.whole {
		return // they go together
	}
	if n != nil && (n.ready || n.tainted != "" && n.changed.After(t.decided(n).Add(-j.lag(justNow)))) {
		return // it was ready when its removal began, as far as anybody knew
	}
	if n == nil && m.had && w.Node != "" && (m.lost.IsZero() || m.lost.After(w.began.Add(-j.lag(justNow)))) {
		return // its node was empty or drained, and is lost since its end was asked for
	}
	t.endings = append(slices.DeleteFunc(t.endings, func(o ending) bool {
		return j.since(o.at) >= fewWithin || o.machine == m.id
	}), ending{m.id, m.group, j.now})
	of, all, size := 0, 0, 0
	for _, o := range t.endings {
		if o.group == m.group {
			of++
		}
	}
	for _, g := range t.groups {
		all += g.target
		if g.id == m.group {
			size = g.target
		}
	}
	// Targets may or may not count the machine itself any more.
	size, all = size+of, all+len(t.endings)
	j.test(of <= max(few, size/10) && len(t.endings) <= max(10, all/20), e, m.group,
		"%d of %d machines of the group, and %d of %d of all, within ten minutes", of, size, len(t.endings), all)
}
