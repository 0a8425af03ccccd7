package schedsim_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// storage is what the volume tests share: two one-zone groups, and a class of
// storage that is bound when its pod is.
func storage() (*testkit.Cluster, model.Volumes) {
	c := testkit.New()
	c.Group("a", 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}))
	c.Group("b", 0, 10, testkit.Node("", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "b"}))
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	return c, model.Volumes{Classes: []*storagev1.StorageClass{{
		ObjectMeta: metav1.ObjectMeta{Name: "late"}, Provisioner: "disk.example.com", VolumeBindingMode: &wait,
	}}}
}

func claim(name, volume string) *corev1.PersistentVolumeClaim {
	class := "late"
	p := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, VolumeName: volume,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if volume != "" {
		p.Status.Phase = corev1.ClaimBound
		p.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	}
	return p
}

func volumeIn(name, zone, claim string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: "late", ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: claim},
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.example.com", VolumeHandle: name}},
			NodeAffinity: &corev1.VolumeNodeAffinity{
				Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone,
						Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
				}}}},
		},
	}
}

func with(p *corev1.Pod, claim string) *corev1.Pod {
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return p
}

func load(t *testing.T, c *testkit.Cluster, v model.Volumes) (*model.Snapshot, *schedsim.World) {
	t.Helper()
	o := c.Observation()
	o.Volumes = v
	s := snapshot.New(nil, o, model.Standing{}, testkit.Policy().Rules)
	w := schedsim.Load(nil, s)
	t.Cleanup(w.Close)
	return s, w
}

// TestBoundVolumePinsItsZone: a pod whose volume is in one zone fits a new node there, and not one in the other. Two
// clusters in one process that count their volumes alike are told apart.
func TestBoundVolumePinsItsZone(t *testing.T) {
	for own, zone := range []string{"a", "b"} {
		c, v := storage()
		v.Generation = 1
		v.Claims = append(v.Claims, claim("data", "disk-1"))
		v.Persistent = append(v.Persistent, volumeIn("disk-1", zone, "data"))
		c.Pending(with(testkit.Pod("default", "db", "1", "1Gi", nil), "data"), 1)
		s, w := load(t, c, v)
		for group := range s.Groups {
			want := model.VolumeNotBindable
			if group == own {
				want = model.Fits
			}
			at, _ := w.GroupTemplate(group)
			if got := w.ExplainTemplate(s.Pending[0].Class, at); got.Reason != want {
				t.Errorf("volume in zone %s, group %d: %+v", zone, group, got)
			}
		}
		w.Close() // the next one gets its plugins
	}
}

// TestLateBindingVolumeFitsAnywhere: a claim that waits for its pod does not
// keep the pod from new nodes; one that does not exist does.
func TestLateBindingVolumeFitsAnywhere(t *testing.T) {
	c, v := storage()
	v.Claims = append(v.Claims, claim("data", ""))
	c.Pending(with(testkit.Pod("default", "db", "1", "1Gi", nil), "data"), 1)
	c.Pending(with(testkit.Pod("default", "lost", "1", "2Gi", nil), "nowhere"), 1)
	s, w := load(t, c, v)
	a, _ := w.GroupTemplate(0)
	for _, q := range s.Pending {
		want := model.Fits
		if s.Classes[q.Class].Spec.Claims[0] == "nowhere" {
			want = model.VolumeNotBindable
		}
		if got := w.ExplainTemplate(q.Class, a); got.Reason != want {
			t.Errorf("%s: %+v, want %s", q.Pods[0].Name, got, want)
		}
	}
}

// TestVolumeThatOneNodeMayUse: a ReadWriteOncePod claim that a pod uses already
// keeps others away, wherever that pod is.
func TestVolumeThatOneNodeMayUse(t *testing.T) {
	c, v := storage()
	once := claim("data", "disk-1")
	once.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}
	v.Claims = append(v.Claims, once)
	v.Persistent = append(v.Persistent, volumeIn("disk-1", "b", "data"))
	c.AddNode(testkit.Node("b1", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "b"}), "b")
	c.Bound(with(testkit.Pod("default", "db", "1", "1Gi", nil), "data"), 1, "b1")
	c.Pending(with(testkit.Pod("default", "other", "1", "2Gi", nil), "data"), 1)
	s, w := load(t, c, v)
	b, _ := w.GroupTemplate(1)
	if got := w.ExplainTemplate(s.Pending[0].Class, b); got.Reason != model.VolumeInUse {
		t.Errorf("%+v", got)
	}
}

// TestVolumeLimitOfATemplate: the group's template says how many volumes a new
// node can have attached; the second pod with one needs a second node.
func TestVolumeLimitOfATemplate(t *testing.T) {
	c, v := storage()
	one := int32(1)
	c.Groups[1].Template.CSINode = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
		Name: "disk.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}}}
	v.Claims = append(v.Claims, claim("data-0", "disk-0"), claim("data-1", "disk-1"))
	v.Persistent = append(v.Persistent, volumeIn("disk-0", "b", "data-0"), volumeIn("disk-1", "b", "data-1"))
	c.Pending(with(testkit.Pod("default", "db-0", "1", "1Gi", nil), "data-0"), 1)
	c.Pending(with(testkit.Pod("default", "db-1", "1", "1Gi", nil), "data-1"), 1)
	s, w := load(t, c, v)
	b, _ := w.GroupTemplate(1)
	p := w.Pack([]model.Batch{{Class: s.Pending[0].Class, Count: 1}, {Class: s.Pending[1].Class, Count: 1}}, b, 10)
	if p.Nodes != 2 || len(p.Placed) != 2 {
		t.Errorf("%+v", p)
	}
}

// TestSpreadOpensNodesForVolumes: pods that are spread over zones and have a
// volume each do not stop at the first node's limit of volumes.
func TestSpreadOpensNodesForVolumes(t *testing.T) {
	c, v := storage()
	one := int32(1)
	c.Groups[1].Template.CSINode = &storagev1.CSINode{Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
		Name: "disk.example.com", Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}}}
	v.Claims = append(v.Claims, claim("data-0", "disk-0"), claim("data-1", "disk-1"))
	v.Persistent = append(v.Persistent, volumeIn("disk-0", "b", "data-0"), volumeIn("disk-1", "b", "data-1"))
	for _, name := range []string{"data-0", "data-1"} {
		pod := with(testkit.Pod("default", "db", "1", "1Gi", map[string]string{"app": "db"}), name)
		testkit.SpreadOver(pod, corev1.LabelTopologyZone, 5, pod.Labels)
		c.Pending(pod, 1)
	}
	s, w := load(t, c, v)
	b, _ := w.GroupTemplate(1)
	opened := 0
	for _, q := range s.Pending {
		got := w.Spread(q.Class, 1, schedsim.OnPlanned, []schedsim.Head{{Template: b}},
			func(int, []int) bool { return true }, 1_000_000)
		if got.Left > 0 {
			t.Errorf("%s has no place", q.Pods[0].Name)
		}
		opened += got.Opened[0]
	}
	if opened != 2 {
		t.Errorf("%d nodes opened, want 2", opened)
	}
}

// TestVolumeLimit: a node that has as many volumes of a driver attached as it
// can takes no pod with another.
func TestVolumeLimit(t *testing.T) {
	c, v := storage()
	one := int32(1)
	v.CSINodes = []*storagev1.CSINode{{ObjectMeta: metav1.ObjectMeta{Name: "b1"},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: "disk.example.com", NodeID: "b1", Allocatable: &storagev1.VolumeNodeResources{Count: &one}}}}}}
	v.Claims = append(v.Claims, claim("data-0", "disk-0"), claim("data-1", "disk-1"))
	v.Persistent = append(v.Persistent, volumeIn("disk-0", "b", "data-0"), volumeIn("disk-1", "b", "data-1"))
	c.AddNode(testkit.Node("b1", "4", "16Gi", map[string]string{corev1.LabelTopologyZone: "b"}), "b")
	c.Bound(with(testkit.Pod("default", "db-0", "1", "1Gi", nil), "data-0"), 1, "b1")
	c.Pending(with(testkit.Pod("default", "db-1", "1", "1Gi", nil), "data-1"), 1)
	s, w := load(t, c, v)
	if got := w.Explain(s.Pending[0].Class, 0); got.Reason != model.VolumeLimit {
		t.Errorf("%+v", got)
	}
}
