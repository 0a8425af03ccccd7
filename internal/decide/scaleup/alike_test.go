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

// This file holds plans of worlds to each other that differ in nothing that matters.

// outcome is what plans buy, and how the pods fare.
type outcome struct{ nodes, placed, left int }

func (o *outcome) add(x outcome) {
	o.nodes, o.placed, o.left = o.nodes+x.nodes, o.placed+x.placed, o.left+x.left
}

// near reports whether two numbers differ by a fiftieth at most.
func near(a, b int) bool { return 50*max(a-b, b-a) <= max(a, b) }

// sameOnTheWhole compares the sums of many worlds. Of classes alike in all that their order is made of, the digests
// decide which comes first, and digests are others here: in one world one pod may then have the room of another.
func sameOnTheWhole(t *testing.T, before, after outcome) {
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

// TestWhatNobodyReadsDoesNotMatter: labels that no pod reads, a label on each node of its own and on half of an app's
// pods, a group that may not grow and namespaces without pods change no plan.
func TestWhatNobodyReadsDoesNotMatter(t *testing.T) {
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

// TestNamesDoNotMatter: apps of other names have as much room.
func TestNamesDoNotMatter(t *testing.T) {
	name := regexp.MustCompile(`"app(\d*)"`)
	var before, after outcome
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		plan, _ := planOfDrawn(drawn, unchanged)
		before.add(plan)
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
		plan, _ = planOfDrawn(drawn, unchanged)
		after.add(plan)
	})
	sameOnTheWhole(t, before, after)
}

// TestUnitsDoNotMatter: where all amounts are twice as large, pods and nodes and limits, as much has room.
func TestUnitsDoNotMatter(t *testing.T) {
	var before, after outcome
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawWorld(t)
		plan, _ := planOfDrawn(drawn, unchanged)
		before.add(plan)
		for _, p := range drawn.Pods {
			for i := range p.Spec.Containers {
				double(p.Spec.Containers[i].Resources.Requests)
			}
		}
		drawn.Policy.ScaleUp.MaxCoresTotal *= 2
		plan, _ = planOfDrawn(drawn, func(c *testkit.Cluster) {
			for _, n := range c.Nodes() {
				n.Status.Allocatable, n.Status.Capacity = n.Status.Allocatable.DeepCopy(), n.Status.Capacity.DeepCopy()
				double(n.Status.Allocatable)
				double(n.Status.Capacity)
			}
		})
		after.add(plan)
	})
	sameOnTheWhole(t, before, after)
}

func double(amounts corev1.ResourceList) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := amounts[name]; ok {
			amounts[name] = *resource.NewMilliQuantity(2*q.MilliValue(), q.Format)
		}
	}
}
