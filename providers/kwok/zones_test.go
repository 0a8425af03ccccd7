package kwok

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestNodesAreBalancedOverZones: a group over several zones says which, and each new
// node is in the zone that has the fewest, what was there before and what is made in
// one scale-up together.
func TestNodesAreBalancedOverZones(t *testing.T) {
	s := newAPIServer(t)
	p := newProvider(t, s, Config{TemplatesPath: templatesFile(t, `
apiVersion: v1
kind: Node
metadata:
  annotations:
    cluster-autoscaler.kwok.nodegroup/name: wide
    cluster-autoscaler.kwok.nodegroup/max-count: "12"
    cluster-autoscaler.kwok.nodegroup/zones: c, a, b
status: {allocatable: {cpu: "4", memory: 16Gi, pods: "110"}}
`)})
	s.add(nodeOf(p.byName["wide"].in("b"), "wide-first"))
	if _, err := p.Grow(t.Context(), provider.GrowRequest{Group: "wide", From: 1, To: 9}); err != nil {
		t.Fatal(err)
	}
	g := groupOf(t, p, "wide")
	if len(g.Template.Places) != 3 || g.Template.Places[0].Zone != "a" || !g.Template.Balanced ||
		g.Template.Node.Labels[corev1.LabelTopologyZone] != "" {
		t.Errorf("the template has the places %v, balanced %t, and the labels %v",
			g.Template.Places, g.Template.Balanced, g.Template.Node.Labels)
	}
	nodes, instances := map[string]int{}, map[string]int{}
	for _, n := range s.all() {
		nodes[n.Labels[corev1.LabelTopologyZone]]++
	}
	for _, in := range g.Instances {
		instances[in.Zone]++
	}
	for _, zone := range []string{"a", "b", "c"} {
		if nodes[zone] != 3 || instances[zone] != 3 {
			t.Errorf("zone %s has %d nodes, and %d instances that say so", zone, nodes[zone], instances[zone])
		}
	}
}
