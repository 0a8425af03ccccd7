package testkit

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// DrawOccupied makes small worlds of nodes with pods on them, with more room than those need: pods
// of every kind of controller and with every wish about their eviction, budgets that allow much,
// little or nothing, groups at their minimum and nodes that stay for other reasons.
func DrawOccupied(t *rapid.T) World {
	w := World{Policy: Policy()}
	// 1. Groups, one of which may be in a pool.
	type shape struct{ cpu, zone string }
	shapes := make([]shape, rapid.IntRange(1, 3).Draw(t, "groups"))
	node := func(name string, s shape) *corev1.Node {
		return Node(name, s.cpu, "32Gi", map[string]string{corev1.LabelTopologyZone: s.zone})
	}
	for g := range shapes {
		shapes[g] = shape{
			cpu:  rapid.SampledFrom([]string{"4", "8"}).Draw(t, "cpu"),
			zone: rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		least := rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "min")
		pool := provider.PoolID(rapid.SampledFrom([]string{"", "", "pool"}).Draw(t, "pool"))
		w.groups = append(w.groups, func(c *Cluster) {
			c.Group(groupName(g), least, 20, node("", shapes[g])).Pool = pool
		})
	}
	poolMin := rapid.IntRange(0, 3).Draw(t, "pool min")
	sizing := rapid.SampledFrom([]string{"", "Equitable", "Lax-Greedy", "Backward-Compatible"}).Draw(t, "sizing")
	w.other = append(w.other, func(c *Cluster) {
		c.Pools = []provider.Pool{{ID: "pool", Min: poolMin, Max: 20, Sizing: sizing}}
	})
	// 2. Apps, and what their pods say of being moved.
	pods := make([]*corev1.Pod, rapid.IntRange(1, 5).Draw(t, "apps"))
	for a := range pods {
		pods[a] = drawPod(t, a)
		drawFate(t, pods[a])
		w.other = append(w.other, drawBudgets(t, pods[a])...)
	}
	w.other = append(w.other, func(c *Cluster) {
		c.Namespaces[metav1.NamespaceSystem] = map[string]string{corev1.LabelMetadataName: metav1.NamespaceSystem}
	})
	// 3. Nodes, each with a few pods of a few apps; they never exceed what it has.
	for n := range rapid.IntRange(1, 7).Draw(t, "nodes") {
		g := rapid.IntRange(0, len(shapes)-1).Draw(t, "group of node")
		quirk := rapid.SampledFrom([]string{"", "", "", "", "", "", "cordoned", "disabled", "unready"}).Draw(t, "quirk")
		name := fmt.Sprintf("n%d", n)
		var put []func(*Cluster)
		cpu := resource.MustParse(shapes[g].cpu)
		left := cpu.MilliValue()
		for range rapid.IntRange(0, 3).Draw(t, "apps on node") {
			a := rapid.IntRange(0, len(pods)-1).Draw(t, "app on node")
			one := pods[a].DeepCopy()
			request := one.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
			count := min(rapid.IntRange(1, 3).Draw(t, "pods on node"), int(left/request))
			left -= int64(count) * request
			flags := drawLife(t, one)
			// Its pods have the same names in whatever order nodes are built.
			one.Name = fmt.Sprintf("%s-%s-%d", one.Name, name, len(put))
			put = append(put, func(c *Cluster) { c.BoundAs(one, count, name, flags, "") })
		}
		w.nodes = append(w.nodes, func(c *Cluster) {
			c.AddNode(withQuirk(node(name, shapes[g]), quirk), groupName(g))
			for _, do := range put {
				do(c)
			}
		})
	}
	// 4. Pods that wait, too.
	for a := range pods {
		if count := rapid.SampledFrom([]int{0, 0, 0, 1, 3}).Draw(t, "pending"); count > 0 {
			w.pending = append(w.pending, func(c *Cluster) { c.Pending(pods[a].DeepCopy(), count) })
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "daemonset") == 3 {
		w.other = append(w.other, func(c *Cluster) {
			c.DaemonSet("agent", Pod(metav1.NamespaceDefault, "agent", "100m", "128Mi", map[string]string{"app": "agent"}))
		})
	}
	drawScaleDown(t, &w.Policy)
	return w
}

// withQuirk is a node that is not as nodes should be, or that is held.
func withQuirk(n *corev1.Node, quirk string) *corev1.Node {
	switch quirk {
	case "cordoned":
		n.Spec.Unschedulable = true
	case "disabled":
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, model.AnnotationScaleDownDisabled, "true")
	case "unready":
		n.Status.Conditions[0].Status = corev1.ConditionFalse
		n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(Start.Add(-10 * time.Minute))
	}
	return n
}

func groupName(g int) string { return fmt.Sprintf("g%d", g) }

// drawFate draws the controller of an app's pods, and their annotations on eviction. Most can be
// moved.
func drawFate(t *rapid.T, p *corev1.Pod) {
	if rapid.IntRange(0, 5).Draw(t, "system") == 5 {
		p.Namespace = metav1.NamespaceSystem
	}
	kind := rapid.SampledFrom([]string{"ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job",
		"ReplicationController", "ReplicaSet.example.com", "none"}).Draw(t, "controller")
	p.OwnerReferences = nil
	if kind != "none" {
		p.OwnerReferences = madeBy(kind, p.Namespace, p.Name)
	}
	if safe := rapid.SampledFrom([]string{"", "", "", "", "true", "false", "on-completion"}).Draw(
		t, "safe to evict",
	); safe != "" {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotationSafeToEvict, safe)
	}
	if rapid.IntRange(0, 4).Draw(t, "local") == 4 {
		p.Spec.Volumes = append(p.Spec.Volumes, scratch("scratch"))
	}
	seconds := rapid.SampledFrom([]int64{30, 0, 600, 3600}).Draw(t, "grace")
	p.Spec.TerminationGracePeriodSeconds = &seconds
}

// drawLife draws how far a few pods of one node have come.
func drawLife(t *rapid.T, p *corev1.Pod) model.Flags {
	p.CreationTimestamp = metav1.NewTime(
		Start.Add(-rapid.SampledFrom([]time.Duration{0, 10 * time.Minute, 59 * time.Minute, 2 * time.Hour}).Draw(t, "age")),
	)
	switch rapid.SampledFrom([]string{"", "", "", "", "", "", "", "ending", "overdue", "finished", "daemon"}).
		Draw(t, "life") {
	case "ending":
		p.DeletionTimestamp = &metav1.Time{Time: Start.Add(time.Minute)}
	case "overdue":
		p.DeletionTimestamp = &metav1.Time{Time: Start.Add(-time.Minute)}
	case "finished":
		return model.Finished
	case "daemon":
		p.OwnerReferences = controlledBy("apps/v1", "DaemonSet", p.Name, daemonSet(p.Name))
		return model.FromDaemonSet
	}
	return 0
}

// drawBudgets draws an app's budgets. Now and then two cover it, for which the API server refuses
// evictions.
func drawBudgets(t *rapid.T, p *corev1.Pod) []func(*Cluster) {
	var out []func(*Cluster)
	for i := range rapid.SampledFrom([]int{0, 0, 1, 1, 1, 2}).Draw(t, "budgets") {
		b := model.Budget{
			Namespace: p.Namespace, Name: fmt.Sprintf("%s-%d", p.Name, i), Selector: labels.SelectorFromSet(p.Labels),
			Allowed: rapid.SampledFrom([]int{1, 0, 2, 5}).Draw(t, "allowed"),
		}
		out = append(out, func(c *Cluster) { c.Budgets = append(c.Budgets, b) })
	}
	return out
}

// drawScaleDown draws a policy under which nodes with pods can go.
func drawScaleDown(t *rapid.T, p *model.Policy) {
	d := &p.ScaleDown
	d.Threshold = rapid.SampledFrom([]float64{0.5, 1, 0.25}).Draw(t, "threshold")
	d.IgnoreDaemons = rapid.Bool().Draw(t, "ignore daemons")
	d.UnneededTime = rapid.SampledFrom([]time.Duration{0, 10 * time.Minute}).Draw(t, "unneeded time")
	d.MaxParallelism = rapid.SampledFrom([]int{10, 2}).Draw(t, "parallelism")
	d.MaxDrains = rapid.SampledFrom([]int{1, 5}).Draw(t, "drains")
	d.MinCoresTotal = rapid.SampledFrom([]int64{0, 0, 8}).Draw(t, "min cores")
	d.StepLimit = rapid.SampledFrom([]int{d.StepLimit, 50}).Draw(t, "steps")
	d.Drain.SkipSystem = rapid.IntRange(0, 3).Draw(t, "move system pods") != 3
	d.Drain.SkipLocal = rapid.IntRange(0, 3).Draw(t, "move local storage") != 3
	d.Drain.SkipCustom = rapid.IntRange(0, 3).Draw(t, "move custom pods") != 3
	d.Drain.MinReplicas = rapid.SampledFrom([]int{0, 0, 2}).Draw(t, "min replicas")
	p.ScaleUp.MaxNodesTotal = rapid.SampledFrom([]int{0, 0, 8}).Draw(t, "max nodes")
}
