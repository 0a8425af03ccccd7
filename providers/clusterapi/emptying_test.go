package clusterapi

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

const thePool = provider.GroupID("MachinePool/" + ns + "/pool")

// resting is a MachinePool of three machines without Machines, at rest for long.
func resting(t *testing.T, low string, more ...string) (*clusterapitest.World, *Provider, func(time.Duration)) {
	t.Helper()
	w := newWorld(t, clusterapitest.NewGroup("MachinePool", ns, "pool", "c1", 3, annotated(low, "9", more...)...))
	p := connect(t, w, ofC1)
	pass := later(p)
	inventory(t, p)
	pass(standstill)
	return w, p, pass
}

func removePool(t *testing.T, p *Provider, ids ...provider.InstanceID) (provider.RemoveResult, error) {
	t.Helper()
	return p.Remove(t.Context(), provider.RemoveRequest{Group: thePool, Instances: ids})
}

// A pool whose owner allows it may be emptied by a removal that names all of its machines:
// then the cloud has nothing to choose.
func TestAPoolWithoutMachinesIsEmptied(t *testing.T) {
	w, p, _ := resting(t, "0", annotationShrink, shrinkToZero)
	g := group(t, inventory(t, p), thePool)
	if !g.CloudChooses || len(kept(g)) != 0 || len(live(g)) != 3 ||
		held(g, provider.OpRemove, string(provider.Unsupported)) || held(g, provider.OpRemove, holdMoving) {
		t.Fatalf("%+v", g)
	}
	if !held(g, provider.OpCancel, string(provider.Unsupported)) {
		t.Errorf("requests may be taken back, and machines end: %+v", g.Holds)
	}
	// Anything less is a choice of the cloud's.
	for _, some := range [][]provider.InstanceID{live(g)[:1], live(g)[:2], {live(g)[0], live(g)[1], live(g)[1]}} {
		_, err := removePool(t, p, some...)
		refusal(t, err, provider.Conflict)
	}
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	r, err := removePool(t, p, live(g)...)
	if err != nil || r.Target != 0 || len(r.Instances) != 3 ||
		slices.ContainsFunc(r.Instances, func(i provider.InstanceResult) bool { return i.Err != nil }) {
		t.Fatalf("%+v, %v", r, err)
	}
	// The infrastructure has not begun yet. All of them are on their way out, and it
	// would keep some if the pool grew now.
	going := group(t, inventory(t, p), thePool)
	if going.Target != 0 || len(live(going)) != 0 || len(going.Instances) != 3 ||
		!held(going, provider.OpGrow, holdEmptying) {
		t.Errorf("%+v", going)
	}
	_, err = p.Grow(t.Context(), provider.GrowRequest{Group: thePool, From: 0, To: 2})
	refusal(t, err, provider.Conflict)
	if r, err := removePool(t, p, live(g)[0]); err != nil || r.Target != 0 {
		t.Errorf("asked again: %+v, %v", r, err)
	}
	w.SetTiming(clusterapitest.Timing{})
	w.Settle()
	if gone := group(t, inventory(t, p), thePool); len(gone.Instances) != 0 || held(gone, provider.OpGrow, holdEmptying) {
		t.Errorf("%+v", gone)
	}
	if got := grow(t, p, w, thePool, 2); len(got) != 2 {
		t.Errorf("after a growth: %v", got)
	}
}

// A pool that is not at rest may have machines that it does not list yet, and those may
// have pods.
func TestAPoolThatMovesIsNotEmptied(t *testing.T) {
	w, p, pass := resting(t, "0", annotationShrink, shrinkToZero)
	all := live(group(t, inventory(t, p), thePool))
	refused := func(why string, hold bool) {
		t.Helper()
		g := group(t, inventory(t, p), thePool)
		if held(g, provider.OpRemove, holdMoving) != hold {
			t.Errorf("%s: holds %+v", why, g.Holds)
		}
		_, err := removePool(t, p, all...)
		refusal(t, err, provider.Conflict)
		if g := group(t, inventory(t, p), thePool); g.Target == 0 {
			t.Fatalf("%s: it was emptied", why)
		}
	}
	count := func(n int64) {
		edit(t, w, "MachinePool", "pool", func(o kubetest.Object) { kubetest.Set(o, n, "status", "replicas") })
	}
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	count(4)
	refused("its infrastructure counts one more", true)
	count(3)
	refused("it has just changed", true)
	pass(standstill - time.Second)
	refused("it has changed a while ago", true)
	pass(time.Second)
	if r, err := removePool(t, p, all...); err != nil || r.Target != 0 {
		t.Errorf("at rest again: %+v, %v", r, err)
	}

	w, p, pass = resting(t, "0", annotationShrink, shrinkToZero)
	all = live(group(t, inventory(t, p), thePool))
	w.Starve("MachinePool", ns, "pool")
	grow(t, p, w, thePool, 4)
	pass(2 * standstill)
	refused("one that it was asked for has not come", true)
	// A machine that was replaced has another id.
	w, p, pass = resting(t, "0", annotationShrink, shrinkToZero)
	all = live(group(t, inventory(t, p), thePool))
	edit(t, w, "MachinePool", "pool", func(o kubetest.Object) {
		ids := slices.Clone(kubetest.Get(o, "spec", "providerIDList").([]any))
		ids[0] = "test:///pool/another"
		kubetest.Set(o, ids, "spec", "providerIDList")
	})
	w.Settle()
	inventory(t, p)
	pass(standstill)
	refused("one of those named was replaced by another", false)
	// Nothing is known of what was before the first look.
	again := connect(t, w, ofC1)
	_, err := removePool(t, again, live(group(t, inventory(t, again), thePool))...)
	refusal(t, err, provider.Conflict)
}

// A pool whose numbers do not agree is not emptied, for however long that is so.
func TestAPoolWhoseNumbersDisagreeIsNotEmptied(t *testing.T) {
	for name, change := range map[string]func(kubetest.Object){
		"its infrastructure counts one more":        func(o kubetest.Object) { kubetest.Set(o, int64(4), "status", "replicas") },
		"it lists one less":                         func(o kubetest.Object) { dropOne(o) },
		"its controller has not seen the last word": func(o kubetest.Object) { kubetest.Set(o, int64(0), "status", "observedGeneration") },
	} {
		t.Run(name, func(t *testing.T) {
			w, p, pass := resting(t, "0", annotationShrink, shrinkToZero)
			w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
			edit(t, w, "MachinePool", "pool", change)
			g := group(t, inventory(t, p), thePool)
			pass(2 * standstill)
			if again := group(t, inventory(t, p), thePool); !held(again, provider.OpRemove, holdMoving) {
				t.Errorf("holds %+v", again.Holds)
			}
			_, err := removePool(t, p, live(g)...)
			refusal(t, err, provider.Conflict)
		})
	}
}

// dropOne takes one machine off a pool's list, and says that its controller has seen it.
func dropOne(o kubetest.Object) {
	kubetest.Set(o, slices.Clone(kubetest.Get(o, "spec", "providerIDList").([]any))[1:], "spec", "providerIDList")
	kubetest.Set(o, int64(100), "status", "observedGeneration")
}

// The minimum holds, a condition is held against what is known, and without the
// annotation, or with one that is not understood, nothing is removed.
func TestAPoolIsEmptiedAsItsOwnerAllows(t *testing.T) {
	_, p, _ := resting(t, "1", annotationShrink, shrinkToZero)
	_, err := removePool(t, p, live(group(t, inventory(t, p), thePool))...)
	refusal(t, err, provider.Limit)

	w, p, _ := resting(t, "0", annotationShrink, "to-one")
	inv := inventory(t, p)
	g := group(t, inv, thePool)
	if g.CloudChooses || len(kept(g)) != 3 || !held(g, provider.OpRemove, string(provider.Unsupported)) ||
		!noticed(inv, noticeBadAnnotation, annotationShrink) {
		t.Errorf("%+v, notices %v", g, inv.Notices)
	}
	_, err = removePool(t, p, live(g)...)
	refusal(t, err, provider.Unsupported)
	edit(t, w, "MachinePool", "pool", annotate(annotationShrink, shrinkToZero))
	if inv := inventory(t, p); noticed(inv, noticeBadAnnotation, annotationShrink) ||
		!group(t, inv, thePool).CloudChooses {
		t.Errorf("mended: %+v", inv)
	}
	for _, c := range []struct {
		condition provider.Condition
		nodes     []any
		goes      bool
	}{
		{provider.StillFailed, nil, false},
		{provider.StillWithoutNode, []any{kubetest.Object{"name": "n1"}}, false},
		{provider.StillWithoutNode, nil, true},
	} {
		w, p, _ := resting(t, "0", annotationShrink, shrinkToZero)
		edit(t, w, "MachinePool", "pool", func(o kubetest.Object) { kubetest.Set(o, c.nodes, "status", "nodeRefs") })
		ids := live(group(t, inventory(t, p), thePool))
		r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: thePool, Instances: ids, If: c.condition})
		if err == nil && slices.ContainsFunc(r.Instances, func(i provider.InstanceResult) bool {
			return i.Err == nil
		}) != c.goes || err != nil {
			t.Errorf("%s, nodes %v: %+v, %v", c.condition, c.nodes, r, err)
		}
	}

	// Other kinds have no use of it.
	w = newWorld(t, deployment("workers", 1, annotated("0", "5", annotationShrink, shrinkToZero)...))
	p = connect(t, w, ofC1)
	if inv := inventory(t, p); !noticed(inv, noticeBadAnnotation, annotationShrink) ||
		group(t, inv, md("workers")).CloudChooses {
		t.Errorf("%+v", inv)
	}
}

// A removal that was decided before another client grew the pool is refused.
func TestAPoolIsNotEmptiedPastAnotherClient(t *testing.T) {
	w, p, _ := resting(t, "0", annotationShrink, shrinkToZero)
	all := live(group(t, inventory(t, p), thePool))
	w.Arm(kubetest.Fault{Verb: "update", Resource: "machinepools/scale", Times: 1, Then: func() {
		edit(t, w, "MachinePool", "pool", func(o kubetest.Object) { kubetest.Set(o, int64(5), "spec", "replicas") })
	}})
	_, err := removePool(t, p, all...)
	refusal(t, err, provider.Conflict)
	if g := group(t, inventory(t, p), thePool); g.Target != 5 {
		t.Errorf("the target is %d", g.Target)
	}
}

// Machines that have come since are removed by their own names: ids of the pool are not
// taken for machines that are gone.
func TestAPoolThatHasMachinesByNow(t *testing.T) {
	w, p, _ := resting(t, "0", annotationShrink, shrinkToZero)
	all := live(group(t, inventory(t, p), thePool))
	w.SetTiming(clusterapitest.Timing{Observe: time.Hour})
	edit(t, w, "MachinePool", "pool", annotate(clusterapitest.PoolMachines, "true"))
	w.SetTiming(clusterapitest.Timing{})
	w.Settle()
	if g := group(t, inventory(t, p), thePool); g.CloudChooses || len(g.Instances) != 3 || slices.Equal(live(g), all) {
		t.Fatalf("%+v", g)
	}
	_, err := removePool(t, p, all...)
	refusal(t, err, provider.Conflict)
}

// An answer that was lost is found by the attempt after it, and a status that was written
// between the look and the write changes nothing.
func TestEmptyingIsTriedAgain(t *testing.T) {
	for name, fault := range map[string]kubetest.Fault{
		"done, and not answered": {Mishap: kubetest.Busy, After: true},
		"another wrote":          {},
	} {
		t.Run(name, func(t *testing.T) {
			w, p, _ := resting(t, "0", annotationShrink, shrinkToZero)
			all := live(group(t, inventory(t, p), thePool))
			fault.Verb, fault.Resource, fault.Times = "update", "machinepools/scale", 1
			if fault.Mishap == "" {
				fault.Then = func() {
					edit(t, w, "MachinePool", "pool", func(o kubetest.Object) { kubetest.Set(o, int64(1), "status", "readyReplicas") })
				}
			}
			w.Arm(fault)
			if r, err := removePool(t, p, all...); err != nil || r.Target != 0 || len(r.Instances) != 3 {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
