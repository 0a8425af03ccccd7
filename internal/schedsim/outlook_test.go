package schedsim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestHostnamesThatAreNotTheirOwn: where nodes share a hostname, or have none, one
// node does not stand for its kind, and the verdicts are the scheduler's still.
func TestHostnamesThatAreNotTheirOwn(t *testing.T) {
	for _, tt := range []struct {
		name   string
		folded bool
		change func(s *stand, n *corev1.Node)
	}{
		{"each its own", true, func(*stand, *corev1.Node) {}},
		{"another's", false, func(_ *stand, n *corev1.Node) { n.Labels[corev1.LabelHostname] = "a1" }},
		{"none", false, func(_ *stand, n *corev1.Node) { delete(n.Labels, corev1.LabelHostname) }},
		{"that of one to come", false, func(s *stand, n *corev1.Node) {
			s.Groups[2].Target++
			n.Labels[corev1.LabelHostname] = "c:coming-0"
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStand()
			web := app("web", "100m")
			testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
			for _, name := range []string{"a1", "a2", "b1", "b2"} {
				n := s.node(name)
				s.Bound(web, int(name[1]-'0'), name)
				if name == "b2" {
					tt.change(s, n)
				}
			}
			x := s.load(t, 1000, "a1", "a2", "b1", "b2")
			class := x.s.Nodes[0].Batches[0].Class
			if got := x.w.view(class).fold != nil; got != tt.folded {
				t.Errorf("folded: %v", got)
			}
			for i := range x.w.nodes {
				got, want := x.w.check(class, i) == nil, schedulerSays(x.w, class, i)
				if got != want {
					t.Errorf("%s: %v, the scheduler says %v", x.w.nodes[i].name, got, want)
				}
			}
		})
	}
}

// TestFoldShowsAsManyAsAsked: a constraint that wants a number of domains is shown that
// many of a kind; others see one of each kind, however many nodes there are.
func TestFoldShowsAsManyAsAsked(t *testing.T) {
	for _, tt := range []struct {
		domains int32
		shown   int
		want    model.Reason
	}{
		{0, 2, model.Fits},
		{3, 4, model.Fits}, // three empty ones and the one with a pod
		{8, 7, model.TopologySpread},
	} {
		s := newStand()
		web := app("web", "100m")
		testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
		if tt.domains > 0 {
			web.Spec.TopologySpreadConstraints[0].MinDomains = &tt.domains
		}
		for _, name := range []string{"a1", "a2", "b1", "b2", "c1", "c2", "c3"} {
			s.node(name)
			if tt.domains > 0 && name != "a1" && tt.want != model.Fits {
				s.Bound(web, 1, name)
			}
		}
		s.Bound(web, 1, "a1")
		x := s.load(t, 1000, "a1")
		class := x.s.Nodes[0].Batches[0].Class
		before := x.w.Work().NodesScanned
		got := x.w.Fits(class, x.node("a2"))
		if asked := x.w.Work().NodesScanned - before - 1; asked != tt.shown { // one for the labels and taints
			t.Errorf("%d domains: %d nodes shown, want %d", tt.domains, asked, tt.shown)
		}
		if got != tt.want || (got == model.Fits) != schedulerSays(x.w, class, int(x.node("a2"))) {
			t.Errorf("%d domains: %s, want %s", tt.domains, got, tt.want)
		}
	}
}

// TestFoldKeepsApartWhatIsCountedOtherwise: nodes with a taint are none for a
// constraint that honours taints, and each of them could be the emptiest for one
// that does not.
func TestFoldKeepsApartWhatIsCountedOtherwise(t *testing.T) {
	for _, tt := range []struct {
		policy corev1.NodeInclusionPolicy
		want   model.Reason
	}{
		{corev1.NodeInclusionPolicyHonor, model.Fits},
		{corev1.NodeInclusionPolicyIgnore, model.TopologySpread},
	} {
		s := newStand()
		web := app("web", "100m")
		testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
		web.Spec.TopologySpreadConstraints[0].NodeTaintsPolicy = &tt.policy
		s.node("c1").Spec.Taints = []corev1.Taint{{Key: "x", Effect: corev1.TaintEffectNoSchedule}}
		s.node("a2")
		s.node("a3")
		s.Bound(web, 1, "a2")
		s.Bound(web, 1, "a3")
		x := s.load(t, 1000, "a2")
		class := x.s.Nodes[x.node("a2")].Batches[0].Class
		if got := x.w.Fits(class, x.node("a2")); got != tt.want ||
			(got == model.Fits) != schedulerSays(x.w, class, int(x.node("a2"))) {
			t.Errorf("%s: %s, want %s", tt.policy, got, tt.want)
		}
	}
}
