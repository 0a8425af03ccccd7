package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// drainBook records the pods that were evicted, and their replacements that have no node yet.
type drainBook struct {
	// owed are the evicted pods that their controller has not replaced yet, by workload; waiting
	// are those that it has, by the UID of the replacement.
	owed    map[string][]moved
	waiting map[types.UID]moved
	// stirred is when something other than the autoscaler last did what may take room.
	stirred time.Time
	// emptied are the nodes that a pod of a workload was evicted from, since they were
	// last rolled back, and tries how often they were.
	emptied map[string]bool
	tries   map[string]tries
	// daemons counts how often the pod of a DaemonSet was evicted from a node since
	// the node was last rolled back.
	daemons map[string]int
	// evictions, late and drained are counts for tests: evicted pods of workloads, those whose
	// replacement had no room at once, and nodes that pods left.
	evictions, late int
	drained         map[string]bool
}

// moved is a pod that the autoscaler evicted.
type moved struct {
	pod   string
	of    string // its workload
	node  string
	group provider.GroupID
	at    time.Time // of the eviction
	came  time.Time // when its replacement was made
	late  bool      // the replacement has waited too long
}

func newDrainBook() drainBook {
	return drainBook{owed: map[string][]moved{}, waiting: map[types.UID]moved{}, daemons: map[string]int{},
		emptied: map[string]bool{}, tries: map[string]tries{}, drained: map[string]bool{}}
}

// daemonTimes is how often a pod of a DaemonSet may be evicted from one node: a later leader may
// not know of the first time.
const daemonTimes = 3

// stir notes that something other than the autoscaler changes the world.
func (ck *checker) stir() {
	ck.drains.stirred = ck.w.now
	ck.w.judge.tell(check.Event{What: check.Stir})
}

// unaware is how long before an eviction the world may have changed without the leader's knowledge.
const unaware = 30 * time.Second

// calmSince reports whether only the autoscaler has changed the world since shortly before an
// eviction, and no fault lasts.
func (ck *checker) calmSince(eviction time.Time) bool {
	return ck.drains.stirred.Before(eviction.Add(-unaware)) && !slices.ContainsFunc(ck.w.faults, func(f *fault) bool {
		return f.on
	})
}

// evicting checks an eviction that the API server is about to grant.
func (ck *checker) evicting(c model.Call, s seat, budgets []*budget) {
	w, p := ck.w, ck.w.settings.Policy.ScaleDown.Drain
	pod := c.Pod
	if s.pod.Flags&model.FromDaemonSet != 0 {
		if ck.daemonStays(c, s) {
			ck.breach("no pod of a DaemonSet is evicted that is to stay", pod, "the call was %s", c.ID)
		}
		// Its controller replaces it at once while the node exists.
		if ck.drains.daemons[pod]++; ck.drains.daemons[pod] > daemonTimes {
			ck.breach("pods of DaemonSets are not evicted again and again", pod, "for the %d. time",
				ck.drains.daemons[pod])
		}
		return
	}
	if !ck.drains.emptied[c.Node] {
		ck.drainedBlindly(c)
	}
	ck.drains.drained[c.Node], ck.drains.emptied[c.Node] = true, true
	ck.drains.evictions++
	if wl := w.workloads[s.of]; wl != nil {
		age := w.now.Sub(time.Unix(s.pod.Created, 0))
		if why := wl.stays(p, len(budgets) > 0 || ck.disturbed(), age); why != "" {
			ck.breach("no pod is evicted that must not be", pod, "%s; the call was %s", why, c.ID)
		}
		if wl.facts.Controller != noController {
			ck.drains.owed[s.of] = append(ck.drains.owed[s.of],
				moved{pod: pod, of: s.of, node: c.Node, group: c.Group, at: w.now})
		}
	}
	for _, b := range budgets {
		// Pods that became unhealthy by themselves since the controller synced are not counted
		// against the eviction.
		now, lost := w.healthyPods(b), 0
		for uid := range b.healthy {
			if _, ours := b.disrupted[uid]; !ours && !now[uid] {
				lost++
			}
		}
		left := len(now)
		if now[s.pod.UID] {
			left--
		}
		if wanted, _ := w.wanted(b); left+lost < wanted && b.synced && !ck.disturbed() {
			ck.breach("no disruption budget is violated", b.id.name,
				"%d healthy pods are left of %d, since %s was evicted", left, wanted, pod)
		}
	}
	if c.Grace >= 0 && c.Grace > max(w.graceOf(s), time.Second) {
		ck.breach("no pod has more time to end than it asked for", pod, "%s of %s", c.Grace, w.graceOf(s))
	}
}

// daemonStays reports whether a pod of a DaemonSet must not be evicted before its node goes.
func (ck *checker) daemonStays(c model.Call, s seat) bool {
	p := ck.w.settings.Policy.ScaleDown.Drain
	switch ck.w.catalog.Contents().Facts[s.pod.Facts].Daemon {
	case model.Yes:
		return false
	case model.No:
		return true
	}
	if ck.drains.emptied[c.Node] {
		return !p.EvictDaemons
	}
	return !p.EvictDaemons && !p.EvictDaemonsEmpty // other pods may have left by themselves
}

// made notes that a workload's controller made a pod. It replaces an evicted one, if one is still
// owed.
func (ck *checker) made(wl *workload, pod types.UID) {
	if owed := ck.drains.owed[wl.name]; len(owed) > 0 {
		m := owed[0]
		m.came = ck.w.now
		ck.drains.waiting[pod], ck.drains.owed[wl.name] = m, owed[1:]
	}
}

// scaled notes that people changed the number of pods. Evicted ones may then not be replaced.
func (ck *checker) scaled(wl *workload) {
	ck.stir()
	delete(ck.drains.owed, wl.name)
}

// bound notes that a pod has a node. Pods of a workload are alike: one that waited before may take
// the room of an evicted one, which then waits in its place.
func (ck *checker) bound(s seat) {
	b := &ck.drains
	if _, ours := b.waiting[s.pod.UID]; ours {
		delete(b.waiting, s.pod.UID)
		return
	}
	if owed := b.owed[s.of]; len(owed) > 0 {
		b.owed[s.of] = owed[1:]
		return
	}
	for _, uid := range sortedKeys(b.waiting) {
		if b.waiting[uid].of == s.of {
			delete(b.waiting, uid)
			return
		}
	}
}

// gone notes that a pod was deleted.
func (ck *checker) gone(s seat) { delete(ck.drains.waiting, s.pod.UID) }

// tries counts how often a node's removal was begun in vain while nothing else changed the world.
type tries struct {
	since time.Time
	times int
}

// mostTries is how often a removal may be begun in vain.
const mostTries = 3

// givenBack checks a node that is rolled back, as it is now.
func (ck *checker) givenBack(n *corev1.Node) {
	for _, p := range ck.w.truth.podsOn(n.Name) {
		delete(ck.drains.daemons, ck.w.catalog.Contents().Specs[p.Spec].Pod.Namespace+"/"+p.Name)
	}
	delete(ck.drains.emptied, n.Name)
	t := ck.drains.tries[n.Name]
	if t.times == 0 || !ck.calmSince(t.since) {
		t = tries{since: ck.w.now}
	}
	if t.times++; t.times > mostTries {
		ck.breach("no removal is begun in vain again and again", n.Name, "for the %d. time since %s",
			t.times, stamp(t.since))
	}
	ck.drains.tries[n.Name] = t
	if ck.w.cordons[n.Name] && !n.Spec.Unschedulable {
		ck.breach("a cordon that people made is left alone", n.Name, "it is schedulable again")
	}
}

// soon is how long a replacement may be without a node while nothing else changes the world and the
// scheduler follows the plan. The scheduler is free to choose other nodes; then the drain is rolled
// back, within giveBack.
const (
	soon     = time.Minute
	giveBack = 2 * time.Minute
)

// promises: every evicted pod finds room, and nothing is bought for it.
func (ck *checker) promises(c model.Cycle) {
	b := &ck.drains
	for _, uid := range sortedKeys(b.waiting) {
		m := b.waiting[uid]
		if !ck.calmSince(m.at) {
			continue
		}
		waits := ck.w.now.Sub(m.came)
		if waits > soon && !m.late {
			m.late = true
			b.waiting[uid] = m
			b.late++
			ck.w.log.say("what came for %s, evicted from %s at %s, has no node yet", m.pod, m.node, stamp(m.at))
		}
		if waits > ck.w.settings.Policy.ScaleDown.Drain.ReplacementTime+giveBack {
			ck.breach("who was evicted has a node again soon", m.pod,
				"evicted from %s at %s, and the pod that came for it at %s has none", m.node,
				stamp(m.at), stamp(m.came))
		}
	}
	if !c.Decided || len(b.waiting) == 0 {
		return
	}
	window := ck.w.settings.Policy.ScaleDown.DelayAfterAdd + ck.w.settings.Policy.ScaleDown.UnneededTime
	s := c.Snapshot
	for _, g := range c.Plan.Grow {
		for _, batch := range g.Pods {
			others, mine := 0, []moved{}
			for q := range s.Pending {
				if s.Pending[q].Class != batch.Class {
					continue
				}
				for _, p := range s.Pending[q].Pods {
					if m, ours := b.waiting[p.UID]; ours && ck.w.now.Sub(m.at) <= window && ck.calmSince(m.at) &&
						templateOf(s, m.group) == templateOf(s, g.Group) {
						mine = append(mine, m)
					} else {
						others++
					}
				}
			}
			if batch.Count > others && len(mine) > 0 {
				ck.breach("no node is bought for pods that were just evicted from one like it", string(g.Group),
					"it grows from %d to %d for %s, which was evicted from %s at %s", g.From, g.To, mine[0].pod,
					mine[0].node, stamp(mine[0].at))
			}
		}
	}
}

// bounds: the number of nodes with pods that are drained at once stays within its limit; no
// decision takes a group below its minimum; no removal is decided for a machine that is gone or
// going.
func (ck *checker) bounds(c model.Cycle) {
	s, p := c.Snapshot, ck.w.settings.Policy.ScaleDown
	open := 0
	for i := range s.Nodes {
		if d := s.Nodes[i].Standing.Drain; d != nil && d.Occupied &&
			slices.Contains([]model.Stage{model.Tainting, model.Tainted, model.Cordoning, model.Evicting}, d.Stage) {
			open++
		}
	}
	if open > p.MaxDrains && !slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.GoesWhole() }) {
		ck.breach("no more drains at once than --max-drain-parallelism", "", "%d of %d", open, p.MaxDrains)
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		is := func(id provider.InstanceID, deleting bool) bool {
			return slices.ContainsFunc(g.Instances, func(in provider.Instance) bool {
				return in.ID == id && (in.State == provider.Deleting) == deleting
			})
		}
		for _, call := range c.Plan.Calls {
			if call.Verb == model.Remove && call.Group == g.ID && is(call.Instance, true) {
				ck.breach("nothing is deleted twice", string(call.Instance),
					"the cloud deletes it already, and %s asks for that again", call.ID)
			}
		}
		going := 0
		for _, call := range c.Open {
			if call.Verb == model.Remove && call.Group == g.ID && !call.Force && is(call.Instance, false) {
				going++
			}
		}
		if going > 0 && g.Expected-going < g.Min && !ck.disturbed() {
			ck.breach("no group below its minimum", string(g.ID), "%d are to go of %d, and the minimum is %d",
				going, g.Expected, g.Min)
		}
	}
}

// unhoused are the replacements of evicted pods that have no node once the world is quiet.
func (ck *checker) unhoused() []string {
	var lacking []string
	for _, uid := range sortedKeys(ck.drains.waiting) {
		if m := ck.drains.waiting[uid]; ck.calmSince(m.at) {
			lacking = append(lacking, fmt.Sprintf("pod %s was evicted from %s at %s, and what came for it has no node",
				m.pod, m.node, stamp(m.at)))
		}
	}
	return lacking
}
