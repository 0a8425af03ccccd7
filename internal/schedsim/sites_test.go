package schedsim_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestSites: a pod goes to the first node that reaches its volume, and nodes of one site are asked about once, unless
// the volume reads what differs between them. One question is about taints and labels.
func TestSites(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(v *corev1.PersistentVolume)
		on      schedsim.Node
		filters int
	}{
		"in a zone": {func(*corev1.PersistentVolume) {}, 6, 3},
		"on one host": {func(v *corev1.PersistentVolume) {
			e := &v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0]
			e.Key, e.Values = corev1.LabelHostname, []string{"n4"}
		}, 4, 6},
		"of a driver within Kubernetes": {func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{
				GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "disk"}}
		}, 6, 8},
	} {
		t.Run(name, func(t *testing.T) {
			k, v := storage()
			for i := range 8 {
				zone := "a"
				if i >= 6 {
					zone = "b"
				}
				k.AddNode(testkit.Node(fmt.Sprintf("n%d", i), "4", "16Gi", map[string]string{corev1.LabelTopologyZone: zone}), zone)
			}
			p := with(testkit.Pod("default", "db", "1", "1Gi", nil), "data")
			v.Claims = append(v.Claims, claim("data", "disk"))
			v.Persistent = append(v.Persistent, volumeIn("disk", "b", "data"))
			c.change(v.Persistent[0])
			k.Pending(p, 1)
			s, w := load(t, k, v)
			before := w.Work().Filters
			put, left, _ := w.Place(s.Pending[0].Class, 1, schedsim.OnReady, 1000)
			if left != 0 || len(put) != 1 || put[0].Node != c.on {
				t.Errorf("put %v, %d left, want it on %d", put, left, c.on)
			}
			if asked := w.Work().Filters - before; asked != c.filters {
				t.Errorf("%d nodes were asked about, want %d", asked, c.filters)
			}
		})
	}
}
