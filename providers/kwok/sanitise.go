package kwok

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// passingTaints are put on a node by what happens to it and taken off again:
// a template that carried one would describe a node that no pod may use. A name
// that ends in a slash is a prefix.
var passingTaints = []string{
	corev1.TaintNodeNotReady,
	corev1.TaintNodeUnreachable,
	corev1.TaintNodeUnschedulable,
	corev1.TaintNodeMemoryPressure,
	corev1.TaintNodeDiskPressure,
	corev1.TaintNodePIDPressure,
	corev1.TaintNodeNetworkUnavailable,
	corev1.TaintNodeOutOfService,
	"node.cloudprovider.kubernetes.io/uninitialized",
	"node.cloudprovider.kubernetes.io/shutdown",
	"startup-taint.cluster-autoscaler.kubernetes.io/",
	"status-taint.cluster-autoscaler.kubernetes.io/",
	"ignore-taint.cluster-autoscaler.kubernetes.io/",
	"ToBeDeletedByClusterAutoscaler",
	"DeletionCandidateOfClusterAutoscaler",
	"karpenter.sh/disrupted",
	"karpenter.sh/unregistered",
	"node.cilium.io/agent-not-ready",
	"ebs.csi.aws.com/agent-not-ready",
	"efs.csi.aws.com/agent-not-ready",
}

// machineLabels identify one machine, so no node may inherit them from another. Each node gets its
// own hostname.
var machineLabels = []string{
	corev1.LabelHostname,
	"alpha.eksctl.io/instance-id",
	"topology.hostpath.csi/node",
}

// machineAnnotations belong to one machine, or to the tool that wrote it.
var machineAnnotations = append([]string{
	annotationFake, annotationMetrics,
	lastAppliedByKubectl,
	"alpha.kubernetes.io/provided-node-ip",
	"csi.volume.kubernetes.io/nodeid",
	"kubeadm.alpha.kubernetes.io/cri-socket",
	"node.alpha.kubernetes.io/ttl",
	"volumes.kubernetes.io/controller-managed-attach-detach",
}, groupAnnotations...)

// sanitise makes a template out of a node. It copies what describes the kind of
// machine and leaves everything else behind, so that a field which Kubernetes
// adds tomorrow is not inherited by accident: identity (name, uid, versions,
// times, owners, finalizers, provider id, addresses, pod CIDRs), the past
// (conditions, heartbeats, images, attached volumes, passing taints) and a
// cordon. There is no Ready condition: the KWOK controller initialises only
// nodes that do not claim to be ready.
//
// Annotations are kept on request: a person wrote those of a file, while those
// of a node of the cluster belong to that machine and its agents.
func sanitise(node *corev1.Node, keepAnnotations bool) *corev1.Node {
	clean := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}},
		Status: corev1.NodeStatus{
			Capacity:    maps.Clone(node.Status.Capacity),
			Allocatable: maps.Clone(node.Status.Allocatable),
			NodeInfo: corev1.NodeSystemInfo{
				Architecture:    node.Status.NodeInfo.Architecture,
				OperatingSystem: node.Status.NodeInfo.OperatingSystem,
				KubeletVersion:  fakeKubeletVersion,
			},
			RuntimeHandlers:  slices.Clone(node.Status.RuntimeHandlers),
			Features:         node.Status.Features.DeepCopy(),
			DeclaredFeatures: slices.Clone(node.Status.DeclaredFeatures),
		},
	}
	for key, value := range node.Labels {
		if !slices.Contains(machineLabels, key) {
			clean.Labels[key] = value
		}
	}
	if keepAnnotations {
		for key, value := range node.Annotations {
			if !slices.Contains(machineAnnotations, key) {
				clean.Annotations[key] = value
			}
		}
	}
	for _, taint := range node.Spec.Taints {
		if !passing(taint.Key) {
			clean.Spec.Taints = append(clean.Spec.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
		}
	}
	completeResources(clean)
	return clean
}

// completeResources lets a hand-written template give one of the two lists. A node without a "pods"
// resource takes no pod at all, which is never intended: kubelet's default is used.
func completeResources(node *corev1.Node) {
	status := &node.Status
	if len(status.Allocatable) == 0 {
		status.Allocatable = maps.Clone(status.Capacity)
	}
	if len(status.Capacity) == 0 {
		status.Capacity = maps.Clone(status.Allocatable)
	}
	if len(status.Allocatable) == 0 {
		return // validate refuses it
	}
	pods, ok := status.Capacity[corev1.ResourcePods]
	if !ok {
		pods = resource.MustParse(defaultPodsPerNode)
	}
	if _, ok := status.Allocatable[corev1.ResourcePods]; !ok {
		status.Allocatable[corev1.ResourcePods] = pods
	}
	if _, ok := status.Capacity[corev1.ResourcePods]; !ok {
		status.Capacity[corev1.ResourcePods] = status.Allocatable[corev1.ResourcePods]
	}
}

func passing(key string) bool {
	return slices.ContainsFunc(passingTaints, func(p string) bool {
		return key == p || strings.HasSuffix(p, "/") && strings.HasPrefix(key, p)
	})
}

// isOwn reports whether a node is one that this provider made.
func isOwn(annotations map[string]string) bool {
	kind := annotations[annotationFake]
	return (kind == fakeValue || kind == unattendedValue) && annotations[annotationGroup] != ""
}
