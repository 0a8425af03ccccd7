package sim

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// scheduler binds pods by the scheduler's own filters, on the truth: a burst of changes is one
// pass. It takes the first node by name that fits. A pod that fits nowhere is refused, or preempts
// pods of lower priority.
type scheduler struct {
	planned bool
	snap    *model.Snapshot
	planner *schedsim.World
	// without and emptier are snap and planner without pods of lower priority.
	without *model.Snapshot
	emptier *schedsim.World
	// refuses are the workloads that a custom plugin refuses everywhere.
	refuses map[string]bool
}

// schedulerLag is how long the scheduler takes to act on a change.
var schedulerLag = Span{20 * time.Millisecond, 100 * time.Millisecond}

// noStepLimit: the scheduler has no budget.
const noStepLimit = 1 << 40

// wakeScheduler has the scheduler look at waiting pods soon.
func (w *world) wakeScheduler() {
	if w.sched.planned || len(w.truth.waiting) == 0 {
		return
	}
	w.sched.planned = true
	w.after(schedulerLag.draw(w.dice.watch), func() {
		w.sched.planned = false
		w.schedule()
	})
}

// schedule tries all pods that wait: first those with a nomination, then the others, outside the
// room that is kept for the first.
func (w *world) schedule() {
	var first, rest []model.Pod
	for _, p := range w.truth.unbound() {
		if p.Nominated == "" {
			rest = append(rest, p)
			continue
		}
		p.Nominated = "" // the pod itself may go anywhere
		first = append(first, p)
	}
	if len(first) > 0 {
		w.pass(first)
		rest = w.truth.unbound()
	}
	if len(rest) > 0 {
		w.pass(rest)
	}
}

// pass binds the pods that fit somewhere, the most important first, and refuses the others.
func (w *world) pass(waiting []model.Pod) {
	s := &w.sched
	if waiting = w.unrefused(waiting); len(waiting) == 0 {
		return
	}
	s.snap = asTheSchedulerSees(snapshot.New(s.snap, w.asked(waiting), model.Standing{},
		model.Rules{ExpendableBelow: math.MinInt32}))
	s.planner = schedsim.Load(s.planner, s.snap)
	order := make([]*model.Pending, len(s.snap.Pending))
	for i := range s.snap.Pending {
		order[i] = &s.snap.Pending[i]
	}
	priority := func(q *model.Pending) int32 { return s.snap.Classes[q.Class].Spec.Priority }
	slices.SortStableFunc(order, func(a, b *model.Pending) int { return cmp.Compare(priority(b), priority(a)) })
	bound, refused := 0, 0
	for _, q := range order {
		put, _, _ := s.planner.Place(q.Class, len(q.Pods), schedsim.OnReady, noStepLimit)
		namespace := s.snap.Classes[q.Class].Namespace()
		next := 0
		for _, p := range put {
			node := s.snap.Nodes[p.Node].Name
			for range p.Count {
				at := w.truth.seats[podName{namespace, q.Pods[next].Name}]
				next++
				at.node, at.pod.Nominated = node, ""
				at.pod.Flags &^= model.Refused
				w.putPod(at)
				bound++
			}
		}
		left := q.Pods[next:]
		for _, p := range left {
			at := w.truth.seats[podName{namespace, p.Name}]
			was := at
			if at.pod.Flags&model.Refused == 0 {
				refused++
			}
			at.pod.Flags |= model.Refused
			if !w.makesRoom(at.pod.Nominated) {
				at.pod.Nominated = ""
			}
			if at != was {
				w.putPod(at)
			}
		}
		w.preempt(left, namespace, priority(q))
	}
	w.log.add("pods", "bound", bound)
	w.log.add("pods", "refused", refused)
}

// unrefused refuses the pods that the scheduler's custom plugin is against, and returns the others.
func (w *world) unrefused(waiting []model.Pod) (left []model.Pod) {
	for _, p := range waiting {
		id := podName{w.catalog.Contents().Specs[p.Spec].Pod.Namespace, p.Name}
		at := w.truth.seats[id]
		if !w.sched.refuses[at.of] {
			left = append(left, p)
			continue
		}
		if was := at; was.pod.Flags&model.Refused == 0 {
			at.pod.Flags |= model.Refused
			at.pod.Said = "no node is available: a plugin of its own says no"
			w.putPod(at)
		}
	}
	return left
}

// Refuse has the scheduler refuse the pods of a workload whatever its filters say, or
// ends that.
func (w *world) Refuse(workload string, yes bool) error {
	if w.workloads[workload] == nil {
		return fmt.Errorf("there is no workload %q", workload)
	}
	if w.sched.refuses == nil {
		w.sched.refuses = map[string]bool{}
	}
	w.sched.refuses[workload] = yes
	w.wakeScheduler()
	return nil
}

// asked is what the scheduler is asked about: some pods, and all nodes.
func (w *world) asked(waiting []model.Pod) model.Observation {
	return model.Observation{
		Now: w.now, Seed: 1, Contents: w.catalog.Contents(), Namespaces: w.namespaces,
		Nodes: w.truth.observed(), Unbound: waiting,
	}
}

// asTheSchedulerSees changes a snapshot to the scheduler's view of nodes. The scheduler knows no
// removals: it reads taints and spec.unschedulable, as the filters do.
func asTheSchedulerSees(s *model.Snapshot) *model.Snapshot {
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.Kind == model.Leaving && model.NodeReady(n.Object) {
			n.Kind = model.Ready
		}
	}
	return s
}

func (s *scheduler) close() {
	for _, planner := range []*schedsim.World{s.planner, s.emptier} {
		if planner != nil {
			planner.Close()
		}
	}
	s.planner, s.emptier = nil, nil
}
