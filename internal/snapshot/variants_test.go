package snapshot_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestNodesOnTheirWayAreWhereTheyCanBe: a booting node is in the zone that its labels
// or its instance say, a coming one in that of its instance, and one that the cloud
// cannot name yet in any.
func TestNodesOnTheirWayAreWhereTheyCanBe(t *testing.T) {
	c := testkit.New()
	g := c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
	for _, zone := range []string{"a", "b", "c"} {
		g.Template.Places = append(g.Template.Places, provider.Place{
			Zone: zone, Labels: map[string]string{corev1.LabelTopologyZone: zone},
		})
	}
	g.Template.Balanced = true
	booting := testkit.Node("booting", "4", "16Gi", nil)
	booting.CreationTimestamp = metav1.NewTime(c.Now.Add(-time.Minute))
	booting.Status.Conditions[0].Status = corev1.ConditionFalse
	booting.Status.Conditions[0].LastTransitionTime = booting.CreationTimestamp
	c.AddNode(booting, "g")
	g = &c.Groups[0]
	g.Instances[0].Zone = "b"
	g.Instances = append(g.Instances, provider.Instance{
		ID: "named", ProviderID: "test:named", State: provider.Creating, Zone: "c",
	})
	g.Target = 3
	s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)

	zones := map[string]string{}
	undecided := map[string]int{}
	for _, n := range s.Nodes {
		zones[n.Name] = s.Contents.Shapes[n.Shape].Node.Labels[corev1.LabelTopologyZone]
		undecided[n.Name] = len(n.May)
	}
	for name, want := range map[string]string{"booting": "b", "g:coming-0": "c", "g:coming-1": ""} {
		if zones[name] != want {
			t.Errorf("%s is in zone %q, want %q: %v", name, zones[name], want, zones)
		}
	}
	if undecided["g:coming-0"] != 0 || undecided["g:coming-1"] != 3 {
		t.Errorf("the nodes may be in so many zones: %v", undecided)
	}
}

// TestTypesVaryWherePodsAskForThem: the instance types of a mixed group are told
// apart only while some pod tells nodes apart by them.
func TestTypesVaryWherePodsAskForThem(t *testing.T) {
	const key = corev1.LabelInstanceTypeStable
	same := map[string]string{"app": "web"}
	for name, wish := range map[string]func(p *corev1.Pod){
		"":              func(*corev1.Pod) {},
		"selector":      func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: "big"} },
		"spread":        func(p *corev1.Pod) { testkit.SpreadOver(p, key, 1, same) },
		"affinity":      func(p *corev1.Pod) { testkit.Together(p, key, same) },
		"anti-affinity": func(p *corev1.Pod) { testkit.Apart(p, key, same) },
	} {
		c := testkit.New()
		g := c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
		g.Template.Varies = map[string][]string{key: {"big", "small"}}
		pod := testkit.Pod("default", "web", "1", "1Gi", same)
		wish(pod)
		c.Pending(pod, 1)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
		if n := len(s.Groups[0].Variants); (n == 2) != (name != "") {
			t.Errorf("%q: %d variants", name, n)
		}
	}
}

// TestNoSpreadTakesTypesFromThoseWhoSelect: where a group cannot have all the forms that
// pods ask about, those that pods select by stay, even if other pods spread over another label.
func TestNoSpreadTakesTypesFromThoseWhoSelect(t *testing.T) {
	types := make([]string, mostForms/2+1)
	for i := range types {
		types[i] = fmt.Sprintf("t%02d", i)
	}
	c := testkit.New()
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil)).Template.Varies = map[string][]string{
		corev1.LabelArchStable: {"amd64", "arm64"}, corev1.LabelInstanceTypeStable: types,
	}
	picky := testkit.Pod("default", "picky", "1", "1Gi", map[string]string{"app": "picky"})
	picky.Spec.NodeSelector = map[string]string{corev1.LabelInstanceTypeStable: "t07"}
	c.Pending(picky, 1)
	other := testkit.Pod("tenant", "other", "1", "1Gi", map[string]string{"app": "other"})
	testkit.SpreadOver(other, corev1.LabelArchStable, 1, map[string]string{"app": "other"})
	c.Pending(other, 1)
	s := snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
	if got := s.Groups[0].Variants; len(got) != len(types) || got[0].Labels[corev1.LabelInstanceTypeStable] == "" {
		t.Errorf("%d forms, the first has the labels %v; one of each of %d types is wanted",
			len(got), got[0].Labels, len(types))
	}
}

// mostForms is how many forms a group has at most.
const mostForms = 64
