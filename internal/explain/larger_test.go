package explain_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestAGroupWithLargerNodesIsNamed: where pods are too large for every group, the answer says what the nodes of a
// further one must have; with such a group the plan serves them. Where something else holds a group that they fit,
// there is none.
func TestAGroupWithLargerNodesIsNamed(t *testing.T) {
	for _, c := range []struct{ name, cluster, want, with string }{
		{"too large for all", one + "pods web count=2 cpu=6 memory=20Gi",
			"a group like g that has nodes with allocatable cpu ≥ 6, memory ≥ 20Gi",
			"group h max=10 cpu=6 memory=20Gi\n"},
		{"beside a DaemonSet", one + "daemonset d cpu=500m memory=0\npods web count=1 cpu=6",
			"a group like g that has nodes with allocatable cpu ≥ 6500m", "group h max=10 cpu=6500m memory=16Gi\n"},
		{"a group at its maximum", one + "group big max=0 cpu=8 memory=32Gi\npods web count=1 cpu=6", "", ""},
		{"another obstacle as well", one + "pods web count=1 cpu=6 select=disk:ssd", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := waitingPod(t, c.cluster)
			got := ""
			if answer.Larger != nil {
				got = answer.Larger.Text
			}
			if got != c.want {
				t.Errorf("it names %q, not %q", got, c.want)
			}
			if c.with == "" {
				return
			}
			if answer = waitingPod(t, c.with+c.cluster); answer.Left > 0 {
				t.Errorf("with %s, %d get no node", c.with, answer.Left)
			}
		})
	}
}

// waitingPod is what is said of the first pod of web.
func waitingPod(t *testing.T, cluster string) *explain.PendingPod {
	t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(cluster); err != nil {
		t.Fatalf("%v in\n%s", err, cluster)
	}
	snap := s.Snapshot(s.Policy)
	answer, err := explain.PodOf(model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}, s.Policy,
		"default/web-000001")
	if err != nil || answer.Pending == nil {
		t.Fatalf("%v: %+v", err, answer)
	}
	return answer.Pending
}

// TestANodeWithoutAmounts: one that was written by hand may lack what it has, or what of it pods may have.
func TestANodeWithoutAmounts(t *testing.T) {
	for _, lacks := range []func(*corev1.NodeStatus){
		func(n *corev1.NodeStatus) { n.Capacity = nil },
		func(n *corev1.NodeStatus) { n.Allocatable = nil },
		func(n *corev1.NodeStatus) { n.Capacity, n.Allocatable = nil, nil },
	} {
		s := testkit.NewScenario()
		if err := s.Add(one + "pods web count=2 cpu=6 memory=20Gi"); err != nil {
			t.Fatal(err)
		}
		snap := s.Snapshot(s.Policy)
		for _, shape := range snap.Contents.Shapes {
			lacks(&shape.Node.Status)
		}
		answer, err := explain.PodOf(model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}, s.Policy,
			"default/web-000001")
		if err != nil || answer.Pending == nil {
			t.Errorf("%v: %+v", err, answer)
		}
	}
}
