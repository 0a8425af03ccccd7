package check

import (
	"maps"
	"slices"
	"time"
)

// restRules are what must be so in the end: 90 minutes after the last fault, at a constant load. They are
// asked when the world is to be at rest.
var restRules = []rule{
	{"A1", "Every pod that fits a group which may grow runs, and so does every one that came for an evicted pod.",
		map[What]func(*Judge, *Event){Rest: allRun}},
	{"A2", "Every pod that does not run is told why, of each group, and truly: it runs once people did what was to help.",
		map[What]func(*Judge, *Event){Rest: allTold}},
	{"A3", "In each group the target, the machines and the ready nodes are as many, but for nodes that a pool's minimum " +
		"keeps; and each pool that can has its minimum.", map[What]func(*Judge, *Event){Rest: allMatch}},
	{"A4", "No node is little used for longer than its time without a verdict that is true.",
		map[What]func(*Judge, *Event){Rest: allNeeded}},
	{"A5", "At rest no call, taint, cordon, request, drain or move is open; and while the load is constant nothing is " +
		"bought, drained or ended any more.", map[What]func(*Judge, *Event){Rest: allClosed, Asks: still}},
	{"A6", "Where nothing failed and pods do not couple, the nodes left are at most those that a plain packing needs, " +
		"a quarter more, and one.", map[What]func(*Judge, *Event){Rest: allPacked}},
}

// applyRest takes in what is told for the moment at which the world is to be at rest.
func (t *truth) applyRest(e *Event) {
	switch e.What {
	case Fits:
		t.fits[place{e.Class, e.Group}] = true
	case Told:
		t.told[place{e.Class, e.Group}] = e.Name
	case Keeps:
		t.keeps[e.Node] = e.Name
	case Mended:
		t.mend(e)
	case Held:
		t.calls, t.asks, t.open = e.N, e.From, e.To
	case Rest:
		reasons := slices.Collect(maps.Values(t.keeps))
		t.heldBack, t.reserved = slices.Contains(reasons, heldByBudget), slices.Contains(reasons, reservedForMove)
		clear(t.fits)
		clear(t.told)
		clear(t.keeps)
	}
}

// AtRest asks whether the world is at rest. What is not is no breach yet. From a world that is nothing more may come
// while nothing changes it.
func (j *Judge) AtRest(at time.Time) []Breach {
	lacking := j.Lacks(at)
	if len(lacking) == 0 && !j.truth.heldBack && !j.truth.reserved && !j.truth.peace.IsZero() {
		j.truth.restful = at
	}
	return lacking
}

// Lacks says what the world lacks for being at rest now, be it for a while.
func (j *Judge) Lacks(at time.Time) (lacking []Breach) {
	broken, seen := j.broken, j.seen
	j.broken, j.seen = nil, map[string]bool{}
	j.Observe(Event{At: at, What: Rest})
	lacking, j.broken, j.seen = j.broken, broken, seen
	return lacking
}

// TriesAgain reports whether pods wait, or did a short while ago, that a group may be able to serve whose
// cloud picks the zone: a few nodes are then bought in vain, and after a long rest a few more, which may
// serve them at last. Such a world is neither at rest nor restless.
func (j *Judge) TriesAgain() bool {
	const long = 30 * time.Minute
	t := &j.truth
	if t.unbound == 0 && j.since(t.waited) >= long || t.rested < long/2 {
		return false
	}
	return slices.ContainsFunc(sorted(t.groups), func(id string) bool { return t.groups[id].varies })
}

const reservedForMove = "ReservedForMove"

// Moves are how many pods were evicted, from how many nodes, and how many of those that came for them had
// no place after a minute, although nothing else changed.
type Moves struct{ Pods, Nodes, Late int }

// Moves are those until now.
func (j *Judge) Moves() Moves { return j.truth.moves }

// long is for how long a pod must have waited to count.
const waitsLong = 10 * time.Minute

// left are the pods that wait, by class; one of each.
func (j *Judge) left() map[string]*pod {
	out := map[string]*pod{}
	for _, uid := range sorted(j.truth.pods) {
		if p := j.truth.pods[uid]; p.waits() && j.since(p.made) >= waitsLong && out[p.class] == nil {
			out[p.class] = p
		}
	}
	return out
}

// mayGrow reports whether limits let a group have one node more, which is what is promised.
func (j *Judge) mayGrow(g *group) bool {
	t, f := &j.truth, &j.flags
	if p := t.pools[g.pool]; g.target >= g.max || g.differed || p != nil && t.poolSize(g.pool) >= p.max || j.hopeless(g) {
		return false
	}
	// People may have used the totals up; and a node with a drifted id counts twice, as one that no group
	// has and as one in flight.
	for _, n := range t.nodes {
		if n.drifted {
			return false
		}
	}
	nodes, cpu, memory := t.size()
	return !t.raised && (f.MaxNodesTotal == 0 || nodes < f.MaxNodesTotal) &&
		(f.MaxCoresTotal == 0 || cpu+g.cpu <= f.MaxCoresTotal) &&
		(f.MaxMemoryTotal == 0 || memory+g.memory <= f.MaxMemoryTotal)
}

// hopeless reports whether all nodes of a group are such as never were ready, and a flag keeps them until people end
// them: nothing speaks for the next.
func (j *Judge) hopeless(g *group) bool {
	never := 0
	for _, m := range j.truth.machines {
		if m.group != g.id {
			continue
		}
		n := j.truth.nodeOf(m)
		if n == nil || n.ever || !j.keptByFlag(n) {
			return false
		}
		never++
	}
	return never > 0
}

// keptByFlag reports whether a node stays, and is said to, since a flag says that nodes like it do not go.
func (j *Judge) keptByFlag(n *node) bool {
	switch j.truth.keeps[n.name] {
	case "ScaleDownOff":
		return !j.flags.ScaleDown
	case "ScaleDownUnreadyDisabled":
		return !j.flags.ScaleDownUnready
	}
	return false
}

func allRun(j *Judge, e *Event) {
	t := &j.truth
	left := j.left()
	for _, class := range sorted(left) {
		for _, id := range sorted(t.groups) {
			g := t.groups[id]
			p := t.pools[g.pool]
			if !t.fits[place{class, id}] || left[class].coupled || !j.mayGrow(g) ||
				p != nil && p.sized && t.told[place{class, id}] == "PoolShareReached" {
				continue
			}
			j.test(false, e, class, "%s waits since %s, and group %s may have a node for it", left[class].uid,
				j.stamp(left[class].made), id)
			break
		}
		j.test(true, e, class, "")
	}
	for _, uid := range sorted(t.pods) {
		if p := t.pods[uid]; p.from != nil && !p.own && t.calm(p.from.at) {
			j.test(p.node != "", e, uid, "it came for %s, evicted from %s at %s, and has no node", p.from.pod, p.from.node,
				j.stamp(p.from.at))
		}
	}
}

// mended is what people did to help the pods of a class: so many of those that waited.
type mended struct {
	class, what  string
	waited, pods int
	// contested: other pods waited, too. Fewer of them may take the room that was for all of the class. Then one at least
	// is helped.
	contested bool
}

func (t *truth) mend(e *Event) {
	m := mended{class: e.Class, what: e.Name}
	if m.waited, m.pods = t.waiting(e.Class); e.N > 0 {
		m.pods = min(m.pods, e.N) // of pods with other labels the fix says nothing
	}
	m.contested = m.waited > m.pods
	t.mended, t.restful = append(t.mended, m), time.Time{}
}

// waiting counts the pods that wait, and those of a class.
func (t *truth) waiting(class string) (all, of int) {
	for _, p := range t.pods {
		if p.waits() {
			if all++; p.class == class {
				of++
			}
		}
	}
	return all, of
}

// limits are the reasons that name one which may be raised. They hold where it binds.
var limits = map[string]func(*Judge, *group) bool{
	"GroupAtMax": func(j *Judge, g *group) bool { return g.target >= g.max },
	"PoolAtMax": func(j *Judge, g *group) bool {
		p := j.truth.pools[g.pool]
		return p != nil && j.truth.poolSize(g.pool) >= p.max
	},
	"PoolShareReached": func(j *Judge, g *group) bool {
		p := j.truth.pools[g.pool]
		return p != nil && p.sized
	},
	"MaxNodesTotal": func(j *Judge, g *group) bool {
		nodes, _, _ := j.truth.looks()
		return nodes >= j.flags.MaxNodesTotal && j.flags.MaxNodesTotal > 0
	},
	"CoresTotal": func(j *Judge, g *group) bool {
		_, cpu, _ := j.truth.looks()
		return cpu+g.cpu > j.flags.MaxCoresTotal && j.flags.MaxCoresTotal > 0
	},
	"MemoryTotal": func(j *Judge, g *group) bool {
		_, _, memory := j.truth.looks()
		return memory+g.memory > j.flags.MaxMemoryTotal && j.flags.MaxMemoryTotal > 0
	},
}

// unfit are the reasons that say of a pod alone that it does not fit an empty node of a group.
var unfit = []string{"InsufficientResources", "NodeAffinity", "TaintNotTolerated", "NodeUnschedulable", "PortConflict"}

func allTold(j *Judge, e *Event) {
	t := &j.truth
	left := j.left()
	odd := slices.ContainsFunc(sorted(t.groups), func(id string) bool {
		return t.groups[id].differed || t.groups[id].varies
	})
	for _, m := range t.mended {
		// Pods of other classes may have taken the room, as the scheduler likes.
		helped := m.pods
		if m.contested {
			helped = min(helped, 1)
		}
		if all, _ := t.waiting(""); !odd {
			j.test(all <= m.waited-helped, e, m.class, "%d pods waited, %d of them of it; people did what was to help (%s), "+
				"and %d wait", m.waited, m.pods, m.what, all)
		}
	}
	for _, class := range sorted(left) {
		p := left[class]
		if whole, said := t.told[place{class: class}]; said {
			j.test(whole != "NotRefused" && whole != "Existing" && whole != "Expendable" && whole != "ClusterUnhealthy", e,
				class,
				"%s waits since %s, and is told %s", p.uid, j.stamp(p.made), whole)
			continue
		}
		for _, id := range sorted(t.groups) {
			g := t.groups[id]
			if g.differed || g.varies {
				continue // what its nodes are is another thing than what it says
			}
			why, said := t.told[place{class, id}]
			fits := t.fits[place{class, id}]
			holds, limit := limits[why]
			switch {
			case !said:
				j.test(false, e, class+" in "+id, "%s waits since %s, and nothing is said of it", p.uid, j.stamp(p.made))
			case limit:
				j.test(holds(j, g), e, class+" in "+id, "%s is told %s, which does not hold", p.uid, why)
				j.test(fits || p.coupled, e, class+" in "+id, "%s is told %s, and would not fit there without that limit", p.uid,
					why)
			case fits && !p.coupled:
				j.test(!slices.Contains(unfit, why), e, class+" in "+id, "%s is told %s, and fits", p.uid, why)
			}
		}
	}
}

func allMatch(j *Judge, e *Event) {
	t := &j.truth
	for _, id := range sorted(t.groups) {
		g := t.groups[id]
		machines, ready := 0, 0
		p := t.pools[g.pool]
		for _, m := range t.machines {
			if m.group != id {
				continue
			}
			machines++
			n := t.nodeOf(m)
			why := ""
			if n != nil {
				why = t.keeps[n.name]
			}
			// A pool's minimum keeps a node that is not ready: the cloud has to replace it.
			if n != nil && (n.ready || j.keptByFlag(n) ||
				p != nil && (t.poolSize(g.pool) <= p.min || p.sized && why == "PoolFloorReached")) {
				ready++
			}
			if n == nil && t.mayHave(m, g) {
				ready++
			}
		}
		j.test(g.target == machines && machines == ready, e, id, "its target is %d, it has %d machines and %d ready nodes",
			g.target, machines, ready)
	}
	for _, id := range sorted(t.pools) {
		p := t.pools[id]
		for _, name := range sorted(t.groups) {
			if g := t.groups[name]; g.pool == id && t.poolSize(id) < p.min {
				j.test(!j.mayGrow(g), e, id, "it has %d nodes of at least %d, and group %s may grow", t.poolSize(id), p.min, name)
			}
		}
	}
}

// mayHave reports whether a node stands that could be this machine's, under another id, and of which nothing shows
// another machine: it is as large as those of the group, and not older. Who ended the machine might end a node that
// runs pods.
func (t *truth) mayHave(m *machine, g *group) bool {
	for _, n := range t.nodes {
		like := n.cpu == g.cpu && n.memory == g.memory
		if (n.machine == "" || n.drifted) && like && !n.made.Add(time.Minute).Before(m.made) {
			return true
		}
	}
	return false
}

// goes is how many machines of a group go with one of them.
func (g *group) goes() int {
	if g.whole {
		return g.target
	}
	return 1
}

// keeping are the reasons for which a node stays, with what must hold for them to be true. Of others the
// judge does not know, but they are none of an empty node's.
var keeping = map[string]func(*Judge, *node, *group) bool{
	"NodeGroupMinSizeReached": func(j *Judge, n *node, g *group) bool {
		return g.target-g.goes() < g.min || !j.flags.ScaleDown // it would be, once those went that may go otherwise
	},
	"PoolMinSizeReached": func(j *Judge, n *node, g *group) bool {
		p := j.truth.pools[g.pool]
		return p != nil && j.truth.poolSize(g.pool)-g.goes() < p.min
	},
	"PoolFloorReached": func(j *Judge, n *node, g *group) bool {
		p := j.truth.pools[g.pool]
		return p != nil && p.sized
	},
	"ScaleDownDisabledAnnotation": func(j *Judge, n *node, g *group) bool { return n.protected },
	"ScaleDownOff":                func(j *Judge, n *node, g *group) bool { return !j.flags.ScaleDown },
	"CurrentlyBeingDeleted":       func(j *Judge, n *node, g *group) bool { return n.tainted != "" },
	"NotAutoscaled":               func(j *Judge, n *node, g *group) bool { return n.drifted },
	"NotReady":                    func(j *Judge, n *node, g *group) bool { return false },
	"Unneeded":                    func(j *Judge, n *node, g *group) bool { return false },
	"NotUnderutilized": func(j *Judge, n *node, g *group) bool {
		cpu, memory := int64(0), int64(0)
		for _, p := range n.pods {
			if !p.expendable {
				cpu, memory = cpu+p.cpu, memory+p.memory
			}
		}
		return n.share(cpu, memory) >= j.flags.UtilizationThreshold
	},
	"ReservedForPendingPods": func(j *Judge, n *node, g *group) bool { return j.truth.unbound > 0 },
	"AtomicScaleDownFailed":  func(j *Judge, n *node, g *group) bool { return g.whole },
	"ReservedForMovedPods":   func(j *Judge, n *node, g *group) bool { return true },
	// A move waits for nodes that are made one after the other, and for pods that rest.
	reservedForMove: func(j *Judge, n *node, g *group) bool {
		return j.truth.moving && j.since(n.made) < j.flags.MovePatience+j.flags.ProvisionTime
	},
	heldByBudget:                   func(j *Judge, n *node, g *group) bool { return j.flags.Budget.any() },
	"NodeUnready":                  replaced,
	"NodeUnsound":                  replaced,
	"NodeDrifted":                  replaced,
	"NodeExpired":                  replaced,
	"Cooldown":                     func(j *Judge, n *node, g *group) bool { return j.cools(g) },
	"DrainFailed":                  func(j *Judge, n *node, g *group) bool { return !n.touched.IsZero() },
	"MinimalResourceLimitExceeded": func(j *Judge, n *node, g *group) bool { return true },
}

// replaced reports whether a node waits to be replaced: an empty one where a minimum keeps it, if something can come.
func replaced(j *Judge, n *node, g *group) bool { return j.due(n) && (n.empty.IsZero() || !j.spare(g)) }

// cools reports whether a growth, a removal or a refusal was a short while ago.
func (j *Judge) cools(g *group) bool {
	t, f := &j.truth, &j.flags
	return j.since(t.grew[""]) <= f.DelayAfterAdd+j.tolerance() ||
		j.since(t.removed[""]) <= f.DelayAfterDelete+j.tolerance() ||
		j.since(t.failed[""]) <= f.DelayAfterFailure+j.tolerance() || j.since(t.failed[g.id]) <= longest
}

func allNeeded(j *Judge, e *Event) {
	t := &j.truth
	for _, name := range sorted(t.nodes) {
		n := t.nodes[name]
		m := t.machineOf(n)
		if m == nil || m.ending || !n.ready || n.low.IsZero() || t.groups[m.group] == nil ||
			j.since(later(later(n.low, n.changed), j.undisturbed())) <= j.flags.UnneededTime+j.tolerance()+waitsLong {
			continue
		}
		why, said := t.keeps[name]
		holds, known := keeping[why]
		switch {
		case !said:
			j.test(n.drifted, e, name, "it is little used since %s, and nothing is said of it", j.stamp(n.low))
		case known:
			j.test(holds(j, n, t.groups[m.group]), e, name, "it is little used since %s, and %s does not hold", j.stamp(n.low),
				why)
		default:
			j.test(n.empty.IsZero(), e, name, "it is empty since %s, and stays for %s", j.stamp(n.empty), why)
		}
	}
}

// quietFor is how long nothing must have been asked for at rest.
const quietFor = 5 * time.Minute

func allClosed(j *Judge, e *Event) {
	t := &j.truth
	j.test(t.process != "", e, "the autoscaler", "no process leads")
	j.test(t.calls == 0 && t.asks == 0, e, "what is on record", "%d calls and %d requests are open", t.calls, t.asks)
	j.test(t.open == 0, e, "moves", "%d have begun, and neither ended nor been given up", t.open)
	j.test(j.since(t.asked) >= quietFor, e, "the last call", "it began at %s", j.stamp(t.asked))
	for _, id := range sorted(t.writes) {
		if w := t.writes[id]; w.ended.IsZero() {
			j.test(false, e, id, "it was begun at %s, and has no end", j.stamp(w.began))
		}
	}
	for _, name := range sorted(t.nodes) {
		n := t.nodes[name]
		j.test(n.tainted == "" && n.cordoned == "", e, name, "it is tainted by %q since %s, and cordoned by %q", n.tainted,
			j.stamp(n.taintedAt), n.cordoned)
	}
}

// still: a cloud that picks the zone may be tried again after a long while.
func still(j *Judge, e *Event) {
	t := &j.truth
	if t.restful.IsZero() || later(j.undisturbed(), t.stirred).After(t.restful) || j.TriesAgain() {
		return
	}
	switch e.Verb {
	case Grow, Cancel, Remove, Taint, Evict:
		j.test(false, e, e.Call, "the world was at rest at %s, and nothing has changed it since", j.stamp(t.restful))
	}
}
