package sim

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// scheduler binds pods by the scheduler's own filters, on the truth: a burst of
// changes is one pass. It takes the first node by name that fits, which is as
// good as any for what is tested here, and refuses what fits nowhere.
type scheduler struct {
	planned bool
	snap    *model.Snapshot
	world   *schedsim.World
}

// schedulerLag is from a change until the scheduler has acted on it.
var schedulerLag = Span{20 * time.Millisecond, 100 * time.Millisecond}

// noStepLimit: the scheduler has no budget.
const noStepLimit = math.MaxInt

// wakeScheduler has the scheduler look at waiting pods soon.
func (w *World) wakeScheduler() {
	if w.sched.planned || len(w.truth.waiting) == 0 {
		return
	}
	w.sched.planned = true
	w.after(schedulerLag.draw(w.dice.watch), func() {
		w.sched.planned = false
		w.schedule()
	})
}

// schedule is one pass over all pods that wait: the most important first.
func (w *World) schedule() {
	if len(w.truth.waiting) == 0 {
		return
	}
	waiting := w.truth.unbound()
	seen := model.Observation{
		Now: w.now, Seed: 1, Contents: w.catalog.Contents(), Namespaces: w.namespaces,
		Nodes: w.truth.observed(), Unbound: waiting,
	}
	s := &w.sched
	s.snap = model.NewSnapshot(s.snap, seen, model.Standing{}, model.Rules{ExpendableBelow: math.MinInt32})
	s.world = schedsim.Load(s.world, s.snap)
	order := make([]*model.Pending, len(s.snap.Pending))
	for i := range s.snap.Pending {
		order[i] = &s.snap.Pending[i]
	}
	priority := func(q *model.Pending) int32 { return s.snap.Classes[q.Class].Spec.Priority }
	slices.SortStableFunc(order, func(a, b *model.Pending) int { return cmp.Compare(priority(b), priority(a)) })
	bound, refused := 0, 0
	for _, q := range order {
		put, _, _ := s.world.Place(q.Class, len(q.Pods), schedsim.OnReady, noStepLimit)
		namespace := s.snap.Classes[q.Class].Namespace()
		next := 0
		for _, p := range put {
			node := s.snap.Nodes[p.Node].Name
			for range p.Count {
				pod := *q.Pods[next]
				next++
				pod.Flags &^= model.Refused
				w.putPod(seat{podName{namespace, pod.Name}, pod, node})
				bound++
			}
		}
		for _, p := range q.Pods[next:] {
			if p.Flags&model.Refused != 0 {
				continue
			}
			pod := *p
			pod.Flags |= model.Refused
			w.putPod(seat{podName{namespace, pod.Name}, pod, ""})
			refused++
		}
	}
	w.log.add("pods", "bound", bound)
	w.log.add("pods", "refused", refused)
}

func (s *scheduler) close() {
	if s.world != nil {
		s.world.Close()
		s.world = nil
	}
}
