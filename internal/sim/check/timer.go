package check

import (
	"slices"
	"time"
)

// timerRules are the lower ends of the timers: what must not be earlier.
var timerRules = []rule{
	{"T-unneeded", "A ready node's removal does not begin before it was little used for --scale-down-unneeded-time.",
		map[What]func(*Judge, *Event){Tainted: unneeded}},
	{"T-unready", "The removal of a node that is not ready does not begin before --scale-down-unready-time or " +
		"--replace-unready-after, or --max-node-startup-time where it never was.",
		map[What]func(*Judge, *Event){Tainted: unready}},
	{"T-add", "No removal of a ready node begins within --scale-down-delay-after-add of our last growth.",
		map[What]func(*Judge, *Event){Tainted: afterAdd}},
	{"T-delete", "Nor within --scale-down-delay-after-delete of our last removal of a node.",
		map[What]func(*Judge, *Event){Tainted: afterDelete}},
	{"T-failure", "Nor within --scale-down-delay-after-failure of a node's removal that the cloud refused.",
		map[What]func(*Judge, *Event){Tainted: afterFailure}},
	{"T-provision", "A machine that never had a node is not ended, and no request taken back, within " +
		"--max-node-provision-time, unless the cloud could not make it.",
		map[What]func(*Judge, *Event){MachineEnds: provisioned, TargetIs: takenBack}},
	{"T-backoff", "A group whose growth failed rests for 5 minutes, then for twice as long each time, up to 30.",
		map[What]func(*Judge, *Event){Asks: backedOff, Answered: growthRefused, ReadEnds: growthFailed,
			Sees: growthUnseen}},
	{"T-grace", "No machine is ended before the pods that we evicted from it have ended, or had their time to.",
		map[What]func(*Judge, *Event){MachineEnds: graced}},
}

// begins is the node of a removal of ours that begins with its taint, nil if it is another's.
func (j *Judge) begins(e *Event) *node {
	n := j.truth.nodes[e.Node]
	if m := j.truth.machineOf(n); e.Call == "" || m == nil || m.ending || n.tainted != "" {
		return nil
	}
	return n
}

// justTurned reports whether it may not be known that a node is ready, or is not, or was not so when a write was begun.
func (j *Judge) justTurned(n *node, call string) bool {
	w := j.truth.writes[call]
	return j.since(n.changed) <= j.lag(rounding) || w != nil && n.changed.After(w.began.Add(-rounding))
}

func unneeded(j *Judge, e *Event) {
	if n := j.begins(e); n != nil && n.ready && !j.due(n) {
		if j.justTurned(n, e.Call) {
			return
		}
		low, ready := n.low, n.turned
		w := j.truth.writes[e.Call]
		if low.IsZero() && (j.since(n.used) <= j.lag(j.tolerance()) || w != nil && n.used.After(w.began)) {
			low = n.wasLow // it was not known yet that it is used, or not when it was begun
		}
		if !n.wasLow.IsZero() && !low.Before(n.used) && low.Sub(n.used) <= rounding {
			low = n.wasLow // it was used for a moment, which need not have been seen
		}
		if j.flags.Cheaper || j.flags.Returns {
			// Its use does not matter, and its move goes on when it is ready again, be it as a new Node object.
			low, ready = j.truth.machineOf(n).made, j.truth.machineOf(n).made
		}
		j.test(!low.IsZero() && j.since(later(low, ready)) >= j.flags.UnneededTime-rounding, e, e.Node,
			"it is ready since %s, and little used since %s", j.stamp(n.turned), j.stamp(low))
	}
}

func unready(j *Judge, e *Event) {
	n := j.begins(e)
	if n == nil || n.ready || j.hurried(n) {
		return // its machine is about to be taken
	}
	if n.ever {
		if j.justTurned(n, e.Call) {
			return // and be removed as one that is ready
		}
		least := j.flags.UnreadyTime
		if j.flags.ReplaceUnready > 0 {
			least = min(least, j.flags.ReplaceUnready)
		}
		j.test(j.since(n.changed) >= least-rounding, e, e.Node, "it is not ready since %s", j.stamp(n.changed))
		return
	}
	j.test(j.since(n.made) >= j.flags.StartupTime-rounding, e, e.Node, "it registered at %s, and never was ready",
		j.stamp(n.made))
}

// after asks whether a delay has passed since something of ours, in the same group where delays are
// local. What a process learned in its last moments its successor may not know.
func after(j *Judge, e *Event, last map[string]time.Time, delay time.Duration, what string) {
	n := j.begins(e)
	if n == nil || !n.ready || delay == 0 || j.hurried(n) {
		return
	}
	where := ""
	if j.flags.DelayTypeLocal {
		where = j.truth.machineOf(n).group
	}
	at := last[where]
	if w := j.truth.writes[e.Call]; w != nil && !at.Before(w.began) {
		return // it was not known when this was asked for
	}
	if !at.IsZero() && !j.forgotten(at) {
		j.test(j.since(at) >= delay-rounding, e, e.Node, "%s was at %s", what, j.stamp(at))
	}
}

func afterAdd(j *Judge, e *Event) {
	after(j, e, j.truth.grew, j.flags.DelayAfterAdd, "our last growth")
}
func afterDelete(j *Judge, e *Event) {
	after(j, e, j.truth.removed, j.flags.DelayAfterDelete, "our last removal")
}
func afterFailure(j *Judge, e *Event) {
	after(j, e, j.truth.failed, j.flags.DelayAfterFailure, "the last refusal")
}

// provisioned: a machine's time begins when it was asked for, and again when it lost its node.
func provisioned(j *Judge, e *Event) {
	t := &j.truth
	m := t.machines[e.Machine]
	w := t.writes[e.Call]
	if m == nil || w == nil || m.failed || w.Node != "" || m.node != "" || w.Verb != Remove {
		return
	}
	since := m.made
	if m.unit != nil {
		since = minTime(since, m.unit.growth.at)
	}
	if !m.instead.IsZero() {
		since = minTime(since, m.instead)
	}
	if since.Equal(j.flags.Start) && !m.had {
		return // its age is unknown
	}
	if m.had && m.lost.Sub(m.registered) >= rounding && !m.passed { // a node that came and went at once need not be seen
		if since = m.lost; !m.hidden.IsZero() {
			since = m.hidden
		}
	}
	j.test(j.since(since) >= j.flags.ProvisionTime-rounding, e, m.id, "it was asked for at %s, and lost its node at %s",
		j.stamp(since), j.stamp(m.lost))
}

// takenBack: of the requests without a machine those that are late may be taken back, and all where the
// cloud has said that they do not come.
func takenBack(j *Judge, e *Event) {
	t := &j.truth
	g := t.groups[e.Group]
	w := t.writes[e.Call]
	if g == nil || w == nil || w.Verb != Cancel || e.N >= g.target || j.since(g.told) < j.flags.BackoffReset {
		return
	}
	back := g.target - e.N
	late, open := 0, 0
	for _, o := range g.growths {
		for _, u := range o.units {
			if u.machine != "" || u.over {
				continue
			}
			if open++; j.since(o.at) >= j.flags.ProvisionTime-rounding {
				late++
			}
		}
	}
	for _, v := range g.vacant {
		if j.since(v.left) >= j.flags.ProvisionTime-rounding {
			late++
		}
	}
	machines := 0
	for _, m := range t.machines {
		if m.group != g.id || m.ending {
			continue
		}
		machines++
		if m.unit == nil {
			continue
		}
		// It was late in the picture, and has come since, or about then; the next one is taken back in its place.
		end := m.unit.growth.at.Add(j.flags.ProvisionTime)
		if !j.now.Before(end.Add(-rounding)) &&
			(m.made.After(t.sees) || m.node == "" && m.made.After(end.Add(-j.tolerance()))) {
			late++
		}
	}
	late += max(0, g.target-machines-open-len(g.vacant)) // it is not known since when the others are asked for
	j.test(back <= late || open == 0, e, e.Group, "%d are taken back, and of %d requests %d are late", back, open, late)
}

// growthRefused and growthFailed learn of failures; backedOff holds growths against them. Those that are not answered,
// time after time, may count for failures.
func growthRefused(j *Judge, e *Event) {
	w := j.truth.writes[e.Call]
	if w == nil || w.Verb != Grow {
		return
	}
	switch g := j.truth.groups[w.Group]; {
	case g == nil:
	case e.Answer == Refused:
		said := e.When
		if said.IsZero() {
			said = e.At
		}
		j.fails(w.Group, e.Call, j.truth.growthOf(w.Group, e.Call), said, j.now)
	case e.Answer == Unknown:
		j.mayFail(g)
	}
}

// growthUnseen: what did not come in time by a picture that is older than the asking may count for a failure.
func growthUnseen(j *Judge, e *Event) {
	for _, g := range j.truth.groups {
		for _, o := range g.growths {
			end := o.at.Add(j.flags.ProvisionTime)
			if e.When.Before(o.at) && end.After(j.truth.cycle) && !end.After(j.now) {
				g.late = j.now
			}
		}
	}
}

// growthFailed: what the cloud could not make is known with the next read that began after that and lists it, if it is
// so still. It may be known with one that began before.
func growthFailed(j *Judge, e *Event) {
	for _, g := range j.truth.groups {
		if g.lacked++; !slices.Contains(e.Missing, g.id) {
			g.lacked = 0
		}
		if g.lacked >= 3 {
			// It may be believed to be gone, with all that was known of it.
			g.failures = failures{most: g.failures.most, longest: g.failures.longest, known: g.failures.known}
		}
	}
	for _, id := range sorted(j.truth.machines) {
		m := j.truth.machines[id]
		if !m.failed || slices.Contains(e.Missing, m.group) || slices.Contains(e.Lacks, id) {
			continue
		}
		if m.shown.Before(m.broke) {
			m.shown = j.now
		}
		if !m.ending && !m.broke.After(e.When) {
			j.unmade(m)
		}
	}
}

// unmade counts that the cloud could not make a machine, as is known by now.
func (j *Judge) unmade(m *machine) {
	if m.again || m.counted {
		return
	}
	m.counted = true
	o := (*growth)(nil)
	if m.unit != nil {
		o = m.unit.growth
	}
	j.fails(m.group, m.id, o, m.broke, m.shown)
}

// growthOf is the growth of a group that a call asked for, nil if there is none.
func (t *truth) growthOf(group, call string) *growth {
	g := t.groups[group]
	if g == nil {
		return nil
	}
	i := slices.IndexFunc(g.growths, func(o *growth) bool { return o.call == call })
	if i < 0 {
		return nil
	}
	return g.growths[i]
}

// fails begins the rest of a group, at the earliest when its failure may have been known.
func (j *Judge) fails(id, cause string, o *growth, said, known time.Time) {
	g := j.truth.groups[id]
	if g == nil {
		return
	}
	f := &g.failures
	if j.forgotten(f.last) {
		f.last, f.until = time.Time{}, time.Time{} // a process that knows nothing of it begins with the first rest
	}
	switch {
	case f.last.IsZero() || j.since(f.last) > j.flags.BackoffReset:
		f.length = j.flags.BackoffFirst
	case !j.now.Before(f.most):
		f.length = min(2*f.length, j.flags.BackoffMost)
	}
	j.mayFail(g)
	f.last, f.said, f.cause, f.classes = j.now, said, cause, map[string]bool{}
	if o != nil {
		for class := range o.claims {
			f.classes[class] = true
		}
	}
	if !known.Before(f.until) {
		f.until = known.Add(f.length)
	}
}

// mayFail makes a group's rest as long as it may be after what may count for a failure. That the rest before was over
// may be known a little earlier.
func (j *Judge) mayFail(g *group) {
	f := &g.failures
	switch {
	case f.known.IsZero() || j.since(f.known) > j.flags.BackoffReset:
		f.longest = j.flags.BackoffFirst
	case !j.now.Before(f.most.Add(-j.tolerance())):
		f.longest = min(2*f.longest, j.flags.BackoffMost)
	}
	if !g.late.IsZero() && g.late.After(f.known) && j.since(g.late) <= j.flags.BackoffReset {
		f.longest = min(2*f.longest, j.flags.BackoffMost) // what did not come in time was a failure, too
	}
	f.known, f.most = j.now, j.now.Add(f.longest)
}

// backedOff: who ends a machine that could not be made knows that, by whatever read.
func backedOff(j *Judge, e *Event) {
	t := &j.truth
	if m := t.machines[e.Machine]; e.Verb == Remove && m != nil && m.failed && !m.shown.Before(m.broke) {
		j.unmade(m)
	}
	g := t.groups[e.Group]
	if e.Verb != Grow || g == nil || g.failures.last.IsZero() || j.forgotten(g.failures.last) {
		return
	}
	f := g.failures
	if t.sees.Before(f.last) && j.now.Sub(t.sees) < j.tolerance() {
		return
	}
	j.test(!j.now.Before(f.until.Add(-rounding)), e, e.Group, "its growth failed at %s (%s), and it rests until %s",
		j.stamp(f.last), f.cause, j.stamp(f.until))
}

func graced(j *Judge, e *Event) {
	t := &j.truth
	n := t.nodeOf(t.machines[e.Machine])
	if e.Call == "" || n == nil || !n.ready {
		return
	}
	if n.drained {
		j.test(true, e, n.name, "")
	}
	for _, uid := range sorted(n.pods) {
		if p := n.pods[uid]; p.byUs && !p.own {
			j.test(!j.now.Before(p.ends.Add(-rounding)), e, uid, "it has time to end until %s", j.stamp(p.ends))
		}
	}
}
