package gardenertest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// NewDeployment is a MachineDeployment as Gardener makes it, of a pool (or none) in a
// zone, with annotations given as key, value, key, value. Its class has its name.
func NewDeployment(
	namespace, name, pool, zone string, replicas int, annotations ...string,
) *v1alpha1.MachineDeployment {
	notes := map[string]string{}
	for i := 0; i+1 < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	own := map[string]string{v1alpha1.NameLabel: name}
	one := intstr.FromInt32(1)
	d := &v1alpha1.MachineDeployment{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMachineDeployment},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: notes, Labels: map[string]string{},
			Finalizers: []string{v1alpha1.Finalizer}},
		Spec: v1alpha1.MachineDeploymentSpec{
			Replicas: int32(replicas), Selector: &metav1.LabelSelector{MatchLabels: own},
			Strategy: v1alpha1.MachineStrategy{
				Type: v1alpha1.RollingUpdate, RollingUpdate: &v1alpha1.UpdateBounds{MaxSurge: &one, MaxUnavailable: &one},
			},
			Template: v1alpha1.MachineTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: own},
				Spec: v1alpha1.MachineSpec{
					Class: v1alpha1.ClassSpec{APIGroup: v1alpha1.GroupName, Kind: v1alpha1.KindMachineClass, Name: name},
					NodeTemplate: v1alpha1.NodeTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
						v1alpha1.PoolLabel: pool, corev1.LabelTopologyZone: zone,
					}}},
				},
			},
		},
	}
	if pool != "" {
		d.Labels[v1alpha1.PoolLabel] = pool
	}
	return d
}

// NewClass is a MachineClass of 4 cores and 16 GiB.
func NewClass(namespace, name, zone string) *v1alpha1.MachineClass {
	return &v1alpha1.MachineClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.KindMachineClass},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		NodeTemplate: &v1alpha1.NodeTemplate{
			Capacity: corev1.ResourceList{
				"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "gpu": resource.MustParse("0"),
			},
			InstanceType: "large", Region: "europe", Zone: zone,
		},
		ProviderSpec: runtime.RawExtension{Raw: []byte(`{"machineType":"large"}`)},
	}
}
