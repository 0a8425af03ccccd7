package testkit

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// kindOfPod is what pods have in common that were made like one.
type kindOfPod struct {
	content model.Content
	facts   model.FactsID
}

// Objects are what the API server would have of the cluster. Pods that have ended are among them.
func (c *Cluster) Objects() []runtime.Object {
	var out []runtime.Object
	for _, n := range c.nodes {
		out = append(out, n.DeepCopy())
		for _, p := range c.bound[n.Name] {
			out = append(out, c.object(p, n.Name))
		}
	}
	for _, p := range c.unbound {
		out = append(out, c.object(p, ""))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Namespaces)) {
		out = append(out, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: c.Namespaces[name]}})
	}
	for i, ds := range c.agents {
		ds := ds.DeepCopy()
		if !c.daemons[i].Unmade.IsZero() {
			ds.Status.DesiredNumberScheduled = 1
		}
		out = append(out, ds)
	}
	for _, b := range c.Budgets {
		out = append(out, &policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name},
			Spec:       policyv1.PodDisruptionBudgetSpec{Selector: must(metav1.ParseToLabelSelector(b.Selector.String()))},
			Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: int32(b.Allowed)},
		})
	}
	if c.Priorities != "" {
		out = append(out, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "cluster-autoscaler-priority-expander"},
			Data:       map[string]string{"priorities": c.Priorities},
		})
	}
	v := &c.Volumes
	out = append(out, objects(v.Claims)...)
	out = append(out, objects(v.Persistent)...)
	out = append(out, objects(v.Classes)...)
	out = append(out, objects(v.CSINodes)...)
	out = append(out, objects(v.CSIDrivers)...)
	out = append(out, objects(v.Capacities)...)
	return append(out, objects(v.Attachments)...)
}

func objects[T runtime.Object](list []T) []runtime.Object {
	out := make([]runtime.Object, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

// Inventory is what the provider would have answered.
func (c *Cluster) Inventory() provider.Inventory {
	return provider.Inventory{Groups: c.Groups, Pools: c.Pools, AsOf: c.Now}
}

// object is a pod as the API server has it.
func (c *Cluster) object(p model.Pod, node string) *corev1.Pod {
	out := c.likes[kindOfPod{p.Content, p.Facts}].DeepCopy()
	out.Name, out.UID, out.Spec.NodeName = p.Name, p.UID, node
	out.CreationTimestamp = metav1.Unix(p.Created, 0)
	out.Status = corev1.PodStatus{Phase: corev1.PodPending, NominatedNodeName: p.Nominated}
	if node != "" {
		out.Status.Phase = corev1.PodRunning
	}
	if owner := metav1.GetControllerOfNoCopy(out); owner != nil {
		owner.UID = p.Owner
	}
	if p.Flags&model.Terminating != 0 {
		ends := metav1.Unix(p.Ends, 0)
		out.DeletionTimestamp = &ends
	}
	if p.Flags&model.Refused != 0 {
		out.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: p.Said}}
	}
	if p.Flags&model.Gated != 0 {
		out.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	}
	annotate := func(key, value string) { metav1.SetMetaDataAnnotation(&out.ObjectMeta, key, value) }
	if p.Flags&model.Mirror != 0 {
		annotate(corev1.MirrorPodAnnotationKey, "mirror")
	}
	if p.Flags&model.FromDaemonSet != 0 {
		annotate("cluster-autoscaler.kubernetes.io/daemonset-pod", "true")
	}
	if p.Flags&model.Finished != 0 {
		out.Status.Phase = corev1.PodSucceeded
	}
	if p.ScaleUpDelay > 0 {
		annotate("cluster-autoscaler.kubernetes.io/pod-scale-up-delay", p.ScaleUpDelay.Round(time.Second).String())
	}
	return out
}
