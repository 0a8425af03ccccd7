package scaleup_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// world is a random cluster, kept as a list of steps so that it can be built
// in any order.
type world struct {
	groups  []func(*testkit.Cluster)
	nodes   []func(*testkit.Cluster)
	pending []func(*testkit.Cluster)
	other   []func(*testkit.Cluster)
	policy  model.Policy
}

func (w world) build(order func(n int) []int) *testkit.Cluster {
	c := testkit.New()
	for _, steps := range [][]func(*testkit.Cluster){w.groups, w.nodes, w.pending, w.other} {
		for _, i := range order(len(steps)) {
			steps[i](c)
		}
	}
	return c
}

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

func backwards(n int) []int {
	order := inOrder(n)
	slices.Reverse(order)
	return order
}

var zones = []string{"a", "b", "c"}

// drawWorld makes small worlds in which collisions are likely: three zones, a
// few groups, apps that repel, attract and spread in every way.
func drawWorld(t *rapid.T) world {
	w := world{policy: testkit.Policy()}
	taint := corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	type shape struct {
		cpu, zone string
		tainted   bool
	}
	groups := rapid.IntRange(1, 5).Draw(t, "groups")
	shapes := make([]shape, groups)
	node := func(name string, s shape) *corev1.Node {
		labels := map[string]string{corev1.LabelTopologyZone: s.zone}
		if s.zone == "" {
			labels = map[string]string{}
		}
		if s.tainted {
			return testkit.Node(name, s.cpu, "16Gi", labels, taint)
		}
		return testkit.Node(name, s.cpu, "16Gi", labels)
	}
	for g := range groups {
		shapes[g] = shape{
			cpu:     rapid.SampledFrom([]string{"2", "4"}).Draw(t, "cpu"),
			zone:    rapid.SampledFrom([]string{"a", "b", "c", "a", "b", "c", ""}).Draw(t, "zone"),
			tainted: rapid.IntRange(0, 4).Draw(t, "tainted") == 0,
		}
		limit := rapid.IntRange(0, 6).Draw(t, "max")
		pool := provider.PoolID("")
		if rapid.IntRange(0, 3).Draw(t, "pooled") == 0 {
			pool = "pool"
		}
		w.groups = append(w.groups, func(c *testkit.Cluster) {
			c.Group(fmt.Sprintf("g%d", g), 0, limit, node("", shapes[g])).Pool = pool
		})
	}
	poolMax := rapid.IntRange(1, 5).Draw(t, "pool max")
	w.other = append(w.other, func(c *testkit.Cluster) { c.Pools = []provider.Pool{{ID: "pool", Max: poolMax}} })
	apps := rapid.IntRange(1, 5).Draw(t, "apps")
	pods := make([]*corev1.Pod, apps)
	for a := range apps {
		pods[a] = drawPod(t, a)
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "nodes") {
		g := rapid.IntRange(0, groups-1).Draw(t, "group of node")
		a := rapid.IntRange(0, apps-1).Draw(t, "app on node")
		count := rapid.IntRange(0, 2).Draw(t, "pods on node")
		w.nodes = append(w.nodes, func(c *testkit.Cluster) {
			name := fmt.Sprintf("n%d", n)
			c.AddNode(node(name, shapes[g]), fmt.Sprintf("g%d", g))
			c.Bound(pods[a].DeepCopy(), count, name)
		})
	}
	for a := range apps {
		count := rapid.IntRange(0, 12).Draw(t, "pending")
		w.pending = append(w.pending, func(c *testkit.Cluster) { c.Pending(pods[a].DeepCopy(), count) })
	}
	if rapid.Bool().Draw(t, "daemonset") {
		w.other = append(w.other, func(c *testkit.Cluster) {
			c.DaemonSet("agent", testkit.Pod("default", "agent", "300m", "128Mi", map[string]string{"app": "agent"}))
		})
	}
	w.policy.ScaleUp.MaxNodesTotal = rapid.SampledFrom([]int{0, 0, 3, 6, 10}).Draw(t, "max nodes")
	w.policy.ScaleUp.MaxCoresTotal = rapid.SampledFrom([]int64{0, 0, 9, 20}).Draw(t, "max cores")
	w.policy.ScaleUp.BalanceSimilar = rapid.Bool().Draw(t, "balance")
	w.policy.ScaleUp.Expanders = []string{rapid.SampledFrom([]string{"least-waste", "most-pods", "least-nodes", "random"}).Draw(t, "expander")}
	return w
}

func drawPod(t *rapid.T, a int) *corev1.Pod {
	own := map[string]string{"app": fmt.Sprintf("app%d", a)}
	p := testkit.Pod("default", own["app"], rapid.SampledFrom([]string{"300m", "500m", "1", "1500m"}).Draw(t, "request"), "1Gi", own)
	p.Spec.Priority = new(int32)
	*p.Spec.Priority = int32(rapid.IntRange(0, 1).Draw(t, "priority"))
	// Whom a term is about: the app itself, or another.
	about := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("app%d", rapid.SampledFrom([]int{a, a, (a + 1) % 5}).Draw(t, "about"))}}
	key := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "key")
	if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	terms := []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: about}}
	switch rapid.SampledFrom([]string{"free", "spread", "spread", "anti", "affinity", "port", "zone", "both"}).Draw(t, "kind") {
	case "spread":
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: int32(rapid.IntRange(1, 2).Draw(t, "skew")), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: about,
		}}
		if rapid.IntRange(0, 4).Draw(t, "min domains") == 0 {
			p.Spec.TopologySpreadConstraints[0].MinDomains = new(int32)
			*p.Spec.TopologySpreadConstraints[0].MinDomains = 2
		}
		if rapid.IntRange(0, 3).Draw(t, "honor taints") == 0 {
			honor := corev1.NodeInclusionPolicyHonor
			p.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &honor
		}
	case "anti":
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case "affinity":
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}}
	case "port":
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	case "zone":
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: rapid.SampledFrom(zones).Draw(t, "zone selector")}
	case "both":
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: about,
		}}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: about}}}}
	}
	return p
}

func planOf(c *testkit.Cluster, p model.Policy) (*model.Snapshot, *schedsim.World, scaleup.Result) {
	s := model.NewSnapshot(nil, c.Observation(), model.Standing{}, p.Rules)
	w := schedsim.Load(nil, s)
	return s, w, scaleup.Plan(w, s, p)
}

func text(s *model.Snapshot, r scaleup.Result) string {
	return model.Plan{Grow: r.Grow, Pending: r.Pending}.Text(s)
}

// TestPlanIsFeasible: the referee, who knows none of the shortcuts, can carry
// out every placement behind a plan.
func TestPlanIsFeasible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawWorld(t)
		s, w, r := planOf(drawn.build(inOrder), drawn.policy)
		defer w.Close()
		if err := schedsim.Referee(w); err != nil {
			t.Fatalf("%v\n%s", err, text(s, r))
		}
	})
}

// TestPlanKeepsLimits: no group, pool or cluster limit is exceeded by the plan
// as a whole, whatever it was before.
func TestPlanKeepsLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawWorld(t)
		s, w, r := planOf(drawn.build(inOrder), drawn.policy)
		defer w.Close()
		target := map[provider.GroupID]int{}
		for _, g := range s.Groups {
			target[g.ID] = g.Expected
		}
		nodes, milli := len(s.Nodes), int64(0)
		for i := range s.Nodes {
			milli += s.Contents.Shapes[s.Nodes[i].Shape].Capacity.MilliCPU
		}
		for _, g := range r.Grow {
			if g.From != target[g.Group] || g.To <= g.From {
				t.Fatalf("growth %+v from a target of %d", g, target[g.Group])
			}
			i := slices.IndexFunc(s.Groups, func(x model.Group) bool { return x.ID == g.Group })
			if g.To > s.Groups[i].Max {
				t.Fatalf("%s grows to %d above %d", g.Group, g.To, s.Groups[i].Max)
			}
			target[g.Group] = g.To
			nodes += g.To - g.From
			milli += int64(g.To-g.From) * s.Contents.Shapes[s.Groups[i].Shape].Capacity.MilliCPU
		}
		pool := 0
		grew := false
		for _, g := range s.Groups {
			if g.Pool == "pool" {
				pool += target[g.ID]
				grew = grew || target[g.ID] > g.Expected
			}
		}
		if grew && pool > s.Pools[0].Max {
			t.Fatalf("the pool grows to %d above %d", pool, s.Pools[0].Max)
		}
		p := drawn.policy.ScaleUp
		if len(r.Grow) > 0 && p.MaxNodesTotal > 0 && nodes > p.MaxNodesTotal {
			t.Fatalf("%d nodes above %d", nodes, p.MaxNodesTotal)
		}
		if len(r.Grow) > 0 && p.MaxCoresTotal > 0 && milli > p.MaxCoresTotal*1000 {
			t.Fatalf("%d thousandths of a core above %d cores", milli, p.MaxCoresTotal)
		}
	})
}

// TestPlanIsComplete: no pod that is left fits any node, and no single further
// growth that the limits allow would take one more.
func TestPlanIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawWorld(t)
		s, w, r := planOf(drawn.build(inOrder), drawn.policy)
		defer w.Close()
		for _, v := range r.Pending {
			if v.Left == 0 {
				continue
			}
			if schedsim.CanTake(w, v.Class, schedsim.OnReady|schedsim.OnComing|schedsim.OnPlanned, nil) {
				t.Fatalf("a pod of class %d still fits a node\n%s", v.Class, text(s, r))
			}
			for _, g := range v.Groups {
				if g.Reason == model.NotChosen || g.Reason == model.StepBudget {
					t.Fatalf("class %d has pods left and %s says %s\n%s", v.Class, g.Group, g.Reason, text(s, r))
				}
				if g.Reason == model.SpreadPostponed {
					continue // the next cycle's, and the verdict says so
				}
				if limited(g.Reason) {
					continue
				}
				i := slices.IndexFunc(s.Groups, func(x model.Group) bool { return x.ID == g.Group })
				if tmpl, ok := w.GroupTemplate(i); ok && schedsim.CanTake(w, v.Class, 0, &tmpl) {
					t.Fatalf("one more node of %s would take a pod of class %d, and the verdict is %s\n%s", g.Group, v.Class, g.Reason, text(s, r))
				}
			}
		}
	})
}

func limited(r model.Reason) bool {
	switch r {
	case model.GroupAtMax, model.PoolAtMax, model.MaxNodesTotal, model.CoresTotal, model.MemoryTotal:
		return true
	}
	return false
}

// TestPlanDoesNotDependOnOrder: the same cluster, built backwards, has the same
// plan.
func TestPlanDoesNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := drawWorld(t)
		s1, w1, r1 := planOf(drawn.build(inOrder), drawn.policy)
		defer w1.Close()
		s2, w2, r2 := planOf(drawn.build(backwards), drawn.policy)
		defer w2.Close()
		if a, b := text(s1, r1), text(s2, r2); a != b {
			t.Fatalf("two plans:\n%s\n%s", a, b)
		}
	})
}

// TestWarmIsCold: a world that reuses another's memory gives the same plan.
func TestWarmIsCold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, second := drawWorld(t), drawWorld(t)
		s0, w0, _ := planOf(first.build(inOrder), first.policy)
		seen := second.build(inOrder).Observation()
		s1 := model.NewSnapshot(nil, seen, model.Standing{}, second.policy.Rules)
		w1 := schedsim.Load(w0, s1)
		defer w1.Close()
		warm := text(s1, scaleup.Plan(w1, s1, second.policy))
		_ = s0
		s2, w2, r2 := planOf(second.build(inOrder), second.policy)
		defer w2.Close()
		if cold := text(s2, r2); warm != cold {
			t.Fatalf("warm:\n%s\ncold:\n%s", warm, cold)
		}
	})
}
