package clusterapi

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// later moves a provider's clock from now on.
func later(p *Provider) func(time.Duration) {
	at := time.Now()
	p.now = func() time.Time { return at }
	return func(d time.Duration) { at = at.Add(d) }
}

// starving is a group of three Machines that was asked for five, and gets no more.
func starving(t *testing.T, kind string) (*clusterapitest.World, *Provider, func(time.Duration), provider.GroupID) {
	t.Helper()
	w := newWorld(t,
		clusterapitest.NewGroup(kind, ns, "workers", "c1", 3, annotated("0", "9", clusterapitest.PoolMachines, "true")...))
	p := connect(t, w, ofC1)
	pass := later(p)
	id := provider.GroupID(kind + "/" + ns + "/workers")
	w.Starve(kind, ns, "workers")
	if got := grow(t, p, w, id, 5); len(got) != 3 {
		t.Fatalf("instances %v", got)
	}
	return w, p, pass, id
}

// kept are the instances that are held.
func kept(g provider.Group) []provider.InstanceID {
	var out []provider.InstanceID
	for _, in := range g.Instances {
		if in.Hold != "" {
			out = append(out, in.ID)
		}
	}
	return out
}

// A removal that would be refused, since Machines are missing, is not to be begun: the
// pods of its node would be evicted for nothing, again and again. Each instance says
// so, and not the group: a held group could not be taken back to what there is.
func TestNothingIsRemovedWhileMachinesAreMissing(t *testing.T) {
	for _, kind := range []string{"MachineDeployment", "MachineSet", "MachinePool"} {
		t.Run(kind, func(t *testing.T) {
			w, p, _, id := starving(t, kind)
			g := group(t, inventory(t, p), id)
			if !slices.Equal(kept(g), live(g)) || len(g.Instances) != 3 {
				t.Errorf("held are %v of %v", kept(g), live(g))
			}
			for _, h := range g.Holds {
				if h.Op != provider.OpGrow {
					t.Errorf("the group is held: %+v", h)
				}
			}
			_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id, Instances: live(g)[:1]})
			refusal(t, err, provider.Conflict)
			w.Feed(kind, ns, "workers")
			w.Settle()
			if g := group(t, inventory(t, p), id); len(g.Instances) != 5 || len(kept(g)) != 0 {
				t.Errorf("of five Machines %v are held", kept(g))
			}
		})
	}
}

// A Machine that failed is held as well: what is missing is taken back first, and then
// it can be removed.
func TestAFailedMachineWaitsForTheMissing(t *testing.T) {
	w, p, _, id := starving(t, "MachineDeployment")
	failed := live(group(t, inventory(t, p), id))[0]
	if err := w.Fail(ns, machineName(failed), func(o kubetest.Object) {
		kubetest.Set(o, "CreateError", "status", "deprecated", "v1beta1", "failureReason")
		kubetest.Set(o, "", "status", "nodeRef", "name")
	}); err != nil {
		t.Fatal(err)
	}
	in := group(t, inventory(t, p), id).Instances[0]
	if in.State != provider.Creating || in.Err == nil || in.Hold == "" {
		t.Errorf("%+v", in)
	}
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id, From: 5, To: 3}); err != nil || r.Cancelled != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if in := group(t, inventory(t, p), id).Instances[0]; in.Err == nil || in.Hold != "" {
		t.Errorf("%+v", in)
	}
	if r, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: id, Instances: []provider.InstanceID{failed},
	}); err != nil || r.Target != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// The moment in which Cluster API makes the Machines of an ordinary growth gives back
// no drain. One that does not end is none.
func TestAMomentHoldsNothing(t *testing.T) {
	w, p, _ := three(t)
	pass := later(p)
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 3, To: 5}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if g := group(t, inventory(t, p), md("workers")); g.Target != 5 || len(kept(g)) != 0 {
			t.Errorf("target %d, held %v", g.Target, kept(g))
		}
		pass(passing / 2)
	}
	if g := group(t, inventory(t, p), md("workers")); len(kept(g)) != 3 {
		t.Errorf("after %v, held are %v", passing, kept(g))
	}
	w.Reconcile()
	if g := group(t, inventory(t, p), md("workers")); len(g.Instances) != 5 || len(kept(g)) != 0 {
		t.Errorf("with the Machines, held are %v", kept(g))
	}
	// The next scale-up is a moment of its own.
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: md("workers"), From: 5, To: 6}); err != nil {
		t.Fatal(err)
	}
	if g := group(t, inventory(t, p), md("workers")); g.Target != 6 || len(kept(g)) != 0 {
		t.Errorf("target %d, held %v", g.Target, kept(g))
	}
}

// A Machine that a user deletes is replaced a moment later. Until then no read shows it: no object
// that makes Machines has been changed.
func TestAMachineThatIsBeingReplacedHoldsNothing(t *testing.T) {
	for _, kind := range []string{"MachineDeployment", "MachineSet"} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, clusterapitest.NewGroup(kind, ns, "workers", "c1", 3, annotated("0", "9")...))
			p := connect(t, w, ofC1)
			pass := later(p)
			id := provider.GroupID(kind + "/" + ns + "/workers")
			machines := live(group(t, inventory(t, p), id))
			w.SetTiming(clusterapitest.Timing{Observe: time.Hour, End: time.Hour})
			edit(t, w, "Machine", machineName(machines[0]), func(o kubetest.Object) {
				kubetest.Set(o, "2030-01-01T00:00:00Z", "metadata", "deletionTimestamp")
			})
			for range 2 {
				if g := group(t, inventory(t, p), id); len(live(g)) != 2 || len(kept(g)) != 0 {
					t.Errorf("live are %v, held %v", live(g), kept(g))
				}
				pass(passing / 2)
			}
			if g := group(t, inventory(t, p), id); !slices.Equal(kept(g), machines[1:]) {
				t.Errorf("after %v, held are %v", passing, kept(g))
			}
		})
	}
}

// A MachinePool that cannot reach its size goes back to what there is, when nothing has
// moved for minutes, and can be made smaller then.
func TestAPoolIsTakenBackToWhatThereIs(t *testing.T) {
	w, p, pass, id := starving(t, "MachinePool")
	cancel := provider.CancelRequest{Group: id, From: 5, To: 3}
	for range 2 { // looking at it is no movement
		if r, err := p.Cancel(t.Context(), cancel); err != nil || r.Cancelled != 0 || r.Target != 5 {
			t.Fatalf("%+v, %v", r, err)
		}
		pass(standstill/2 - time.Second)
		inventory(t, p)
	}
	pass(2 * time.Second)
	cancel.To = 1 // no lower than what there is
	if r, err := p.Cancel(t.Context(), cancel); err != nil || r.Cancelled != 2 || r.Target != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	g := group(t, inventory(t, p), id)
	if g.Target != 3 || len(live(g)) != 3 || len(kept(g)) != 0 {
		t.Fatalf("%+v", g)
	}
	chosen := live(g)[1]
	if r, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: id, Instances: []provider.InstanceID{chosen},
	}); err != nil || r.Target != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Settle()
	if left := live(group(t, inventory(t, p), id)); len(left) != 2 || slices.Contains(left, chosen) {
		t.Errorf("%v are left of %v", left, live(g))
	}
}

// Where the infrastructure might have, or be about to make, another machine than those
// that are known, it would choose who goes: nothing is taken back.
func TestAPoolThatMayHaveMoreIsLeftAlone(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		change func(kubetest.Object)
		moves  bool // and it counts as movement, no more
	}{
		"it counts more machines than there are Machines": {"MachinePool", func(o kubetest.Object) { kubetest.Set(o, int64(4), "status", "replicas") }, false},
		"it counts fewer":                {"MachinePool", func(o kubetest.Object) { kubetest.Set(o, int64(2), "status", "replicas") }, false},
		"it lists an unknown machine":    {"MachinePool", func(o kubetest.Object) { kubetest.Set(o, []any{"test:///n/new"}, "spec", "providerIDList") }, false},
		"it has not seen the growth":     {"MachinePool", func(o kubetest.Object) { kubetest.Set(o, int64(0), "status", "observedGeneration") }, false},
		"a Machine is being deleted":     {"Machine", func(o kubetest.Object) { kubetest.Set(o, "2030-01-01T00:00:00Z", "metadata", "deletionTimestamp") }, false},
		"it has no Machines":             {"Machines", func(o kubetest.Object) { kubetest.Set(o, int64(0), "status", "replicas") }, false},
		"a Machine has got another node": {"Machine", func(o kubetest.Object) { kubetest.Set(o, "other", "status", "nodeRef", "name") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, pass, id := starving(t, "MachinePool")
			w.SetTiming(clusterapitest.Timing{Observe: time.Hour, End: time.Hour})
			inventory(t, p)
			pass(standstill)
			kind, object := c.kind, "workers"
			switch c.kind {
			case "Machine":
				object = machineName(live(group(t, inventory(t, p), id))[0])
			case "Machines": // they go, and the MachinePool says so
				kind = "MachinePool"
				for _, in := range live(group(t, inventory(t, p), id)) {
					w.Drop("Machine", ns, machineName(in))
				}
			}
			edit(t, w, kind, object, c.change)
			for range 2 {
				if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id, From: 5, To: 0}); err != nil ||
					r.Cancelled != 0 || r.Target != 5 {
					t.Errorf("%+v, %v", r, err)
				}
				pass(standstill - time.Second)
			}
			pass(time.Second)
			if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id, From: 5, To: 0}); err != nil ||
				(r.Cancelled > 0) != c.moves {
				t.Errorf("after as long again: %+v, %v", r, err)
			}
		})
	}
}

// A machine that the infrastructure tells of between the look and the write is seen:
// the write was of an older MachinePool.
func TestAPoolThatMovesBeforeTheWrite(t *testing.T) {
	w, p, pass, id := starving(t, "MachinePool")
	inventory(t, p)
	pass(standstill)
	w.Arm(kubetest.Fault{
		Verb: "update", Resource: "machinepools/scale", Times: 1, Then: func() { w.Feed("MachinePool", ns, "workers") },
	})
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id, From: 5, To: 3}); err != nil ||
		r.Cancelled != 0 || r.Target != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	if g := group(t, inventory(t, p), id); g.Target != 5 || len(live(g)) != 5 {
		t.Errorf("target %d, instances %v", g.Target, live(g))
	}
}
