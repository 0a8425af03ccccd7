package gardener

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// The tests here are named for what GEP-24 leaves open, as holes b to k. Each shows
// what is done about it. (a, c, e, f and h are the core's and the pool side's.)

// Hole b: "nodes materialized" are targets. What was asked for a moment ago counts,
// long before it is a node.
func TestHoleBTargetsCountNotNodes(t *testing.T) {
	w := zones(limited("0", "4"), 0, 0, 0)
	w.SetTiming(gardenertest.Timing{Observe: time.Hour, Boot: time.Hour})
	p := connect(t, w, anywhere)
	if err := grow(p, t, id(0), 0, 2); err != nil {
		t.Fatal(err)
	}
	if err := grow(p, t, id(1), 0, 1); err != nil {
		t.Fatal(err)
	}
	refusal(t, grow(p, t, id(2), 0, 2), provider.Limit)
	if err := grow(p, t, id(2), 0, 1); err != nil {
		t.Fatal(err)
	}
	if got := targets(inventory(t, p)); !slices.Equal(got, []int{2, 1, 1}) {
		t.Errorf("targets %v", got)
	}
}

// Hole d: a maximum that was lowered, or is 0, hides no group: the group is listed with its
// machines, and its maximum is not below their number. It does not grow.
func TestHoleDNoGroupIsHidden(t *testing.T) {
	p := connect(t, zones(limited("0", "2"), 3, 1), anywhere)
	pool, inv := poolOf(t, p)
	if g := inv.Groups[0]; pool.Max != 2 || g.Max != 3 || g.Target != 3 || len(live(g)) != 3 {
		t.Errorf("pool %+v, group %+v", pool, g)
	}
	refusal(t, grow(p, t, id(0), 3, 4), provider.Limit)
	refusal(t, grow(p, t, id(1), 1, 2), provider.Limit)
	remove(t, p, id(0), live(inv.Groups[0])[0]) // it may shrink

	inv = inventory(t, connect(t, zones(nil, 1), Config{Namespace: ns, Nodes: []string{"0:0:" + zone(0)}}))
	if len(inv.Groups) != 1 || inv.Groups[0].Max != 1 || len(live(inv.Groups[0])) != 1 {
		t.Errorf("%+v", inv.Groups)
	}
}

// Hole g: while Gardener changes one zone after another, they disagree. The least of
// each limit counts, one that says nothing has its siblings', and one that is being
// deleted has no say, but counts with its machines.
func TestHoleGSiblingsDisagree(t *testing.T) {
	w := zones(limited("2", "6"), 1, 1, 1)
	edit(t, w, 1, func(d *v1alpha1.MachineDeployment) {
		d.Annotations[v1alpha1.PoolMinimumAnnotation], d.Annotations[v1alpha1.PoolMaximumAnnotation] = "3", "4"
	})
	edit(t, w, 2, func(d *v1alpha1.MachineDeployment) { d.Annotations = nil })
	p := connect(t, w, anywhere)
	pool, inv := poolOf(t, p)
	if pool.Min != 2 || pool.Max != 4 || len(inv.Groups) != 3 || !noticed(inv, noticePoolsDisagree, "web") {
		t.Errorf("%+v, groups %v, notices %v", pool, ids(inv), inv.Notices)
	}
	refusal(t, grow(p, t, id(0), 1, 3), provider.Limit)

	now := metav1Now()
	edit(t, w, 1, func(d *v1alpha1.MachineDeployment) { d.DeletionTimestamp = &now })
	pool, inv = poolOf(t, p)
	// The core sums the targets of all: that of the one that goes is to be had besides.
	if pool.Min != 3 || pool.Max != 6 || noticed(inv, noticePoolsDisagree, "web") ||
		!held(inv.Groups[1], provider.OpGrow, provider.BeingDeleted) {
		t.Errorf("%+v, %+v, notices %v", pool, inv.Groups[1], inv.Notices)
	}
	refusal(t, grow(p, t, id(0), 1, 5), provider.Limit) // 5+1+1 with the one that goes
	refusal(t, grow(p, t, id(1), 1, 2), provider.Conflict)

	// Two sizings: that of the flag, until they agree.
	for i, sizing := range []string{"Lax-Greedy", "Equitable"} {
		edit(t, w, 2*i, func(d *v1alpha1.MachineDeployment) {
			d.Annotations = map[string]string{v1alpha1.PoolMaximumAnnotation: "6", v1alpha1.SizingAnnotation: sizing}
		})
	}
	if pool, inv = poolOf(t, p); pool.Sizing != "Equitable" || !noticed(inv, noticePoolsDisagree, "Lax-Greedy") {
		t.Errorf("%+v, notices %v", pool, inv.Notices)
	}
}

// Hole i: nothing can carry the key of GEP-24's form, since a key has one slash. It
// means all of the shoot's, which are those of the namespace.
func TestHoleITheSeedsFormMeansTheShoot(t *testing.T) {
	w := zones(limited("0", "6"), 1, 1)
	inv := inventory(t, connect(t, w, Config{Namespace: ns, Discovery: []string{"mcm:k8s.io/cluster-autoscaler/prod"}}))
	if len(inv.Groups) != 2 || len(inv.Notices) != 0 {
		t.Errorf("groups %v, notices %v", ids(inv), inv.Notices)
	}
	inv = inventory(t, connect(t, w, Config{Namespace: ns, Discovery: []string{"mcm:k8s.io/cluster-autoscaler/staging"}}))
	if len(inv.Groups) != 2 || !noticed(inv, noticeOtherShoot, "staging") {
		t.Errorf("groups %v, notices %v", ids(inv), inv.Notices)
	}
}

// Hole j: machines that a rollout makes beyond the replicas are not the pool's: its
// maximum is one of targets.
func TestHoleJTheMaximumIsOneOfTargets(t *testing.T) {
	w := zones(limited("0", "4"), 2, 1)
	w.Roll(zone(0))
	p := connect(t, w, anywhere)
	if g := groupOf(t, p, id(0)); g.Target != 2 || len(live(g)) != 3 {
		t.Fatalf("target %d, instances %v", g.Target, live(g))
	}
	if err := grow(p, t, id(1), 1, 2); err != nil {
		t.Error(err)
	}
	refusal(t, grow(p, t, id(1), 2, 3), provider.Limit)
}

// Hole k: replicas that another client set are the target, and a read writes nothing. The core
// raises the pool to its minimum again, unless the shoot is hibernated.
func TestHoleKHandsAreRight(t *testing.T) {
	w := zones(limited("3", "6"), 2, 2)
	p := connect(t, w, anywhere)
	for i := range 2 {
		edit(t, w, i, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 0 })
	}
	w.Settle()
	w.ForgetRequests()
	pool, inv := poolOf(t, p)
	if got := targets(inv); pool.Min != 3 || !slices.Equal(got, []int{0, 0}) {
		t.Errorf("%+v, targets %v", pool, got)
	}
	for _, r := range w.Requests() {
		if r[:4] != "list" && r[:3] != "get" {
			t.Errorf("request %q", r)
		}
	}
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.Replicas = 8 })
	if _, inv := poolOf(t, p); inv.Groups[0].Target != 8 || inv.Groups[0].Max != 8 {
		t.Errorf("%+v", inv.Groups[0])
	}
	refusal(t, grow(p, t, id(1), 0, 1), provider.Limit)
}

// An unpatched machine-controller-manager drops the fields of the pool with its next
// update. The annotations live on.
func TestFieldsThatAreDropped(t *testing.T) {
	w := zones(limited("1", "5"), 1)
	edit(t, w, 0, func(d *v1alpha1.MachineDeployment) { d.Spec.PoolMaximum = number(4) })
	p := connect(t, w, anywhere)
	if pool, _ := poolOf(t, p); pool.Max != 4 {
		t.Fatalf("%+v", pool)
	}
	w.Forgetful()
	if err := grow(p, t, id(0), 1, 2); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if pool, _ := poolOf(t, p); pool.Max != 5 || pool.Min != 1 {
		t.Errorf("%+v", pool)
	}
}

// TestFewerThanZones: goal 5 of GEP-24, for what is there already: told, and no more.
func TestFewerThanZones(t *testing.T) {
	_, inv := poolOf(t, connect(t, zones(limited("0", "1"), 0, 0), anywhere))
	if !noticed(inv, noticeFewerThanZones, "web") {
		t.Errorf("notices %v", inv.Notices)
	}
	if _, inv := poolOf(
		t, connect(t, zones(limited("0", "0"), 0, 0), anywhere),
	); noticed(inv, noticeFewerThanZones, "web") {
		t.Error("a pool that may have none is told that it has too few")
	}
}

// TestZonesAreNumbered: the tenth zone comes after the second.
func TestZonesAreNumbered(t *testing.T) {
	w := gardenertest.New(time.Now, ns)
	nodes := []string{}
	for i := 1; i <= 11; i++ {
		name := fmt.Sprintf("web-z%d", i)
		w.Add(gardenertest.NewClass(ns, name, "z"), gardenertest.NewDeployment(ns, name, "web", "z", 0))
		nodes = append(nodes, fmt.Sprintf("0:%d:%s", share(i-1, 13, 11), name))
	}
	pool, _ := poolOf(t, connect(t, w, Config{Namespace: ns, Nodes: nodes}))
	if pool.Max != 13 {
		t.Errorf("%+v", pool)
	}
}
