package clusterapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// examplesPerGroup is how many nodes of a group are looked at: what they differ
// in is each node's own. More would be more exact, and cost more.
const examplesPerGroup = 3

// seenNode is a node as it was last read, nil if it was not there, or not ready.
type seenNode struct {
	node  *corev1.Node
	until time.Time
}

// examples reads nodes of the workload cluster, a few of each group, so that a
// group without any annotation is known as long as it has a node. It is
// optional: without it, or while the workload cluster does not answer, there is
// what annotations and templates say.
type examples struct {
	nodes    typedcorev1.NodeInterface // nil if there is no such client
	now      func() time.Time
	patience time.Duration

	mu    sync.Mutex
	known map[string]seenNode
}

func newExamples(nodes typedcorev1.NodeInterface, now func() time.Time) *examples {
	return &examples{nodes: nodes, now: now, patience: patience, known: map[string]seenNode{}}
}

// learn reads the nodes that are not known or not fresh, and forgets all others.
// It returns when patience is over at the latest.
func (e *examples) learn(ctx context.Context, names []string) {
	if e.nodes == nil {
		return
	}
	now := e.now()
	e.mu.Lock()
	kept := map[string]seenNode{}
	var stale []string
	for _, name := range names {
		if _, twice := kept[name]; twice {
			continue
		}
		kept[name] = e.known[name]
		if !now.Before(kept[name].until) {
			stale = append(stale, name)
		}
	}
	e.known = kept
	e.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	forEach(len(stale), func(n int) {
		node, err := e.nodes.Get(ctx, stale[n], metav1.GetOptions{})
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case err == nil && ready(node):
			e.known[stale[n]] = seenNode{node, e.now().Add(knownFor)}
		case err == nil, withheld(err):
			e.known[stale[n]] = seenNode{nil, e.now().Add(emptyFor)}
		default:
			e.known[stale[n]] = seenNode{e.known[stale[n]].node, e.now().Add(brokenFor)}
		}
	})
}

// of are those of the nodes that are known, in the order of their names.
func (e *examples) of(names []string) []*corev1.Node {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*corev1.Node
	for _, name := range names {
		if n := e.known[name].node; n != nil {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// exampleNames are the nodes to learn from: those of the newest MachineSet
// first, since what is being rolled out is what comes next; then the oldest,
// since on these everything has been installed.
func exampleNames(g *scalable, members []*machine, sets []*scalable) []string {
	newest := ""
	if len(sets) > 0 {
		newest = newestOf(sets).name
	}
	of := func(m *machine) int {
		if m.owner.name == newest {
			return 0
		}
		return 1
	}
	candidates := slices.DeleteFunc(slices.Clone(members), func(m *machine) bool { return m.deleting || m.mark != nil || m.nodeName == "" })
	slices.SortFunc(candidates, func(a, b *machine) int {
		return cmp.Or(cmp.Compare(of(a), of(b)), a.created.Compare(b.created), cmp.Compare(a.name, b.name))
	})
	var out []string
	for _, m := range candidates {
		// Nodes of older MachineSets are no examples beside one of the newest.
		if len(out) < examplesPerGroup && of(m) == of(candidates[0]) {
			out = append(out, m.nodeName)
		}
	}
	if len(members) == 0 {
		names := slices.Sorted(slices.Values(g.nodeNames))
		out = names[:min(len(names), examplesPerGroup)]
	}
	return out
}

// templateLike makes a template of nodes that are there: what all of them have,
// and of each resource the least. What the annotations say of devices and
// volumes is kept, since a node does not tell it.
func templateLike(nodes []*corev1.Node, said capacity) (*provider.Template, error) {
	first, rest := nodes[0], nodes[1:]
	source := "node " + first.Name
	if len(rest) > 0 {
		source = fmt.Sprintf("node %s and %d more", first.Name, len(rest))
	}
	sources := map[string]string{}
	labels := map[string]string{}
	for key, value := range first.Labels {
		if !singles(first, key, value) && !slices.ContainsFunc(rest, func(n *corev1.Node) bool { v, ok := n.Labels[key]; return !ok || v != value }) {
			labels[key] = value
			sources["label/"+key] = source
		}
	}
	var taints []corev1.Taint
	for _, t := range first.Spec.Taints {
		same := func(other corev1.Taint) bool { return byKey(t, other) == 0 && t.Value == other.Value }
		if !passes(t.Key) && !slices.ContainsFunc(rest, func(n *corev1.Node) bool { return !slices.ContainsFunc(n.Spec.Taints, same) }) {
			taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
			sources["taint/"+t.Key] = source
		}
	}
	slices.SortFunc(taints, byKey)
	capacity, allocatable := corev1.ResourceList{}, corev1.ResourceList{}
	for _, n := range nodes {
		least(capacity, n.Status.Capacity)
		least(allocatable, n.Status.Allocatable)
	}
	for name := range allocatable {
		sources["resource/"+string(name)] = source
	}
	if err := enough(allocatable); err != nil {
		return nil, err
	}
	node := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		Spec:     corev1.NodeSpec{Taints: taints},
		Status:   corev1.NodeStatus{Capacity: capacity, Allocatable: allocatable},
	}
	node.Labels = labels
	return finish(node, said, sources)
}

// singles tells whether a label tells one node from the next. Two nodes show
// that by themselves; one alone shows it where its own name is the value.
func singles(n *corev1.Node, key, value string) bool {
	return key == corev1.LabelHostname || key == "alpha.eksctl.io/instance-id" || value != "" && (value == n.Name || strings.HasSuffix(n.Spec.ProviderID, "/"+value))
}

// least keeps the smaller amount of each resource. One that is missing on a node
// is not counted as none: its device plugin may not run yet.
func least(into, from corev1.ResourceList) {
	for name, amount := range from {
		if have, ok := into[name]; !ok || amount.Cmp(have) < 0 {
			into[name] = amount.DeepCopy()
		}
	}
}
