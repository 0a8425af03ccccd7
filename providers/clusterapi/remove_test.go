package clusterapi

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest/door"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// three is a world with a MachineDeployment of three Machines, and its instances.
func three(t *testing.T) (*clusterapitest.World, *Provider, []provider.InstanceID) {
	t.Helper()
	w := newWorld(t, deployment("workers", 3, annotated("0", "9")...))
	p := connect(t, w, ofC1)
	machines := live(group(t, inventory(t, p), md("workers")))
	if len(machines) != 3 {
		t.Fatalf("instances %v", machines)
	}
	return w, p, machines
}

func removeOf(ids ...provider.InstanceID) provider.RemoveRequest {
	return provider.RemoveRequest{Group: md("workers"), Instances: ids}
}

// marks are the names of marked Machines.
func marks(w *clusterapitest.World) []string {
	var out []string
	for _, m := range w.List("Machine") {
		if _, ok := annotation(m, clusterapitest.DeleteMachine); ok {
			out = append(out, m["metadata"].(kubetest.Object)["name"].(string))
		}
	}
	return out
}

// The Machine that is named goes, though another would have been chosen; first
// the mark, then the target.
func TestRemoveMarksThenLowers(t *testing.T) {
	w, p, machines := three(t)
	w.ForgetRequests()
	r, err := p.Remove(t.Context(), removeOf(machines[2]))
	if err != nil || r.Target != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	writes := slices.DeleteFunc(w.Requests(), func(r string) bool { return !strings.HasPrefix(r, "update") })
	if want := []string{
		"update machines " + ns + " " + machineName(machines[2]), "update machinedeployments/scale " + ns + " workers",
	}; !slices.Equal(writes, want) {
		t.Errorf("writes %v, want %v", writes, want)
	}
	w.Settle()
	if got := live(group(t, inventory(t, p), md("workers"))); !slices.Equal(got, machines[:2]) {
		t.Errorf("left: %v of %v", got, machines)
	}
}

// A mark is taken back when the target was certainly not lowered.
func TestMarksAreTakenBack(t *testing.T) {
	for name, fault := range map[string]kubetest.Fault{
		"the target may not be lowered":  {Verb: "update", Resource: "machinedeployments/scale", Mishap: kubetest.Forbid},
		"another is always first":        {Verb: "update", Resource: "machinedeployments/scale", Mishap: kubetest.Conflict},
		"a second mark is not to be had": {Verb: "update", Resource: "machines", Mishap: kubetest.Forbid},
		"the Machine is always changed":  {Verb: "update", Resource: "machines", Mishap: kubetest.Conflict, Times: attempts},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, machines := three(t)
			if name == "a second mark is not to be had" {
				fault.Name = machineName(machines[1])
			}
			w.Arm(fault)
			_, err := p.Remove(t.Context(), removeOf(machines[:2]...))
			if e := provider.AsError("", "", err); e == nil || e.MayHaveHappened {
				t.Fatalf("error %v", err)
			}
			if got := marks(w); len(got) != 0 {
				t.Errorf("marks are left on %v", got)
			}
			w.Disarm()
			w.Settle()
			if g := group(t, inventory(t, p), md("workers")); g.Target != 3 || !slices.Equal(live(g), machines) {
				t.Errorf("target %d, instances %v of %v", g.Target, live(g), machines)
			}
		})
	}
}

// Nor are they left behind when the second look shows that it is to be refused.
func TestMarksAreTakenBackAfterASecondLook(t *testing.T) {
	w, p, machines := three(t)
	w.Arm(kubetest.Fault{Verb: "update", Resource: "machinedeployments/scale", Times: 1, Then: func() {
		w.Roll(ns, "workers")
		if err := w.Edit("MachineDeployment", ns, "workers", func(o kubetest.Object) {
			kubetest.Set(o, "v2", "spec", "template", "spec", "version")
		}); err != nil {
			t.Error(err)
		}
	}})
	_, err := p.Remove(t.Context(), removeOf(machines[0]))
	if e := refusal(t, err, provider.Conflict); !strings.Contains(e.Message, "rolled out") || e.MayHaveHappened {
		t.Error(e)
	}
	if got := marks(w); len(got) != 0 {
		t.Errorf("marks are left on %v", got)
	}
}

// Where it is unknown whether the target was lowered, marks stay: without them another Machine would go.
func TestMarksStayIfItMayHaveHappened(t *testing.T) {
	for _, after := range []bool{true, false} {
		w, p, machines := three(t)
		w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		w.Arm(kubetest.Fault{
			Verb: "update", Resource: "machinedeployments/scale", Mishap: kubetest.Hang, After: after, Then: cancel,
		})
		_, err := p.Remove(ctx, removeOf(machines[1]))
		if e := provider.AsError("", "", err); e == nil || !e.MayHaveHappened {
			t.Fatalf("error %v", err)
		}
		w.Disarm()
		if got := marks(w); !slices.Equal(got, []string{machineName(machines[1])}) {
			t.Errorf("marks %v", got)
		}
		seen := group(t, inventory(t, p), md("workers"))
		state := seen.Instances[1].State
		if after && (seen.Target != 2 || state != provider.Deleting) ||
			!after && (seen.Target != 3 || state != provider.Running) {
			t.Errorf("after %v: target %d, state %s", after, seen.Target, state)
		}
		// Asked again, it is done once in all.
		if r, err := p.Remove(t.Context(), removeOf(machines[1])); err != nil || r.Target != 2 {
			t.Errorf("again: %+v, %v", r, err)
		}
		w.Settle()
		if g := group(t, inventory(t, p), md("workers")); g.Target != 2 ||
			!slices.Equal(live(g), []provider.InstanceID{machines[0], machines[2]}) {
			t.Errorf("target %d, instances %v of %v", g.Target, live(g), machines)
		}
	}
}

// A mark that the answer of was lost is one that counts.
func TestALostMark(t *testing.T) {
	w, p, machines := three(t)
	ctx, cancel := context.WithCancel(t.Context())
	w.Arm(kubetest.Fault{Verb: "update", Resource: "machines", Mishap: kubetest.Hang, After: true, Then: cancel})
	_, err := p.Remove(ctx, removeOf(machines[0]))
	if e := provider.AsError("", "", err); e == nil || !e.MayHaveHappened {
		t.Fatalf("error %v", err)
	}
	w.Disarm()
	if g := group(t, inventory(t, p), md("workers")); g.Target != 3 || len(live(g)) != 3 {
		t.Fatalf("%+v", g)
	}
	// What is left of it is taken back by the next removal, of another one.
	if _, err := p.Remove(t.Context(), removeOf(machines[2])); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); !slices.Equal(live(g), machines[:2]) || len(marks(w)) != 0 {
		t.Errorf("instances %v of %v, marks %v", live(g), machines, marks(w))
	}
}

// A Machine that has lost the labels by which its MachineSet knows it is the
// group's no more: the MachineSet has made another in its place, and a lower
// target would end one of the others.
func TestAMachineWithoutItsLabels(t *testing.T) {
	w, p, machines := three(t)
	edit(t, w, "Machine", machineName(machines[0]), func(o kubetest.Object) {
		kubetest.Set(o, kubetest.Object{}, "metadata", "labels")
	})
	if got := live(group(t, inventory(t, p), md("workers"))); !slices.Equal(got, machines[1:]) {
		t.Errorf("instances %v of %v", got, machines)
	}
	r, err := p.Remove(t.Context(), removeOf(machines[0]))
	if err != nil || r.Instances[0].Err == nil || r.Instances[0].Err.Kind != provider.Conflict || r.Target != 3 ||
		len(marks(w)) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The mark of another client could make Cluster API choose another Machine.
func TestAnotherClientsMark(t *testing.T) {
	w, p, machines := three(t)
	edit(t, w, "Machine", machineName(machines[0]), annotate(clusterapitest.DeleteMachine, "yes"))
	g := group(t, inventory(t, p), md("workers"))
	if !held(g, provider.OpRemove, holdMarked) || g.Instances[0].State != provider.Running {
		t.Errorf("%+v", g)
	}
	_, err := p.Remove(t.Context(), removeOf(machines[1]))
	refusal(t, err, provider.Conflict)
	// That one itself may go; and the mark of a Machine that its owner has lowered the target for holds no removal.
	if r, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil || r.Target != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Settle()
	if got := live(group(t, inventory(t, p), md("workers"))); !slices.Equal(got, machines[1:]) {
		t.Errorf("instances %v of %v", got, machines)
	}
}

// While Machines that were asked for are not there, a lower target would only
// keep them from coming, and the one that is named would stay.
func TestRemoveWaitsForMachinesThatAreMissing(t *testing.T) {
	w, p, machines := three(t)
	w.Starve("MachineDeployment", ns, "workers")
	grow(t, p, w, md("workers"), 5)
	_, err := p.Remove(t.Context(), removeOf(machines[0]))
	refusal(t, err, provider.Conflict)
	if g := group(t, inventory(t, p), md("workers")); g.Target != 5 || len(live(g)) != 3 || len(marks(w)) != 0 {
		t.Errorf("%+v", g)
	}
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: md("workers"), From: 5, To: 3}); err != nil ||
		r.Cancelled != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); g.Target != 2 || !slices.Equal(live(g), machines[1:]) {
		t.Errorf("%+v", g)
	}
}

// A Machine deleted by hand is replaced; a removal beside it ends its own and
// not the replacement.
func TestRemoveBesideADeletionByHand(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(clusterapitest.Timing{End: time.Hour})
	edit(t, w, "Machine", machineName(machines[0]), func(o kubetest.Object) {
		kubetest.Set(o, "2030-01-01T00:00:00Z", "metadata", "deletionTimestamp")
	})
	_, err := p.Remove(t.Context(), removeOf(machines[1]))
	refusal(t, err, provider.Conflict)
	w.Settle() // now it is replaced
	if _, err := p.Remove(t.Context(), removeOf(machines[1])); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	got := live(group(t, inventory(t, p), md("workers")))
	if len(got) != 2 || slices.Contains(got, machines[1]) || !slices.Contains(got, machines[2]) {
		t.Errorf("instances %v of %v", got, machines)
	}
}

// Cluster API chooses from a cache of its own: the target does not fall before a mark
// has had time to be seen. A removal that ends while it waits is completed by the next.
func TestTheTargetWaitsForTheMarks(t *testing.T) {
	w, p, machines := three(t)
	p.settling = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := p.Remove(ctx, removeOf(machines[2]))
		done <- err
	}()
	for len(marks(w)) == 0 {
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if got := group(t, inventory(t, p), md("workers")).Target; got != 3 {
		t.Errorf("the target is %d before the wait is over", got)
	}
	cancel()
	if e := provider.AsError(provider.OpRemove, md("workers"), <-done); !e.MayHaveHappened ||
		!strings.Contains(e.Message, "wait for Cluster API to see the marks") {
		t.Errorf("%+v", e)
	}
	p.settling = 0
	if r, err := p.Remove(t.Context(), removeOf(machines[2])); err != nil || r.Target != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Settle()
	if got := live(group(t, inventory(t, p), md("workers"))); !slices.Equal(got, machines[:2]) {
		t.Errorf("%v are left of %v", got, machines)
	}
}

// A mark that is taken back has to be seen, too: Cluster API might let that Machine go
// instead.
func TestTheTargetWaitsForMarksTakenBack(t *testing.T) {
	w, p, machines := three(t)
	p.settling = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Remove(ctx, removeOf(machines[1], machines[2])); err == nil || len(marks(w)) != 2 {
		t.Fatalf("a removal that ends half-way: %v, marked are %v", err, marks(w))
	}
	ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := p.Remove(ctx, removeOf(machines[2])); err == nil ||
		!strings.Contains(err.Error(), "wait for Cluster API to see the marks") {
		t.Errorf("%v", err)
	}
	if got := group(t, inventory(t, p), md("workers")).Target; got != 3 {
		t.Errorf("the target is %d before the wait is over", got)
	}
}

// Cluster API does not tell one mark from another. If the next Machine were marked
// before the last one is being deleted, the next could go in its place; and its own
// removal, finding it on its way, would lower nothing: one Machine too many would stay.
func TestTheNextMarkWaitsForTheLastDeletion(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	if _, err := p.Remove(t.Context(), removeOf(machines[1])); err != nil {
		t.Fatal(err)
	}
	// Cluster API gets to it just before the target would fall again.
	w.Arm(kubetest.Fault{
		Verb: "update", Resource: "machinedeployments/scale", Mishap: kubetest.Conflict, Times: 1, Then: w.Settle,
	})
	_, err := p.Remove(t.Context(), removeOf(machines[0]))
	if e := refusal(t, err, provider.Conflict); !strings.Contains(e.Message, string(machines[1])) || e.MayHaveHappened {
		t.Errorf("%+v", e)
	}
	if got := marks(w); !slices.Equal(got, []string{machineName(machines[1])}) {
		t.Errorf("marks %v", got)
	}
	w.Disarm()
	w.Settle()
	if r, err := p.Remove(t.Context(), removeOf(machines[0])); err != nil || r.Target != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); g.Target != 1 || !slices.Equal(live(g), machines[2:]) {
		t.Errorf("target %d, instances %v of %v", g.Target, live(g), machines)
	}
}

// As a rule the last one is being deleted soon, and the next removal waits for it.
func TestTheNextRemovalWaits(t *testing.T) {
	w, p, machines := three(t)
	w.SetTiming(clusterapitest.Timing{Observe: 300 * time.Millisecond, End: time.Hour})
	p.settling = 100 * time.Millisecond
	for i, id := range machines[:2] {
		if r, err := p.Remove(t.Context(), removeOf(id)); err != nil || r.Target != 2-i {
			t.Errorf("%+v, %v", r, err)
		}
	}
	w.Settle()
	if g := group(t, inventory(t, p), md("workers")); g.Target != 1 || !slices.Equal(live(g), machines[2:]) {
		t.Errorf("target %d, instances %v of %v", g.Target, live(g), machines)
	}
}

// A Machine that could not be made is made after it was marked: it stays, without a mark.
func TestAMachineThatRecoversIsNotEnded(t *testing.T) {
	w, p, machines := three(t)
	d := door.Door{World: w}
	if err := d.Fail(machines[1]); err != nil {
		t.Fatal(err)
	}
	looks := 0
	w.Arm(kubetest.Fault{Verb: "list", Resource: "machines", Then: func() {
		if looks++; looks == 2 {
			if err := d.Recover(machines[1]); err != nil {
				t.Error(err)
			}
		}
	}})
	req := removeOf(machines[1])
	req.If = provider.StillFailed
	r, err := p.Remove(t.Context(), req)
	if err != nil || r.Target != 3 || r.Instances[0].Err == nil ||
		r.Instances[0].Err.Kind != provider.Conflict || looks != 2 {
		t.Fatalf("%d looks, %+v, %v", looks, r, err)
	}
	w.Disarm()
	w.Settle()
	if got := live(group(t, inventory(t, p), md("workers"))); !slices.Equal(got, machines) || len(marks(w)) > 0 {
		t.Errorf("left: %v of %v, marked %v", got, machines, marks(w))
	}
}
