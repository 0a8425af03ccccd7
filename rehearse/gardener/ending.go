package gardener

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// end drains the machine's node, waits as long as the cloud takes, deletes the node
// and lets the machine go.
func (r *machines) end(ctx context.Context, m *machinev1.Machine, b behaviour) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(m, machinev1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if m.Status.CurrentStatus.Phase != machinev1.MachineTerminating {
		return ctrl.Result{}, r.tell(ctx, m, moved(m.DeepCopy().Status, r.now(), machinev1.MachineTerminating,
			machinev1.OperationDelete, machinev1.StateProcessing,
			"Machine deletion initiated"))
	}
	node, err := r.nodeOf(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	if m.Status.LastOperation.Type != machinev1.OperationDelete ||
		m.Status.LastOperation.State != machinev1.StateSuccessful {
		if node != nil {
			left, err := r.drain(ctx, m, node)
			if err != nil {
				return ctrl.Result{}, err
			}
			if left > 0 {
				status := m.DeepCopy().Status
				if status.LastOperation.Type != machinev1.OperationDrainNode {
					status = moved(status, r.now(), machinev1.MachineTerminating, machinev1.OperationDrainNode,
						machinev1.StateProcessing, "Drain in progress")
				}
				return ctrl.Result{RequeueAfter: lookAgain}, r.tell(ctx, m, status)
			}
		}
		// The cloud begins to end it; the time of this status is when it began.
		return ctrl.Result{}, r.tell(ctx, m, moved(m.DeepCopy().Status, r.now(), machinev1.MachineTerminating,
			machinev1.OperationDelete, machinev1.StateSuccessful, "Drained; the machine is ended on the cloud provider"))
	}
	if left := m.Status.LastOperation.LastUpdateTime.Add(b.deleteDelay + r.endTakes).Sub(r.now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	if node != nil {
		err := r.client.Delete(ctx, node, client.Preconditions{UID: ptr.To(node.UID)})
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, fmt.Errorf("delete the node %s: %w", node.Name, err)
		}
	}
	controllerutil.RemoveFinalizer(m, machinev1.Finalizer)
	return ctrl.Result{}, client.IgnoreNotFound(r.update(ctx, m))
}

// drain cordons the node and evicts its pods, and returns how many are left. When the
// time for it is over, or the machine's end is forced, pods are deleted as they are.
func (r *machines) drain(ctx context.Context, m *machinev1.Machine, node *corev1.Node) (left int, err error) {
	if !node.Spec.Unschedulable {
		before := node.DeepCopy()
		node.Spec.Unschedulable = true
		if err := r.client.Patch(ctx, node, client.MergeFrom(before)); err != nil {
			return 0, fmt.Errorf("cordon the node %s: %w", node.Name, err)
		}
	}
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node.Name}); err != nil {
		return 0, fmt.Errorf("list the pods of the node %s: %w", node.Name, err)
	}
	force := m.Labels[machinev1.ForceDeletionLabel] == "True" ||
		r.now().Sub(m.DeletionTimestamp.Time) > timeout(m.Spec.DrainTimeout, drainTimeout)
	for _, pod := range pods.Items {
		if stays(pod) {
			continue
		}
		left++
		if pod.DeletionTimestamp != nil && !force {
			continue
		}
		if force {
			left--
			err = r.client.Delete(ctx, &pod, client.GracePeriodSeconds(0))
		} else {
			err = r.client.SubResource("eviction").Create(ctx, &pod, &policyv1.Eviction{})
		}
		// A budget that allows none now answers with 429.
		if client.IgnoreNotFound(err) != nil && !apierrors.IsTooManyRequests(err) {
			return left, fmt.Errorf("end the pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	return left, nil
}

// stays tells of a pod that a drain leaves alone.
func stays(pod corev1.Pod) bool {
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return static || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
		slices.ContainsFunc(pod.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "DaemonSet" && ptr.Deref(o.Controller, false)
		})
}
