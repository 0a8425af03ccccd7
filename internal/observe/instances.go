package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// templates names what each group's template consists of, passing taints left out.
func (c *cluster) templates(groups []provider.Group, passing model.PassingTaints) []model.Template {
	out := make([]model.Template, len(groups))
	for i := range groups {
		t := groups[i].Template
		if t == nil || t.Node == nil {
			continue
		}
		out[i] = model.Template{Known: true, Shape: c.catalog.Shape(passing.Stripped(t.Node))}
		for _, pod := range t.Pods {
			out[i].Pods = append(out[i].Pods, c.catalog.Pod(pod))
		}
	}
	return out
}

// readyNode tells whether an instance's node is Ready: by exact provider id,
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
