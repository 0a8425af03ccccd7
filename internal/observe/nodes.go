package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// trimNode keeps of a node what scheduling, removing and reporting read. Equal
// nodes stay equal when a kubelet only says that it is alive.
func trimNode(in *corev1.Node) *corev1.Node {
	out := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              in.Name,
			UID:               in.UID,
			ResourceVersion:   in.ResourceVersion,
			CreationTimestamp: in.CreationTimestamp,
			DeletionTimestamp: in.DeletionTimestamp,
			Labels:            in.Labels,
		},
		Spec: corev1.NodeSpec{
			ProviderID:    in.Spec.ProviderID,
			Unschedulable: in.Spec.Unschedulable,
			Taints:        in.Spec.Taints,
		},
		Status: corev1.NodeStatus{
			Capacity:         in.Status.Capacity,
			Allocatable:      in.Status.Allocatable,
			DeclaredFeatures: in.Status.DeclaredFeatures,
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion:  in.Status.NodeInfo.KubeletVersion,
				OperatingSystem: in.Status.NodeInfo.OperatingSystem,
				Architecture:    in.Status.NodeInfo.Architecture,
			},
		},
	}
	for k, v := range in.Annotations {
		if keepAnnotation(k) {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[k] = v
		}
	}
	for _, c := range in.Status.Conditions {
		out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{
			Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
		})
	}
	return out
}

// keepAnnotation reports whether a node's annotation is about its removal, or one
// that a provider reads.
func keepAnnotation(key string) bool {
	if key == model.AnnotationStays || key == model.AnnotationRemoval || key == model.AnnotationDoNotDisrupt {
		return true
	}
	prefix, _, ok := strings.Cut(key, "/")
	if !ok {
		return false
	}
	return prefix == "cluster-autoscaler.kubernetes.io" ||
		strings.HasSuffix(prefix, ".cluster-autoscaler.kubernetes.io") ||
		prefix == "kwok.x-k8s.io" || prefix == "cluster-autoscaler.kwok.nodegroup"
}

// sameNode reports whether two trimmed nodes differ in nothing but their version.
func sameNode(a, b *corev1.Node) bool {
	return a.UID == b.UID &&
		a.DeletionTimestamp.Equal(b.DeletionTimestamp) &&
		apiequality.Semantic.DeepEqual(a.Labels, b.Labels) &&
		apiequality.Semantic.DeepEqual(a.Annotations, b.Annotations) &&
		apiequality.Semantic.DeepEqual(a.Spec, b.Spec) &&
		apiequality.Semantic.DeepEqual(a.Status, b.Status)
}
