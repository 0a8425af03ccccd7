package gardener

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

const (
	// kwok keeps a node ready that has this annotation, and with any other value
	// leaves it alone.
	fakeAnnotation = "kwok.x-k8s.io/node"
	fakeValue      = "fake"
	leftValue      = "not-ready"

	architecture = "amd64"
	system       = "linux"
	mostPods     = "110"

	nvidiaGPU corev1.ResourceName = "nvidia.com/gpu"
)

// providerID names a machine as a cloud would, by its zone.
func providerID(zone, machine string) string { return "fake:///" + zone + "/" + machine }

// nodeOf is the node that a machine's kubelet registers, labelled and tainted by its
// template. All that its class has, pods may use.
func nodeOf(m machinev1.Machine, class machinev1.MachineClass) *corev1.Node {
	var t machinev1.NodeTemplate
	if class.NodeTemplate != nil {
		t = *class.NodeTemplate
	}
	arch := ptr.Deref(t.Architecture, architecture)
	labels := map[string]string{
		corev1.LabelArchStable:         arch,
		corev1.LabelOSStable:           system,
		corev1.LabelHostname:           m.Name,
		corev1.LabelInstanceTypeStable: t.InstanceType,
		corev1.LabelTopologyRegion:     t.Region,
		corev1.LabelTopologyZone:       t.Zone,
	}
	maps.Copy(labels, m.Spec.NodeTemplate.Labels)
	annotations := map[string]string{fakeAnnotation: fakeValue}
	maps.Copy(annotations, m.Spec.NodeTemplate.Annotations)
	capacity := capacityOf(t)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: m.Name, Labels: labels, Annotations: annotations},
		Spec:       corev1.NodeSpec{ProviderID: m.Spec.ProviderID, Taints: slices.Clone(m.Spec.NodeTemplate.Spec.Taints)},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			NodeInfo:    corev1.NodeSystemInfo{Architecture: arch, OperatingSystem: system},
		},
	}
}

// capacityOf is what the class's node template has, in the names of Kubernetes.
func capacityOf(t machinev1.NodeTemplate) corev1.ResourceList {
	capacity := corev1.ResourceList{corev1.ResourcePods: resource.MustParse(mostPods)}
	for _, list := range []corev1.ResourceList{t.Capacity, t.VirtualCapacity} {
		for name, amount := range list {
			if name != machinev1.ResourceGPU {
				capacity[name] = amount.DeepCopy()
			} else if !amount.IsZero() {
				capacity[nvidiaGPU] = amount.DeepCopy()
			}
		}
	}
	return capacity
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// mayRun reports whether the machine of a node has come up: it is ready, and its network and the like run.
func mayRun(node *corev1.Node) bool {
	return isReady(node) && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == machinev1.CriticalComponentsNotReadyTaint
	})
}
