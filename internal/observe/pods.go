package observe

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Annotations on pods that are read here.
const (
	annotationDaemonSetPod = "cluster-autoscaler.kubernetes.io/daemonset-pod"
	annotationScaleUpDelay = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"
)

// podRow is a pod between the watch and the store: what is kept of it, where it
// is, and the catalog that its content is named in.
type podRow struct {
	name    cache.ObjectName
	node    string
	pod     model.Pod
	catalog *catalog.Catalog
}

// GetObjectMeta lets client-go find the key of a row.
func (r *podRow) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: r.name.Namespace, Name: r.name.Name, UID: r.pod.UID}
}

// cutPod makes the row of a pod. Nothing of the pod but short strings is kept.
func cutPod(c *catalog.Catalog, pod *corev1.Pod, now time.Time) *podRow {
	r := &podRow{
		name:    cache.ObjectName{Namespace: pod.Namespace, Name: pod.Name},
		node:    pod.Spec.NodeName,
		catalog: c,
		pod: model.Pod{
			Name:         pod.Name,
			UID:          pod.UID,
			Flags:        podFlags(pod),
			Said:         said(pod),
			Nominated:    pod.Status.NominatedNodeName,
			Created:      pod.CreationTimestamp.Unix(),
			ScaleUpDelay: scaleUpDelay(pod),
		},
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		r.pod.Owner = owner.UID
	}
	if pod.DeletionTimestamp != nil {
		r.pod.Ends = endsBy(pod, now)
	}
	if pod.Spec.NodeName != "" {
		r.pod.Nominated = ""
	}
	if r.pod.Flags&model.FromDaemonSet != 0 {
		pod = withoutPin(pod)
	}
	r.pod.Content, r.pod.Facts = c.Pod(pod), c.Facts(pod)
	return r
}

// endsBy is when the time is over that a pod has to end, by our own clock. The deletion's time is by the
// API server's, and a machine must not go early because that one is behind ours: the grace period is
// counted from when we see that the pod is being deleted. We err to waiting as long as we were late.
func endsBy(pod *corev1.Pod, now time.Time) int64 {
	if pod.DeletionGracePeriodSeconds == nil {
		return pod.DeletionTimestamp.Unix()
	}
	return now.Unix() + *pod.DeletionGracePeriodSeconds
}

func podFlags(pod *corev1.Pod) model.Flags {
	var f model.Flags
	if pod.DeletionTimestamp != nil {
		f |= model.Terminating
	}
	if len(pod.Spec.SchedulingGates) > 0 {
		f |= model.Gated
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || pod.Spec.NodeName != "" {
			continue
		}
		switch c.Reason {
		case corev1.PodReasonUnschedulable:
			f |= model.Refused
		case corev1.PodReasonSchedulingGated:
			f |= model.Gated
		}
	}
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		f |= model.Mirror
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && owner.Kind == "DaemonSet" &&
		strings.HasPrefix(owner.APIVersion, "apps/") ||
		pod.Annotations[annotationDaemonSetPod] == "true" {
		f |= model.FromDaemonSet
	}
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		f |= model.Finished
	}
	return f
}

// longestRefusal is how much of the scheduler's message is kept, in bytes.
const longestRefusal = 300

// said is what keeps a pod without a node from one: the names of its scheduling gates, or the scheduler's message.
func said(pod *corev1.Pod) string {
	var gates []string
	for _, g := range pod.Spec.SchedulingGates {
		gates = append(gates, g.Name)
	}
	if len(gates) > 0 {
		return strings.Join(gates, ", ")
	}
	return refusal(pod)
}

// refusal is the scheduler's message about a pod that it has refused.
func refusal(pod *corev1.Pod) string {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type != corev1.PodScheduled || c.Status != corev1.ConditionFalse || c.Reason != corev1.PodReasonUnschedulable ||
			pod.Spec.NodeName != "" {
			continue
		}
		if len(c.Message) > longestRefusal {
			return strings.ToValidUTF8(c.Message[:longestRefusal], "") + " ..."
		}
		return c.Message
	}
	return ""
}

// scaleUpDelay is the delay that the pod asks for. One that cannot be parsed, or is negative, is
// none.
func scaleUpDelay(pod *corev1.Pod) time.Duration {
	text, ok := pod.Annotations[annotationScaleUpDelay]
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0
	}
	return max(0, d)
}

// withoutPin takes away the affinity by which the DaemonSet controller ties
// each of its pods to one node. With it, every pod of a DaemonSet would be a
// content, and so a class, of its own.
func withoutPin(pod *corev1.Pod) *corev1.Pod {
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return pod
	}
	var terms []corev1.NodeSelectorTerm
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(t.MatchExpressions) > 0 {
			terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: t.MatchExpressions})
		}
	}
	free := *a
	node := *a.NodeAffinity
	node.RequiredDuringSchedulingIgnoredDuringExecution = nil
	if len(terms) > 0 {
		node.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	free.NodeAffinity = &node
	out := *pod
	out.Spec.Affinity = &free
	return &out
}

func compareNames(a, b cache.ObjectName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
