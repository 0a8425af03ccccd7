package sim

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is how pods end: the API server says by when, and the kubelet of
// their node does it.

// endPod deletes a pod as the API server does. One that runs has so much time to
// end; one that never had a node is gone at once.
func (w *world) endPod(id podName, grace time.Duration) {
	s, there := w.truth.seats[id]
	switch {
	case !there || s.pod.Flags&model.Terminating != 0:
		return
	case s.node == "" || grace == 0:
		w.deletePod(id)
		return
	}
	s.pod.Flags |= model.Terminating
	s.pod.Ends = w.now.Add(grace).Unix()
	w.putPod(s)
	w.release(s, false)
	w.after(w.stopping(s, grace), func() { w.kubeletEnds(id, s.pod.UID) })
}

// stopping draws how long a pod takes to end: not longer than it may, since the
// kubelet kills it then. Every fourth uses up its time.
func (w *world) stopping(s seat, grace time.Duration) time.Duration {
	if wl := w.workloads[s.of]; wl != nil && wl.pace.Stop != (Span{}) {
		return min(grace, wl.pace.Stop.draw(w.dice.pods))
	}
	if w.dice.pods.IntN(4) == 0 {
		return grace
	}
	return min(grace, Span{0, 20 * time.Second}.draw(w.dice.pods))
}

// silenced is a pod that has ended on a node whose kubelet is silent, or whose machine is gone.
type silenced struct {
	id  podName
	uid types.UID
}

// kubeletEnds reports the end of a pod. A kubelet that is cut off does so when it is back, and where its machine is
// gone that of the next one which goes on with the node; else the pod goes with the node's object.
func (w *world) kubeletEnds(id podName, uid types.UID) {
	s, there := w.truth.seats[id]
	if !there || s.pod.UID != uid {
		return
	}
	if n := w.truth.object(s.node); n == nil || w.dead[s.node] || !heardOf(n) {
		w.silenced[s.node] = append(w.silenced[s.node], silenced{id, uid})
		return
	}
	w.deletePod(id)
}

// heardAgain lets a kubelet report what it could not report before.
func (w *world) heardAgain(node string) {
	late := w.silenced[node]
	delete(w.silenced, node)
	for _, p := range late {
		w.kubeletEnds(p.id, p.uid)
	}
}

// heardOf reports whether a node's kubelet reports anything.
func heardOf(n *corev1.Node) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.Status != corev1.ConditionUnknown
		}
	}
	return false
}

// evict deletes the pods of a node that has not been ready for too long, as the
// cluster does by itself; what belongs to the node stays.
func (w *world) evict(node string) {
	var out []podName
	for id, s := range w.truth.seats {
		if s.node == node && s.pod.Flags&(model.FromDaemonSet|model.Mirror|model.Terminating) == 0 {
			out = append(out, id)
		}
	}
	sortPods(out)
	for _, id := range out {
		w.endPod(id, w.graceOf(w.truth.seats[id]))
	}
	if len(out) > 0 {
		w.judge.stir()
		w.log.say("%d pods evicted from %s", len(out), node)
	}
}

// graceOf is a pod's own termination grace period.
func (w *world) graceOf(s seat) time.Duration {
	return w.catalog.Contents().Facts[s.pod.Facts].Grace
}

// overtime is how long an ending pod is still waited for after its grace period.
const overtime = 30 * time.Second

func (w *world) overdue(p model.Pod) bool {
	return p.Flags&model.Terminating != 0 && time.Unix(p.Ends, 0).Add(overtime).Before(w.now)
}

// podsLeft names the pods that would be lost with a node, sorted: not those of the node itself,
// those that have ended, those of low priority, or those that are let off.
func (w *world) podsLeft(node string, expendableBelow int32, letOff func(model.Pod) bool) []string {
	specs := w.catalog.Contents().Specs
	var names []string
	for _, p := range w.truth.podsOn(node) {
		spec := specs[p.Spec]
		if p.Flags&(model.FromDaemonSet|model.Mirror|model.Finished) != 0 ||
			spec.Priority < expendableBelow || letOff(p) {
			continue
		}
		names = append(names, spec.Pod.Namespace+"/"+p.Name)
	}
	slices.Sort(names)
	return names
}
