package kube

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Nodes remembers, for a limited time, the nodes that a provider reads as examples for new ones.
type Nodes struct {
	mu    sync.Mutex
	known map[string]seenNode
}

// seenNode is a node as it was last read, nil if there was none to learn from.
type seenNode struct {
	node  *corev1.Node
	until time.Time
}

// NewNodes remembers none.
func NewNodes() *Nodes { return &Nodes{known: map[string]seenNode{}} }

// Stale are those of the names that are unknown or too old, each once. It forgets nodes that are
// not among the names.
func (n *Nodes) Stale(names []string, now time.Time) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	kept := map[string]seenNode{}
	var out []string
	for _, name := range names {
		if _, twice := kept[name]; twice {
			continue
		}
		kept[name] = n.known[name]
		if !now.Before(kept[name].until) {
			out = append(out, name)
		}
	}
	n.known = kept
	return out
}

// Saw notes a node, or nil if it is not there or nothing can be learned from it.
func (n *Nodes) Saw(name string, node *corev1.Node, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[name] = seenNode{node, until}
}

// Missed notes that a node could not be read: what is known of it stays.
func (n *Nodes) Missed(name string, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.known[name] = seenNode{n.known[name].node, until}
}

// Of are those of the nodes that are known, in the order of their names.
func (n *Nodes) Of(names []string) []*corev1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*corev1.Node
	for _, name := range slices.Sorted(slices.Values(names)) {
		if node := n.known[name].node; node != nil {
			out = append(out, node)
		}
	}
	return out
}

// Ready reports whether a node is: one that is not may lack what it is to have.
func Ready(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
