package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// world is a cluster in which every call succeeds at once. It fills the loop's ports.
//
// Machines come within a turn and are ready, as their group's template says, in the zone where the group has
// the fewest. Pods go to the nodes that are bought for them, else to the first node by name that they fit. Evicted
// pods are made again by their controller. Nothing else happens: no pod ends by itself, none is preempted,
// no volume is made, and budgets allow what they allowed at the start.
type world struct {
	now    time.Time
	scene  *observe.Scene
	groups provider.Inventory
	broken error // why the groups could not be read
	pods   map[cache.ObjectName]*corev1.Pod
	nodes  map[string]*corev1.Node
	byID   map[string]string // names of nodes by the ids of their machines
	agents map[cache.ObjectName]*appsv1.DaemonSet
	passes model.PassingTaints
	sched  *schedsim.World
	made   int

	cycle   model.Cycle
	ended   []model.Outcome
	changed bool
	err     error
}

func newWorld(c Cluster, p model.Policy) (*world, error) {
	scene, err := observe.NewScene(c.Objects, c.Settings)
	if err != nil {
		return nil, err
	}
	w := &world{now: c.Now, scene: scene, groups: c.Groups, broken: c.GroupsErr, passes: p.Rules.Passing,
		pods: map[cache.ObjectName]*corev1.Pod{}, nodes: map[string]*corev1.Node{},
		byID: map[string]string{}, agents: map[cache.ObjectName]*appsv1.DaemonSet{}}
	w.groups.Groups = slices.Clone(w.groups.Groups)
	for i := range w.groups.Groups {
		g := &w.groups.Groups[i]
		g.Instances = slices.Clone(g.Instances)
	}
	for _, obj := range c.Objects {
		switch o := obj.(type) {
		case *corev1.Pod:
			w.pods[nameOf(o)] = o
		case *corev1.Node:
			w.nodes[o.Name], w.byID[o.Spec.ProviderID] = o, o.Name
		case *appsv1.DaemonSet:
			w.agents[nameOf(o)] = o
		}
	}
	return w, nil
}

func (w *world) close() {
	if w.sched != nil {
		w.sched.Close()
	}
}

func nameOf(o metav1.Object) cache.ObjectName {
	return cache.ObjectName{Namespace: o.GetNamespace(), Name: o.GetName()}
}

// Observe shows the cluster as it is.
func (w *world) Observe(context.Context, time.Time) (model.Observation, error) {
	groups := w.groups
	groups.AsOf, groups.Groups = w.now, slices.Clone(groups.Groups)
	for i := range groups.Groups {
		groups.Groups[i].Instances = slices.Clone(groups.Groups[i].Instances)
	}
	return w.scene.Observe(groups, w.broken, w.now)
}

// Start leaves the calls to Report: pods that fit now go first.
func (w *world) Start(context.Context, []model.Call) {}

// Collect has the ends of the last turn's calls.
func (w *world) Collect() []model.Outcome {
	ended := w.ended
	w.ended = nil
	return ended
}

// Report lets happen what follows from a cycle.
func (w *world) Report(_ context.Context, c model.Cycle) error {
	w.cycle, w.changed = c, false
	w.load(c.Snapshot)
	w.bind(c.Snapshot, &c.Plan)
	w.end()
	if c.Decided {
		for i := range c.Plan.Calls {
			w.carryOut(&c.Plan.Calls[i])
		}
	}
	w.arrive(c.Snapshot, &c.Plan)
	return w.err
}

func (w *world) load(s *model.Snapshot) { w.sched = schedsim.Load(w.sched, s) }

// put and drop change an object, of which the caller gives a copy that nothing else refers to.
func (w *world) put(obj runtime.Object) {
	w.note(w.scene.Put(obj))
	switch o := obj.(type) {
	case *corev1.Pod:
		w.pods[nameOf(o)] = o
	case *corev1.Node:
		w.nodes[o.Name], w.byID[o.Spec.ProviderID] = o, o.Name
	}
}

func (w *world) drop(obj runtime.Object) {
	w.note(w.scene.Drop(obj))
	switch o := obj.(type) {
	case *corev1.Pod:
		delete(w.pods, nameOf(o))
	case *corev1.Node:
		delete(w.nodes, o.Name)
		delete(w.byID, o.Spec.ProviderID)
	}
}

func (w *world) note(err error) {
	w.changed = true
	if err != nil {
		w.err = fmt.Errorf("change the cluster in memory: %w", err)
	}
}

// bind puts as many pods onto ready nodes as the plan has found room for there, in its order: first the most
// important, then those that are hardest to place, then the largest.
func (w *world) bind(s *model.Snapshot, plan *model.Plan) {
	room := map[model.ClassID]int{}
	for i := range plan.Pending {
		room[plan.Pending[i].Class] = plan.Pending[i].Existing
	}
	hard := func(c model.ClassID) int {
		switch {
		case !w.sched.Bulk(c):
			return 0
		case w.sched.OnePerNode(c):
			return 1
		}
		return 2
	}
	order := slices.Clone(s.Pending)
	slices.SortStableFunc(order, func(a, b model.Pending) int {
		x, y := s.Classes[a.Class].Spec, s.Classes[b.Class].Spec
		return cmp.Or(-cmp.Compare(x.Priority, y.Priority), cmp.Compare(hard(a.Class), hard(b.Class)),
			-cmp.Compare(x.Requests.MilliCPU, y.Requests.MilliCPU), -cmp.Compare(x.Requests.Memory, y.Requests.Memory))
	})
	const steps = 1 << 40 // each turn ends, and there are few
	for i := range order {
		of := &order[i]
		put, _, _ := w.sched.Place(of.Class, min(room[of.Class], len(of.Pods)), schedsim.OnReady, steps)
		next := 0
		for _, p := range put {
			w.seat(s, of, of.Pods[next:next+p.Count], s.Nodes[p.Node].Name)
			next += p.Count
		}
	}
}

// seat puts pods of a class that wait onto a node.
func (w *world) seat(s *model.Snapshot, of *model.Pending, pods []*model.Pod, node string) {
	for _, p := range pods {
		name := cache.ObjectName{Namespace: s.Classes[of.Class].Namespace(), Name: p.Name}
		if pod := w.pods[name]; pod != nil {
			pod := *pod
			pod.Spec.NodeName, pod.Status = node, corev1.PodStatus{Phase: corev1.PodRunning}
			w.put(&pod)
		}
	}
}

// end lets pods go that are being deleted.
func (w *world) end() {
	for _, pod := range w.pods {
		if pod.DeletionTimestamp != nil && !pod.DeletionTimestamp.After(w.now) {
			w.drop(pod)
		}
	}
}

// carryOut does what a call asks for.
func (w *world) carryOut(c *model.Call) {
	w.changed = w.changed || changes(c)
	target := -1
	node, there := w.nodes[c.Node]
	switch {
	case c.Verb == model.Grow || c.Verb == model.Cancel:
		if g := w.group(c.Group); g != nil {
			g.Target, g.TargetSince, target = c.To, w.now, c.To
		}
	case c.Verb == model.Remove:
		w.remove(c.Node, c.Group, c.Instance)
		if g := w.group(c.Group); g != nil {
			target = g.Target
		}
	case c.Verb == model.Evict:
		namespace, name, _ := strings.Cut(c.Pod, "/")
		w.evict(w.pods[cache.ObjectName{Namespace: namespace, Name: name}])
	case !there:
	case c.Verb == model.Taint:
		n := node.DeepCopy()
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule,
			Value: fmt.Sprint(w.now.Unix())})
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, model.AnnotationRemoval, model.RemovalTainted)
		w.put(n)
	case c.Verb == model.Cordon && !c.LookOnly:
		n := node.DeepCopy()
		n.Spec.Unschedulable = true
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, model.AnnotationRemoval, model.RemovalCordoned)
		w.put(n)
	case c.Verb == model.Untaint:
		n := model.RolledBack(node).DeepCopy()
		delete(n.Annotations, model.AnnotationRemoval)
		w.put(n)
	}
	w.ended = append(w.ended, model.Outcome{Call: *c, Began: w.now, Ended: w.now, Target: target})
}

func (w *world) group(id provider.GroupID) *provider.Group {
	i := slices.IndexFunc(w.groups.Groups, func(g provider.Group) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return &w.groups.Groups[i]
}

// evict ends a pod, which may be gone already.
func (w *world) evict(pod *corev1.Pod) {
	if pod == nil {
		return
	}
	if next, _ := observe.Successor(pod, w.now); next != nil {
		w.put(next)
		return
	}
	w.drop(pod)
}

// remove ends a machine, with its node and what is on that.
func (w *world) remove(node string, id provider.GroupID, instance provider.InstanceID) {
	if n, ok := w.nodes[node]; ok {
		for _, pod := range w.pods {
			if pod.Spec.NodeName == node {
				w.evict(pod)
			}
		}
		w.drop(n)
	}
	if g := w.group(id); g != nil {
		was := len(g.Instances)
		g.Instances = slices.DeleteFunc(g.Instances, func(in provider.Instance) bool { return in.ID == instance })
		g.Target = max(0, g.Target-(was-len(g.Instances)))
	}
}

// arrive lets machines come and go as the groups' targets say, the new ones with the pods that they are
// bought for.
func (w *world) arrive(s *model.Snapshot, plan *model.Plan) {
	for i := range s.Groups {
		g := w.group(s.Groups[i].ID)
		if g == nil || g.Err != nil {
			continue
		}
		counted := 0
		for j := 0; j < len(g.Instances); j++ {
			in := &g.Instances[j]
			switch {
			case in.State == provider.Deleting:
				id := in.ID
				g.Target++ // it does not count this one
				w.remove(w.nodeOf(in), g.ID, id)
				j--
				continue
			case in.Err == nil && s.Groups[i].HasTemplate && w.nodeOf(in) == "":
				*in = w.join(s, i, *in)
			}
			counted++
		}
		first := len(g.Instances)
		for ; counted < g.Target && s.Groups[i].HasTemplate; counted++ {
			g.Instances = append(g.Instances, w.join(s, i, provider.Instance{Created: w.now}))
		}
		w.fill(s, i, plan, g.Instances[first:])
	}
}

// fill puts the pods onto the new machines of a group that these are bought for, a node at a time. Those that
// look at other nodes as well are left to the next turn.
func (w *world) fill(s *model.Snapshot, group int, plan *model.Plan, machines []provider.Instance) {
	at := slices.IndexFunc(plan.Grow, func(g model.Growth) bool { return g.Group == s.Groups[group].ID })
	t, ok := w.sched.GroupTemplate(group)
	if at < 0 || !ok {
		return
	}
	for _, pattern := range w.sched.Pack(plan.Grow[at].Pods, t, len(machines)).Patterns {
		for range pattern.Times {
			for _, b := range pattern.Pods {
				w.fillWith(s, b, machines[0].NodeName)
			}
			machines = machines[1:]
		}
	}
}

func (w *world) fillWith(s *model.Snapshot, b model.Batch, node string) {
	for i := range s.Pending {
		of := &s.Pending[i]
		if of.Class != b.Class {
			continue
		}
		left := slices.DeleteFunc(slices.Clone(of.Pods), func(p *model.Pod) bool {
			pod := w.pods[cache.ObjectName{Namespace: s.Classes[of.Class].Namespace(), Name: p.Name}]
			return pod == nil || pod.Spec.NodeName != ""
		})
		w.seat(s, of, left[:min(b.Count, len(left))], node)
	}
}

// nodeOf is the name of a machine's node; empty if it has none.
func (w *world) nodeOf(in *provider.Instance) string {
	if _, ok := w.nodes[in.NodeName]; ok {
		return in.NodeName
	}
	if in.ProviderID == "" {
		return ""
	}
	return w.byID[in.ProviderID]
}

// join makes the node of a machine, with the static pods and those of DaemonSets.
func (w *world) join(s *model.Snapshot, group int, in provider.Instance) provider.Instance {
	g := w.group(s.Groups[group].ID)
	w.made++
	name := fmt.Sprintf("%s-new-%d", strings.ReplaceAll(string(g.ID), "/", "-"), w.made)
	in.ID = cmp.Or(in.ID, provider.InstanceID(name))
	in.ProviderID, in.NodeName, in.State = cmp.Or(in.ProviderID, "new:///"+name), name, provider.Running
	n := w.passes.Stripped(g.Template.Node).DeepCopy()
	n.Name, n.Spec.ProviderID, n.CreationTimestamp = name, in.ProviderID, metav1.NewTime(w.now)
	metav1.SetMetaDataLabel(&n.ObjectMeta, corev1.LabelHostname, name)
	for _, key := range slices.Sorted(maps.Keys(g.Template.Varies)) {
		if values := g.Template.Varies[key]; len(values) > 0 {
			metav1.SetMetaDataLabel(&n.ObjectMeta, key, values[0])
		}
	}
	if p := emptiest(g); p != nil {
		in.Zone = p.Zone
		for key, value := range p.Labels {
			metav1.SetMetaDataLabel(&n.ObjectMeta, key, value)
		}
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(w.now)}}
	w.put(n)
	if csi := g.Template.CSINode; csi != nil {
		csi := csi.DeepCopy()
		csi.Name = name
		w.note(w.scene.Put(csi))
	}
	for _, pod := range g.Template.Pods {
		w.start(pod.DeepCopy(), pod.Name, name)
	}
	t, _ := w.sched.GroupTemplate(group)
	for i := range s.DaemonSets {
		d := &s.DaemonSets[i]
		ds := w.agents[cache.ObjectName{Namespace: d.Namespace, Name: d.Name}]
		if ds == nil || !slices.ContainsFunc(t.Pods, func(b model.Batch) bool { return b.Class == d.Class }) {
			continue
		}
		pod := &corev1.Pod{ObjectMeta: *ds.Spec.Template.ObjectMeta.DeepCopy(), Spec: *ds.Spec.Template.Spec.DeepCopy()}
		pod.Namespace = ds.Namespace
		owner := metav1.NewControllerRef(ds, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))
		pod.OwnerReferences = []metav1.OwnerReference{*owner}
		w.start(pod, ds.Name, name)
	}
	return in
}

// start lets a pod run on a node.
func (w *world) start(pod *corev1.Pod, name, node string) {
	pod.Name, pod.UID = name+"-"+node, ""
	pod.CreationTimestamp, pod.Spec.NodeName, pod.Status.Phase = metav1.NewTime(w.now), node, corev1.PodRunning
	if cut, ok := observe.Cut(pod).(*corev1.Pod); ok {
		w.put(cut)
	}
}

// emptiest is the place with the fewest machines of a group; nil if it has one place only.
func emptiest(g *provider.Group) *provider.Place {
	if len(g.Template.Places) == 0 {
		return nil
	}
	count := map[string]int{}
	for i := range g.Instances {
		count[g.Instances[i].Zone]++
	}
	best := slices.MinFunc(g.Template.Places, func(a, b provider.Place) int {
		return cmp.Or(cmp.Compare(count[a.Zone], count[b.Zone]), cmp.Compare(a.Zone, b.Zone))
	})
	return &best
}
