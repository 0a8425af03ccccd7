package check

import (
	"slices"
	"time"
)

// This file is how facts about the cloud and the cluster change the truth.

func (t *truth) applyCloud(e *Event) {
	g := t.groups[e.Group]
	if g != nil && e.What != StockOut {
		g.moved = e.At
	}
	switch e.What {
	case PoolIs:
		p := t.pools[e.Pool]
		if p == nil {
			p = &pool{wasMin: e.Min, wasMax: e.Max}
			t.pools[e.Pool] = p
		} else {
			p.wasMin, p.wasMax = p.min, p.max
		}
		p.min, p.max, p.sized = e.Min, e.Max, e.Sized
	case GroupIs:
		if g == nil {
			g = &group{id: e.Group, wasMin: e.Min, wasMax: e.Max, target: e.N, moved: e.At}
			t.groups[e.Group] = g
		} else {
			g.wasMin, g.wasMax, g.changed = g.min, g.max, e.At
		}
		if g.cpu != e.CPU || g.memory != e.Memory || e.Differs {
			g.version++
			g.differed = false
		}
		if e.Drifted {
			g.makes++
		}
		g.pool, g.min, g.max, g.cpu, g.memory, g.varies = e.Pool, e.Min, e.Max, e.CPU, e.Memory, e.Varies
		g.price = e.Price
		g.whole = e.Whole
	case GroupEnd:
		delete(t.groups, e.Group)
	case TargetIs:
		if g != nil {
			t.retarget(g, e)
		}
	case StockOut:
		if g != nil {
			g.told = e.At
		}
	case MachineMade:
		m := &machine{id: e.Machine, group: e.Group, made: e.At}
		t.machines[e.Machine] = m
		if g != nil {
			m.version = g.makes
			if m.unit = t.waits(g); m.unit != nil {
				m.unit.machine = m.id
			}
			if len(g.vacant) > 0 {
				m.instead, g.vacant = g.vacant[0].made, g.vacant[1:]
			} else {
				m.instead = t.mixedUp(m)
			}
		}
	default:
		t.applyMachine(e)
	}
}

func (t *truth) applyMachine(e *Event) {
	m := t.machines[e.Machine]
	if m == nil {
		return
	}
	g := t.groups[m.group]
	over := func() {
		if m.unit != nil {
			m.unit.over = true
		}
	}
	switch e.What {
	case MachineRuns:
		m.ran, m.failed = e.At, false
	case MachineFailed:
		m.failed, m.again, m.broke = true, e.Again, e.At
		if !e.Again {
			over()
		}
		if g != nil {
			g.told = e.At
		}
	case MachineEnds:
		m.ending, m.by, m.ended = true, e.Call, e.At
		if e.Call != "" {
			over()
		}
		if e.Call == "" {
			t.stirred = e.At
			break
		}
		if m.stray() {
			t.strayed = e.At
		}
		if w := t.writes[e.Call]; w != nil {
			w.took = true
			if g != nil && w.Node == "" && !m.failed {
				if g.late = e.At; m.unit != nil {
					m.unit.givenUp = e.At
				}
			}
		}
	case MachineGone:
		if g != nil && m.differs {
			g.strange = e.At
		}
		if g != nil && m.by == "" && !m.dropped {
			made := m.made
			if !m.had && !m.instead.IsZero() {
				made = m.instead
			}
			g.vacant = append(g.vacant, vacancy{made, e.At})
			t.replacedAtOnce(m, made)
		}
		if u := m.unit; u != nil && m.by == "" && !m.dropped && u.ready.IsZero() {
			u.machine, u.over = "", m.failed && !m.ending // the cloud may put another one in its place
		} else {
			over()
		}
		if n := t.nodeOf(m); n != nil {
			if n.left = e.At; m.ending {
				n.left = m.ended
			}
		}
		delete(t.machines, m.id)
		if !m.ending {
			t.stirred = e.At
		}
	}
}

// waits is the unit without a machine that was asked for first. What the cloud was asked for and never
// began has none.
func (t *truth) waits(g *group) *unit {
	for _, o := range g.growths {
		if w := t.writes[o.call]; w != nil && !w.took {
			continue
		}
		for _, u := range o.units {
			if u.machine == "" && !u.over {
				return u
			}
		}
	}
	return nil
}

// retarget lets a target go up, by a growth, or down, by units that have no machine, the newest first.
func (t *truth) retarget(g *group, e *Event) {
	more := e.N - g.target
	if e.Call == "" && more < 0 {
		g.vacant = nil
		t.drop(g, e.At)
	}
	g.target = e.N
	if w := t.writes[e.Call]; w != nil {
		w.took = true
		if w.Verb == Cancel {
			g.late = e.At
		}
	}
	if more > 0 {
		if e.Call == "" {
			t.raised, t.touched = true, e.At
		} else {
			claimed := slices.ContainsFunc(g.growths, func(o *growth) bool { return o.call == e.Call })
			if claimed || !t.moving { // what was bought for no pending pod is for the pods of nodes that go
				t.grew[g.id], t.grew[""] = e.At, e.At
				t.runsFrom(addTime, g.id, e.At)
			}
			if claimed {
				return // as it was said
			}
		}
		o := &growth{call: e.Call, at: e.At, claims: map[string]int{}, version: g.version}
		if w := t.writes[e.Call]; w != nil {
			o.at = w.began // time counts from the asking
		}
		for range more {
			o.units = append(o.units, &unit{growth: o})
		}
		g.growths = append(g.growths, o)
	}
	if w := t.writes[e.Call]; e.Call != "" && (w == nil || w.Verb != Cancel) {
		return // by a machine, which is told apart
	}
	for i := len(g.growths) - 1; i >= 0 && more < 0; i-- {
		for k := len(g.growths[i].units) - 1; k >= 0 && more < 0; k-- {
			if u := g.growths[i].units[k]; u.machine == "" && !u.over {
				u.over = true
				more++
			}
		}
	}
}

// drop takes the machines that end as another client lowers a target for those that the target is lower by.
func (t *truth) drop(g *group, at time.Time) {
	for _, m := range t.machines {
		if m.group == g.id && m.ending && m.by == "" && m.ended.Equal(at) {
			m.dropped = true
			if m.unit != nil {
				m.unit.over = true
			}
		}
	}
}

func (t *truth) applyNode(e *Event) {
	if e.What == NodeIs {
		// A kubelet may register under the name of a node that is still there: it goes on with that object.
		n, adopted := t.nodes[e.Node]
		if !adopted {
			n = &node{name: e.Node, cpu: e.CPU, memory: e.Memory, made: e.At, changed: e.At, pods: map[string]*pod{}, low: e.At,
				empty: e.At, daemons: map[string]int{}}
			t.nodes[e.Node] = n
		}
		n.cores = max(e.CPU, e.Cores)
		n.machine, n.differs, n.drifted, n.left = e.Machine, e.Differs, e.Drifted, time.Time{}
		if m := t.machines[e.Machine]; m != nil {
			m.node, m.had, m.lost, m.unseen = e.Node, !e.Drifted, time.Time{}, false
			m.registered, m.differs = e.At, e.Differs
			if g := t.groups[m.group]; g != nil && e.Differs {
				g.differed = true
			}
		}
		return
	}
	n := t.nodes[e.Node]
	if n == nil {
		return
	}
	m := t.machineOf(n)
	switch e.What {
	case NodeReady, NodeUnready:
		if e.What == NodeReady && !t.unled(n.changed) {
			n.turned = e.At
		}
		n.ready, n.changed = e.What == NodeReady, e.At
		n.ever = n.ever || n.ready
		if !n.ready {
			t.lose(n.pods, e.At)
		}
		if m != nil && n.ready {
			t.makesAgain(m)
		}
		if n.ready && m != nil && m.unit != nil && m.unit.ready.IsZero() {
			m.unit.over, m.unit.ready, m.unit.node = true, e.At, n.name
		}
	case NodeEnd:
		t.lose(n.pods, e.At)
		if m != nil {
			m.node = ""
			if m.had = m.had && t.matched(m); m.had && !m.ending && !t.goes(n, m) {
				m.lost, m.unseen = e.At, t.seer != t.process || !t.sees.After(t.begun)
				m.hidden, m.passed = t.hiddenSince(m), t.unled(m.registered) || t.missed(m.registered, e.At)
				m.unseen = m.unseen || m.passed
			}
		}
		if n.tainted != "" {
			t.left = e.At
		}
		delete(t.nodes, e.Node)
	case Protected, Unprotected:
		n.protected = e.What == Protected
	case Tainted:
		n.tainted, n.taintedAt, n.touched, n.occupied = e.Call, e.At, e.At, t.standsOn(n, e.Call)
		for _, p := range n.counts() {
			p.stuck = !p.coupled && !t.roomBeside(n, p, e.At)
		}
		w := t.writes[e.Call]
		n.saves = w != nil && w.Saves
	case Untainted:
		if e.Call != "" && m != nil {
			t.runsFrom(failureTime, m.group, e.At) // we have given up its removal, which may be a failure
		}
		n.drained, n.tainted, n.refused = false, "", time.Time{}
		clear(n.daemons)
	case Cordoned:
		if e.Call == "" {
			n.withheld = true
		} else {
			n.cordoned = e.Call
		}
	case Uncordoned:
		n.cordoned, n.withheld = "", false
	}
}

// lose notes that pods do not serve any more, which was not our doing.
func (t *truth) lose(pods map[string]*pod, at time.Time) {
	for _, p := range pods {
		if w := t.workloads[p.workload]; w != nil {
			w.lost = at
		}
	}
}

// replacedAtOnce takes in that others were made shortly before a machine is gone, so that one answer shows both: any of
// them may be taken for what the cloud put in its place, and has no more time than that one had.
func (t *truth) replacedAtOnce(gone *machine, made time.Time) {
	seen := time.Time{}
	if n := len(t.reads); n > 0 {
		seen = t.reads[n-1].began
	}
	for _, m := range t.machines {
		if m.group == gone.group && m != gone && m.node == "" && m.made.After(seen) && made.Before(m.made) &&
			(m.instead.IsZero() || made.Before(m.instead)) {
			m.instead = made
		}
	}
}

// mixedUp is when the machine was made in whose place another one came shortly before this one, zero if none did: which
// of the two the cloud made for it, and which was asked for, cannot be told while neither has a node.
func (t *truth) mixedUp(m *machine) (made time.Time) {
	for _, o := range t.machines {
		if o.group == m.group && o != m && o.node == "" && !o.instead.IsZero() && m.made.Sub(o.made) < time.Minute &&
			(made.IsZero() || o.instead.Before(made)) {
			made = o.instead
		}
	}
	return made
}

// makesAgain takes in that a machine's node is ready, and ends what its group rests from, if that was before. A later
// process need not know of it, and lets the group rest for longer. Nor does a machine show it that was asked for
// before.
func (t *truth) makesAgain(m *machine) {
	g := t.groups[m.group]
	if g == nil || !m.made.After(g.failures.said) {
		return
	}
	f := g.failures
	if g.failures = (failures{}); t.process == "" || m.unit == nil || !m.unit.growth.at.After(f.said) {
		g.failures = failures{said: f.said, most: f.most, longest: f.longest, known: f.known}
	}
}

// goes reports whether a node is being removed: by others, or by us, who asked for the end of its machine. A taint of
// ours alone ends no machine.
func (t *truth) goes(n *node, m *machine) bool {
	if n.tainted == "" || t.writes[n.tainted] == nil {
		return n.tainted != ""
	}
	for _, w := range t.writes {
		if w.Verb == Remove && w.Machine == m.id {
			return true
		}
	}
	return false
}

// unled reports whether no process has led since then, nor one shortly before whose successor will know what it saw.
func (t *truth) unled(since time.Time) bool {
	return t.process == "" && len(t.deaths) > 0 && !t.led.After(since) && t.deaths[len(t.deaths)-1].Sub(since) < learn
}

// missed reports whether a watch may have missed all that was between two instants.
func (t *truth) missed(from, until time.Time) bool {
	return t.on("watch=lossy") && !from.Before(t.since["watch=lossy"]) && until.Sub(from) < relisted
}

// matched reports whether an answer of the cloud has shown a machine that runs. Until one has, it is
// unknown whose its node is. One under another id does not show it.
func (t *truth) matched(m *machine) bool {
	drifts := t.on("reads=drift")
	return slices.ContainsFunc(t.reads, func(r read) bool {
		if r.began.Before(t.since["reads=drift"]) != drifts {
			return false
		}
		return r.began.After(m.ran) && !slices.Contains(r.missing, m.group) && !slices.Contains(r.lacks, m.id)
	})
}

// hiddenSince is since when all answers of the cloud have had a machine under another id, so that its node, which was
// there, led to no machine. Zero if the last one had it under its own.
func (t *truth) hiddenSince(m *machine) (since time.Time) {
	for _, r := range slices.Backward(t.reads) {
		if slices.Contains(r.missing, m.group) {
			continue
		}
		if !slices.Contains(r.lacks, m.id) {
			break
		}
		since = r.began
	}
	return since
}

// hiddenUntil is when the last answer of the cloud ended that did not have a machine under its id, zero if none is
// known.
func (t *truth) hiddenUntil(m *machine) time.Time {
	for _, r := range slices.Backward(t.reads) {
		if slices.Contains(r.missing, m.group) || slices.Contains(r.lacks, m.id) {
			return r.ended
		}
	}
	return time.Time{}
}

func (t *truth) applyPod(e *Event) {
	switch e.What {
	case PodIs:
		p := &pod{uid: e.Pod, workload: e.Workload, class: e.Class, own: e.Own, expendable: e.Expendable,
			coupled: e.Coupled, picky: e.Picky, cpu: e.CPU, memory: e.Memory, made: e.At, controller: e.Controller,
			priority: e.Priority,
			safe:     e.Safe, local: e.Local, system: e.System, tolerant: e.Tolerant, grace: e.Grace}
		t.waited = e.At
		t.unbound++
		t.pods[e.Pod] = p
		if w := t.workloads[e.Workload]; w != nil && len(w.owed) > 0 {
			p.from, w.owed = w.owed[0], w.owed[1:]
			p.evictions, p.saved = p.from.evictions, p.from.saved
		}
		return
	case WorkloadIs:
		w := t.workloads[e.Workload]
		if w == nil {
			w = &workload{}
			t.workloads[e.Workload] = w
		}
		w.want, w.kept, w.owed, w.lost = e.N, e.Kept, nil, e.At
		t.stirred = e.At
		return
	case BudgetIs:
		t.budgets[e.Name] = &budget{min: e.Min, workloads: e.Workloads, said: e.At}
		return
	case BudgetEnd:
		delete(t.budgets, e.Name)
		return
	}
	p := t.pods[e.Pod]
	if p == nil {
		return
	}
	n := t.nodes[p.node]
	switch e.What {
	case PodRefused:
		p.refused = true
	case PodBound:
		t.bind(p, e)
	case PodStarted:
		p.started = true
	case PodEnds:
		if e.Call == "" {
			t.lose(map[string]*pod{p.uid: p}, e.At)
		}
		p.ending, p.ends, p.byUs = true, e.When, e.Call != ""
		if e.Call != "" && !p.own {
			if n != nil {
				if !n.drained {
					t.moves.Nodes++
				}
				n.drained, n.drainer = true, t.process
			}
			t.moves.Pods++
			if w := t.workloads[p.workload]; w != nil && w.kept {
				recent := append(slices.DeleteFunc(slices.Clone(p.evictions), func(at time.Time) bool {
					return e.At.Sub(at) > 3*time.Hour
				}), e.At)
				left := &moved{pod: p.uid, node: p.node, by: t.process, at: e.At, evictions: recent, saved: p.saved}
				if n != nil && n.saves {
					left.saved = e.At
				}
				if m := t.machineOf(n); m != nil {
					left.group, left.withheld, left.hurried = m.group, n.withheld, n.taken || m.taken
				}
				w.owed = append(w.owed, left)
			}
		}
	case PodEnd:
		t.miss(p, e.At)
		if p.node == "" {
			t.unbound, t.waited = t.unbound-1, e.At
		}
		if n != nil {
			delete(n.pods, p.uid)
			t.measure(n, e.At)
		}
	}
}

// miss takes out a pod that is gone.
func (t *truth) miss(p *pod, at time.Time) {
	if !p.ending {
		t.lose(map[string]*pod{p.uid: p}, at)
	}
	if !p.byUs && !p.own {
		t.freed = at
	}
	delete(t.pods, p.uid)
}

// bind puts a pod on a node. Pods of a workload are alike: one that waited before may take the room of
// one that was evicted, whose successor then waits in its place.
func (t *truth) bind(p *pod, e *Event) {
	n := t.nodes[e.Node]
	if p.node == "" {
		t.unbound, t.waited = t.unbound-1, e.At
	}
	p.node, p.bound, p.refused = e.Node, e.At, false
	if n != nil {
		n.pods[p.uid] = p
		n.met = n.met || !p.own && t.meant(n, p)
		t.measure(n, e.At)
	}
	if p.from != nil {
		p.from = nil
		return
	}
	w := t.workloads[p.workload]
	if w == nil {
		return
	}
	if len(w.owed) > 0 {
		w.owed = w.owed[1:]
		return
	}
	for _, uid := range sorted(t.pods) {
		if other := t.pods[uid]; other.workload == p.workload && other.from != nil && other.node == "" {
			other.from = nil
			return
		}
	}
}

// measure notes since when a node is empty, and little used.
func (t *truth) measure(n *node, at time.Time) {
	was := n.low
	others, cpu, memory := 0, int64(0), int64(0)
	for _, p := range n.pods {
		if !p.own && !p.expendable {
			others, cpu, memory = others+1, cpu+p.cpu, memory+p.memory
		}
	}
	switch {
	case others > 0:
		n.empty = time.Time{}
	case n.empty.IsZero():
		n.empty = at
	}
	switch {
	case others > 0 && n.share(cpu, memory) >= t.threshold:
		n.low = time.Time{}
	case n.low.IsZero():
		n.low = at
	}
	if n.low.IsZero() && !was.IsZero() {
		n.used, n.wasLow = at, was
	}
}

// share is the larger share of a node that an amount has.
func (n *node) share(cpu, memory int64) float64 {
	return max(float64(cpu)/float64(max(1, n.cpu)), float64(memory)/float64(max(1, n.memory)))
}
