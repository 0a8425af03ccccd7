package schedsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestStuckSaysWhat: the class that does not fit, and what each host has against
// it.
func TestStuckSaysWhat(t *testing.T) {
	for _, tt := range []struct {
		name   string
		reason model.Reason
		want   string
		build  func(s *stand)
	}{
		{"no host", model.InsufficientResources, "there is no other node to move pods to", func(s *stand) {
			s.node("a1")
			s.Bound(app("web", "1"), 1, "a1")
		}},
		{"no room", model.InsufficientResources,
			"InsufficientResources on 2 nodes; cpu 2 > 1500m on the roomiest", func(s *stand) {
				for name, cpu := range map[string]string{"a1": "2", "a2": "3", "a3": "2500m"} {
					s.node(name)
					s.Bound(app("web", cpu), 1, name)
				}
			}},
		{"taints and labels first", model.TaintNotTolerated,
			"TaintNotTolerated on 2 nodes, InsufficientResources on 1; memory 14Gi > 13Gi on the roomiest",
			func(s *stand) {
				s.node("a1")
				s.Bound(testkit.Pod("default", "web", "1", "14Gi", map[string]string{"app": "web"}), 1, "a1")
				for _, name := range []string{"a2", "a3"} {
					s.node(name).Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
				}
				s.node("a4")
				s.Bound(testkit.Pod("default", "old", "100m", "3Gi", nil), 1, "a4")
			}},
		{"labels", model.NodeAffinity, "NodeAffinity on 1 node", func(s *stand) {
			s.node("a1")
			s.node("b1")
			web := app("web", "1")
			web.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: "a"}
			s.Bound(web, 1, "a1")
		}},
		{"pinned", model.NodeAffinity, "NodeAffinity on 2 nodes", func(s *stand) {
			s.node("a1")
			s.node("a2")
			s.node("b1")
			web := app("web", "1")
			web.Spec.NodeSelector = map[string]string{corev1.LabelHostname: "a1"}
			s.Bound(web, 1, "a1")
		}},
		{"ports and apart", model.PodAffinity, "PodAffinity on 2 nodes, PortConflict on 1", func(s *stand) {
			for _, name := range []string{"a1", "a2", "a3", "a4"} {
				s.node(name)
			}
			web, other := app("web", "1"), app("other", "1")
			testkit.Apart(web, corev1.LabelHostname, web.Labels)
			web.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}}
			other.Spec.Containers[0].Ports = web.Spec.Containers[0].Ports
			testkit.Apart(other, corev1.LabelHostname, other.Labels)
			s.Bound(web, 1, "a1")
			s.Bound(other, 1, "a2")
			free := app("free", "1")
			testkit.Apart(free, corev1.LabelHostname, web.Labels)
			s.Bound(free, 1, "a3")
			s.Bound(free, 1, "a4")
		}},
		{"spread over zones", model.TopologySpread,
			"TopologySpread on 2 nodes, InsufficientResources on 1", func(s *stand) {
				for _, name := range []string{"a1", "a2", "b1", "b2"} {
					s.node(name)
				}
				web := app("web", "1")
				testkit.SpreadOver(web, corev1.LabelTopologyZone, 1, web.Labels)
				s.Bound(web, 1, "a1")
				s.Bound(web, 1, "b1")
				s.Bound(app("old", "3500m"), 1, "a2")
			}},
		{"spread over hosts", model.TopologySpread, "TopologySpread on 2 nodes", func(s *stand) {
			web := app("web", "1")
			testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
			for _, name := range []string{"a1", "a2", "a3"} {
				s.node(name)
				s.Bound(web, 1, name)
			}
		}},
		{"accelerators", model.InsufficientResources,
			"InsufficientResources on 1 node; example.com/gpu 1 > 0 on the roomiest", func(s *stand) {
				n := s.node("a1")
				n.Status.Allocatable[gpu] = resource.MustParse("1")
				s.node("a2")
				web := app("web", "1")
				web.Spec.Containers[0].Resources.Requests[gpu] = resource.MustParse("1")
				s.Bound(web, 1, "a1")
			}},
		{"unsupported", model.Unsupported, "resource claims (dynamic resource allocation)", func(s *stand) {
			s.node("a1")
			s.node("a2")
			web := app("web", "1")
			web.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "device"}}
			s.Bound(web, 1, "a1")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand()
			tt.build(s)
			x := s.load(t, 1000)
			var all []Node
			for i := range x.s.Nodes {
				all = append(all, Node(i))
			}
			x.m = x.w.Mover(all, 1000)
			for range 2 {
				x.want(x.move("a1"), tt.want)
				if x.reason != tt.reason {
					t.Errorf("reason %s, want %s", x.reason, tt.reason)
				}
			}
		})
	}
}

// TestNumbersAreThoseOfNow: the roomiest host is found again when others have been
// filled.
func TestNumbersAreThoseOfNow(t *testing.T) {
	s := newStand("a1", "a2", "b1", "c1")
	s.Bound(app("big", "4"), 1, "a1")
	s.Bound(app("web", "3"), 1, "a2")
	s.Bound(app("old", "1"), 1, "b1")
	s.Bound(app("old", "2"), 1, "c1")
	x := s.load(t, 1000, "b1", "a2", "c1")
	x.want(x.move("a1"), "InsufficientResources on 3 nodes; cpu 4 > 3 on the roomiest")
	x.want(x.move("a2"), "1 to b1")
	x.want(x.move("a1"), "InsufficientResources on 2 nodes; cpu 4 > 2 on the roomiest")
}
