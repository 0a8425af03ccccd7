package gardener

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
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

// examples reads a few nodes of each group from the shoot: how much of a machine a
// node has to give, no MachineClass tells. It is optional: without it, or while the
// shoot does not answer, all of the capacity counts.
type examples struct {
	nodes    typedcorev1.NodeInterface // nil if there is no such client
	now      func() time.Time
	patience time.Duration
	known    *kube.Nodes

	mu      sync.Mutex
	resting time.Time // until when the shoot is not asked
}

func newExamples(nodes typedcorev1.NodeInterface, now func() time.Time) *examples {
	return &examples{nodes: nodes, now: now, patience: patience, known: kube.NewNodes()}
}

// learn reads those of the nodes that are not known or not fresh, and forgets all
// others. It returns when patience is over at the latest.
func (e *examples) learn(ctx context.Context, names []string) {
	if e.nodes == nil {
		return
	}
	stale := e.known.Stale(names, e.now())
	ctx, cancel := context.WithTimeout(ctx, e.patience)
	defer cancel()
	for _, name := range stale {
		if e.rests() {
			return // what is known stays so
		}
		node, err := e.nodes.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil && kube.Ready(node):
			e.known.Saw(name, node, e.now().Add(knownFor))
		case err == nil, kube.Withheld(err):
			e.known.Saw(name, nil, e.now().Add(emptyFor))
		default:
			e.rest()
		}
	}
}

// rests reports whether the shoot did not answer lately; rest notes that.
func (e *examples) rests() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.now().Before(e.resting)
}

func (e *examples) rest() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resting = e.now().Add(restFor)
}

// exampleNames are the nodes to learn from: the oldest of those that run, since on
// these everything has been installed; of the newest MachineSet alone, since what is
// being rolled out is what comes next.
func exampleNames(machines []*v1alpha1.Machine, sets []*v1alpha1.MachineSet) []string {
	newest := newestOf(sets)
	running := slices.DeleteFunc(slices.Clone(machines), func(m *v1alpha1.Machine) bool {
		return m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase != v1alpha1.MachineRunning ||
			m.Labels[v1alpha1.NodeLabel] == "" ||
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
