package gardener

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

func poolOf(t *testing.T, p *Provider) (provider.Pool, provider.Inventory) {
	t.Helper()
	inv := inventory(t, p)
	if len(inv.Pools) != 1 {
		t.Fatalf("pools %+v", inv.Pools)
	}
	return inv.Pools[0], inv
}

func number(n int32) *int32 { return &n }

// Limits come from spec, else from annotations, else from --nodes; sizing from the
// annotation, else from the flag, else from where the limits are.
func TestWhereLimitsComeFrom(t *testing.T) {
	nodes := []string{"1:2:" + zone(0), "0:2:" + zone(1)}
	for name, c := range map[string]struct {
		annotations []string
		fields      bool
		nodes       []string
		sizing      string
		want        provider.Pool
		bounds      []bounds
	}{
		"annotations":            {annotations: limited("2", "5"), want: provider.Pool{Min: 2, Max: 5, Sizing: "Equitable"}, bounds: []bounds{{0, 5}, {0, 5}}},
		"spec before them":       {annotations: limited("2", "5"), fields: true, want: provider.Pool{Min: 3, Max: 4, Sizing: "Equitable"}, bounds: []bounds{{0, 4}, {0, 4}}},
		"before --nodes":         {annotations: limited("2", "5"), nodes: nodes, want: provider.Pool{Min: 2, Max: 5, Sizing: "Equitable"}, bounds: []bounds{{0, 5}, {0, 5}}},
		"sizing of the flag":     {annotations: limited("2", "5"), sizing: "lax-greedy", want: provider.Pool{Min: 2, Max: 5, Sizing: "Lax-Greedy"}, bounds: []bounds{{0, 5}, {0, 5}}},
		"of the annotation":      {annotations: limited("2", "5", v1alpha1.SizingAnnotation, "backward-compatible"), sizing: "lax-greedy", want: provider.Pool{Min: 2, Max: 5, Sizing: "Backward-Compatible"}, bounds: []bounds{{0, 5}, {0, 5}}},
		"--nodes alone":          {nodes: nodes, want: provider.Pool{Min: 1, Max: 4, Sizing: "Backward-Compatible"}, bounds: []bounds{{1, 2}, {0, 2}}},
		"--nodes and the flag":   {nodes: nodes, sizing: "Equitable", want: provider.Pool{Min: 1, Max: 4, Sizing: "Equitable"}, bounds: []bounds{{0, 4}, {0, 4}}},
		"a minimum without more": {annotations: []string{v1alpha1.PoolMaximumAnnotation, "5"}, want: provider.Pool{Min: 0, Max: 5, Sizing: "Equitable"}, bounds: []bounds{{0, 5}, {0, 5}}},
	} {
		t.Run(name, func(t *testing.T) {
			w := zones(c.annotations, 1, 1)
			if c.fields {
				for i := range 2 {
					edit(t, w, i, func(d *v1alpha1.MachineDeployment) {
						d.Spec.PoolMinimum, d.Spec.PoolMaximum = number(3), number(4)
					})
				}
			}
			pool, inv := poolOf(t,
				connect(t, w, Config{Namespace: ns, Discovery: []string{"mcm:"}, Nodes: c.nodes, Sizing: c.sizing}))
			c.want.ID = "web"
			if diff := cmp.Diff(c.want, pool); diff != "" {
				t.Error(diff)
			}
			for i, g := range inv.Groups {
				if g.Pool != "web" || (bounds{g.Min, g.Max}) != c.bounds[i] {
					t.Errorf("%s: pool %q, bounds %d to %d, want %v", g.ID, g.Pool, g.Min, g.Max, c.bounds[i])
				}
			}
		})
	}
}

// Bounds in --nodes that a pool would not have come to are each group's own, and
// nothing is shared.
func TestUnevenNodesShareNothing(t *testing.T) {
	inv := inventory(t,
		connect(t, zones(nil, 1, 1), Config{Namespace: ns, Nodes: []string{"0:5:" + zone(0), "1:1:" + zone(1)}}))
	if len(inv.Pools) != 0 || inv.Groups[0].Pool != "" || inv.Groups[0].Max != 5 || inv.Groups[1].Min != 1 ||
		inv.Groups[1].Max != 1 {
		t.Errorf("pools %+v, groups %+v", inv.Pools, inv.Groups)
	}
}

// Nothing says how large a pool may be: it is no group, and one that says it wrongly
// is left alone. Neither keeps the others from being groups.
func TestPoolsWithoutLimits(t *testing.T) {
	w := zones(limited("0", "3"), 1)
	for name, notes := range map[string][]string{"none": nil, "half": {
		v1alpha1.PoolMinimumAnnotation, "1",
	}, "wrong": {v1alpha1.PoolMaximumAnnotation, "many"}, "alone": limited("1", "3")} {
		w.Add(gardenertest.NewClass(ns, name, "z"), gardenertest.NewDeployment(ns, name, "", "z", 1, notes...))
	}
	w.Settle()
	p := connect(t, w, anywhere)
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{"alone", zone(0), "wrong"}) {
		t.Fatalf("groups %v", got)
	}
	if g := inv.Groups[0]; g.Pool != "" || g.Min != 1 || g.Max != 3 {
		t.Errorf("a group of its own: %+v", g)
	}
	if g := inv.Groups[2]; g.Err == nil || g.Err.Kind != provider.BadConfig {
		t.Errorf("%+v", g)
	}
	if !noticed(inv, noticeNoMaximum, v1alpha1.PoolMaximumAnnotation) || !noticed(inv, noticeBadAnnotation, "many") {
		t.Errorf("notices %v", inv.Notices)
	}
	refusal(t, grow(p, t, "none", 1, 2), provider.NotFound)
	if err := grow(p, t, "alone", 1, 3); err != nil {
		t.Error(err)
	}
	refusal(t, grow(p, t, "alone", 3, 4), provider.Limit)
}

// TestPoolMinimum: removals leave the pool its minimum, in whatever zone, unless they
// are forced; and so do cancellations.
func TestPoolMinimum(t *testing.T) {
	w := zones(limited("3", "9"), 2, 2)
	p := connect(t, w, anywhere)
	all := live(groupOf(t, p, id(0)))
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: all})
	if e := refusal(t, err, provider.Limit); e.MayHaveHappened {
		t.Error(e)
	}
	if got := targets(inventory(t, p)); !slices.Equal(got, []int{2, 2}) {
		t.Fatalf("targets %v", got)
	}
	remove(t, p, id(0), all[0])
	// Again, and one that is going anyway: that ends nothing, and is fine.
	remove(t, p, id(0), all[0], all[0])
	w.Settle()
	_, err = p.Remove(t.Context(), provider.RemoveRequest{Group: id(1), Instances: live(groupOf(t, p, id(1)))[:1]})
	refusal(t, err, provider.Limit)
	if r, err := p.Remove(t.Context(), provider.RemoveRequest{
		Group: id(0), Instances: all[1:], Force: true,
	}); err != nil || r.Target != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	w.Settle()
	if got := targets(inventory(t, p)); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("targets %v", got)
	}
	// Three more were asked for and do not come: two of them can be taken back.
	w.Starve(zone(0))
	if err := grow(p, t, id(0), 0, 3); err != nil {
		t.Fatal(err)
	}
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 3, To: 0}); err != nil ||
		r.Target != 1 || r.Cancelled != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAnotherZoneIsEditedBesideAGrowth: another client raises another zone of
// the pool between our look and our write, which only expects that its own
// object is as it was. The look after the write sees that and reports the
// numbers. Nothing is taken back: a machine may have been begun, and which one
// would go then is not ours to say.
func TestAnotherZoneIsEditedBesideAGrowth(t *testing.T) {
	for name, c := range map[string]struct {
		to     int32 // zone 1, of 1
		lower  string
		answer string // of the write itself
		tells  string
	}{
		"above the maximum":               {to: 2, tells: "has 5 machines in all of its zones, 1 above its maximum of 4"},
		"up to the maximum":               {to: 1},
		"the maximum is lowered":          {to: 1, lower: "3", tells: "has 4 machines in all of its zones, 1 above its maximum of 3"},
		"the answer to the write is lost": {to: 2, answer: "lost", tells: "has 5 machines in all of its zones, 1 above its maximum of 4"},
	} {
		t.Run(name, func(t *testing.T) {
			w := zones(limited("0", "4"), 1, 1, 1)
			p := connect(t, w, anywhere)
			beside := func() {
				edit(t, w, 1, func(d *v1alpha1.MachineDeployment) {
					d.Spec.Replicas = c.to
					if c.lower != "" {
						d.Annotations[v1alpha1.PoolMaximumAnnotation] = c.lower
					}
				})
			}
			fault := kubetest.Fault{Verb: "patch", Name: zone(0), Times: 1, Then: beside}
			if c.answer == "lost" { // the client has repeated the request, and met its own effect
				fault.After, fault.Mishap = true, kubetest.Conflict
			}
			w.Arm(fault)
			r, err := p.Grow(t.Context(), provider.GrowRequest{Group: id(0), From: 1, To: 2})
			if r.Target != 2 || (err == nil) != (c.tells == "") {
				t.Fatalf("%+v, %v", r, err)
			}
			if c.tells != "" {
				if e := refusal(t, err, provider.Limit); !e.MayHaveHappened || !strings.Contains(e.Message, c.tells) {
					t.Errorf("%+v", e)
				}
			}
			inv := inventory(t, p)
			if got := targets(inv); !slices.Equal(got, []int{2, int(c.to), 1}) || inv.Groups[0].TargetSince.IsZero() {
				t.Errorf("targets %v, %v", got, inv.Groups[0].TargetSince)
			}
			if c.tells != "" {
				refusal(t, grow(p, t, id(2), 1, 2), provider.Limit)
			}
		})
	}
}

// TestTheLookAfterAGrowth: what was written is written, whether or not the pool can be read again
// after it. A MachineDeployment that shares with no other is not read again.
func TestTheLookAfterAGrowth(t *testing.T) {
	w := zones(limited("0", "4"), 1, 1)
	p := connect(t, w, anywhere)
	looked := 0
	w.Arm(kubetest.Fault{Verb: "patch", Then: func() {
		w.Arm(kubetest.Fault{Verb: "list", Mishap: kubetest.Forbid, Met: func() { looked++ }})
	}})
	if r, err := p.Grow(t.Context(), provider.GrowRequest{Group: id(0), From: 1, To: 2}); err != nil ||
		r.Target != 2 || looked != 1 {
		t.Errorf("%+v, %v, after %d looks", r, err, looked)
	}
	w = zones(limited("0", "4"), 1)
	p = connect(t, w, anywhere)
	w.ForgetRequests()
	if err := grow(p, t, id(0), 1, 2); err != nil {
		t.Error(err)
	}
	if got := w.Requests(); len(got) != 2 {
		t.Errorf("requests %v", got)
	}
}

// The pool's maximum is that of all of its MachineDeployments, those included that
// the flags do not mean, or that are on their way out.
func TestWhatIsNotOursCountsToo(t *testing.T) {
	w := zones(limited("2", "6"), 1, 2, 1)
	edit(t, w, 1, func(d *v1alpha1.MachineDeployment) { d.Labels["scaled-by"] = "hand" })
	for _, i := range []int{0, 2} {
		edit(t, w, i, func(d *v1alpha1.MachineDeployment) { d.Labels["scaled-by"] = "plimsoll" })
	}
	p := connect(t, w, Config{Namespace: ns, Discovery: []string{"mcm:scaled-by=plimsoll"}})
	pool, inv := poolOf(t, p)
	if pool.Min != 0 || pool.Max != 4 || len(inv.Groups) != 2 {
		t.Errorf("%+v of %v", pool, ids(inv))
	}
	refusal(t, grow(p, t, id(0), 1, 4), provider.Limit)
	if err := grow(p, t, id(0), 1, 3); err != nil {
		t.Error(err)
	}
}

// A zone on its way out is nothing that the pool's minimum could rely on.
func TestADyingZoneIsNoPartOfTheMinimum(t *testing.T) {
	w := zones(limited("4", "8"), 2, 2, 4)
	p := connect(t, w, anywhere)
	all := live(groupOf(t, p, id(0)))
	now := metav1Now()
	edit(t, w, 2, func(d *v1alpha1.MachineDeployment) { d.DeletionTimestamp = &now })
	if pool, _ := poolOf(t, p); pool.Min != 8 || pool.Max != 8 {
		t.Errorf("%+v: of eight, four go, and four are to stay", pool)
	}
	_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: all[:1]})
	refusal(t, err, provider.Limit)
}

// A hibernated shoot stays asleep: nothing is written, and nothing filled.
func TestHibernated(t *testing.T) {
	w := zones(limited("3", "6"), 0, 0)
	for i := range 2 {
		edit(t, w, i, func(d *v1alpha1.MachineDeployment) { d.Annotations[v1alpha1.HibernatedAnnotation] = "true" })
	}
	p := connect(t, w, anywhere)
	if g := groupOf(t, p, id(0)); !held(g, provider.OpGrow, holdHibernated) {
		t.Errorf("%+v", g.Holds)
	}
	refusal(t, grow(p, t, id(0), 0, 1), provider.Conflict)
}

// TestStrangeOnesAreAlone: an object that cannot be read as a whole costs that one.
// What it is asked for and which pool it is in are read for themselves: it counts in its
// pool, and the others of the pool grow and shrink within what is left.
func TestStrangeOnesAreAlone(t *testing.T) {
	for name, c := range map[string]struct {
		value any
		path  []string
		says  string
	}{
		"a number":    {"one", []string{"spec", "minReadySeconds"}, "minReadySeconds"},
		"a switch":    {"yes", []string{"spec", "paused"}, "paused"},
		"the machine": {"none", []string{"spec", "template", "spec"}, "template"},
		"a limit":     {"many", []string{"spec", "poolMaximum"}, "poolMaximum"},
		"the status":  {"none", []string{"status"}, "status"},
	} {
		t.Run(name, func(t *testing.T) {
			w := zones(limited("2", "4"), 1, 1)
			w.Add(gardenertest.NewClass(ns, "other", "z"),
				gardenertest.NewDeployment(ns, "other", "", "z", 1, limited("0", "9")...))
			w.Settle()
			spoil(t, w, zone(1), c.value, c.path...)
			p := connect(t, w, anywhere)
			pool, inv := poolOf(t, p)
			if got := ids(inv); !slices.Equal(got, []string{"other", zone(0), zone(1)}) {
				t.Fatalf("groups %v", got)
			}
			if want := (provider.Pool{ID: "web", Min: 2, Max: 4, Sizing: "Equitable"}); pool != want {
				t.Errorf("%+v", pool)
			}
			for _, g := range inv.Groups[:2] {
				if g.Err != nil || len(g.Holds) != 0 {
					t.Errorf("%+v", g)
				}
			}
			strange := inv.Groups[2]
			if strange.Err != nil || strange.Pool != "web" || strange.Target != 1 || strange.Max != 4 ||
				len(live(strange)) != 1 || strange.Template != nil {
				t.Errorf("%+v", strange)
			}
			if e := strange.TemplateErr; e == nil || e.Kind != provider.BadConfig || !strings.Contains(e.Message, c.says) {
				t.Errorf("%v", e)
			}
			for _, op := range everyWrite {
				if !held(strange, op, string(provider.BadConfig)) {
					t.Errorf("%s: %+v", op, strange.Holds)
				}
			}
			refusal(t, grow(p, t, id(1), 1, 2), provider.BadConfig)
			_, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(1), Instances: live(strange), Force: true})
			refusal(t, err, provider.BadConfig)
			_, err = p.Cancel(t.Context(), provider.CancelRequest{Group: id(1), From: 1, To: 0})
			refusal(t, err, provider.BadConfig)
			if err := grow(p, t, "other", 1, 2); err != nil {
				t.Error(err)
			}
			// Its one counts against both limits.
			_, err = p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: live(groupOf(t, p, id(0)))})
			refusal(t, err, provider.Limit)
			refusal(t, grow(p, t, id(0), 1, 4), provider.Limit)
			if err := grow(p, t, id(0), 1, 3); err != nil {
				t.Error(err)
			}
			w.Settle()
			remove(t, p, id(0), live(groupOf(t, p, id(0)))[:2]...)
			// What its metadata say is known all the same: on its way out, it is none that
			// the minimum could rely on.
			if err := w.Edit(v1alpha1.KindMachineDeployment, ns, zone(1), func(o kubetest.Object) {
				kubetest.Set(o, "2030-01-01T00:00:00Z", "metadata", "deletionTimestamp")
			}); err != nil {
				t.Fatal(err)
			}
			if pool, inv := poolOf(t, p); !held(inv.Groups[2], provider.OpGrow, provider.BeingDeleted) || pool.Min != 3 {
				t.Errorf("%+v, %+v", pool, inv.Groups[2].Holds)
			}
		})
	}
}

// TestAPoolOfUnknownSizeDoesNotGrow: where the replicas of a MachineDeployment cannot be read, the
// room left in its pool is unknown. Other pools go on, and so do removals, for which it counts as
// 0.
func TestAPoolOfUnknownSizeDoesNotGrow(t *testing.T) {
	for _, replicas := range []any{"two", true, map[string]any{}} {
		w := zones(limited("0", "9"), 2, 1)
		w.Add(gardenertest.NewClass(ns, "other", "z"),
			gardenertest.NewDeployment(ns, "other", "", "z", 1, limited("0", "9")...))
		w.Settle()
		spoil(t, w, zone(1), replicas, "spec", "replicas")
		p := connect(t, w, anywhere)
		inv := inventory(t, p)
		if g := inv.Groups[2]; g.Err == nil || g.Pool != "web" || inv.Groups[0].Err != nil || inv.Groups[1].Err != nil {
			t.Errorf("%v: %+v", replicas, inv.Groups)
		}
		if e := refusal(t, grow(p, t, id(0), 2, 3), provider.BadConfig); !strings.Contains(e.Message, zone(1)) {
			t.Errorf("%v: %v", replicas, e)
		}
		if err := grow(p, t, "other", 1, 2); err != nil {
			t.Error(err)
		}
		remove(t, p, id(0), live(groupOf(t, p, id(0)))[0])
	}
}

// A MachineDeployment that cannot be read and has no limits is shown, and takes no room from other groups.
func TestAStrangeOneWithoutLimits(t *testing.T) {
	w := zones(limited("0", "9"), 1)
	w.Add(gardenertest.NewDeployment(ns, "alone", "", "z", 1))
	spoil(t, w, "alone", "one", "spec", "minReadySeconds")
	p := connect(t, w, anywhere)
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{"alone", zone(0)}) || inv.Groups[0].Err == nil ||
		inv.Groups[1].Err != nil {
		t.Errorf("%+v", inv.Groups)
	}
	if err := grow(p, t, id(0), 1, 2); err != nil {
		t.Error(err)
	}
}

// spoil writes what does not belong there into a MachineDeployment.
func spoil(t *testing.T, w *gardenertest.World, name string, value any, path ...string) {
	t.Helper()
	if err := w.Edit(v1alpha1.KindMachineDeployment, ns, name, func(o kubetest.Object) {
		kubetest.Set(o, value, path...)
	}); err != nil {
		t.Fatal(err)
	}
}

func edit(t *testing.T, w *gardenertest.World, i int, change func(*v1alpha1.MachineDeployment)) {
	t.Helper()
	if err := w.EditDeployment(zone(i), change); err != nil {
		t.Fatal(err)
	}
}
