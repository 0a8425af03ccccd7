package scaleup_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// This file compares plans of worlds that differ only in what must not change a plan.

// outcome is what plans buy, and how the pods fare.
type outcome struct{ nodes, placed, left int }

func (o *outcome) add(x outcome) {
	o.nodes, o.placed, o.left = o.nodes+x.nodes, o.placed+x.placed, o.left+x.left
}

// near reports whether two numbers differ by a fiftieth at most.
func near(a, b int) bool { return 50*max(a-b, b-a) <= max(a, b) }

// asMuchHasRoom compares the plans of many drawn worlds before and after a change of their pods and clusters, by their
// sums. The digests of classes change as well, and decide which of two equal classes comes first, so that in a single
// world one pod may have the room of another.
func asMuchHasRoom(t *testing.T, change func(*rapid.T, *testkit.World) func(*testkit.Cluster)) {
	var before, after outcome
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		plan, _ := planOfDrawn(drawn, unchanged)
		before.add(plan)
		changed := change(t, &drawn)
		plan, _ = planOfDrawn(drawn, changed)
		after.add(plan)
	})
	if !near(before.nodes, after.nodes) || !near(before.placed, after.placed) || !near(before.left, after.left) ||
		before.nodes == 0 || before.left == 0 {
		t.Errorf("before: %+v, after: %+v", before, after)
	}
}

// planOfDrawn plans for a drawn world, once it has been changed; text is all that is bought, and how each class fares.
func planOfDrawn(drawn testkit.World, change func(*testkit.Cluster)) (out outcome, text string) {
	c := drawn.Build(testkit.InOrder)
	change(c)
	s, w, r := planOf(c, drawn.Policy)
	defer w.Close()
	var b strings.Builder
	fmt.Fprintf(&b, "%d nodes, at least %d\n", r.Nodes, r.LowerBound)
	for _, g := range r.Grow {
		fmt.Fprintf(&b, "%s %d → %d\n", g.Group, g.From, g.To)
	}
	names := s.ClassNames()
	out.nodes = r.Nodes
	for _, v := range slices.SortedFunc(slices.Values(r.Pending), func(v, w model.PendingVerdict) int {
		return cmp.Compare(names[v.Class], names[w.Class])
	}) {
		out.placed, out.left = out.placed+v.Pods-v.Left, out.left+v.Left
		fmt.Fprintf(&b, "%s x%d: %d on nodes that are there, %d on coming, %d on new ones, %d left\n",
			names[v.Class], v.Pods, v.Existing, v.Upcoming, v.Planned, v.Left)
	}
	return out, b.String()
}

func unchanged(*testkit.Cluster) {}

// TestPlanWithUnusedLabels: a plan stays the same if nodes and pods get labels that no pod selects by, and if a group
// with a maximum of zero and an empty namespace are added.
func TestPlanWithUnusedLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		_, plain := planOfDrawn(drawn, unchanged)
		_, more := planOfDrawn(drawn, func(c *testkit.Cluster) {
			for i, n := range c.Nodes() {
				n.Labels["example.com/a"] = "same" // groups that differ in labels are not balanced
				if n.Name != "" {
					n.Labels["example.com/number"] = fmt.Sprint(i)
				}
			}
			c.Group("shut", 0, 0, testkit.Node("", "64", "256Gi", map[string]string{corev1.LabelTopologyZone: "a"}))
			c.LabelHalf("example.com/half", "this")
			c.Namespaces["empty"] = map[string]string{"team": "none"}
		})
		if plain != more {
			t.Fatalf("plain:\n%s\nwith more:\n%s", plain, more)
		}
	})
}

// TestPlanWithOtherNames: if apps are renamed, as many pods have room on as many nodes.
func TestPlanWithOtherNames(t *testing.T) {
	name := regexp.MustCompile(`"app(\d*)"`)
	asMuchHasRoom(t, func(t *rapid.T, drawn *testkit.World) func(*testkit.Cluster) {
		for _, p := range drawn.Pods {
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			*p = corev1.Pod{}
			if err := json.Unmarshal(name.ReplaceAll(text, []byte(`"thing$1"`)), p); err != nil {
				t.Fatal(err)
			}
		}
		return unchanged
	})
}

// TestPlanWithDoubledAmounts: if pods, nodes and limits are twice as large, as many pods have room on as many nodes.
func TestPlanWithDoubledAmounts(t *testing.T) {
	asMuchHasRoom(t, func(_ *rapid.T, drawn *testkit.World) func(*testkit.Cluster) {
		for _, p := range drawn.Pods {
			for i := range p.Spec.Containers {
				double(p.Spec.Containers[i].Resources.Requests)
			}
		}
		drawn.Policy.ScaleUp.MaxCoresTotal *= 2
		return func(c *testkit.Cluster) {
			for _, n := range c.Nodes() {
				n.Status.Allocatable, n.Status.Capacity = n.Status.Allocatable.DeepCopy(), n.Status.Capacity.DeepCopy()
				double(n.Status.Allocatable)
				double(n.Status.Capacity)
			}
		}
	})
}

func double(amounts corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := amounts[name]; ok {
			amounts[name] = *resource.NewMilliQuantity(2*q.MilliValue(), q.Format)
		}
	}
}
