package sim

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// drainBook knows whom our evictions put out, and which pods came for those and
// have no node yet.
type drainBook struct {
	// owed are the evicted that their controller has not replaced yet, by
	// workload; waiting those that it has, by the UID of the pod that came.
	owed    map[string][]moved
	waiting map[types.UID]moved
	// stirred is when anything last happened that is not the autoscaler's doing and
	// may take room away.
	stirred time.Time
	// emptied are the nodes that a pod of a workload was evicted from, since they were
	// last given back, and tries how often they were.
	emptied map[string]bool
	tries   map[string]tries
	// daemons counts how often the pod of a DaemonSet was evicted from a node since
	// the node was last given back.
	daemons map[string]int
	// evictions, late and drained count, for tests: pods of workloads that were
	// evicted, those for which there was no room at once, and nodes that pods left.
	evictions, late int
	drained         map[string]bool
}

// moved is a pod that we evicted.
type moved struct {
	pod   string
	of    string // its workload
	node  string
	group provider.GroupID
	at    time.Time // of the eviction
	came  time.Time // when another one was made for it
	late  bool      // that one has waited for longer than it should
}

func newDrainBook() drainBook {
	return drainBook{owed: map[string][]moved{}, waiting: map[types.UID]moved{}, daemons: map[string]int{},
		emptied: map[string]bool{}, tries: map[string]tries{}, drained: map[string]bool{}}
}

// daemonTimes is how often a pod of a DaemonSet may be evicted from one node: a
// leader that came in between may not know of the first time.
const daemonTimes = 3

// stir notes that something else than the autoscaler moves the world.
func (ck *checker) stir() { ck.drains.stirred = ck.w.now }

// unaware is how long before an eviction the world may have been moved without
// whoever decided on it having known.
const unaware = 30 * time.Second

// calmSince reports whether nothing but the autoscaler has moved the world since
// shortly before an eviction. While any fault lasts it is not calm.
func (ck *checker) calmSince(eviction time.Time) bool {
	return ck.drains.stirred.Before(eviction.Add(-unaware)) && !slices.ContainsFunc(ck.w.faults, func(f *Fault) bool {
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
		// Another one comes at once, for as long as the node is there.
		if ck.drains.daemons[pod]++; ck.drains.daemons[pod] > daemonTimes {
			ck.breach("pods of DaemonSets are not evicted again and again", pod, "for the %d. time",
				ck.drains.daemons[pod])
		}
		return
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
		// Pods that stopped to be healthy by themselves since the controller looked are
		// nobody's fault: it allows what it knows.
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
		if wanted, _ := w.wanted(b); left+lost < wanted && b.looked && !ck.disturbed() {
			ck.breach("no disruption budget is violated", b.id.name,
				"%d healthy pods are left of %d, since %s was evicted", left, wanted, pod)
		}
	}
	if c.Grace >= 0 && c.Grace > max(w.graceOf(s), time.Second) {
		ck.breach("no pod has more time to end than it asked for", pod, "%s of %s", c.Grace, w.graceOf(s))
	}
}

// daemonStays reports whether a pod of a DaemonSet is none that is evicted before
// its node goes.
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
	return !p.EvictDaemons && !p.EvictDaemonsEmpty // others may have left by themselves
}

// made notes that a workload's controller made a pod: for one that was evicted, if
// one is still owed.
func (ck *checker) made(wl *workload, pod types.UID) {
	if owed := ck.drains.owed[wl.name]; len(owed) > 0 {
		m := owed[0]
		m.came = ck.w.now
		ck.drains.waiting[pod], ck.drains.owed[wl.name] = m, owed[1:]
	}
}

// scaled notes that people want more or fewer pods. Who wants fewer does not
// replace what was evicted.
func (ck *checker) scaled(wl *workload) {
	ck.stir()
	delete(ck.drains.owed, wl.name)
}

// bound notes that a pod has a node. Pods of a workload are alike: if it is one
// that waited before, it has taken the room of one that was evicted, which now
// waits in its stead, and that is no worse than it was.
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

// gone notes that a pod is no more.
func (ck *checker) gone(s seat) { delete(ck.drains.waiting, s.pod.UID) }

// tries are how often a node's removal was begun in vain, since an instant from
// which on nothing else moved the world.
type tries struct {
	since time.Time
	times int
}

// mostTries is how often a removal may be begun in vain before that is foolish.
const mostTries = 3

// givenBack checks a node that is given back, as it is now.
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

// soon is how long a pod that came for an evicted one is without a node at most,
// while nothing else moves the world, if it goes as planned: the scheduler needs a
// moment. It does not always go as planned, since the scheduler is free to choose
// other nodes than the plan did; then the drain ends, and the node is given back
// a little later.
const (
	soon     = time.Minute
	giveBack = 2 * time.Minute
)

// promises: who was evicted finds room, and nothing is bought for it.
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

// bounds: of the nodes that have pods, no more are on their way out at once than
// may be; no group goes below its minimum by what is decided; no removal is
// decided for what is gone or going.
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

// unhoused are the pods that came for evicted ones and have no node, once the
// world is quiet.
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
