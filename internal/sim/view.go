package sim

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// podName is a pod's full name.
type podName struct{ namespace, name string }

func comparePods(a, b podName) int {
	return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
}

// seat is a pod, the node that it is bound to, if any, and the workload that it
// is of; none for a DaemonSet's.
type seat struct {
	id   podName
	pod  model.Pod
	node string
	of   string
}

// view is nodes, pods and budgets as seen by the API server (the truth) or, later, by a watcher.
// The values it returns are frozen.
type view struct {
	nodes   map[string]*viewNode
	seats   map[podName]seat
	budgets map[podName]model.Budget
	// generation counts changes of content.
	generation uint64

	frozenNodes []model.ObservedNode
	nodesStale  bool
	waiting     map[podName]model.Pod
	frozenPods  []model.Pod
	podsStale   bool
	// frozenBudgets is nil when it must be rebuilt.
	frozenBudgets []model.Budget
}

// viewNode is a node and its pods; the object is nil while only pods are known.
type viewNode struct {
	object     *corev1.Node
	shape      model.ShapeID
	pods       []model.Pod
	generation uint64
	shared     bool // pods were returned to a caller, and must not be written any more
}

func newView() *view {
	return &view{
		nodes: map[string]*viewNode{}, seats: map[podName]seat{}, budgets: map[podName]model.Budget{},
		waiting:    map[podName]model.Pod{},
		nodesStale: true, podsStale: true,
	}
}

// object is the node by that name, nil if there is none.
func (v *view) object(name string) *corev1.Node {
	if n := v.nodes[name]; n != nil {
		return n.object
	}
	return nil
}

func (v *view) node(name string) *viewNode {
	n, ok := v.nodes[name]
	if !ok {
		n = &viewNode{}
		v.nodes[name] = n
	}
	return n
}

func (v *view) touch(n *viewNode) {
	v.generation++
	n.generation, v.nodesStale = v.generation, true
}

// putNode takes in a node; news reports whether the autoscaler should look soon.
// A new version of the same content does not count as a change.
func (v *view) putNode(object *corev1.Node, shape model.ShapeID, same bool) (news bool) {
	n := v.node(object.Name)
	old := n.object
	n.object, n.shape = object, shape
	if old != nil && same {
		v.nodesStale = true
		return false
	}
	v.touch(n)
	return old == nil || model.NodeReady(old) != model.NodeReady(object) || old.UID != object.UID
}

func (v *view) dropNode(name string) (news bool) {
	n, ok := v.nodes[name]
	if !ok || n.object == nil {
		return false
	}
	n.object = nil
	v.touch(n)
	v.forget(name, n)
	return true
}

func (v *view) forget(name string, n *viewNode) {
	if n.object == nil && len(n.pods) == 0 {
		delete(v.nodes, name)
	}
}

// putPod takes in a pod, wherever it was before.
func (v *view) putPod(s seat) (news bool) {
	was, known := v.seats[s.id]
	if known && was == s {
		return false
	}
	if known {
		v.leave(was)
	}
	v.seats[s.id] = s
	if s.node == "" {
		v.waiting[s.id] = s.pod
		v.podsStale = true
		v.generation++
		return !known || s.pod.Flags&model.Refused != 0 && was.pod.Flags&model.Refused == 0
	}
	n := v.node(s.node)
	n.own()
	n.pods = append(n.pods, s.pod)
	v.touch(n)
	return known && was.node == "" // it has found its node
}

func (v *view) dropPod(id podName) {
	if was, known := v.seats[id]; known {
		v.leave(was)
		delete(v.seats, id)
		v.generation++
	}
}

func (v *view) leave(was seat) {
	if was.node == "" {
		delete(v.waiting, was.id)
		v.podsStale = true
		return
	}
	n := v.nodes[was.node]
	n.own()
	n.pods = slices.DeleteFunc(n.pods, func(p model.Pod) bool { return p.UID == was.pod.UID })
	v.touch(n)
	v.forget(was.node, n)
}

func (n *viewNode) own() {
	if n.shared {
		n.pods, n.shared = slices.Clone(n.pods), false
	}
}

// observed is the frozen list of nodes, by name.
func (v *view) observed() []model.ObservedNode {
	if !v.nodesStale {
		return v.frozenNodes
	}
	v.nodesStale = false
	v.frozenNodes = make([]model.ObservedNode, 0, len(v.nodes))
	for _, n := range v.nodes {
		if n.object == nil {
			continue
		}
		n.shared = true
		v.frozenNodes = append(v.frozenNodes,
			model.ObservedNode{Object: n.object, Shape: n.shape, Pods: slices.Clip(n.pods), Generation: n.generation})
	}
	slices.SortFunc(v.frozenNodes, func(a, b model.ObservedNode) int {
		return cmp.Compare(a.Object.Name, b.Object.Name)
	})
	return v.frozenNodes
}

// unbound is the frozen list of pods without a node, by name.
func (v *view) unbound() []model.Pod {
	if !v.podsStale {
		return v.frozenPods
	}
	v.podsStale = false
	v.frozenPods = make([]model.Pod, 0, len(v.waiting))
	for _, id := range slices.SortedFunc(maps.Keys(v.waiting), comparePods) {
		v.frozenPods = append(v.frozenPods, v.waiting[id])
	}
	return v.frozenPods
}

// readyByID are the Ready nodes by provider id.
func (v *view) readyByID() map[string]bool {
	out := make(map[string]bool, len(v.nodes))
	for _, n := range v.nodes {
		if n.object != nil && n.object.Spec.ProviderID != "" && model.NodeReady(n.object) {
			out[n.object.Spec.ProviderID] = true
		}
	}
	return out
}

// podsOn are the pods on a node, as they lie.
func (v *view) podsOn(node string) []model.Pod {
	if n := v.nodes[node]; n != nil {
		return n.pods
	}
	return nil
}

// putBudget takes in a budget; news reports whether it allows more than it did.
func (v *view) putBudget(b model.Budget) (news bool) {
	id := podName{b.Namespace, b.Name}
	was := v.budgets[id]
	v.budgets[id], v.frozenBudgets = b, nil
	v.generation++
	return b.Allowed > was.Allowed
}

func (v *view) dropBudget(id podName) {
	delete(v.budgets, id)
	v.frozenBudgets = nil
	v.generation++
}

// observedBudgets is the frozen list of budgets, by namespace and name.
func (v *view) observedBudgets() []model.Budget {
	if v.frozenBudgets == nil && len(v.budgets) > 0 {
		for _, id := range slices.SortedFunc(maps.Keys(v.budgets), comparePods) {
			v.frozenBudgets = append(v.frozenBudgets, v.budgets[id])
		}
	}
	return v.frozenBudgets
}
