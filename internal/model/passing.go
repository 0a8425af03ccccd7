package model

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// PassingTaints are taints that nodes carry for a while, and that no template has.
type PassingTaints struct {
	// Startup are the keys of taints that another controller removes when a node is
	// complete: a node with one is still booting. StartupPrefixes are what such keys
	// begin with.
	Startup, StartupPrefixes []string
	// Status are the keys of taints that tell of a state: the node is what it is.
	Status []string
}

// Those that everybody has. The Cluster Autoscaler fixed the prefixes; the two keys
// are of the cloud controller managers and of Cluster API, which take them away when
// they have labelled a new node.
var (
	startupPrefixes = []string{
		"startup-taint.cluster-autoscaler.kubernetes.io/", "ignore-taint.cluster-autoscaler.kubernetes.io/",
	}
	startupKeys  = []string{"node.cloudprovider.kubernetes.io/uninitialized", "node.cluster.x-k8s.io/uninitialized"}
	statusPrefix = "status-taint.cluster-autoscaler.kubernetes.io/"
)

// starts reports whether the key is that of a startup taint.
func (p PassingTaints) starts(key string) bool {
	begins := func(prefix string) bool { return prefix != "" && strings.HasPrefix(key, prefix) }
	return slices.Contains(startupKeys, key) || slices.Contains(p.Startup, key) ||
		slices.ContainsFunc(startupPrefixes, begins) || slices.ContainsFunc(p.StartupPrefixes, begins)
}

// Starting reports whether a node has a startup taint.
func (p PassingTaints) Starting(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return p.starts(t.Key) })
}

// Stripped is a template's node without passing taints: the node itself if it has
// none.
func (p PassingTaints) Stripped(n *corev1.Node) *corev1.Node {
	passes := func(t corev1.Taint) bool {
		return p.starts(t.Key) || slices.Contains(p.Status, t.Key) || strings.HasPrefix(t.Key, statusPrefix)
	}
	if !slices.ContainsFunc(n.Spec.Taints, passes) {
		return n
	}
	out := n.DeepCopy()
	out.Spec.Taints = slices.DeleteFunc(out.Spec.Taints, passes)
	return out
}
