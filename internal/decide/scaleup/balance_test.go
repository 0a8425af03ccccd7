package scaleup_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestBalanceWithoutProgressEnds: groups a and b are similar, and the smaller one
// gets the share; but the pod's volume is in the zone of the larger. The growth
// stays where it was offered, and the plan comes to an end.
func TestBalanceWithoutProgressEnds(t *testing.T) {
	c := testkit.New()
	for _, zone := range []string{"a", "b"} {
		c.Group(zone, 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: zone}))
	}
	c.AddNode(testkit.Node("a1", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}), "a")
	c.Bound(testkit.Pod("default", "old", "4", "1Gi", nil), 1, "a1")
	var v model.Volumes
	for _, zone := range []string{"a", "b"} {
		name := "data-" + zone
		v.Claims = append(v.Claims, &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
			},
			Spec:   corev1.PersistentVolumeClaimSpec{VolumeName: name},
			Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
		})
		v.Persistent = append(v.Persistent, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
				NodeAffinity: &corev1.VolumeNodeAffinity{
					Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
						MatchExpressions: []corev1.NodeSelectorRequirement{{
							Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone},
						}},
					}}},
				},
			},
		})
		p := testkit.Pod("default", name, "4", "1Gi", nil)
		p.Spec.Volumes = []corev1.Volume{{
			Name:         "data",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}},
		}}
		c.Pending(p, 1)
	}
	o := c.Observation()
	o.Volumes = v
	policy := testkit.Policy()
	policy.ScaleUp.BalanceSimilar = true
	s := snapshot.New(nil, o, model.Standing{}, policy.Rules)
	w := schedsim.Load(nil, s)
	defer w.Close()
	r := scaleup.Plan(w, s, policy, gate.New(s, policy))
	if len(r.Grow) != 2 || r.Grow[0].To != 2 || r.Grow[1].To != 1 {
		t.Fatalf("one more node in each group is wanted:\n%s", text(s, r))
	}
}
