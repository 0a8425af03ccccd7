package sim

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// This file is faults of machines and of what the cloud has of them.
const (
	// Instances are being made and never run.
	neverRuns What = "boots=never-run"
	// Nodes come up in another zone than their group's template says.
	wrongZone What = "boots=wrong-zone"
	// New machines have the ids, and with them the node names, of machines that are gone.
	usedNames What = "ids=again"
	// The cloud has no more than N machines, and then enough again, by turns: every says how long.
	flippingStock What = "flips"
)

// machineKinds are the faults of this file.
var machineKinds = []What{neverRuns, wrongZone, usedNames, flippingStock}

// flip takes away the stock of a fault's groups, or gives it back, and does so again later. When the
// fault is over there is enough.
func (w *world) flip(f *fault) {
	f.empty = f.on && !f.empty
	left := -1
	if f.empty {
		left = f.N
	}
	for _, g := range w.covered(f) {
		w.wrong(w.cloud.SetStock(g.id, left))
	}
	if f.on {
		w.after(f.Every, func() {
			if f.on {
				w.flip(f)
				w.watchCloud()
			}
		})
	}
}

// otherZone is a zone that a group's machines are not in.
func (w *world) otherZone(of *group) string {
	for _, g := range w.sortedGroups() {
		if zone := zoneOf(g); zone != "" && zone != zoneOf(of) {
			return zone
		}
	}
	return "elsewhere"
}

// adopts has a kubelet register under the name of a node that is still there: it goes on with that
// object, its taints and annotations.
func adopts(n, old *corev1.Node) {
	if old == nil {
		return
	}
	n.UID, n.CreationTimestamp, n.Annotations = old.UID, old.CreationTimestamp, old.Annotations
	n.Spec.Unschedulable = old.Spec.Unschedulable
	for _, t := range old.Spec.Taints {
		if !slices.ContainsFunc(n.Spec.Taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) }) {
			n.Spec.Taints = append(n.Spec.Taints, t)
		}
	}
	slices.SortFunc(n.Spec.Taints, func(a, b corev1.Taint) int { return cmp.Compare(a.Key, b.Key) })
}

// usedAgain reports whether the name of a node whose machine is gone is that of another one's by now.
func (w *world) usedAgain(m *machine) bool {
	for _, other := range w.machines {
		if other != m && other.node == m.node {
			return true
		}
	}
	return false
}
