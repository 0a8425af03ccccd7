package scaleup

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestCoupledPodsShareNodes: three pods that repel each other need a node each, and what spreads over zones or over
// hosts has room beside them. One class after the other would buy another node for it.
func TestCoupledPodsShareNodes(t *testing.T) {
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		c, p := testkit.New(), testkit.Policy()
		for _, size := range []string{"900m", "1900m", "3900m"} {
			c.Group("g"+size, 0, 100, testkit.Node("", size, "64Gi", map[string]string{corev1.LabelTopologyZone: "a"}))
		}
		alone := testkit.Pod("default", "alone", "500m", "1Gi", map[string]string{"app": "alone"})
		testkit.Apart(alone, corev1.LabelHostname, alone.Labels)
		c.Pending(alone, 3)
		for i := range 3 {
			spread := testkit.Pod("default", fmt.Sprintf("spread%d", i), "300m", "1Gi", map[string]string{"app": fmt.Sprint(i)})
			testkit.SpreadOver(spread, key, 1, spread.Labels)
			c.Pending(spread, 1)
		}
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		r := Plan(w, s, p, gate.New(s, p))
		if err := schedsim.Referee(w); err != nil || r.Nodes != 3 {
			t.Errorf("%s: %d nodes are bought, not 3; %v", key, r.Nodes, err)
		}
		w.Close()
	}
}

// drawCoupled are types that compete, and pods that depend on pods in zones and on other hosts, too.
func drawCoupled(t *rapid.T) (*testkit.Cluster, model.Policy) {
	c, p := drawTypes(t)
	p.ScaleUp.BalanceSimilar = false
	for a := range rapid.IntRange(1, 8).Draw(t, "coupled apps") {
		xy := rapid.SampledFrom([]string{"x", "y"})
		labels := map[string]string{"app": fmt.Sprint("coupled", a), "like": xy.Draw(t, "like")}
		pod := testkit.Pod("default", fmt.Sprintf("coupled%d", a),
			fmt.Sprintf("%dm", rapid.IntRange(1, 12).Draw(t, "request")*100),
			fmt.Sprintf("%dMi", rapid.IntRange(1, 16).Draw(t, "memory request")*128), labels)
		about := map[string]string{"like": xy.Draw(t, "about")}
		couplings := []string{"zones", "hosts", "both", "together", "own zones", "own hosts"}
		switch rapid.SampledFrom(couplings).Draw(t, "coupling") {
		case "zones":
			testkit.SpreadOver(pod, corev1.LabelTopologyZone, 1, about)
		case "hosts":
			testkit.SpreadOver(pod, corev1.LabelHostname, 1, about)
		case "both":
			testkit.SpreadOver(pod, corev1.LabelTopologyZone, 1, about)
			testkit.SpreadOver(pod, corev1.LabelHostname, 2, about)
		case "together":
			testkit.Together(pod, corev1.LabelTopologyZone, map[string]string{"like": labels["like"]})
		case "own zones":
			testkit.SpreadOver(pod, corev1.LabelTopologyZone, 1, map[string]string{"app": labels["app"]})
		case "own hosts":
			testkit.SpreadOver(pod, corev1.LabelHostname, 1, map[string]string{"app": labels["app"]})
		}
		c.Pending(pod, rapid.IntRange(1, 12).Draw(t, "pending"))
	}
	return c, p
}

// TestPackingWholeOnlyHelps: a plan that is packed again serves as many pods of each class for less, or is what it was
// to the last pod; and the referee can carry it out.
func TestPackingWholeOnlyHelps(t *testing.T) {
	better := 0
	rapid.Check(t, func(t *rapid.T) {
		c, p := drawCoupled(t)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		defer w.Close()
		pl := newPlanner(w, s, p, gate.New(s, p))
		pl.plan(p, nil, nil)
		if !pl.settle(true) {
			return
		}
		was, before := pl.stage(pl.list), w.Since(pl.begin.mark)
		pl.packWhole()
		if err := schedsim.Referee(w); err != nil {
			t.Fatal(err)
		}
		served := make([]model.Batch, 0, len(pl.list))
		for i, q := range pl.list {
			if q.left > was.bulk[i].left || len(q.Pods) != q.existing+q.upcoming+q.planned+q.left {
				t.Fatalf("class %d: %+v, %+v before", q.Class, q, was.bulk[i])
			}
			served = append(served, model.Batch{Class: q.Class, Count: len(q.Pods) - was.bulk[i].left})
		}
		after := w.Since(pl.begin.mark)
		if reflect.DeepEqual(before, after) {
			return
		}
		better++
		price, _ := pl.rating(served, pl.begin, pl.begin.limits.most)
		if pl.aim(nil) == nil && dearer(pl.grown, was.grown) {
			t.Fatalf("%+v were bought, %+v before", pl.grown, was.grown)
		}
		now, _ := pl.cost(pl.begin, price)
		pl.grown = was.grown
		if cost, ok := pl.cost(pl.begin, price); !ok || now >= cost {
			t.Fatalf("it costs %d, %d before", now, cost)
		}
	})
	if better == 0 {
		t.Error("packing has never helped")
	}
}

// TestPackingWholeKeepsAPoolsMinimum: a node that was bought for pods may be the one that its pool's minimum wants. The
// packing that has no use for it is not cheaper.
func TestPackingWholeKeepsAPoolsMinimum(t *testing.T) {
	c, p := testkit.New(), testkit.Policy()
	p.ScaleUp.BalanceSimilar, p.ScaleUp.Expanders = false, []model.Expander{model.ByLeastWaste}
	zone := map[string]string{corev1.LabelTopologyZone: "a"}
	c.Pools = []provider.Pool{{ID: "pool", Min: 1, Max: 1}}
	c.Group("g3", 0, 3, testkit.Node("", "4", "16Gi", zone))
	c.Group("g4", 0, 1, testkit.Node("", "2", "16Gi", zone)).Pool = "pool"
	c.AddNode(testkit.Node("n0", "4", "16Gi", zone), "g3")
	spread := testkit.Pod("default", "app", "1500m", "1Gi", map[string]string{"app": "app"})
	testkit.SpreadOver(spread, corev1.LabelHostname, 1, spread.Labels)
	spread.Spec.TopologySpreadConstraints[0].MinDomains = new(int32)
	*spread.Spec.TopologySpreadConstraints[0].MinDomains = 2
	c.Bound(spread.DeepCopy(), 1, "n0")
	c.Pending(spread, 5)
	s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
	w := schedsim.Load(nil, s)
	defer w.Close()
	r := Plan(w, s, p, gate.New(s, p))
	if i := slices.IndexFunc(r.Grow, func(g model.Growth) bool { return g.Group == "g4" }); i < 0 {
		t.Errorf("the pool has none of at least 1 node: %s", model.Plan{Grow: r.Grow, Pending: r.Pending}.Text(s))
	}
}
