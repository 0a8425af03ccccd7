package gardener

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

const (
	// examplesPerGroup is how many nodes of a group are looked at. More would be more
	// exact, and cost more.
	examplesPerGroup = 2
	// knownFor is how long what was read of a node is believed, emptyFor how long that
	// there is none, or none that is ready.
	knownFor = 5 * time.Minute
	emptyFor = 30 * time.Second
	// patience is how long the shoot is waited for, and restFor how long it is not
	// asked again once it did not answer.
	patience = 3 * time.Second
	restFor  = time.Minute
)

// seenNode is a node as it was last read, nil if it was not there, or not ready.
type seenNode struct {
	node  *corev1.Node
	until time.Time
}

// examples reads a few nodes of each group from the shoot: how much of a machine a
// node has to give, no MachineClass tells. It is optional: without it, or while the
// shoot does not answer, all of the capacity counts.
type examples struct {
	nodes    typedcorev1.NodeInterface // nil if there is no such client
	now      func() time.Time
	patience time.Duration

	mu      sync.Mutex
	known   map[string]seenNode
	resting time.Time
}

func newExamples(nodes typedcorev1.NodeInterface, now func() time.Time) *examples {
	return &examples{nodes: nodes, now: now, patience: patience, known: map[string]seenNode{}}
}

// learn reads those of the nodes that are not known or not fresh, and forgets all
// others. It returns when patience is over at the latest.
func (e *examples) learn(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	for _, name := range e.stale(names) {
		node, err := e.nodes.Get(ctx, name, metav1.GetOptions{})
		e.mu.Lock()
		switch {
		case err == nil && ready(node):
			e.known[name] = seenNode{node, e.now().Add(knownFor)}
		case err == nil, apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			e.known[name] = seenNode{nil, e.now().Add(emptyFor)}
		default:
			e.resting = e.now().Add(restFor)
		}
		resting := e.now().Before(e.resting)
		e.mu.Unlock()
		if resting {
			return // what is known stays so
		}
	}
}

// stale are the names to ask for.
func (e *examples) stale(names []string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.now()
	if e.nodes == nil {
		return nil
	}
	kept := map[string]seenNode{}
	var out []string
	for _, name := range names {
		kept[name] = e.known[name]
		if !now.Before(kept[name].until) {
			out = append(out, name)
		}
	}
	e.known = kept
	if now.Before(e.resting) {
		return nil
	}
	return out
}

// of are those of the nodes that are known, in the order of their names.
func (e *examples) of(names []string) []*corev1.Node {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []*corev1.Node
	for _, name := range slices.Sorted(slices.Values(names)) {
		if n := e.known[name].node; n != nil {
			out = append(out, n)
		}
	}
	return out
}

func ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// exampleNames are the nodes to learn from: the oldest of those that run, since on
// these everything has been installed; of the newest MachineSet alone, since what is
// being rolled out is what comes next.
func exampleNames(machines []*v1alpha1.Machine, sets []*v1alpha1.MachineSet) []string {
	newest := newestOf(sets)
	running := slices.DeleteFunc(slices.Clone(machines), func(m *v1alpha1.Machine) bool {
		return m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase != v1alpha1.MachineRunning || m.Labels[v1alpha1.NodeLabel] == "" ||
			newest != nil && ownerOf(m.OwnerReferences, v1alpha1.KindMachineSet) != newest.Name
	})
	slices.SortFunc(running, func(a, b *v1alpha1.Machine) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	var out []string
	for _, m := range running[:min(len(running), examplesPerGroup)] {
		out = append(out, m.Labels[v1alpha1.NodeLabel])
	}
	return out
}
