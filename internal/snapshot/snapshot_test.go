package snapshot_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestKinds: what a node counts as, by its readiness, age and past.
func TestKinds(t *testing.T) {
	now := testkit.Start
	condition := func(status corev1.ConditionStatus, age time.Duration) []corev1.NodeCondition {
		return []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}
	}
	cases := []struct {
		name       string
		age        time.Duration
		conditions []corev1.NodeCondition
		group      string
		want       model.NodeKind
	}{
		{"ready", time.Hour, condition(corev1.ConditionTrue, time.Minute), "g", model.Ready},
		{"just registered", time.Second, nil, "g", model.Booting},
		{"not ready since it registered", 5 * time.Minute, condition(corev1.ConditionFalse, 5*time.Minute-time.Second), "g", model.Booting},
		{"was ready and broke, though young", 5 * time.Minute, condition(corev1.ConditionFalse, time.Minute), "g", model.Unready},
		{"never ready, and past its time", 16 * time.Minute, condition(corev1.ConditionFalse, 16*time.Minute), "g", model.Unready},
		{"not ready, and no group's", time.Second, nil, "", model.Unready},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cluster := testkit.New()
			cluster.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
			n := testkit.Node("n", "4", "16Gi", nil)
			n.CreationTimestamp = metav1.NewTime(now.Add(-c.age))
			n.Status.Conditions = c.conditions
			cluster.AddNode(n, c.group)
			s := snapshot.New(nil, cluster.Observation(), model.Standing{}, testkit.Policy().Rules)
			if got := s.Nodes[0].Kind; got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// TestNominations: a pod that the scheduler makes room for on a node counts
// there; if that node is gone, it is pending like any other.
func TestNominations(t *testing.T) {
	for node, pending := range map[string]int{"n": 0, "gone": 1} {
		c := testkit.New()
		c.AddNode(testkit.Node("n", "4", "16Gi", nil), "")
		c.Pending(testkit.Pod("default", "p", "1", "1Gi", nil), 1)
		o := c.Observation()
		o.Unbound[0].Nominated = node
		s := snapshot.New(nil, o, model.Standing{}, model.Rules{})
		if len(s.Pending) != pending || s.Nodes[0].Occupants != 1-pending {
			t.Errorf("nominated to %s: %d classes pending, %d occupants", node, len(s.Pending), s.Nodes[0].Occupants)
		}
	}
}

// TestYoungNodeWithoutInstance: as long as the cloud was read before the node
// came to be, whose it is is not known (rule L5).
func TestYoungNodeWithoutInstance(t *testing.T) {
	for _, c := range []struct {
		created time.Duration
		want    bool
	}{{-time.Hour, false}, {0, true}, {time.Minute, true}} {
		cluster := testkit.New()
		n := testkit.Node("n", "4", "16Gi", nil)
		n.CreationTimestamp = metav1.NewTime(testkit.Start.Add(c.created))
		cluster.AddNode(n, "")
		o := cluster.Observation()
		o.Inventory.AsOf = testkit.Start.Add(500 * time.Millisecond)
		if s := snapshot.New(nil, o, model.Standing{}, model.Rules{}); s.Nodes[0].Unknown != c.want {
			t.Errorf("created %s after the start: unknown %v", c.created, s.Nodes[0].Unknown)
		}
	}
}
