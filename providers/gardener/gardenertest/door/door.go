// Package door is the conformance suite's back door to the control cluster that fits
// in a test: what other people, time and bad luck do to it, in the words of
// provider/providertest.
//
// It is imported by the tests of the provider for Gardener. A group's id is the name
// of its MachineDeployment, an instance's that of its Machine.
package door

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/providertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/gardenertest"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

// Door is a providertest.Door to a world.
type Door struct{ World *gardenertest.World }

var _ providertest.Door = Door{}

// SetTarget sets replicas, past their limits.
func (d Door) SetTarget(group provider.GroupID, n int) error {
	return d.World.EditDeployment(string(group), func(m *v1alpha1.MachineDeployment) { m.Spec.Replicas = int32(n) })
}

// Settle ends all that is under way.
func (d Door) Settle() { d.World.Settle() }

// Starve keeps the group from getting machines.
func (d Door) Starve(group provider.GroupID) error {
	if d.World.Deployment(string(group)) == nil {
		return fmt.Errorf("starve %q: there is no such MachineDeployment", group)
	}
	d.World.Starve(string(group))
	return nil
}

// Fail makes a Machine one that the cloud has not made.
func (d Door) Fail(id provider.InstanceID) error {
	return d.World.EditMachine(string(id), func(m *v1alpha1.Machine) {
		m.Spec.ProviderID = ""
		delete(m.Labels, v1alpha1.NodeLabel)
		m.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.OperationCreate, State: v1alpha1.StateFailed,
			ErrorCode: v1alpha1.CodeResourceExhausted, Description: "none left"}
		m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineCrashLoopBackOff}
	})
}

// Recover makes such a Machine run after all.
func (d Door) Recover(id provider.InstanceID) error {
	return d.World.EditMachine(string(id), func(m *v1alpha1.Machine) {
		m.Spec.ProviderID, m.Labels[v1alpha1.NodeLabel] = "test:///again/"+m.Name, m.Name
		m.Status.LastOperation = v1alpha1.LastOperation{Type: v1alpha1.OperationCreate, State: v1alpha1.StateSuccessful}
		m.Status.CurrentStatus = v1alpha1.CurrentStatus{Phase: v1alpha1.MachineRunning}
	})
}

// Break disturbs the requests of which an operation is made: the lists of an
// inventory, the patch of a scale-up or a removal. A cancellation is disturbed at its
// read already, since with nothing to cancel it writes nothing.
func (d Door) Break(op provider.Op, group provider.GroupID, how providertest.Breakage) <-chan struct{} {
	met := make(chan struct{}, 1)
	fault := kubetest.Fault{
		After: how == providertest.Lost,
		Mishap: map[providertest.Breakage]kubetest.Mishap{
			providertest.Refused: kubetest.Forbid, providertest.Hanging: kubetest.Hang, providertest.Lost: kubetest.Hang,
			providertest.Empty: kubetest.EmptyList, providertest.Garbled: kubetest.Garbled,
		}[how],
		Met: func() {
			select {
			case met <- struct{}{}:
			default: // one is enough
			}
		},
	}
	switch op {
	case provider.OpInventory:
		fault.Verb = "list"
	case provider.OpCancel:
		fault.Verb, fault.Resource = "list", v1alpha1.ResourceMachineDeployments
	default:
		fault.Verb, fault.Resource, fault.Namespace, fault.Name = "patch", v1alpha1.ResourceMachineDeployments,
			d.World.Namespace, string(group)
	}
	d.World.Arm(fault)
	return met
}

// Mend ends every fault.
func (d Door) Mend() { d.World.Disarm() }

// Instances are the machines of a group that are not on their way out.
func (d Door) Instances(group provider.GroupID) []provider.InstanceID {
	var ids []provider.InstanceID
	for _, m := range d.World.Machines(string(group)) {
		if m.DeletionTimestamp == nil && m.Status.CurrentStatus.Phase != v1alpha1.MachineTerminating {
			ids = append(ids, provider.InstanceID(m.Name))
		}
	}
	slices.Sort(ids)
	return ids
}
