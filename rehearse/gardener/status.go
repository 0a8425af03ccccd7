package gardener

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// The reasons of a deployment's conditions.
const (
	enoughReplicas = "MinimumReplicasAvailable"
	tooFewReplicas = "MinimumReplicasUnavailable"

	newSetAvailable = "NewMachineSetAvailable"
	setUpdated      = "MachineSetUpdated"
	newSetCreated   = "NewMachineSetCreated"
	paused          = "DeploymentPaused"
)

// tell writes the deployment's status if it changed.
func (r *machineDeployments) tell(
	ctx context.Context, d *machinev1.MachineDeployment, all []machinev1.MachineSet,
) error {
	// A freeze and a thaw have labelled it since it was read.
	var live machinev1.MachineDeployment
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(d), &live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.Generation != d.Generation {
		return nil // which is an event
	}
	status := deploymentStatus(live, all, r.now())
	if equality.Semantic.DeepEqual(status, live.Status) {
		return nil
	}
	live.Status = status
	if err := r.client.Status().Update(ctx, &live); err != nil {
		return fmt.Errorf("write the status of the MachineDeployment %s: %w", d.Name, err)
	}
	return nil
}

func deploymentStatus(
	d machinev1.MachineDeployment, all []machinev1.MachineSet, now time.Time,
) machinev1.MachineDeploymentStatus {
	status := machinev1.MachineDeploymentStatus{
		ObservedGeneration: d.Generation, Conditions: d.Status.Conditions, CollisionCount: d.Status.CollisionCount,
	}
	newest, old := split(d, all)
	wanted, frozen := int32(0), ""
	for _, s := range all {
		wanted += s.Spec.Replicas
		status.Replicas += s.Status.Replicas
		status.ReadyReplicas += s.Status.ReadyReplicas
		status.AvailableReplicas += s.Status.AvailableReplicas
		for i := range s.Status.FailedMachines {
			failed := s.Status.FailedMachines[i]
			status.FailedMachines = append(status.FailedMachines, &failed)
		}
		for _, c := range s.Status.Conditions {
			if c.Type == machinev1.ConditionFrozen {
				frozen = c.Message
			}
		}
	}
	if newest != nil {
		status.UpdatedReplicas = newest.Status.Replicas
	}
	status.UnavailableReplicas = max(0, wanted-status.AvailableReplicas)
	at := metav1.NewTime(now)
	for _, c := range conditionsOf(d, status, newest != nil, len(old) > 0) {
		c.LastUpdateTime, c.LastTransitionTime = at, at
		status.Conditions = setCondition(status.Conditions, c)
	}
	status.Conditions = frozenCondition(status.Conditions, frozen != "", frozen, now)
	return status
}

// conditionsOf are the two that a deployment always has. Progressing tells of the
// newest set alone: a growth that never comes looks like a rollout, as with the real
// one.
func conditionsOf(
	d machinev1.MachineDeployment, status machinev1.MachineDeploymentStatus, begun, others bool,
) []machinev1.Condition {
	available := machinev1.Condition{
		Type: machinev1.ConditionAvailable, Status: machinev1.ConditionFalse, Reason: tooFewReplicas,
		Message: "Deployment does not have minimum availability.",
	}
	least := d.Spec.Replicas
	if size, err := sizeOf(d); err == nil {
		least -= int32(size.MaxUnavailable)
	}
	if status.AvailableReplicas >= least {
		available.Status, available.Reason, available.Message = machinev1.ConditionTrue, enoughReplicas,
			"Deployment has minimum availability."
	}
	progressing := machinev1.Condition{Type: machinev1.ConditionProgressing, Status: machinev1.ConditionTrue}
	switch {
	case d.Spec.Paused:
		progressing.Status, progressing.Reason, progressing.Message = machinev1.ConditionUnknown, paused,
			"The rollout is paused."
	case status.UpdatedReplicas == d.Spec.Replicas && status.Replicas == d.Spec.Replicas &&
		status.AvailableReplicas == d.Spec.Replicas:
		progressing.Reason, progressing.Message = newSetAvailable, "The newest set has all machines."
	case begun && others:
		progressing.Reason, progressing.Message = setUpdated, "Machines of older sets are being replaced."
	case begun && reasonOf(d.Status.Conditions) == newSetAvailable:
		// Once complete, a mere resize does not make it progress again.
		progressing.Reason, progressing.Message = newSetAvailable, "The newest set has had all machines."
	default:
		progressing.Reason, progressing.Message = newSetCreated, "The first machines are being made."
	}
	return []machinev1.Condition{available, progressing}
}

func reasonOf(all []machinev1.Condition) string {
	for _, c := range all {
		if c.Type == machinev1.ConditionProgressing {
			return c.Reason
		}
	}
	return ""
}
