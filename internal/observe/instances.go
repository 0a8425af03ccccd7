package observe

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// templates names what each group's template consists of, passing taints left out.
func (c *cluster) templates(groups []provider.Group, passing model.PassingTaints) []model.Template {
	out := make([]model.Template, len(groups))
	byID := c.readyByID()
	anywhere := sync.OnceValue(c.features)
	for i := range groups {
		t := groups[i].Template
		if t == nil || t.Node == nil {
			continue
		}
		node := passing.Stripped(t.Node)
		if len(node.Status.DeclaredFeatures) == 0 {
			declared := *node
			if declared.Status.DeclaredFeatures = c.featuresOf(&groups[i], byID); declared.Status.DeclaredFeatures == nil {
				declared.Status.DeclaredFeatures = anywhere()
			}
			node = &declared
		}
		out[i] = model.Template{Known: true, Shape: c.catalog.Shape(node)}
		for _, pod := range t.Pods {
			out[i].Pods = append(out[i].Pods, c.catalog.Pod(pod))
		}
	}
	return out
}

// No cloud knows which features the kubelet of a new node will declare. We assume those of the
// newest Ready node of its group, or else of any Ready node. We err to one node too many, which
// shows when it comes up: without the assumption, pods would wait for ever.

// featuresOf are the features of a group's newest Ready node, nil if it has none.
func (c *cluster) featuresOf(g *provider.Group, byID map[string]*corev1.Node) []string {
	var newest *corev1.Node
	for i := range g.Instances {
		in := &g.Instances[i]
		node := byID[in.ProviderID]
		if n, ok := c.nodes[in.NodeName]; node == nil && ok && n.object != nil && model.NodeReady(n.object) {
			node = n.object
		}
		if node != nil && (newest == nil || newest.CreationTimestamp.Before(&node.CreationTimestamp)) {
			newest = node
		}
	}
	if newest == nil {
		return nil
	}
	return append([]string{}, newest.Status.DeclaredFeatures...)
}

// features are those that any Ready node declares, sorted.
func (c *cluster) features() []string {
	found := map[string]bool{}
	for _, n := range c.nodes {
		if n.object != nil && model.NodeReady(n.object) {
			for _, f := range n.object.Status.DeclaredFeatures {
				found[f] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// readyNode reports whether an instance's node is Ready: by exact provider id,
// else by name (rule P6). byID are the Ready nodes by provider id.
func (c *cluster) readyNode(in *provider.Instance, byID map[string]*corev1.Node) bool {
	if in.ProviderID != "" && byID[in.ProviderID] != nil {
		return true
	}
	n, ok := c.nodes[in.NodeName]
	return ok && n.object != nil && model.NodeReady(n.object)
}

// readyByID lists the Ready nodes by provider id.
func (c *cluster) readyByID() map[string]*corev1.Node {
	out := make(map[string]*corev1.Node, len(c.nodes))
	for _, n := range c.nodes {
		if n.object != nil && n.object.Spec.ProviderID != "" && model.NodeReady(n.object) {
			out[n.object.Spec.ProviderID] = n.object
		}
	}
	return out
}
