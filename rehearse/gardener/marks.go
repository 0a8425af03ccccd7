package gardener

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// While machines are replaced, autoscalers are asked to leave their nodes alone, and
// the second annotation tells that it was us who asked.
const (
	scaleDownDisabled      = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	scaleDownDisabledByMCM = "cluster-autoscaler.kubernetes.io/scale-down-disabled-by-mcm"
	yes                    = "True"
)

// markNodes marks the nodes of a deployment for as long as a rollout lasts: all are
// kept from autoscalers, and pods are to prefer the new ones.
func (r *machineDeployments) markNodes(
	ctx context.Context, newest *machinev1.MachineSet, old []machinev1.MachineSet,
) error {
	rolling := newest != nil && slices.ContainsFunc(old, func(s machinev1.MachineSet) bool {
		return s.Spec.Replicas > 0 || s.Status.Replicas > 0
	})
	all := slices.Clone(old)
	if newest != nil {
		all = append(all, *newest)
	}
	for i := range all {
		machines, err := machinesOf(ctx, r.client, &all[i])
		if err != nil {
			return err
		}
		for _, m := range machines {
			node := &corev1.Node{}
			if err := r.client.Get(ctx, client.ObjectKey{Name: m.Name}, node); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("get the node of the machine %s: %w", m.Name, err)
			} else if err != nil {
				continue
			}
			before := node.DeepCopy()
			if !mark(node, rolling, newest == nil || all[i].Name != newest.Name) {
				continue
			}
			// The list of taints is replaced as a whole. The lock keeps it from undoing another client's change.
			patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
			if err := r.client.Patch(ctx, node, patch); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("mark the node %s for the rollout: %w", node.Name, err)
			}
		}
	}
	return nil
}

// mark gives a node its marks, or takes them back where they are ours.
func mark(node *corev1.Node, rolling, old bool) (changed bool) {
	_, ours := node.Annotations[scaleDownDisabledByMCM]
	_, others := node.Annotations[scaleDownDisabled]
	switch {
	case rolling && !ours && !others:
		setIn(&node.Annotations, scaleDownDisabled, yes)
		setIn(&node.Annotations, scaleDownDisabledByMCM, yes)
		changed = true
	case !rolling && ours:
		delete(node.Annotations, scaleDownDisabled)
		delete(node.Annotations, scaleDownDisabledByMCM)
		changed = true
	}
	isTaint := func(t corev1.Taint) bool { return t.Key == machinev1.PreferNoScheduleTaint }
	tainted := slices.ContainsFunc(node.Spec.Taints, isTaint)
	switch {
	case rolling && old && !tainted:
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
			Key: machinev1.PreferNoScheduleTaint, Value: yes, Effect: corev1.TaintEffectPreferNoSchedule,
		})
		changed = true
	case !(rolling && old) && tainted:
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isTaint)
		changed = true
	}
	return changed
}
