package sim

import (
	"cmp"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// This file is the scheduler's preemption: pods that fit nowhere drive out those
// of lower priority.

// preempt finds nodes where waiting pods of one class would fit if there were no pods of lower
// priority, and begins to end as many of those as it takes. The waiting pods are nominated: the
// room is reserved for them, and they are bound when it is free.
func (w *world) preempt(pods []*model.Pod, namespace string, priority int32) {
	if priority <= w.lowest() {
		return
	}
	var waiting []model.Pod
	for _, p := range pods {
		if at := w.truth.seats[podName{namespace, p.Name}]; at.pod.Nominated == "" {
			waiting = append(waiting, at.pod)
		}
	}
	if len(waiting) == 0 {
		return
	}
	for _, p := range w.truth.unbound() {
		if p.Nominated != "" {
			waiting = append(waiting, p) // its room is taken
		}
	}
	s := &w.sched
	s.without = asTheSchedulerSees(snapshot.New(s.without, w.asked(waiting), model.Standing{},
		model.Rules{ExpendableBelow: priority}))
	s.emptier = schedsim.Load(s.emptier, s.without)
	if len(s.without.Pending) == 0 {
		return
	}
	q := &s.without.Pending[0]
	put, _, _ := s.emptier.Place(q.Class, len(q.Pods), schedsim.OnReady, noStepLimit)
	next := 0
	for _, on := range put {
		node := s.without.Nodes[on.Node].Name
		if !w.driveOut(node, priority, s.without.Classes[q.Class].Spec.Requests, on.Count) {
			continue
		}
		for range on.Count {
			at := w.truth.seats[podName{namespace, q.Pods[next].Name}]
			next++
			at.pod.Nominated = node
			w.putPod(at)
		}
	}
}

// makesRoom reports whether pods on a node are ending.
func (w *world) makesRoom(node string) bool {
	return slices.ContainsFunc(w.truth.podsOn(node), func(p model.Pod) bool { return p.Flags&model.Terminating != 0 })
}

// lowest is the lowest priority of any workload with pods.
func (w *world) lowest() int32 {
	specs, least := w.catalog.Contents().Specs, int32(0)
	for _, wl := range w.workloads {
		if len(wl.pods) > 0 {
			least = min(least, specs[wl.like.Spec].Priority)
		}
	}
	return least
}

// driveOut ends pods of lower priority on a node, the lowest and newest first, until there is room
// for so many with these requests; all of them, where it is not room that was lacking. It reports
// whether it ended any.
func (w *world) driveOut(node string, below int32, each model.Resources, count int) bool {
	specs := w.catalog.Contents().Specs
	has := model.ResourcesOf(w.truth.object(node).Status.Allocatable)
	var victims []model.Pod
	for _, p := range w.truth.podsOn(node) {
		has = has.Plus(specs[p.Spec].Requests, -1)
		if p.Flags&(model.FromDaemonSet|model.Mirror|model.Terminating) == 0 && specs[p.Spec].Priority < below {
			victims = append(victims, p)
		}
	}
	slices.SortFunc(victims, func(a, b model.Pod) int {
		return cmp.Or(cmp.Compare(specs[a.Spec].Priority, specs[b.Spec].Priority), -cmp.Compare(a.Created, b.Created),
			cmp.Compare(a.Name, b.Name))
	})
	enough := func() bool {
		n := int64(count)
		return has.MilliCPU >= n*each.MilliCPU && has.Memory >= n*each.Memory && has.Pods >= n*each.Pods
	}
	byRoom := !enough()
	for _, p := range victims {
		if byRoom && enough() {
			break
		}
		has = has.Plus(specs[p.Spec].Requests, 1)
		id := podName{specs[p.Spec].Pod.Namespace, p.Name}
		w.log.count(node, "pods driven out")
		w.checker.stir()
		w.endPod(id, w.graceOf(w.truth.seats[id]))
	}
	return len(victims) > 0
}
