package sim

import (
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// checker watches that no rule of safety is broken, in each cycle and at each
// write as it takes effect. What it compares with is the truth.
type checker struct {
	w      *world
	broken []string
	seen   map[string]bool // breaches by rule and subject: each is reported once
	// last is the newest cycle, since the leader's beginning; calls are those
	// under way.
	last  model.Cycle
	calls map[string]model.Call
	// blind are calls that were decided while the cloud had hidden a group for so long that the
	// loop forgot it (rule P7), and the groups that it knew then.
	blind   map[string]map[provider.GroupID]bool
	lastRan time.Time     // when a call was last started
	rested  time.Duration // the longest time without any since peace began
	waited  time.Time     // when pods were last seen to wait
	begun   int           // how many calls were decided on
	touched time.Time     // when people last changed targets or limits
	raised  bool          // people have raised a target
	endings []ending      // machines that ended because their node was not ready or not there
	waste   wasteBook
	drains  drainBook
}

func newChecker(w *world) checker {
	return checker{w: w, seen: map[string]bool{}, calls: map[string]model.Call{},
		blind: map[string]map[provider.GroupID]bool{}, waste: newWasteBook(), drains: newDrainBook()}
}

// breaches are what was broken until now.
func (ck *checker) breaches() error {
	var errs []error
	for _, b := range ck.broken {
		errs = append(errs, errors.New(b))
	}
	return errors.Join(errs...)
}

// breach notes that a rule was broken.
func (ck *checker) breach(rule, subject, format string, args ...any) {
	if ck.seen[rule+"/"+subject] {
		return
	}
	ck.seen[rule+"/"+subject] = true
	text := fmt.Sprintf("%s  breach of %q: %s: %s", stamp(ck.w.now), rule, subject, fmt.Sprintf(format, args...))
	ck.broken = append(ck.broken, text)
	ck.w.log.say("BREACH of %q: %s: %s", rule, subject, fmt.Sprintf(format, args...))
}

// orphaned: the leader died. Its calls have no owner, and its memory may lack what it learned last.
func (ck *checker) orphaned() {
	clear(ck.calls)
	ck.last = model.Cycle{}
	ck.waste.unsure(ck.w.now)
}

// settled is how long the loop may still act on its older knowledge after people changed something.
const settled = 3 * time.Minute

// touch notes that people changed limits or targets.
func (ck *checker) touch() {
	ck.touched = ck.w.now
	ck.w.judge.tell(check.Event{What: check.People})
	ck.stir()
}

// disturbed reports whether people changed limits or targets within the last minutes.
func (ck *checker) disturbed() bool {
	return !ck.touched.IsZero() && ck.w.now.Sub(ck.touched) < settled
}

// cycle checks a cycle.
func (ck *checker) cycle(c model.Cycle) {
	for _, out := range c.Ended {
		delete(ck.calls, out.Call.ID)
		if out.Call.Verb == model.Grow && out.Err != nil && !out.Err.MayHaveHappened {
			ck.waste.refused(out.Call)
		}
		delete(ck.blind, out.Call.ID)
	}
	ck.last = c
	if len(ck.w.truth.waiting) > 0 {
		ck.waited = ck.w.now
	}
	ck.promises(c)
	if !c.Decided {
		return
	}
	for _, call := range c.Plan.Calls {
		ck.calls[call.ID] = call
		// A group that was not read since the leader began counts in totals by its nodes only: its
		// machines without a node are unknown.
		unread := slices.ContainsFunc(c.Snapshot.Groups, func(g model.Group) bool {
			return g.Err != nil && g.Expected == 0 && ck.w.inventory(g.ID).Target > 0
		})
		if unread || len(c.Snapshot.Groups) < len(ck.w.groups) {
			ck.blind[call.ID] = map[provider.GroupID]bool{}
			for i := range c.Snapshot.Groups {
				ck.blind[call.ID][c.Snapshot.Groups[i].ID] = true
			}
		}
		ck.begun++
		ck.rested = max(ck.rested, ck.w.now.Sub(ck.lastRan))
		ck.lastRan = ck.w.now
	}
	ck.limits(c)
	ck.health(c)
	ck.intents(c)
	ck.bounds(c)
	ck.agrees(c)
	ck.waste.cycle(ck, c)
}

// limits: no growth goes above its group's or its pool's maximum.
func (ck *checker) limits(c model.Cycle) {
	to := map[provider.GroupID]int{}
	for _, g := range c.Plan.Grow {
		to[g.Group] = g.To
	}
	pools := map[provider.PoolID]int{}
	grows := map[provider.PoolID]bool{}
	for i := range c.Snapshot.Groups {
		g := &c.Snapshot.Groups[i]
		target, grown := to[g.ID]
		if grown && target > g.Max {
			ck.breach("no group above its maximum", string(g.ID), "it is to have %d of at most %d", target, g.Max)
		}
		pools[g.Pool] += max(target, g.Expected)
		grows[g.Pool] = grows[g.Pool] || grown
	}
	for _, p := range c.Snapshot.Pools {
		if grows[p.ID] && pools[p.ID] > p.Max {
			ck.breach("no pool above its maximum", string(p.ID), "it is to have %d of at most %d", pools[p.ID], p.Max)
		}
	}
}

// health: nothing is bought or removed while too many nodes are not ready. The checker does its own
// counting.
func (ck *checker) health(c model.Cycle) {
	unready, all := 0, 0
	for i := range c.Snapshot.Nodes {
		n := &c.Snapshot.Nodes[i]
		if n.Object == nil || n.Group < 0 || n.Kind == model.Leaving {
			continue
		}
		all++
		if n.Kind == model.Unready && n.State != model.StateNeverStarted {
			unready++ // a node that never started is a failed scale-up, and stops its group only
		}
	}
	lost := ck.w.lostFor(2*time.Minute, c.Snapshot)
	unready, all = unready+lost, all+lost
	if !ck.w.settings.Policy.Rules.TooMany(unready, all) {
		return
	}
	for _, call := range c.Plan.Calls {
		if slices.Contains([]model.Verb{model.Grow, model.Cancel, model.Taint, model.Cordon, model.Evict, model.Remove},
			call.Verb) {
			ck.breach("nothing is bought or removed in an unhealthy cluster", call.ID,
				"%d of %d nodes are not ready", unready, all)
		}
	}
}

// intents: the ledger knows every call that is under way.
func (ck *checker) intents(c model.Cycle) {
	known := map[string]bool{}
	for _, call := range c.Open {
		known[call.ID] = true
	}
	for _, id := range sortedKeys(ck.calls) {
		if !known[id] {
			ck.breach("no call without its intent on record", id,
				"it was started, has not ended, and the ledger does not have it")
		}
	}
}

// growing checks the totals as a growth is about to take effect. People who raise a target may
// exceed them.
func (ck *checker) growing(call model.Call) {
	ck.w.judge.causes[""] = call.ID
	w, p := ck.w, ck.w.settings.Policy.ScaleUp
	if ck.raised {
		return
	}
	if w.inventory(call.Group).Target != call.From {
		return // it will be refused
	}
	known, blind := ck.blind[call.ID]
	secret := blind && slices.ContainsFunc(w.cloud.Truth().Groups, func(g provider.Group) bool {
		return g.Pool == call.Pool && !known[g.ID]
	})
	if targets, p := w.pool(call.Pool); !secret && p != nil && targets+call.To-call.From > p.Max &&
		call.To > call.From {
		ck.breach("no pool above its maximum", string(p.ID),
			"%s goes from %d to %d, and the pool would have %d of at most %d", call.Group, call.From, call.To,
			targets+call.To-call.From, p.Max)
	}
	if blind {
		return
	}
	nodes, cores, memory := w.totals(call.Group, call.To)
	if p.MaxNodesTotal > 0 && nodes > p.MaxNodesTotal {
		ck.breach("no more nodes than --max-nodes-total", string(call.Group), "there would be %d of at most %d",
			nodes, p.MaxNodesTotal)
	}
	if p.MaxCoresTotal > 0 && cores > 1000*p.MaxCoresTotal {
		ck.breach("no more cores than --cores-total", string(call.Group),
			"there would be %d thousandths of at most %d cores", cores, p.MaxCoresTotal)
	}
	if p.MaxMemoryTotal > 0 && memory > p.MaxMemoryTotal {
		ck.breach("no more memory than --memory-total", string(call.Group), "there would be %d bytes of at most %d",
			memory, p.MaxMemoryTotal)
	}
}

// totals are the nodes, the millicores and the bytes of memory, existing and requested, if one
// group had a certain target.
func (w *world) totals(id provider.GroupID, to int) (nodes int, cores, memory int64) {
	count := func(n *corev1.Node, times int) {
		nodes += times
		cores += n.Status.Capacity.Cpu().MilliValue() * int64(times)
		memory += n.Status.Capacity.Memory().Value() * int64(times)
	}
	for _, g := range w.cloud.Truth().Groups {
		if g.ID == id {
			g.Target = to
		}
		count(g.Template.Node, g.Target)
	}
	for _, o := range w.truth.observed() {
		if w.unmanaged[o.Object.Name] {
			count(o.Object, 1)
		}
	}
	return nodes, cores, memory
}

// removing checks a removal as it is about to take effect: a node that is ready
// and runs pods that count must not go.
func (ck *checker) removing(call model.Call) {
	w := ck.w
	w.judge.causes[call.Instance], w.judge.causes[""] = call.ID, call.ID
	m := w.machines[call.Instance]
	if m == nil {
		return
	}
	if n := w.truth.object(m.node); n != nil && model.NodeReady(n) {
		if left := w.podsLeft(m.node, w.settings.Policy.Rules.ExpendableBelow, w.overdue); len(left) > 0 {
			ck.breach("no ready node that runs pods is removed", m.node, "%d pods, %s among them; the call was %s, %s",
				len(left), left[0], call.ID, call.Why)
		}
	}
	if call.Node == "" || call.Unready {
		ck.ending(m)
	}
	// A pool's machine without a node may go below the minimum: the pool is filled again.
	if force := w.settings.Policy.Repair; call.Force && call.Pool == "" && !force.ForceUnregistered &&
		!force.ForceFailed {
		ck.breach("no group below its minimum", string(call.Group),
			"the removal %s is forced, and no flag says so", call.ID)
	}
	if ck.disturbed() {
		return
	}
	var pool provider.PoolID
	targets := map[provider.PoolID]int{}
	truth := w.cloud.Truth()
	for _, g := range truth.Groups {
		targets[g.Pool] += g.Target
		if g.ID == call.Group {
			pool = g.Pool
		}
	}
	for _, p := range truth.Pools {
		if p.ID == pool && targets[pool]-1 < p.Min && !call.Force {
			ck.breach("no pool below its minimum", string(pool), "%d would be left of at least %d",
				targets[pool]-1, p.Min)
		}
	}
}

// cancelled checks a lowered target after it has taken effect: it ends no machine whose
// node is ready and runs pods.
func (ck *checker) cancelled(call model.Call) {
	w := ck.w
	w.judge.causes[""] = call.ID
	for _, in := range w.inventory(call.Group).Instances {
		m := w.machines[in.ID]
		if in.State != provider.Deleting || m == nil {
			continue
		}
		w.judge.causes[in.ID] = call.ID
		n := w.truth.object(m.node)
		if n == nil || !model.NodeReady(n) || model.HasTaint(n, model.TaintToBeDeleted) {
			continue
		}
		if left := w.podsLeft(m.node, w.settings.Policy.Rules.ExpendableBelow, w.overdue); len(left) > 0 {
			ck.breach("no ready node that runs pods is removed", m.node, "%d pods, %s among them; the call was %s, %s",
				len(left), left[0], call.ID, call.Why)
		}
	}
}

// ending is the end of a machine whose node was not ready or not there.
type ending struct {
	instance provider.InstanceID
	group    provider.GroupID
	at       time.Time
}

// ending checks how many machines are ended because their node is not ready, or not
// there: few of a group and few of all in any ten minutes.
func (ck *checker) ending(m *machine) {
	again := slices.ContainsFunc(ck.endings, func(e ending) bool { return e.instance == m.instance })
	if n := ck.w.truth.object(m.node); again || n != nil && model.NodeReady(n) {
		return
	}
	m.lostAt = time.Time{} // it is being removed, and no longer counted on
	ck.endings = append(ck.endings, ending{m.instance, m.group.id, ck.w.now})
	ck.endings = slices.DeleteFunc(ck.endings, func(e ending) bool { return ck.w.now.Sub(e.at) > 10*time.Minute })
	of, size, all := 0, 0, 0
	for _, e := range ck.endings {
		if e.group == m.group.id {
			of++
		}
	}
	for _, g := range ck.w.cloud.Truth().Groups {
		if all += g.Target; g.ID == m.group.id {
			size = g.Target + of
		}
	}
	if of > max(3, size/10) || len(ck.endings) > max(10, (all+len(ck.endings))/20) {
		ck.breach("few unhealthy machines are ended at once", string(m.group.id),
			"%d of it and %d of all within ten minutes", of, len(ck.endings))
	}
}

// lostFor counts the machines that lost their Node object at least that long ago and that the cloud
// has listed ever since: one that an answer lacked is a new machine when it is listed again.
func (w *world) lostFor(least time.Duration, read *model.Snapshot) int {
	listed := map[provider.InstanceID]bool{}
	for i := range read.Groups {
		for _, in := range read.Groups[i].Instances {
			listed[in.ID] = in.State != provider.Deleting
		}
	}
	n := 0
	for _, m := range w.machines {
		switch {
		case m.lostAt.IsZero() || w.truth.object(m.node) != nil || m.drifted: // nobody sees whose node that was
		case !read.AsOf.After(m.lostAt): // it may be gone with its node (ADR 29)
		case !listed[m.instance]:
			m.lostAt = time.Time{}
		case w.now.Sub(m.lostAt) >= least:
			n++
		}
	}
	return n
}
