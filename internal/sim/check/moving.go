package check

import (
	"slices"
	"time"
)

// movingRules are about the removal of nodes and the pods on them.
var movingRules = []rule{
	{"N8", "A node that was bought is not drained or removed for being unneeded within its boot time and " +
		"--scale-down-unneeded-time, nor at a constant load as soon after its boot as that took.", map[What]func(*Judge,
		*Event){Tainted: lasting}},
	{"N9", "No eviction goes beyond a budget, and no pod of a service without one is its last ready one, taken by us " +
		"while another one of it has no node.", map[What]func(*Judge, *Event){PodEnds: served}},
	{"N10", "A pod that we evicted waits no longer than its controller and the drain's end need, no node is bought for " +
		"it like the one that it had, and it is evicted by us at most twice within an hour.",
		map[What]func(*Judge, *Event){PodEnds: seldom, Sees: housed, Buys: boughtFor}},
	{"N11", "No taint or cordon of ours stays on a node without an open removal.",
		map[What]func(*Judge, *Event){Sees: open}},
}

func lasting(j *Judge, e *Event) {
	n := j.truth.nodes[e.Node]
	m := j.truth.machineOf(n)
	if e.Call == "" || m == nil || j.due(n) || m.unit == nil || m.unit.growth.call == "" || !n.ready ||
		m.unit.ready.IsZero() {
		return
	}
	// A node that is another than was promised, or in another zone, is bought in vain, and goes. So does one of several
	// whose pods found room on the others, whatever the scheduler put there. A pod that leaves by itself, or that the
	// scheduler drives out for another one, makes room that was not there; so do nodes that came for the zone they are in,
	// and those of a group that rested when this one was bought. Where pods still wait that it was
	// bought for, it was not one too many: others have taken their places.
	boot := m.unit.ready.Sub(m.unit.growth.at)
	late := !n.met && j.truth.beside(m.unit.growth) || j.truth.unserved(m.unit.growth)
	constant := j.truth.calm(m.unit.growth.at) && j.truth.freed.Before(m.unit.growth.at) &&
		!j.truth.varied(m.unit.growth.at) && !j.truth.reopened(m.unit.growth.at, j.flags.BackoffMost)
	if g := j.truth.groups[m.group]; constant && g != nil && !g.differed && !g.varies && !late {
		j.test(j.since(m.unit.ready) >= boot, e, e.Node,
			"it was bought at %s, is ready since %s, and nothing has changed since",
			j.stamp(m.unit.growth.at), j.stamp(m.unit.ready))
	}
	if j.since(m.unit.ready) > 2*j.flags.UnneededTime {
		return // that says nothing of this rule
	}
	j.test(j.since(m.unit.ready) >= j.flags.UnneededTime-rounding, e, e.Node, "it was bought at %s and is ready since %s",
		j.stamp(m.unit.growth.at), j.stamp(m.unit.ready))
}

// meant reports whether a node was bought for pods like this one, or not known for which.
func (t *truth) meant(n *node, p *pod) bool {
	m := t.machineOf(n)
	return m == nil || m.unit == nil || len(m.unit.growth.claims) == 0 || m.unit.growth.claims[p.class] > 0
}

// varied reports whether a node has turned ready since then of a group whose cloud picks the zone: several may be
// bought for one pod, until one is where it is wanted.
func (t *truth) varied(since time.Time) bool {
	for _, m := range t.machines {
		if g := t.groups[m.group]; g != nil && g.varies && m.unit != nil && m.unit.ready.After(since) {
			return true
		}
	}
	return false
}

// reopened reports whether a node has come since an instant of a group that may have rested then, since a machine of it
// had not come in time: it was bought for other pods.
func (t *truth) reopened(since time.Time, most time.Duration) bool {
	for _, m := range t.machines {
		g := t.groups[m.group]
		if g == nil || m.unit == nil || g.late.IsZero() || !m.unit.growth.at.After(since) {
			continue
		}
		if m.unit.ready.After(since) && g.late.Before(m.unit.growth.at) && g.late.Add(most).After(since) {
			return true
		}
	}
	return false
}

// beside reports whether another growth, shortly before or after, was for pods of the same class, or has such a pod on
// a node that came since this one was asked for.
func (t *truth) beside(o *growth) bool {
	for _, p := range t.pods {
		n := t.nodes[p.node]
		m := t.machineOf(n)
		// A request that was given up may come all the same, and its machine is that of no growth any more.
		own := m != nil && m.unit != nil && m.unit.growth == o
		if o.claims[p.class] > 0 && n != nil && n.made.After(o.at) && !own {
			return true
		}
	}
	for _, g := range t.groups {
		for _, x := range g.growths {
			for class := range x.claims {
				if x != o && o.claims[class] > 0 && x.at.Sub(o.at).Abs() < together {
					return true
				}
			}
		}
	}
	return false
}

// unserved reports whether a pod of a class waits that a growth was for.
func (t *truth) unserved(o *growth) bool {
	return slices.ContainsFunc(sorted(t.pods), func(uid string) bool {
		p := t.pods[uid]
		return p.node == "" && !p.own && o.claims[p.class] > 0
	})
}

// ready reports whether a pod serves.
func (t *truth) ready(p *pod) bool {
	n := t.nodes[p.node]
	return p.started && !p.ending && n != nil && n.ready
}

// counted is how long the controller of budgets may take to count pods that stopped serving.
const counted = 2 * time.Second

const controllersDown = "controllers=down"

func served(j *Judge, e *Event) {
	t := &j.truth
	p := t.pods[e.Pod]
	if p == nil || e.Call == "" || p.own || p.expendable || p.node == "" {
		return
	}
	covered := false
	for _, name := range sorted(t.budgets) {
		b := t.budgets[name]
		if !slices.Contains(b.workloads, p.workload) {
			continue
		}
		covered = true
		left, lost := 0, b.said
		for _, of := range b.workloads {
			if w := t.workloads[of]; w != nil {
				lost = later(lost, w.lost)
			}
		}
		for _, o := range t.pods {
			if slices.Contains(b.workloads, o.workload) && o != p && t.ready(o) {
				left++
			}
		}
		// The budget's controller may not have seen what was lost without us a moment ago.
		if !t.ready(p) || j.since(lost) < counted || t.on(controllersDown) || j.since(t.since[controllersDown]) < counted {
			continue
		}
		j.test(left >= b.min, e, name, "%d ready pods are left of %d, since %s is evicted", left, b.min, p.uid)
	}
	w := t.workloads[p.workload]
	if covered || w == nil || !w.kept || w.want < 2 || !t.ready(p) || j.hurried(t.nodes[p.node]) {
		return
	}
	left, lacking := 0, len(w.owed)
	for _, o := range t.pods {
		if o.workload != p.workload || o == p {
			continue
		}
		if t.ready(o) {
			left++
		}
		if o.node == "" && (o.from != nil || j.since(o.made) > j.tolerance()) {
			lacking++
		}
	}
	j.test(left > 0 || lacking == 0, e, p.workload, "%s was its last ready pod of %d; other pods without a node: %d",
		p.uid, w.want, lacking)
}

// seldom: of pods that are alike the judge cannot tell which was evicted before, and takes the one that
// was made for an evicted one for its successor.
func seldom(j *Judge, e *Event) {
	p := j.truth.pods[e.Pod]
	if p == nil || e.Call == "" || p.own || j.hurried(j.truth.nodes[p.node]) {
		return
	}
	before := 0
	for _, at := range p.evictions {
		// What another process did is not known for as long, and not at all if it ended before it had written that down.
		since, known := j.since(at), !at.Before(j.truth.led)
		if since < time.Hour && known || since < 2*j.flags.UnneededTime && !j.forgotten(at) {
			before++
		}
	}
	j.test(before < 2, e, p.uid, "it, and those that it came for, were evicted %d times within an hour before", before)
}

// found is how long a drain waits for a place of the pod that comes for an evicted one, and then for its
// own end: the scheduler is free to choose other nodes than were planned.
const found = 4 * time.Minute

func housed(j *Judge, e *Event) {
	t := &j.truth
	for _, uid := range sorted(t.pods) {
		p := t.pods[uid]
		if p.from == nil || p.from.hurried || p.node != "" || p.own || !t.calm(p.from.at) {
			continue // of one that the cloud takes the pods leave before another is there
		}
		if p.coupled && p.from.withheld {
			continue // where its like went first decides where it may go, and people keep it from going back
		}
		if !p.late && j.since(p.made) > time.Minute {
			p.late = true
			t.moves.Late++
		}
		j.test(j.since(p.made) <= found+j.tolerance(), e, uid, "it came at %s for %s, evicted from %s at %s, and has no node",
			j.stamp(p.made), p.from.pod, p.from.node, j.stamp(p.from.at))
	}
}

// boughtFor holds a growth against the pods that came for evicted ones from nodes of the same group. One of a group
// over several zones may come where a pod may be that depends on others, and could not go back to the zone it left.
func boughtFor(j *Judge, e *Event) {
	t := &j.truth
	g := t.groups[e.Group]
	moved, others, from := 0, 0, ""
	for _, uid := range sorted(t.pods) {
		p := t.pods[uid]
		switch {
		case p.node != "" || p.class != e.Class || p.own:
		case p.coupled && g != nil && g.varies, p.from != nil && t.keepsPlace(p.from.pod, j.now):
			others++
		case p.from != nil && p.from.group == e.Group && !p.from.withheld && !p.from.hurried && t.calm(p.from.at) &&
			j.since(p.from.at) <= j.flags.DelayAfterAdd+j.flags.UnneededTime:
			moved, from = moved+1, p.from.node
		default:
			others++
		}
	}
	if moved > 0 {
		j.test(e.N <= others, e, e.Group+" for "+e.Class,
			"%s is for %d of its pods; %d of those that wait came for pods that "+
				"were evicted from nodes like it, such as %s, and %d did not", e.Call, e.N, moved, from, others)
	}
}

// boots is the least that a node takes to boot: a pod that has longer to end keeps its place until another node could
// have come for the one in its stead.
const boots = 30 * time.Second

// keepsPlace reports whether an evicted pod is still on its node, which could not take the next one for long, and had
// room elsewhere as its node was tainted, which is gone since.
func (t *truth) keepsPlace(uid string, now time.Time) bool {
	p := t.pods[uid]
	return p != nil && p.node != "" && !p.stuck && p.ends.Sub(now) > boots
}

// roomBeside reports whether any other node seems to have room for a pod. What was bound just before may not be known.
func (t *truth) roomBeside(n *node, p *pod, now time.Time) bool {
	return slices.ContainsFunc(sorted(t.nodes), func(name string) bool {
		o := t.nodes[name]
		free := room{o.cpu, o.memory}
		for _, q := range o.pods {
			if q.own || now.Sub(q.bound) > settled {
				free = room{free.cpu - q.cpu, free.memory - q.memory}
			}
		}
		return o != n && o.ready && o.tainted == "" && o.cordoned == "" && !o.withheld && p.fits(free)
	})
}

// open takes a removal for open while calls for it are made. None is for as long as pods take to end, or
// evictions are refused; where the cloud ends the machine, it is no longer ours.
func open(j *Judge, e *Event) {
	t := &j.truth
	for _, name := range sorted(t.nodes) {
		n := t.nodes[name]
		m := t.machineOf(n)
		if n.tainted == "" && n.cordoned == "" || m == nil || m.ending || !t.calm(n.touched) {
			continue
		}
		waits := max(j.flags.MaxGraceful, j.flags.MaxPodEvictionTime, j.flags.CallDeadline, 2*time.Minute)
		j.test(j.since(later(n.touched, t.led)) <= waits+j.flags.CallDeadline+2*j.tolerance(), e, name,
			"tainted by %q at %s, cordoned by %q, and nothing was done about it since %s", n.tainted, j.stamp(n.taintedAt),
			n.cordoned, j.stamp(n.touched))
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
