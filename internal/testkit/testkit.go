// Package testkit builds clusters for tests: in Go (Cluster), or from the
// lines of a scenario file (Scenario).
//
// What flows in: a few words about groups, nodes and pods. What flows out: a
// model.Observation, just as observe would have made it.
//
// Who may import it: tests, benchmarks, and sim.
package testkit

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Start is the instant at which every test's world begins.
var Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Cluster collects what an Observation shows.
type Cluster struct {
	Now        time.Time
	Seed       uint64
	Catalog    *catalog.Catalog
	Groups     []provider.Group
	Pools      []provider.Pool
	Namespaces map[string]map[string]string
	Budgets    []model.Budget
	Volumes    model.Volumes
	Priorities string
	// Prices are the operator's.
	Prices *model.Prices

	nodes   []*corev1.Node
	bound   map[string][]model.Pod
	unbound []model.Pod
	daemons []model.DaemonSet
	serial  map[string]int // by name: pods get the same numbers in any order of apps
	likes   map[kindOfPod]*corev1.Pod
	agents  []*appsv1.DaemonSet
}

// New makes an empty cluster.
func New() *Cluster {
	return &Cluster{
		Now: Start, Seed: 1, Catalog: catalog.New(),
		Namespaces: map[string]map[string]string{"default": {corev1.LabelMetadataName: "default"}},
		bound:      map[string][]model.Pod{},
		serial:     map[string]int{},
		likes:      map[kindOfPod]*corev1.Pod{},
	}
}

// Node describes a node or a group's template.
func Node(name, cpu, memory string, labels map[string]string, taints ...corev1.Taint) *corev1.Node {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	own := map[string]string{}
	for k, v := range labels {
		own[k] = v
	}
	if name != "" {
		own[corev1.LabelHostname] = name
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: own, CreationTimestamp: metav1.NewTime(Start.Add(-time.Hour))},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status: corev1.NodeStatus{
			Capacity: amounts, Allocatable: amounts,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// Group adds a group of the template.
func (c *Cluster) Group(id string, least, most int, template *corev1.Node) *provider.Group {
	c.Groups = append(c.Groups, provider.Group{
		ID: provider.GroupID(id), Min: least, Max: most,
		Template: &provider.Template{Version: "1", Node: template},
	})
	return &c.Groups[len(c.Groups)-1]
}

// Nodes are all nodes, and the templates of the groups.
func (c *Cluster) Nodes() []*corev1.Node {
	out := slices.Clone(c.nodes)
	for i := range c.Groups {
		out = append(out, c.Groups[i].Template.Node)
	}
	return out
}

// LabelHalf puts a label on every other pod that waits.
func (c *Cluster) LabelHalf(key, value string) {
	for i := range c.unbound {
		p := &c.unbound[i]
		if like := c.likes[kindOfPod{p.Content, p.Facts}]; i%2 == 0 {
			like = like.DeepCopy()
			like.Labels[key] = value
			p.Content = c.Catalog.Pod(like)
		}
	}
}

// AddNode adds a node; with a group, also the group's instance for it.
func (c *Cluster) AddNode(n *corev1.Node, group string) {
	c.nodes = append(c.nodes, n)
	if group == "" {
		return
	}
	i := slices.IndexFunc(c.Groups, func(g provider.Group) bool { return g.ID == provider.GroupID(group) })
	if i < 0 {
		panic(fmt.Sprintf("testkit: node %s: no group %q", n.Name, group))
	}
	n.Spec.ProviderID = "test:" + n.Name
	c.Groups[i].Target++
	c.Groups[i].Instances = append(c.Groups[i].Instances, provider.Instance{
		ID: provider.InstanceID(n.Name), ProviderID: n.Spec.ProviderID, NodeName: n.Name,
		State: provider.Running, Created: n.CreationTimestamp.Time, Zone: n.Labels[corev1.LabelTopologyZone],
	})
}

// Pod describes a pod of a ReplicaSet by the same name.
func Pod(namespace, name, cpu, memory string, labels map[string]string) *corev1.Pod {
	requests := corev1.ResourceList{}
	if cpu != "" {
		requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	}
	if memory != "" {
		requests[corev1.ResourceMemory] = resource.MustParse(memory)
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(Start),
			OwnerReferences: controlledBy("apps/v1", "ReplicaSet", name, owner(namespace, name)),
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName,
			Containers:    []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: requests}}},
		},
	}
}

// owner is the UID of the default controller of pods.
func owner(namespace, name string) types.UID { return types.UID("owner-" + namespace + "/" + name) }

// controlledBy are the owner references of a pod that a controller made.
func controlledBy(apiVersion, kind, name string, uid types.UID) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid, Controller: &yes}}
}

// Pending adds count pods like this one that the scheduler has refused.
func (c *Cluster) Pending(like *corev1.Pod, count int) {
	c.add(like, count, model.Refused, "")
}

// Bound adds count pods like this one that run on a node.
func (c *Cluster) Bound(like *corev1.Pod, count int, node string) {
	c.add(like, count, 0, node)
}

// BoundAs is Bound with flags; a given owner replaces their controller.
func (c *Cluster) BoundAs(like *corev1.Pod, count int, node string, flags model.Flags, owner types.UID) {
	at := len(c.bound[node])
	c.add(like, count, flags, node)
	if owner == "" {
		return
	}
	for i := at; i < len(c.bound[node]); i++ {
		c.bound[node][i].Owner = owner
	}
}

func (c *Cluster) add(like *corev1.Pod, count int, flags model.Flags, node string) {
	content, facts := c.Catalog.Pod(like), c.Catalog.Facts(like)
	var owner types.UID
	if controller := metav1.GetControllerOf(like); controller != nil {
		owner = controller.UID
	}
	ends := int64(0)
	if like.DeletionTimestamp != nil {
		flags |= model.Terminating
		ends = like.DeletionTimestamp.Unix()
	}
	c.likes[kindOfPod{content, facts}] = like
	for range count {
		c.serial[like.Name]++
		name := podName(like.Name, c.serial[like.Name])
		p := model.Pod{
			Name: name, UID: types.UID(name),
			Content: content, Facts: facts, Flags: flags, Owner: owner, Created: like.CreationTimestamp.Unix(), Ends: ends,
		}
		if node == "" {
			c.unbound = append(c.unbound, p)
		} else {
			c.bound[node] = append(c.bound[node], p)
		}
	}
}

// podName is the name of an app's pod by its number.
func podName(app string, n int) string { return fmt.Sprintf("%s-%06d", app, n) }

// DaemonSet adds a DaemonSet with pods like this one.
func (c *Cluster) DaemonSet(name string, like *corev1.Pod) types.UID {
	uid := daemonSet(name)
	like.Spec.Tolerations = append(like.Spec.Tolerations, corev1.Toleration{
		Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
	})
	c.agents = append(c.agents, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: like.Namespace, Name: name, UID: uid},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: like.Labels}, Spec: like.Spec,
		}},
	})
	c.daemons = append(c.daemons, model.DaemonSet{
		Namespace: like.Namespace, Name: name, UID: uid, Content: c.Catalog.Pod(like),
	})
	return uid
}

// daemonSet is the UID of a DaemonSet.
func daemonSet(name string) types.UID { return types.UID("daemonset-" + name) }

// Observation is what observe would have made of the cluster.
func (c *Cluster) Observation() model.Observation {
	o := model.Observation{
		Now: c.Now, Seed: c.Seed, Namespaces: c.Namespaces, DaemonSets: c.daemons,
		Priorities: model.ParsePriorities(c.Priorities), Prices: c.Prices, Volumes: c.Volumes,
		Inventory: provider.Inventory{Groups: c.Groups, Pools: c.Pools, AsOf: c.Now},
	}
	for i := range c.Groups {
		t := model.Template{}
		if c.Groups[i].Template != nil {
			t.Known, t.Shape = true, c.Catalog.Shape(model.PassingTaints{}.Stripped(c.Groups[i].Template.Node))
			for _, p := range c.Groups[i].Template.Pods {
				t.Pods = append(t.Pods, c.Catalog.Pod(p))
			}
		}
		o.Templates = append(o.Templates, t)
	}
	for _, n := range c.nodes {
		o.Nodes = append(o.Nodes, model.ObservedNode{Object: n, Shape: c.Catalog.Shape(n), Pods: c.bound[n.Name]})
	}
	slices.SortFunc(o.Nodes, func(a, b model.ObservedNode) int { return cmp.Compare(a.Object.Name, b.Object.Name) })
	o.Unbound = slices.Clone(c.unbound)
	slices.SortFunc(o.Unbound, func(a, b model.Pod) int { return cmp.Compare(a.Name, b.Name) })
	o.Budgets = slices.Clone(c.Budgets)
	slices.SortFunc(o.Budgets, func(a, b model.Budget) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	o.Contents = c.Catalog.Contents()
	return o
}

// Policy is a policy with the flags' defaults for deciding. No node is marked as a candidate,
// unless a test asks for it.
func Policy() model.Policy {
	return model.Policy{
		Rules: model.Rules{
			ExpendableBelow: -10, StartupTime: 15 * time.Minute, ProvisionTime: 15 * time.Minute, MaxUnready: 3,
			MaxUnreadyShare: 0.45,
			BackoffFirst:    5 * time.Minute, BackoffMost: 30 * time.Minute, BackoffReset: 3 * time.Hour,
		},
		ScaleUp: model.ScaleUpPolicy{
			Expanders: []model.Expander{model.ByLeastWaste}, ScaleFromZero: true, SpreadStepLimit: 50_000_000,
			MemoryRatio: 0.015, FreeRatio: 0.05, AllocRatio: 0.05,
		},
		ScaleDown: model.ScaleDownPolicy{
			Enabled: true, UnneededTime: 10 * time.Minute, DelayAfterAdd: 10 * time.Minute,
			DelayAfterFailure: 3 * time.Minute, MaxParallelism: 10, MaxDrains: 1, UnreadyEnabled: true,
			UnreadyTime: 20 * time.Minute,
			Threshold:   0.5, GPUThreshold: 0.5, StepLimit: 20_000_000,
			Drain: model.DrainPolicy{
				SkipSystem: true, SystemTimeout: time.Hour, SkipLocal: true, SkipCustom: true, Cordon: true, EvictDaemons: true,
				MaxGrace: 10 * time.Minute, EvictionTime: 2 * time.Minute, DelayTimeout: 2 * time.Minute,
				ReplacementTime: 2 * time.Minute,
			},
		},
		Moves: model.MovePolicy{
			Stay: time.Hour, Patience: time.Hour, InterruptionSpan: time.Hour, StepLimit: 2_000_000,
		},
		InventoryMaxAge: 2 * time.Minute, CallDeadline: time.Minute,
	}
}

// SpreadOver wants pods with these labels even over the values of a topology
// key, within skew.
func SpreadOver(p *corev1.Pod, key string, skew int32, labels map[string]string) {
	p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
		MaxSkew: skew, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
	})
}

// Apart keeps the pod out of domains of the topology key that have a pod with
// these labels.
func Apart(p *corev1.Pod, key string, labels map[string]string) {
	a := affinity(p)
	if a.PodAntiAffinity == nil {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
	}
	a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term(key, labels),
	)
}

// Together wants the pod in a domain of the topology key that has a pod with
// these labels.
func Together(p *corev1.Pod, key string, labels map[string]string) {
	a := affinity(p)
	if a.PodAffinity == nil {
		a.PodAffinity = &corev1.PodAffinity{}
	}
	a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, term(key, labels),
	)
}

func affinity(p *corev1.Pod) *corev1.Affinity {
	if p.Spec.Affinity == nil {
		p.Spec.Affinity = &corev1.Affinity{}
	}
	return p.Spec.Affinity
}

func term(key string, labels map[string]string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
}
