package sim

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// This file is the API server: every change to nodes and pods goes through it, gets a version,
// wakes the scheduler, and is sent to the watchers.

// putNode writes a node; the world owns it from then on, and no caller changes it.
func (w *world) putNode(n *corev1.Node) *corev1.Node {
	w.version++
	n.ResourceVersion = strconv.FormatUint(w.version, 10)
	if n.UID == "" {
		n.UID = uid("node-"+n.Name, w.version)
	}
	shape := w.catalog.Shape(n)
	old := w.truth.object(n.Name)
	same := old != nil && sameNode(old, n)
	w.truth.putNode(n, shape, same)
	w.judge.node(old, n)
	w.tell(change{node: n, shape: shape, same: same})
	w.sched.PutNode(old, n)
	w.sched.changes++
	if !same {
		w.wakeScheduler()
	}
	if old == nil {
		w.daemons(n.Name)
	} else if model.NodeReady(old) != model.NodeReady(n) {
		w.wakeBudgets("")
	}
	return n
}

// editNode writes a changed copy of a node, if it is there.
func (w *world) editNode(name string, edit func(*corev1.Node)) *corev1.Node {
	old := w.truth.object(name)
	if old == nil {
		return nil
	}
	n := old.DeepCopy()
	edit(n)
	return w.putNode(n)
}

// sameNode reports whether two nodes differ in nothing but their version.
func sameNode(a, b *corev1.Node) bool {
	return a.UID == b.UID && a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.Spec, b.Spec) && apiequality.Semantic.DeepEqual(a.Status, b.Status)
}

// deleteNode takes a node away, and with it the pods on it.
func (w *world) deleteNode(name string) {
	object := w.truth.object(name)
	if object == nil {
		return
	}
	var lost []podName
	for id, s := range w.truth.seats {
		if s.node == name {
			lost = append(lost, id)
		}
	}
	sortPods(lost)
	if len(w.podsLeft(name, w.settings.Policy.Rules.ExpendableBelow, w.overdue)) > 0 {
		w.judge.stir() // the autoscaler did not move them
	}
	w.version++
	delete(w.dead, name)
	delete(w.silenced, name)
	delete(w.cordons, name)
	w.truth.dropNode(name)
	w.judge.tell(check.Event{What: check.NodeEnd, Node: name})
	w.wrong(w.sched.DropNode(object))
	w.sched.changes++
	w.joined(name, false)
	w.tell(change{goneNode: name})
	for _, id := range lost {
		w.deletePod(id)
	}
	w.wakeScheduler()
}

// putPod writes a pod.
func (w *world) putPod(s seat) {
	w.version++
	was := w.truth.seats[s.id]
	w.truth.putPod(s)
	w.judge.pod(was, s)
	w.tell(change{seat: s})
	w.schedulerSees(s)
	switch {
	case s.node == "" && s.pod.Flags&model.Refused == 0:
		w.wakeScheduler()
	case s.node != "" && was.node == "":
		w.startPod(s)
	case s.node != "":
		w.wakeBudgets(s.id.namespace)
	}
}

// deletePod deletes a pod, and notifies its controller.
func (w *world) deletePod(id podName) {
	s, ok := w.truth.seats[id]
	if !ok {
		return
	}
	w.version++
	w.truth.dropPod(id)
	w.judge.podGone(s)
	w.tell(change{gonePod: id})
	w.schedulerMisses(id)
	if s.node != "" {
		w.wakeScheduler()
		w.wakeBudgets(id.namespace)
	}
	if s.pod.Flags&model.FromDaemonSet != 0 {
		w.daemons(s.node)
		return
	}
	w.release(s, true)
}

// change is what a watcher receives: one of its parts is set.
type change struct {
	node       *corev1.Node
	shape      model.ShapeID
	same       bool
	goneNode   string
	seat       seat
	gonePod    podName
	budget     *model.Budget
	goneBudget podName
}

// tell sends a change to those who watch.
func (w *world) tell(c change) {
	if w.leader != nil {
		w.leader.watch.hear(c)
	}
	if w.stale != nil {
		w.stale.hear(c)
	}
}
