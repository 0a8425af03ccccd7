package check

import (
	"slices"
	"time"
)

// drainingRules are what the flags and the pods themselves say of drains.
var drainingRules = []rule{
	{"D-stays", "No pod is evicted that must stay: it says so, nothing would replace it, or a flag keeps its node.",
		map[What]func(*Judge, *Event){PodEnds: mayGo}},
	{"D-parallel", "At most --max-drain-parallelism nodes with pods are drained at once.",
		map[What]func(*Judge, *Event){Tainted: parallel}},
	{"D-vain", "No removal is begun and rolled back more than three times within two hours while nothing else changes.",
		map[What]func(*Judge, *Event){Untainted: notInVain}},
	{"D-cordon", "A cordon that people made is left alone.", map[What]func(*Judge, *Event){Uncordoned: ours}},
	{"D-time", "No pod gets more time to end than it asks for.", map[What]func(*Judge, *Event){PodEnds: inTime}},
	{"D-blind", "No further node is drained while a pod that came for an evicted one waits for a scheduler that is down.",
		map[What]func(*Judge, *Event){PodEnds: seen, Sees: blind}},
	{"D-twice", "Nothing is ended that the picture of the cloud shows as ending.",
		map[What]func(*Judge, *Event){Asks: endsOnce}},
}

// evicted is the pod that an event evicts for us, nil if it is not our doing.
func (j *Judge) evicted(e *Event) *pod {
	if p := j.truth.pods[e.Pod]; e.Call != "" && p != nil && p.node != "" {
		return p
	}
	return nil
}

// daemonTimes is how often a pod of a DaemonSet may be evicted from one node, which makes another one at
// once: a later process may not know of the first time.
const daemonTimes = 3

func mayGo(j *Judge, e *Event) {
	p := j.evicted(e)
	if p == nil {
		return
	}
	n := j.truth.nodes[p.node]
	why := j.stays(p)
	if p.own && n != nil {
		if n.daemons[p.class]++; n.daemons[p.class] > daemonTimes {
			why = "pods of its DaemonSet were evicted from there three times"
		}
	}
	j.test(why == "", e, p.uid, "%s, and it is evicted from %s", why, p.node)
}

// remakers are the controllers that are known to replace pods.
var remakers = []string{"ReplicaSet", "ReplicationController", "Job", "StatefulSet"}

// stays says why a pod must not be evicted, empty if it may.
func (j *Judge) stays(p *pod) string {
	t, f := &j.truth, &j.flags
	n, w := t.nodes[p.node], t.workloads[p.workload]
	switch {
	case p.own && p.safe == "yes":
		return ""
	case p.own && p.safe == "no":
		return "its DaemonSet says so"
	case p.own && !f.EvictDaemons && (!f.EvictDaemonsEmpty || n != nil && n.drained && n.drainer == t.process):
		return "pods of DaemonSets stay" // to a later process, a node that was drained is an empty one
	case p.own:
		return ""
	case p.controller != "" && w != nil && w.want < f.MinReplicas:
		return "its controller has too few of them"
	case p.safe == "yes":
		return ""
	case p.safe == "no":
		return "it says so itself"
	case p.controller == "":
		return "nothing would replace it"
	case !slices.Contains(remakers, p.controller) && f.SkipCustom:
		return "its controller is not known to replace it"
	case p.local && f.SkipLocal:
		return "it has data on its node"
	case p.system && f.SkipSystem && j.since(p.made) < f.SystemTimeout && len(t.budgetsOf(p)) == 0 &&
		j.since(t.touched) >= settled:
		return "it is of kube-system, and no budget is about it"
	case p.tolerant:
		return "what comes for it may come to the same node"
	}
	return ""
}

// budgetsOf are the budgets about a pod.
func (t *truth) budgetsOf(p *pod) (out []*budget) {
	for _, name := range sorted(t.budgets) {
		if b := t.budgets[name]; slices.Contains(b.workloads, p.workload) {
			out = append(out, b)
		}
	}
	return out
}

// parallel counts a node as drained until the last pod that the drain waits for has left it. A process rolls
// back what one before it has tainted and not begun to drain.
func parallel(j *Judge, e *Event) {
	n := j.begins(e)
	if n == nil || !j.truth.standsOn(n, e.Call) || j.truth.inWhole(n) || j.hurried(n) {
		return
	}
	open := 1
	for _, o := range j.truth.nodes {
		w := j.truth.writes[o.tainted]
		left := w != nil && w.Process != j.truth.process && !o.drained
		m := j.truth.machineOf(o)
		if m == nil && o.machine != "" || m != nil && m.ending && m.by == "" {
			left = true // its pods ended with its machine, or another client ends both
		}
		if o != n && o.tainted != "" && o.occupied && o.busy(j.now) && !left && !j.truth.inWhole(o) && !j.hurried(o) {
			open++
		}
	}
	j.test(open <= j.flags.MaxDrains, e, e.Node, "with it %d nodes are drained, of at most %d", open, j.flags.MaxDrains)
}

// standsOn reports whether a node had pods when a call about it was asked for. Who asked cannot know of those
// that came later, or that a watch has not told of.
func (t *truth) standsOn(n *node, call string) bool {
	return slices.ContainsFunc(n.counts(), func(p *pod) bool {
		w := t.writes[call]
		return w == nil || p.bound.Before(w.began.Add(-rounding)) && !t.missed(p.bound, w.began)
	})
}

// inWhole reports whether a node goes with all of its group.
func (t *truth) inWhole(n *node) bool {
	m := t.machineOf(n)
	g := (*group)(nil)
	if m != nil {
		g = t.groups[m.group]
	}
	return g != nil && g.whole
}

// busy reports whether pods that a drain waits for are on a node, ending or not. Those that ought to have ended by now
// are on one that is cut off, and end with it.
func (n *node) busy(now time.Time) bool {
	for _, p := range n.pods {
		if !p.own && !p.expendable && !(p.ending && now.After(p.ends)) {
			return true
		}
	}
	return false
}

// mostTries is how often a removal may be begun in vain within triesWithin. Who waits longer each time may try
// again: the scheduler may choose other nodes then.
const (
	mostTries   = 3
	triesWithin = 2 * time.Hour
)

func notInVain(j *Judge, e *Event) {
	n := j.truth.nodes[e.Node]
	if n == nil || e.Call == "" {
		return
	}
	if n.tries == 0 || !j.truth.calm(n.tried) || j.since(n.tried) > triesWithin {
		n.tries, n.tried = 0, j.now
	}
	n.tries++
	j.test(n.tries <= mostTries, e, e.Node, "for the %d. time since %s", n.tries, j.stamp(n.tried))
}

func ours(j *Judge, e *Event) {
	if n := j.truth.nodes[e.Node]; n != nil && e.Call != "" {
		j.test(!n.withheld, e, e.Node, "it is schedulable again")
	}
}

// inTime: the times of the API server are cut to seconds.
func inTime(j *Judge, e *Event) {
	if p := j.evicted(e); p != nil && p.grace > 0 {
		got := e.When.Sub(j.now)
		j.test(got <= max(p.grace, time.Second)+time.Second, e, p.uid, "it gets %s of %s", got, p.grace)
	}
}

// goesOnFor is how long a drain that has begun may take to its first eviction. Until then a scheduler that is
// down looks the same as one that has nothing to do.
const goesOnFor = 2 * time.Minute

func seen(j *Judge, e *Event) {
	t := &j.truth
	p := j.evicted(e)
	if p == nil || p.own || !t.on("scheduler=down") || t.nodes[p.node] == nil || t.nodes[p.node].drained ||
		j.hurried(t.nodes[p.node]) {
		return
	}
	for _, uid := range sorted(t.pods) {
		o := t.pods[uid]
		if !t.awaited(o) || o.made.Before(t.since["scheduler=down"]) {
			continue
		}
		j.test(j.since(o.made) <= goesOnFor, e, p.node, "%s came for %s, evicted from %s at %s, and waits since %s", uid,
			o.from.pod, o.from.node, j.stamp(o.from.at), j.stamp(o.made))
	}
}

// awaited reports whether a pod without a node is known to have come for an evicted one: where it was there before this
// process led, the pod that the process before evicted was gone by then.
func (t *truth) awaited(o *pod) bool {
	return o.from != nil && o.node == "" && !o.own && (o.from.by == t.process || o.made.After(t.led))
}

// blind counts the cycles in which a further drain would be one too many.
func blind(j *Judge, e *Event) {
	t := &j.truth
	if !t.on("scheduler=down") {
		return
	}
	for _, o := range t.pods {
		if t.awaited(o) && j.since(o.made) > goesOnFor {
			j.test(true, e, "", "")
			return
		}
	}
}

// endsOnce holds where the pictures of the cloud have not lied since the end began.
func endsOnce(j *Judge, e *Event) {
	t := &j.truth
	m := t.machines[e.Machine]
	if e.Verb != Remove || m == nil {
		return
	}
	lied := slices.ContainsFunc(sorted(t.faults), func(name string) bool {
		return len(name) > 5 && name[:5] == "reads" && (t.faults[name] > 0 || t.since[name].After(m.ended))
	})
	if !lied {
		j.test(!m.ending || !m.ended.Before(t.sees), e, m.id, "it ends since %s, and the picture is of %s", j.stamp(m.ended),
			j.stamp(t.sees))
	}
}
