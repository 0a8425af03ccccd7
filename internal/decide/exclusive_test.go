package decide

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestAVolumeThatOnePodMayUseBuysForOne: of all pods that share a volume which one pod may use, be they alike or not,
// one gets a new node. What the other pods need is packed as ever.
func TestAVolumeThatOnePodMayUseBuysForOne(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 100, testkit.Node("", "4", "16Gi", nil))
	c.Group("h", 0, 100, testkit.Node("", "4", "16Gi", nil))
	alike := testkit.Pod("default", "alike", "3", "1Gi", nil)
	c.Claim(alike, "data", true)
	c.Volumes.Claims[0].Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	other := testkit.Pod("default", "other", "2", "1Gi", nil)
	other.Spec.Volumes = alike.Spec.Volumes
	c.Pending(alike, 3)
	c.Pending(other, 2)
	c.Pending(testkit.Pod("default", "plain", "3", "1Gi", nil), 4)
	policy := testkit.Policy()
	s := snapshot.New(nil, c.Observation(), model.Standing{}, policy.Rules)
	d := &Decider{}
	defer d.Close()
	plan := d.Decide(s, policy)
	planned := map[string]int{}
	for i := range plan.Pending {
		v := &plan.Pending[i]
		use := "plain"
		if len(s.Classes[v.Class].Spec.Claims) > 0 {
			use = "volume"
			if v.Left > 0 && v.Groups[0].Reason != model.VolumeInUse {
				t.Errorf("%d pods are left for %+v, want %s", v.Left, v.Groups[0], model.VolumeInUse)
			}
		}
		planned[use] += v.Planned
	}
	if planned["volume"] != 1 || planned["plain"] != 4 || plan.Nodes != 5 || plan.LowerBound > 5 {
		t.Errorf("planned are %v on %d nodes, of which %d are needed", planned, plan.Nodes, plan.LowerBound)
	}
	replay := d.Replay(s, policy, &plan)
	for replay != nil && replay.Step() {
	}
	if replay == nil || replay.Result().Refused != nil {
		t.Errorf("the scheduler's filters do not allow it: %+v", replay)
	}
}

// TestAVolumeInAZoneFindsItsGroup: pods that cannot be packed, since of those that share a volume one may use it, or
// since they are to be beside each other in a region, get their node from the group that their volume reaches, wherever
// that is among the groups.
func TestAVolumeInAZoneFindsItsGroup(t *testing.T) {
	const region = corev1.LabelTopologyRegion
	zones := []string{"a", "b", "c"}
	for _, zone := range zones {
		c := testkit.New()
		for _, z := range zones {
			c.Group(z, 0, 100, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: z, region: "r"}))
		}
		alone := testkit.Pod("default", "alone", "1", "1Gi", nil)
		c.ClaimIn(alone, "alone", zone, corev1.ReadWriteOncePod)
		both := testkit.Pod("default", "both", "1", "1Gi", map[string]string{"app": "both"})
		c.ClaimIn(both, "both", zone, corev1.ReadWriteOnce)
		testkit.Together(both, region, map[string]string{"app": "both"})
		c.Pending(alone, 2)
		c.Pending(both, 2)
		policy := testkit.Policy()
		s := snapshot.New(nil, c.Observation(), model.Standing{}, policy.Rules)
		plan := Decide(s, policy)
		planned, nodes := 0, 0
		for i := range plan.Pending {
			planned += plan.Pending[i].Planned
		}
		for _, g := range plan.Grow {
			if string(g.Group) == zone {
				nodes += g.To - g.From
			}
		}
		if planned != 3 || nodes != 1 || plan.Nodes != 1 {
			t.Errorf("volumes in zone %s: %d pods have a place on %d nodes, %d of %s, want 3 on 1:\n%s",
				zone, planned, plan.Nodes, nodes, zone, plan.Text(s))
		}
	}
}
