package sim

import (
	"maps"
	"slices"
	"time"
)

// This file is faults of the cluster around the autoscaler.
const (
	// Controllers do nothing: pods are not made, deleted or counted for budgets, nor DaemonSets' made.
	controllersDown What = "controllers=down"
	// A webhook or a quota refuses pods that controllers make; they try again.
	refusedPods What = "pods=refused"
	// A share of the changes is not seen by the leader until its watchers list all again, which they do as
	// often as every says.
	lossyWatch What = "watch=lossy"
)

// clusterKinds are the faults of this file.
var clusterKinds = []What{controllersDown, refusedPods, lossyWatch}

// tryAgain is how long a controller waits whose pods were refused.
var tryAgain = Span{5 * time.Second, 40 * time.Second}

// remake has controllers look at everything again, when they can do their work once more.
func (w *world) remake() {
	for _, wl := range w.sortedWorkloads() {
		w.reconcile(wl)
	}
	w.wakeBudgets("")
	for _, o := range w.truth.observed() {
		w.daemons(o.Object.Name)
	}
}

// relist has the leader's watchers list all again, for as long as a fault lasts and once when it ends.
func (w *world) relist(f *fault) {
	if w.leader != nil {
		w.leader.watch.relist()
	}
	if f.on {
		w.after(f.Every, func() {
			if f.on {
				w.relist(f)
			}
		})
	}
}

// relist takes in all that is true, and drops what is on its way.
func (v *watch) relist() {
	if v.w.suffers(apiDown) != nil || v.stopped() {
		return
	}
	v.lists++
	v.held = nil
	news := false
	for _, o := range v.w.truth.observed() {
		old := v.seen.object(o.Object.Name)
		news = v.seen.putNode(o.Object, o.Shape, old != nil && sameNode(old, o.Object)) || news
	}
	for _, name := range slices.Sorted(maps.Keys(v.seen.nodes)) {
		if v.w.truth.object(name) == nil {
			news = v.seen.dropNode(name) || news
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(v.seen.seats), comparePods) {
		if _, there := v.w.truth.seats[id]; !there {
			v.seen.dropPod(id)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(v.w.truth.seats), comparePods) {
		news = v.seen.putPod(v.dated(v.w.truth.seats[id])) || news
	}
	for _, b := range v.w.truth.observedBudgets() {
		was, known := v.seen.budgets[podName{b.Namespace, b.Name}]
		if !known || was.Allowed != b.Allowed || was.Detail != b.Detail {
			news = v.seen.putBudget(b) || news
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(v.seen.budgets), comparePods) {
		if _, there := v.w.truth.budgets[id]; !there {
			v.seen.dropBudget(id)
		}
	}
	if news {
		v.news()
	}
}
