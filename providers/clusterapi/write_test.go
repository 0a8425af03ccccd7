package clusterapi

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Status changes of a busy group are no reason to fail.
func TestWritesLookAgain(t *testing.T) {
	w, p, machines := three(t)
	busy := func(times int) kubetest.Fault {
		n := int64(0)
		return kubetest.Fault{Verb: "update", Resource: "machinedeployments/scale", Times: times, Then: func() {
			n++
			if err := w.Edit("MachineDeployment", ns, "workers", func(o kubetest.Object) {
				kubetest.Set(o, n, "status", "readyReplicas")
			}); err != nil {
				t.Error(err)
			}
		}}
	}
	w.Arm(busy(3))
	if r, err := p.Grow(t.Context(), provider.GrowRequest{
		Group: md("workers"), From: 3, To: 4,
	}); err != nil || r.Target != 4 {
		t.Fatalf("Grow: %+v, %v", r, err)
	}
	w.Settle()
	w.Arm(busy(3))
	if r, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil || r.Target != 3 {
		t.Fatalf("Remove: %+v, %v", r, err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); g.Target != 3 || len(live(g)) != 3 ||
		slices.Contains(live(g), machines[0]) {
		t.Errorf("%+v", g)
	}
	// Another client's other target is one.
	w.Arm(kubetest.Fault{Verb: "update", Resource: "machinedeployments/scale", Times: 1, Then: func() {
		if err := w.Edit("MachineDeployment", ns, "workers", func(o kubetest.Object) {
			kubetest.Set(o, int64(7), "spec", "replicas")
		}); err != nil {
			t.Error(err)
		}
	}})
	_, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 3, To: 5})
	refusal(t, err, provider.Conflict)
	if g := group(t, inventory(t, p), md("workers")); g.Target != 7 {
		t.Errorf("the target is %d", g.Target)
	}
}

// The client repeats a write that the server was too busy for. If it was done all
// the same, that is no conflict.
func TestAWriteThatMeetsItsOwnEffect(t *testing.T) {
	t.Parallel()
	w, p, machines := three(t)
	busy := kubetest.Fault{
		Verb: "update", Resource: "machinedeployments/scale", Mishap: kubetest.Busy, After: true, Times: 1,
	}
	w.Arm(busy)
	if r, err := p.Grow(t.Context(), provider.GrowRequest{
		Group: md("workers"), From: 3, To: 4,
	}); err != nil || r.Target != 4 {
		t.Errorf("Grow: %+v, %v", r, err)
	}
	w.Settle()
	w.Arm(busy)
	if r, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil || r.Target != 3 || r.Instances[0].Err != nil {
		t.Errorf("Remove: %+v, %v", r, err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); g.Target != 3 || len(live(g)) != 3 ||
		slices.Contains(live(g), machines[0]) {
		t.Errorf("%+v", g)
	}
}

// A scale-up right after a removal would keep the Machine that was removed, if
// Cluster API has not begun to delete it.
func TestGrowWaitsForRemovals(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour, End: time.Hour})
	if _, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil {
		t.Fatal(err)
	}
	_, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 2, To: 3})
	refusal(t, err, provider.Conflict)
	inventory(t, p) // which does not forget it
	if r, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil || r.Target != 2 {
		t.Errorf("once more: %+v, %v", r, err)
	}
	_, err = p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 2, To: 3})
	refusal(t, err, provider.Conflict)
	w.Reconcile()
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 2, To: 3}); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); len(live(g)) != 3 || slices.Contains(live(g), machines[0]) {
		t.Errorf("%+v", g)
	}
}

// A client that raises the target again keeps the Machine that was marked for removal: the group
// can grow further, and the mark is gone.
func TestGrowAfterARemovalThatWasUndone(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	if _, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil {
		t.Fatal(err)
	}
	edit(t, w, "MachineDeployment", "workers", func(o kubetest.Object) { kubetest.Set(o, int64(3), "spec", "replicas") })
	if g := group(t, inventory(t, p), md("workers")); g.Instances[0].State != provider.Running {
		t.Errorf("%+v", g.Instances[0])
	}
	if r, err := p.Grow(t.Context(), provider.GrowRequest{
		Group: md("workers"), From: 3, To: 4,
	}); err != nil || r.Target != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); len(live(g)) != 4 || !slices.Contains(live(g), machines[0]) ||
		len(marks(w)) != 0 {
		t.Errorf("%+v, marks %v", g, marks(w))
	}
}

// Replicas are written where they are 0, too, and read where they are left out.
func TestToZeroAndBack(t *testing.T) {
	for _, kind := range []string{"MachineDeployment", "MachineSet"} {
		w := newWorld(t, clusterapitest.NewGroup(kind, ns, "workers", "c1", 1, annotated("0", "5")...))
		p := connect(t, w, ofC1)
		id := provider.GroupID(kind + "/" + ns + "/workers")
		if r, err := p.Remove(t.Context(), provider.RemoveRequest{
			Group: id, Instances: live(group(t, inventory(t, p), id)),
		}); err != nil || r.Target != 0 {
			t.Fatalf("%s: %+v, %v", kind, r, err)
		}
		w.Settle()
		if got := grow(t, p, w, id, 2); len(got) != 2 {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

// Growth goes on during a rollout, and from below the minimum to below it.
func TestGrowIsNotHeldUp(t *testing.T) {
	w := newWorld(t, deployment("workers", 1, annotated("5", "9")...))
	p := connect(t, w, ofC1)
	w.Roll(ns, "workers")
	if r, err := p.Grow(t.Context(), provider.GrowRequest{
		Group: md("workers"), From: 1, To: 3,
	}); err != nil || r.Target != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); len(live(g)) != 3 || len(g.Holds) != 0 {
		t.Errorf("%+v", g)
	}
}

// Before its controllers have seen a scale-up, nothing of it is taken back: the
// Machines might come between the look and the write.
func TestCancelWaitsForControllers(t *testing.T) {
	w, p, _ := three(t)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 3, To: 5}); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: md("workers"), From: 5, To: 3}); err != nil ||
		r.Cancelled != 0 || r.Target != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	w.Reconcile()
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: md("workers"), From: 5, To: 3}); err != nil ||
		r.Cancelled != 0 {
		t.Errorf("with five Machines: %+v, %v", r, err)
	}
}

// Machines that came all the same, while the target was lowered, are kept.
func TestCancelMakesRoom(t *testing.T) {
	w, p, _ := three(t)
	w.Starve("MachineDeployment", ns, "workers")
	grow(t, p, w, md("workers"), 5)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	w.Arm(kubetest.Fault{Verb: "update", Resource: "machinedeployments/scale", Times: 1, Then: func() {
		set := w.List("MachineSet")[0]["metadata"].(kubetest.Object)
		late := w.List("Machine")[0]
		kubetest.Set(late, "late", "metadata", "name")
		kubetest.Set(late, "uid-late", "metadata", "uid")
		kubetest.Set(late, []any{kubetest.Object{
			"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": set["name"], "uid": set["uid"],
		}}, "metadata", "ownerReferences")
		w.Apply(late)
	}})
	r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: md("workers"), From: 5, To: 3})
	if err != nil || r.Target != 4 || r.Cancelled != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if g := group(t, inventory(t, p), md("workers")); g.Target != 4 || len(live(g)) != 4 {
		t.Errorf("target %d, instances %v", g.Target, live(g))
	}
}
