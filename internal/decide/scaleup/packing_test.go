package scaleup

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// drawTypes makes a world in which types of nodes compete: groups of many sizes with prices, limits of every
// kind, and pods that pack badly into any one of them, some of which share no node.
func drawTypes(t *rapid.T) (*testkit.Cluster, model.Policy) {
	c, p := testkit.New(), testkit.Policy()
	for g := range rapid.IntRange(1, 6).Draw(t, "groups") {
		cpu := rapid.SampledFrom([]string{"2", "4", "6", "8"}).Draw(t, "cpu")
		memory := rapid.SampledFrom([]string{"4Gi", "8Gi", "16Gi", "32Gi"}).Draw(t, "memory")
		zone := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "zone")
		limit := rapid.SampledFrom([]int{0, 3, 100, 100}).Draw(t, "max")
		own := c.Group(fmt.Sprintf("g%d", g), 0, limit, testkit.Node("", cpu, memory, map[string]string{
			corev1.LabelTopologyZone: zone}))
		if price := rapid.IntRange(0, 20).Draw(t, "price"); price > 0 {
			hourly := float64(price) / 10
			own.PricePerHour = &hourly
		}
	}
	for a := range rapid.IntRange(1, 6).Draw(t, "apps") {
		labels := map[string]string{"app": fmt.Sprint(a), "like": rapid.SampledFrom([]string{"x", "y"}).Draw(t, "like")}
		pod := testkit.Pod("default", fmt.Sprintf("app%d", a),
			fmt.Sprintf("%dm", rapid.IntRange(1, 30).Draw(t, "request")*100),
			fmt.Sprintf("%dMi", rapid.IntRange(1, 40).Draw(t, "memory request")*128), labels)
		pod.Spec.Priority = new(int32(rapid.IntRange(0, 1).Draw(t, "priority")))
		web := []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
		switch rapid.SampledFrom([]string{"free", "free", "anti", "likes", "port", "zone"}).Draw(t, "kind") {
		case "anti":
			testkit.Apart(pod, corev1.LabelHostname, map[string]string{"app": labels["app"]})
		case "likes":
			testkit.Apart(pod, corev1.LabelHostname, map[string]string{"like": labels["like"]})
		case "port":
			pod.Spec.Containers[0].Ports = web
		case "zone":
			pod.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
		}
		c.Pending(pod, rapid.IntRange(0, 80).Draw(t, "pending"))
	}
	if rapid.Bool().Draw(t, "daemonset") {
		agent := testkit.Pod("default", "agent", "300m", "128Mi", map[string]string{"app": "agent"})
		agent.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, Protocol: corev1.ProtocolTCP}}
		c.DaemonSet("agent", agent)
	}
	p.ScaleUp.MaxNodesTotal = rapid.SampledFrom([]int{0, 0, 0, 10}).Draw(t, "max nodes")
	p.ScaleUp.MaxCoresTotal = rapid.SampledFrom([]int64{0, 0, 0, 40}).Draw(t, "max cores")
	p.ScaleUp.BalanceSimilar = rapid.Bool().Draw(t, "balance")
	p.ScaleUp.Expanders = []model.Expander{
		model.Expander(rapid.IntRange(0, model.ExpanderCount-1).Draw(t, "expander")),
		model.Expander(rapid.IntRange(0, model.ExpanderCount-1).Draw(t, "second expander")),
	}
	return c, p
}

// TestPackingOnlyHelps: a plan that packs several groups together serves as many pods of each class as one
// group after the other would, for no more of what the expander wants little of; and the referee can carry it out.
func TestPackingOnlyHelps(t *testing.T) {
	better := 0
	rapid.Check(t, func(t *rapid.T) {
		c, p := drawTypes(t)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		defer w.Close()
		pl := newPlanner(w, s, p, gate.New(s, p))
		pl.candidates()
		list := pl.waiting(p.Rules)
		pl.limits = newLimits(s, pl.p, pl.gate)
		pl.opening = pl.limits.clone()
		begin := pl.stage(list)
		pl.w.Allow(pl.stepsLeft())
		pl.growByGroups(list)
		alone := pl.stage(list)
		pl.back(begin, list)
		pl.growInBulk(list)
		more := false
		for i, q := range list {
			more = more || q.left < alone.bulk[i].left
			if q.left > alone.bulk[i].left {
				t.Fatalf("class %d: %d pods are left, %d without packing", q.Class, q.left, alone.bulk[i].left)
			}
		}
		if err := schedsim.Referee(w); err != nil {
			t.Fatal(err)
		}
		var pods []model.Batch
		for i, q := range list {
			pods = append(pods, model.Batch{Class: q.Class, Count: begin.bulk[i].left - q.left})
		}
		packed := pl.grown
		pl.grown = alone.grown
		price, most := pl.rating(pods, begin, begin.limits.most)
		pl.grown = packed
		if pl.aim(nil) == nil && dearer(packed, alone.grown) {
			t.Fatalf("%+v were bought, without packing %+v", packed, alone.grown)
		}
		if more {
			return
		}
		asked := pl.purchase(lotsOf(slices.DeleteFunc(slices.Clone(pods), pl.byName)), pl.heads, price, most)
		orders := pl.orders(asked, list, begin, 0)
		after, ok := pl.cost(begin, price)
		afterAll := after + pl.unbound(asked, begin, orders)
		pl.grown = alone.grown
		before, known := pl.cost(begin, price)
		if known && (!ok || after > before) {
			t.Fatalf("it costs %d, without packing %d", after, before)
		}
		if beforeAll := before + pl.unbound(asked, begin, orders); known && afterAll > beforeAll {
			t.Fatalf("it costs %d as the scheduler binds the pods, without packing %d", afterAll, beforeAll)
		}
		if after < before {
			better++
		}
	})
	if better == 0 {
		t.Error("packing has never helped")
	}
}

// dearer reports whether a plan has more nodes of some group than another one.
func dearer(plan, than []growth) bool {
	for i := range plan {
		if plan[i].nodes > than[i].nodes {
			return true
		}
	}
	return false
}

// TestBoundsHold: no plan has fewer nodes than its bound, or costs less.
func TestBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, p := drawTypes(t)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		defer w.Close()
		r := Plan(w, s, p, gate.New(s, p))
		if r.LowerBound > r.Nodes || r.PriceBound > r.Price+1e-9 || (r.LowerBound == 0) != (r.Nodes == 0) {
			t.Fatalf("%d nodes, at least %d; they cost %v, at least %v", r.Nodes, r.LowerBound, r.Price, r.PriceBound)
		}
	})
}

// TestBalanceTakesSharedLimitsOnce: of nodes that similar groups share, there are as many as a limit of the cluster
// allows for all groups together, and nothing has been taken afterwards.
func TestBalanceTakesSharedLimitsOnce(t *testing.T) {
	c := testkit.New()
	for _, group := range []string{"g", "h"} {
		c.Group(group, 0, 9, testkit.Node("", "4", "16Gi", nil))
	}
	policy := testkit.Policy()
	policy.ScaleUp.MaxCoresTotal = 15
	s := snapshot.New(nil, c.Observation(), model.Standing{}, policy.Rules)
	w := schedsim.Load(nil, s)
	defer w.Close()
	pl := newPlanner(w, s, policy, gate.New(s, policy))
	pl.candidates()
	pl.limits = newLimits(pl.s, pl.p, pl.gate)
	got, left := pl.balance(pl.heads, 6), []int{pl.limits.most(0), pl.limits.most(1)}
	if !slices.Equal(got, []int{2, 1}) || !slices.Equal(left, []int{3, 3}) {
		t.Errorf("shares are %v, and of each group %v nodes may be bought then, want 2 and 1 of 3", got, left)
	}
}
