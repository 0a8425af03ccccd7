package sim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is the controller that puts the pods of DaemonSets onto nodes.

// AddDaemonSet adds a DaemonSet. Its pods are bound as soon as a node has room for them, and are
// not shown before. Wish is the value of their annotation on eviction, empty for none.
func (w *world) AddDaemonSet(ds model.DaemonSet, wish string) {
	yes := true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: ds.Namespace, Name: ds.Name, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: ds.Name,
			UID: ds.UID, Controller: &yes}},
	}}
	if wish != "" {
		pod.Annotations["cluster-autoscaler.kubernetes.io/enable-ds-eviction"] = wish
	}
	w.daemonSets = append(w.daemonSets, ds)
	w.daemonFacts = append(w.daemonFacts, w.catalog.Facts(pod))
	for _, o := range w.truth.observed() {
		w.daemons(o.Object.Name)
	}
}

// daemons puts the pods of DaemonSets onto a node, soon.
func (w *world) daemons(node string) {
	if len(w.daemonSets) == 0 {
		return
	}
	w.after(controllerLag.draw(w.dice.people), func() {
		object := w.truth.object(node)
		if object == nil || w.suffers(controllersDown) != nil {
			return
		}
		for i := range w.daemonSets {
			ds := &w.daemonSets[i]
			id := podName{ds.Namespace, ds.Name + "-" + node}
			spec := w.catalog.Contents().Specs[ds.Content.Spec].Pod
			if _, there := w.truth.seats[id]; there || !belongs(spec, object) ||
				!w.truth.roomFor(node, ds.Content, w.catalog.Contents()) {
				continue
			}
			w.putPod(seat{id: id, node: node, pod: model.Pod{
				Name: id.name, UID: uid(id.name, w.version), Content: ds.Content, Facts: w.daemonFacts[i],
				Flags: model.FromDaemonSet,
				Owner: ds.UID, Created: w.now.Unix(),
			}})
		}
	})
}

// roomFor reports whether one more pod fits what is free on a node.
func (v *view) roomFor(node string, pod model.Content, contents model.Contents) bool {
	n := v.nodes[node]
	free := contents.Shapes[n.shape].Allocatable
	for i := range n.pods {
		if n.pods[i].Flags&model.Finished == 0 {
			free = free.Plus(contents.Specs[n.pods[i].Spec].Requests, -1)
		}
	}
	want := contents.Specs[pod.Spec].Requests
	if want.MilliCPU > free.MilliCPU || want.Memory > free.Memory || want.Ephemeral > free.Ephemeral ||
		want.Pods > free.Pods {
		return false
	}
	for _, x := range want.Extended {
		if x.Value > free.Value(x.Name) {
			return false
		}
	}
	return true
}

// belongs reports whether a DaemonSet's pods belong on a node: its selector and
// affinity say so, and the taints that do not pass let them in.
func belongs(pod *corev1.Pod, n *corev1.Node) bool {
	if ok, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(n); err != nil || !ok {
		return false
	}
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
		if t.Key == corev1.TaintNodeNotReady || t.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(o corev1.Toleration) bool { return tolerates(o, t) }) {
			return false
		}
	}
	return true
}

func tolerates(o corev1.Toleration, t *corev1.Taint) bool {
	return (o.Effect == "" || o.Effect == t.Effect) && (o.Key == "" || o.Key == t.Key) &&
		(o.Operator == corev1.TolerationOpExists || o.Value == t.Value)
}
