package testkit

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimClass is the StorageClass of all claims made here: a volume is made where
// the first pod that uses it goes.
const claimClass = "wait"

// Claim gives a pod a persistent volume claim of its own: one that is bound to a
// volume that any node can reach, or one that waits for its first consumer.
func (c *Cluster) Claim(p *corev1.Pod, name string, bound bool) {
	v := &c.Volumes
	v.Generation++
	if len(v.Classes) == 0 {
		wait := storagev1.VolumeBindingWaitForFirstConsumer
		v.Classes = []*storagev1.StorageClass{{
			ObjectMeta: metav1.ObjectMeta{Name: claimClass}, Provisioner: "example.com/disk", VolumeBindingMode: &wait,
		}}
	}
	class, modes := claimClass, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
		Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	if bound {
		claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
		claim.Spec.VolumeName, claim.Status.Phase = "pv-"+name, corev1.ClaimBound
		v.Persistent = append(v.Persistent, &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: class, Capacity: size, AccessModes: modes,
				ClaimRef: &corev1.ObjectReference{Namespace: p.Namespace, Name: name},
				PersistentVolumeSource: corev1.PersistentVolumeSource{
					CSI: &corev1.CSIPersistentVolumeSource{Driver: "example.com/disk", VolumeHandle: name},
				},
			},
		})
	}
	v.Claims = append(v.Claims, claim)
	p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
	}})
}

// ClaimIn gives a pod a claim whose volume nodes of one zone reach.
func (c *Cluster) ClaimIn(p *corev1.Pod, name, zone string, mode corev1.PersistentVolumeAccessMode) {
	c.Claim(p, name, true)
	v := &c.Volumes
	claim, volume := v.Claims[len(v.Claims)-1], v.Persistent[len(v.Persistent)-1]
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{mode}
	volume.Spec.AccessModes = claim.Spec.AccessModes
	volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
		}}},
	}}
	slices.SortFunc(v.Claims, func(a, b *corev1.PersistentVolumeClaim) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	slices.SortFunc(v.Persistent, func(a, b *corev1.PersistentVolume) int { return cmp.Compare(a.Name, b.Name) })
}
