package testkit

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// World is a random cluster, kept as a list of steps so that it can be built
// in any order.
type World struct {
	groups  []func(*Cluster)
	nodes   []func(*Cluster)
	pending []func(*Cluster)
	other   []func(*Cluster)
	Policy  model.Policy
	// Pods are those of the apps, and of the DaemonSet last if there is one. What is changed on them is so in all
	// clusters that are built later.
	Pods []*corev1.Pod
}

// Build makes the cluster, each kind of thing in the given order.
func (w World) Build(order func(n int) []int) *Cluster {
	c := New()
	for _, steps := range [][]func(*Cluster){w.groups, w.nodes, w.pending, w.other} {
		for _, i := range order(len(steps)) {
			steps[i](c)
		}
	}
	return c
}

// InOrder is an order for Build: as drawn.
func InOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// Backwards is an order for Build: the last first.
func Backwards(n int) []int {
	order := InOrder(n)
	slices.Reverse(order)
	return order
}

var zones = []string{"a", "b", "c"}

// DrawWorld makes small worlds in which collisions are likely: three zones, a
// few groups, apps that repel, attract and spread in every way.
func DrawWorld(t *rapid.T) World {
	w := World{Policy: Policy()}
	taint := corev1.Taint{Key: "dedicated", Value: "x", Effect: corev1.TaintEffectNoSchedule}
	type shape struct {
		cpu, zone string
		tainted   bool
		wide      bool // over all zones
		balanced  bool
	}
	groups := rapid.IntRange(1, 5).Draw(t, "groups")
	shapes := make([]shape, groups)
	node := func(name string, s shape) *corev1.Node {
		labels := map[string]string{corev1.LabelTopologyZone: s.zone}
		if s.zone == "" {
			labels = map[string]string{}
		}
		if s.tainted {
			return Node(name, s.cpu, "16Gi", labels, taint)
		}
		return Node(name, s.cpu, "16Gi", labels)
	}
	for g := range groups {
		shapes[g] = shape{
			cpu:     rapid.SampledFrom([]string{"2", "4"}).Draw(t, "cpu"),
			zone:    rapid.SampledFrom([]string{"a", "b", "c", "a", "b", "c", ""}).Draw(t, "zone"),
			tainted: rapid.IntRange(0, 4).Draw(t, "tainted") == 0,
			wide:    rapid.IntRange(0, 4).Draw(t, "wide") == 0,
		}
		if shapes[g].wide {
			shapes[g].zone, shapes[g].balanced = "", rapid.IntRange(0, 2).Draw(t, "balanced") > 0
		}
		limit := rapid.IntRange(0, 6).Draw(t, "max")
		pool := provider.PoolID("")
		if rapid.IntRange(0, 3).Draw(t, "pooled") == 0 {
			pool = "pool"
		}
		w.groups = append(w.groups, func(c *Cluster) {
			own := c.Group(fmt.Sprintf("g%d", g), 0, limit, node("", shapes[g]))
			own.Pool = pool
			if shapes[g].wide {
				own.Template.Balanced = shapes[g].balanced
				for _, zone := range zones {
					own.Template.Places = append(own.Template.Places, provider.Place{
						Zone: zone, Labels: map[string]string{corev1.LabelTopologyZone: zone},
					})
				}
			}
		})
	}
	shared := provider.Pool{
		ID: "pool", Max: rapid.IntRange(1, 5).Draw(t, "pool max"), Min: rapid.IntRange(0, 3).Draw(t, "pool min"),
		Sizing: rapid.SampledFrom([]string{"", "Equitable", "Lax-Greedy", "Backward-Compatible"}).Draw(t, "sizing"),
	}
	shared.Min = min(shared.Min, shared.Max)
	w.other = append(w.other, func(c *Cluster) { c.Pools = []provider.Pool{shared} })
	apps := rapid.IntRange(1, 5).Draw(t, "apps")
	pods := make([]*corev1.Pod, apps)
	for a := range apps {
		pods[a] = drawPod(t, a)
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "nodes") {
		g := rapid.IntRange(0, groups-1).Draw(t, "group of node")
		a := rapid.IntRange(0, apps-1).Draw(t, "app on node")
		count := rapid.IntRange(0, 2).Draw(t, "pods on node")
		is := shapes[g]
		if is.wide {
			is.zone = rapid.SampledFrom(zones).Draw(t, "zone of node")
		}
		w.nodes = append(w.nodes, func(c *Cluster) {
			name := fmt.Sprintf("n%d", n)
			c.AddNode(node(name, is), fmt.Sprintf("g%d", g))
			c.Bound(pods[a].DeepCopy(), count, name)
		})
	}
	for a := range apps {
		count := rapid.IntRange(0, 12).Draw(t, "pending")
		w.pending = append(w.pending, func(c *Cluster) { c.Pending(pods[a].DeepCopy(), count) })
	}
	if w.Pods = pods; rapid.Bool().Draw(t, "daemonset") {
		w.drawDaemons()
	}
	w.Policy.ScaleUp.MaxNodesTotal = rapid.SampledFrom([]int{0, 0, 3, 6, 10}).Draw(t, "max nodes")
	w.Policy.ScaleUp.MaxCoresTotal = rapid.SampledFrom([]int64{0, 0, 9, 20}).Draw(t, "max cores")
	w.Policy.ScaleUp.BalanceSimilar = rapid.Bool().Draw(t, "balance")
	w.Policy.ScaleUp.Expanders = []model.Expander{rapid.SampledFrom(DrawnExpanders).Draw(t, "expander")}
	w.drawVolumes(t, pods)
	return w
}

func (w *World) drawDaemons() {
	agent := Pod("default", "agent", "300m", "128Mi", map[string]string{"app": "agent"})
	w.other = append(w.other, func(c *Cluster) { c.DaemonSet("agent", agent.DeepCopy()) })
	w.Pods = append(w.Pods, agent)
}

// drawVolumes gives some of the pods a volume in a zone.
func (w *World) drawVolumes(t *rapid.T, pods []*corev1.Pod) {
	for _, p := range pods {
		if rapid.IntRange(0, 4).Draw(t, "volume") > 0 {
			continue
		}
		zone := rapid.SampledFrom(zones).Draw(t, "zone of volume")
		mode := rapid.SampledFrom([]corev1.PersistentVolumeAccessMode{
			corev1.ReadWriteOnce, corev1.ReadWriteMany, corev1.ReadWriteOncePod,
		}).Draw(t, "mode of volume")
		w.other = append(w.other, func(c *Cluster) { c.ClaimIn(p.DeepCopy(), p.Name, zone, mode) })
		New().ClaimIn(p, p.Name, zone, mode) // the pods name it
	}
}

// DrawnExpanders are those of random worlds: all that need no prices and no priorities. A new one
// comes last, or else the worlds of the fixed seeds change.
var DrawnExpanders = []model.Expander{model.ByLeastWaste, model.ByMostPods, model.ByLeastNodes, model.AtRandom}

func drawPod(t *rapid.T, a int) *corev1.Pod {
	own := map[string]string{"app": fmt.Sprintf("app%d", a)}
	p := Pod("default", own["app"],
		rapid.SampledFrom([]string{"300m", "500m", "1", "1500m"}).Draw(t, "request"), "1Gi", own)
	p.Spec.Priority = new(int32)
	*p.Spec.Priority = int32(rapid.IntRange(0, 1).Draw(t, "priority"))
	// The app that a term selects: itself, or another.
	about := &metav1.LabelSelector{MatchLabels: map[string]string{
		"app": fmt.Sprintf("app%d", rapid.SampledFrom([]int{a, a, (a + 1) % 5}).Draw(t, "about")),
	}}
	key := rapid.SampledFrom([]string{corev1.LabelTopologyZone, corev1.LabelHostname}).Draw(t, "key")
	if rapid.IntRange(0, 3).Draw(t, "tolerates") == 0 {
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	terms := []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: about}}
	switch rapid.SampledFrom([]string{"free", "spread", "spread", "anti", "affinity", "port", "zone", "both", "seek"}).
		Draw(t, "kind") {
	case "spread":
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: int32(rapid.IntRange(1, 2).Draw(t, "skew")), TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: about,
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
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		}
	case "affinity":
		p.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms},
		}
	case "port":
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	case "zone":
		p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: rapid.SampledFrom(zones).Draw(t, "zone selector")}
	case "seek":
		SpreadOver(p, corev1.LabelTopologyZone, 1, own)
		Together(p, corev1.LabelTopologyZone, about.MatchLabels)
	case "both":
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: about,
		}}
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: about,
			}},
		}}
	}
	return p
}
