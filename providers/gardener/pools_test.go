package gardener

import (
	"slices"
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
					edit(t, w, i, func(d *v1alpha1.MachineDeployment) { d.Spec.PoolMinimum, d.Spec.PoolMaximum = number(3), number(4) })
				}
			}
			pool, inv := poolOf(t, connect(t, w, Config{Namespace: ns, Discovery: []string{"mcm:"}, Nodes: c.nodes, Sizing: c.sizing}))
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
	inv := inventory(t, connect(t, zones(nil, 1, 1), Config{Namespace: ns, Nodes: []string{"0:5:" + zone(0), "1:1:" + zone(1)}}))
	if len(inv.Pools) != 0 || inv.Groups[0].Pool != "" || inv.Groups[0].Max != 5 || inv.Groups[1].Min != 1 || inv.Groups[1].Max != 1 {
		t.Errorf("pools %+v, groups %+v", inv.Pools, inv.Groups)
	}
}

// Nothing says how large a pool may be: it is no group, and one that says it wrongly
// is left alone. Neither keeps the others from being groups.
func TestPoolsWithoutLimits(t *testing.T) {
	w := zones(limited("0", "3"), 1)
	for name, notes := range map[string][]string{"none": nil, "half": {v1alpha1.PoolMinimumAnnotation, "1"}, "wrong": {v1alpha1.PoolMaximumAnnotation, "many"}, "alone": limited("1", "3")} {
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
	if r, err := p.Remove(t.Context(), provider.RemoveRequest{Group: id(0), Instances: all[1:], Force: true}); err != nil || r.Target != 0 {
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
	if r, err := p.Cancel(t.Context(), provider.CancelRequest{Group: id(0), From: 3, To: 0}); err != nil || r.Target != 1 || r.Cancelled != 2 {
		t.Errorf("%+v, %v", r, err)
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

// TestStrangeOnesAreAlone: an object that cannot be read costs that one. What it
// would count for is not known, and its pool does not grow by guesses.
func TestStrangeOnesAreAlone(t *testing.T) {
	w := zones(limited("0", "9"), 1, 1)
	w.Add(gardenertest.NewClass(ns, "other", "z"), gardenertest.NewDeployment(ns, "other", "", "z", 1, limited("0", "9")...))
	w.Settle()
	if err := w.Edit(v1alpha1.KindMachineDeployment, ns, zone(1), func(o kubetest.Object) { kubetest.Set(o, "one", "spec", "minReadySeconds") }); err != nil {
		t.Fatal(err)
	}
	p := connect(t, w, anywhere)
	inv := inventory(t, p)
	if got := ids(inv); !slices.Equal(got, []string{"other", zone(0), zone(1)}) {
		t.Fatalf("groups %v", got)
	}
	if inv.Groups[2].Err == nil || inv.Groups[2].Pool != "web" || inv.Groups[0].Err != nil || inv.Groups[1].Err != nil {
		t.Errorf("%+v", inv.Groups)
	}
	refusal(t, grow(p, t, id(0), 1, 2), provider.BadConfig)
	if err := grow(p, t, "other", 1, 2); err != nil {
		t.Error(err)
	}
}

func edit(t *testing.T, w *gardenertest.World, i int, change func(*v1alpha1.MachineDeployment)) {
	t.Helper()
	if err := w.EditDeployment(zone(i), change); err != nil {
		t.Fatal(err)
	}
}
