package clusterapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// examplesPerGroup is how many nodes of a group are looked at: what they differ
// in is each node's own. More would be more exact, and cost more.
const examplesPerGroup = 3

// examples reads nodes of the workload cluster, a few of each group, so that a
// group without any annotation is known as long as it has a node. It is
// optional: without it, or while the workload cluster does not answer, there is
// what annotations and templates say.
type examples struct {
	nodes    typedcorev1.NodeInterface // nil if there is no such client
	now      func() time.Time
	patience time.Duration
	known    *kube.Nodes
}

func newExamples(nodes typedcorev1.NodeInterface, now func() time.Time) *examples {
	return &examples{nodes: nodes, now: now, patience: patience, known: kube.NewNodes()}
}

// learn reads the nodes that are not known or not fresh, and forgets all others.
// It returns when patience is over at the latest.
func (e *examples) learn(ctx context.Context, names []string) {
	if e.nodes == nil {
		return
	}
	stale := e.known.Stale(names, e.now())
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	forEach(len(stale), func(n int) {
		node, err := e.nodes.Get(ctx, stale[n], metav1.GetOptions{})
		switch {
		case err == nil && kube.Ready(node):
			e.known.Saw(stale[n], node, e.now().Add(knownFor))
		case err == nil, kube.Withheld(err):
			e.known.Saw(stale[n], nil, e.now().Add(emptyFor))
		default:
			e.known.Missed(stale[n], e.now().Add(brokenFor))
		}
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
	candidates := slices.DeleteFunc(slices.Clone(members), func(m *machine) bool {
		return m.deleting || m.mark != nil || m.nodeName == ""
	})
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
		if !singles(first, key, value) && !slices.ContainsFunc(rest, func(n *corev1.Node) bool {
			v, ok := n.Labels[key]
			return !ok || v != value
		}) {
			labels[key] = value
			sources["label/"+key] = source
		}
	}
	var taints []corev1.Taint
	for _, t := range first.Spec.Taints {
		same := func(other corev1.Taint) bool { return byKey(t, other) == 0 && t.Value == other.Value }
		if !passes(t.Key) && !slices.ContainsFunc(rest, func(n *corev1.Node) bool {
			return !slices.ContainsFunc(n.Spec.Taints, same)
		}) {
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

// singles reports whether a label tells one node from the next. Two nodes show
// that by themselves; one alone shows it where its own name is the value.
func singles(n *corev1.Node, key, value string) bool {
	return key == corev1.LabelHostname || key == "alpha.eksctl.io/instance-id" ||
		value != "" && (value == n.Name || strings.HasSuffix(n.Spec.ProviderID, "/"+value))
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
