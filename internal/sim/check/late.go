package check

import "time"

// lateRules are the upper ends of the timers: a thing happens no later than its time and the tolerance
// after nothing holds it any more. What holds it for good is for A3 and A4, at rest. They begin to count
// when something other than the autoscaler last changed the world, or another process began to lead.
var lateRules = []rule{
	{"T-unneeded-late", "An empty node that nothing holds goes once --scale-down-unneeded-time is over.",
		map[What]func(*Judge, *Event){Sees: lateFor(ownTime)}},
	{"T-add-late", "And once --scale-down-delay-after-add is over after our last growth.",
		map[What]func(*Judge, *Event){Sees: lateFor(addTime)}},
	{"T-delete-late", "And once --scale-down-delay-after-delete is over after our last removal.",
		map[What]func(*Judge, *Event){Sees: lateFor(deleteTime)}},
	{"T-failure-late", "And once --scale-down-delay-after-failure is over after the last refusal.",
		map[What]func(*Judge, *Event){Sees: lateFor(failureTime)}},
	{"T-unready-late", "An empty node that is not ready goes once --scale-down-unready-time is over, or " +
		"--max-node-startup-time where it never was ready.", map[What]func(*Judge, *Event){Sees: lateFor(unreadyTime)}},
	{"T-provision-late", "A machine that never had a node goes once --max-node-provision-time is over, and so does a " +
		"request without a machine.", map[What]func(*Judge, *Event){Sees: provisionLate}},
	{"T-backoff-late", "A group whose growth failed is asked again, if its pods still wait, once its rest is over.",
		map[What]func(*Judge, *Event){Sees: backoffLate}},
	{"T-rest-late", "After a cycle that found the cluster unhealthy the next one is soon after ten seconds.",
		map[What]func(*Judge, *Event){Sees: restLate}},
}

// timer is one of those that must be over before a node goes.
type timer int

const (
	ownTime timer = iota
	addTime
	deleteTime
	failureTime
	unreadyTime
)

// slack is how much later than the tolerance a thing may be: it takes a few cycles to be seen, written and
// answered, one after the other.
const slack = time.Minute

// undisturbed is when something other than the autoscaler and the load last changed the world, or another process
// began.
func (j *Judge) undisturbed() time.Time { return later(j.unmoved(), j.truth.led) }

// unmoved is the same of what is remembered from one process to the next.
func (j *Judge) unmoved() time.Time {
	return later(later(j.truth.disturbed, j.truth.touched), later(j.truth.restarted, j.truth.peace))
}

// idle reports whether no fault lasts, the cluster is healthy, and nothing was asked for just now.
func (j *Judge) idle() bool {
	t := &j.truth
	if t.halted || j.since(t.asked) < 2*time.Minute+j.tolerance() {
		return false
	}
	for _, n := range t.faults {
		if n > 0 {
			return false
		}
	}
	return true
}

// lateFor looks at the nodes for which the timer is the last to be over.
func lateFor(of timer) func(*Judge, *Event) {
	return func(j *Judge, e *Event) {
		if !j.idle() {
			return
		}
		t, f := &j.truth, &j.flags
		bad := 0
		for _, m := range t.machines {
			if n := t.nodeOf(m); n == nil || !n.ready {
				bad++
			}
		}
		for _, name := range sorted(t.nodes) {
			n := t.nodes[name]
			m := t.machineOf(n)
			if m == nil || n.empty.IsZero() || !j.free(n, m) || !n.ready && (bad > f.OkTotalUnready || !f.ScaleDownUnready) {
				continue
			}
			where := ""
			if f.DelayTypeLocal {
				where = m.group
			}
			lasts, which := f.UnneededTime, ownTime
			switch {
			case n.ready:
			case n.ever:
				lasts, which = f.UnreadyTime, unreadyTime
			default:
				lasts, which = f.StartupTime, unreadyTime
			}
			from := later(later(n.empty, n.changed), later(j.unmoved(), t.waited))
			if from.After(t.knew()) {
				from = later(from, t.led) // only the process before may know of it
			}
			if g := t.groups[m.group]; t.moving && (n.ready || g.min > 0 || t.pools[g.pool] != nil) {
				// It may be for the pods of nodes that do not go, and the room above a minimum be for those that do; those of
				// a move leave one after the other.
				from, lasts = later(from, t.left), lasts+f.MovePatience
			}
			due := from.Add(lasts)
			for is, lasts := range [...]time.Duration{addTime: f.DelayAfterAdd, deleteTime: f.DelayAfterDelete,
				failureTime: f.DelayAfterFailure} {
				from := t.runs[delay{timer(is), where}]
				if ends := from.Add(lasts); !from.IsZero() && ends.After(due) {
					due, which = ends, timer(is)
				}
			}
			if which == of {
				j.test(!j.now.After(due.Add(j.tolerance()+slack)), e, name,
					"it is empty since %s, its readiness is from %s, and it was to go at %s", j.stamp(n.empty), j.stamp(n.changed),
					j.stamp(due))
			}
		}
	}
}

// delay is one of those after a growth, a removal or a failure, of a group or of all ("").
type delay struct {
	timer timer
	group string
}

// runsFrom lets a delay begin.
func (t *truth) runsFrom(of timer, group string, at time.Time) {
	t.runs[delay{of, group}], t.runs[delay{of, ""}] = at, at
}

// leaderless is for how long no process may lead while delays run on.
const leaderless = 2 * time.Minute

// resumes takes in that a process begins to lead: while none did for longer, no delay has run. Whether a clock has
// jumped meanwhile, or for how long nothing was written down, is not known (N16): they may all begin again.
func (t *truth) resumes(at time.Time) {
	if len(t.deaths) == 0 {
		return
	}
	knew := t.knew()
	unsure := !t.onTime() || t.on("api=down") || t.since["api=down"].After(knew)
	alone := at.Sub(knew)
	if unsure || alone > leaderless || t.blank.After(knew) {
		t.restarted = at
	}
	for d, from := range t.runs {
		switch {
		case unsure:
			t.runs[d] = at
		case alone > leaderless:
			t.runs[d] = minTime(from.Add(alone), at)
		}
	}
}

// knew is when the process that was the last to end wrote down, at the latest, what it knew.
func (t *truth) knew() time.Time {
	if len(t.deaths) == 0 {
		return time.Time{}
	}
	return t.deaths[len(t.deaths)-1].Add(-learn)
}

// longest is how long removals rest at most that the cloud has refused several times.
const longest = 6 * time.Hour

// free reports whether nothing keeps a node for good: no minimum, no person, no pod that waits, and no
// removal that failed before.
func (j *Judge) free(n *node, m *machine) bool {
	t := &j.truth
	g := t.groups[m.group]
	if g == nil || j.flags.Budget.any() || n.tainted != "" || n.cordoned != "" || n.withheld || n.protected ||
		m.ending || !n.touched.IsZero() ||
		t.unbound > 0 || !j.flags.ScaleDown || !j.spare(g) {
		return false
	}
	return t.refusals[g.id] <= 1 || j.since(t.failed[g.id]) > longest
}

// spare reports whether a group may have one machine less, whose nodes all can be told.
func (j *Judge) spare(g *group) bool {
	t := &j.truth
	if g.whole || g.target <= g.min {
		return false
	}
	if p := t.pools[g.pool]; p != nil && (p.sized || t.poolSize(g.pool) <= p.min) {
		return false
	}
	for _, n := range t.nodes {
		if m := t.machineOf(n); n.drifted && m != nil && m.group == g.id {
			return false
		}
	}
	return true
}

// couldRun reports whether a node that came after a machine, of whatever group, has an id that leads nowhere: it may be
// that machine's, which then must stay (N2).
func (t *truth) couldRun(m *machine) bool {
	for _, n := range t.nodes {
		if n.drifted && n.made.After(m.made.Add(-time.Minute)) {
			return true
		}
	}
	return false
}

// provisionLate lets machines wait for those that go before them. Before the first of more than a few there is a pause
// as well, in which they may come back: some may have come after their time already. Which ones the process before has
// ended just before it died is not known.
func provisionLate(j *Judge, e *Event) {
	if !j.idle() {
		return
	}
	t := &j.truth
	open, ahead, lost, last := map[string]int{}, 0, 0, time.Time{}
	for _, o := range t.endings {
		last = later(last, o.at.Add(fewWithin))
	}
	if n := len(t.deaths); n > 0 && t.led.After(t.deaths[n-1]) {
		last = later(last, t.led.Add(fewWithin))
	}
	for _, m := range t.machines {
		if m.node == "" || m.registered.Sub(m.made) > j.flags.ProvisionTime &&
			j.since(m.registered) < fewWithin+j.tolerance()+slack {
			lost++
		}
	}
	if lost > few {
		ahead = few
	}
	for _, id := range sorted(t.machines) {
		m := t.machines[id]
		if !m.ending {
			open[m.group]--
		}
		if m.node != "" {
			continue
		}
		ahead++
		g := t.groups[m.group]
		if g == nil || m.had || m.failed || m.ending || !j.spare(g) || t.couldRun(m) {
			continue
		}
		due := later(later(later(m.made, m.ran), j.undisturbed()).Add(j.flags.ProvisionTime), last).
			Add(time.Duration((ahead-1)/few) * fewWithin)
		j.test(!j.now.After(due.Add(j.tolerance()+slack)), e, m.id, "it was made at %s, has no node, and was to go at %s",
			j.stamp(m.made), j.stamp(due))
	}
	for _, id := range sorted(t.groups) {
		g := t.groups[id]
		if open[id] += g.target; open[id] <= 0 || g.keeps || !j.spare(g) {
			continue
		}
		due := later(g.moved, j.undisturbed()).Add(j.flags.ProvisionTime)
		j.test(!j.now.After(due.Add(j.tolerance()+slack)), e, id, "%d of %d were asked for at %s or before, "+
			"have no machine, and were to be taken back at %s", open[id], g.target, j.stamp(g.moved), j.stamp(due))
	}
}

// backoffLate: some growth is asked for, of this group or another one. What did not come in time is a failure, too: how
// long the group rests then depends on those before it.
func backoffLate(j *Judge, e *Event) {
	t := &j.truth
	if !j.idle() || t.unbound == 0 || j.flying() {
		return
	}
	for _, id := range sorted(t.groups) {
		g := t.groups[id]
		f := &g.failures
		if f.last.IsZero() || !j.mayGrow(g) || j.sickly(g) || j.since(g.late) < j.flags.BackoffMost {
			continue
		}
		for _, uid := range sorted(t.pods) {
			p := t.pods[uid]
			if !p.waits() || p.coupled || !f.classes[p.class] || !p.made.Before(f.last) {
				continue
			}
			due := later(later(f.most, j.undisturbed()), t.asked)
			if g.varies { // one of its nodes may have come where it is of no use, which counts for as long
				due = due.Add(brake)
			}
			j.test(!j.now.After(due.Add(j.tolerance()+2*slack)), e, id,
				"its growth for %s failed at %s (%s), its rest was over at "+
					"%s, and %s waits", p.class, j.stamp(f.last), f.cause, j.stamp(f.most), uid)
			break
		}
	}
}

// waits reports whether a pod waits that nodes are bought for, and the scheduler has refused it.
func (p *pod) waits() bool { return p.node == "" && p.refused && !p.own && !p.expendable && !p.ending }

// flying reports whether a unit is waited for, or a machine that lost its node has time to get another one: no longer
// than the tolerance after its time, which runs from when its machine was made.
func (j *Judge) flying() bool {
	for _, m := range j.truth.machines {
		if m.had && m.node == "" && !m.ending && !m.lost.IsZero() &&
			j.since(later(m.lost, j.undisturbed())) < j.flags.ProvisionTime {
			return true
		}
	}
	for _, g := range j.truth.groups {
		for _, o := range g.growths {
			for _, u := range o.units {
				if j.comes(u, j.tolerance()+slack) {
					return true
				}
			}
		}
	}
	return false
}

// sickly reports whether a machine of a group has no node that is ready.
func (j *Judge) sickly(g *group) bool {
	for _, m := range j.truth.machines {
		if n := j.truth.nodeOf(m); m.group == g.id && (n == nil || !n.ready) {
			return true
		}
	}
	return false
}

func restLate(j *Judge, e *Event) {
	t := &j.truth
	if !t.halted || t.seer != e.Process || !t.stirred.Before(t.cycle) || !t.led.Before(t.cycle) {
		return
	}
	most := 10*time.Second + j.tolerance()
	j.test(j.now.Sub(t.cycle) <= most, e, "the loop", "the cycle before was %s ago, of at most %s", j.now.Sub(t.cycle),
		most)
}
