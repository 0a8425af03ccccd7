package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Copies. What is a pointer, a slice or a map is copied field by field; the rest
// comes along with the struct.

// copied is a copy of what a pointer points to.
func copied[T any](in *T) *T {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

// each copies a slice, element by element.
func each[T any](in []T, into func(in, out *T)) []T {
	if in == nil {
		return nil
	}
	out := make([]T, len(in))
	for i := range in {
		into(&in[i], &out[i])
	}
	return out
}

// DeepCopyInto copies into out.
func (in *MachineDeployment) DeepCopyInto(out *MachineDeployment) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyInto copies into out.
func (in *MachineSet) DeepCopyInto(out *MachineSet) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyInto copies into out.
func (in *Machine) DeepCopyInto(out *Machine) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
	in.Status.DeepCopyInto(&out.Status)
}

// DeepCopyInto copies into out.
func (in *MachineClass) DeepCopyInto(out *MachineClass) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.ProviderSpec.DeepCopyInto(&out.ProviderSpec)
	out.SecretRef, out.CredentialsSecretRef = copied(in.SecretRef), copied(in.CredentialsSecretRef)
	if in.NodeTemplate != nil {
		out.NodeTemplate = &NodeTemplate{}
		in.NodeTemplate.DeepCopyInto(out.NodeTemplate)
	}
}

// DeepCopyInto copies into out.
func (in *NodeTemplate) DeepCopyInto(out *NodeTemplate) {
	*out = *in
	out.Capacity, out.VirtualCapacity = in.Capacity.DeepCopy(), in.VirtualCapacity.DeepCopy()
	out.Architecture = copied(in.Architecture)
}

// DeepCopyInto copies into out.
func (in *MachineDeploymentSpec) DeepCopyInto(out *MachineDeploymentSpec) {
	*out = *in
	out.Selector = in.Selector.DeepCopy()
	in.Template.DeepCopyInto(&out.Template)
	in.Strategy.DeepCopyInto(&out.Strategy)
	out.PoolMinimum, out.PoolMaximum = copied(in.PoolMinimum), copied(in.PoolMaximum)
	out.RevisionHistoryLimit, out.ProgressDeadlineSeconds = copied(in.RevisionHistoryLimit), copied(in.ProgressDeadlineSeconds)
	out.AutoPreserveFailedMachineMax = copied(in.AutoPreserveFailedMachineMax)
}

// DeepCopyInto copies into out.
func (in *MachineStrategy) DeepCopyInto(out *MachineStrategy) {
	*out = *in
	if in.RollingUpdate != nil {
		out.RollingUpdate = &UpdateBounds{}
		in.RollingUpdate.DeepCopyInto(out.RollingUpdate)
	}
	if in.InPlaceUpdate != nil {
		out.InPlaceUpdate = &InPlaceUpdateMachine{OrchestrationType: in.InPlaceUpdate.OrchestrationType}
		in.InPlaceUpdate.UpdateBounds.DeepCopyInto(&out.InPlaceUpdate.UpdateBounds)
	}
}

// DeepCopyInto copies into out.
func (in *UpdateBounds) DeepCopyInto(out *UpdateBounds) {
	out.MaxUnavailable, out.MaxSurge = copied(in.MaxUnavailable), copied(in.MaxSurge)
}

// DeepCopyInto copies into out.
func (in *MachineTemplateSpec) DeepCopyInto(out *MachineTemplateSpec) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
}

// DeepCopyInto copies into out.
func (in *MachineSpec) DeepCopyInto(out *MachineSpec) {
	*out = *in
	in.NodeTemplate.DeepCopyInto(&out.NodeTemplate)
	out.DrainTimeout, out.HealthTimeout = copied(in.DrainTimeout), copied(in.HealthTimeout)
	out.CreationTimeout, out.InPlaceUpdateTimeout = copied(in.CreationTimeout), copied(in.InPlaceUpdateTimeout)
	out.MachinePreserveTimeout, out.DisableHealthTimeout = copied(in.MachinePreserveTimeout), copied(in.DisableHealthTimeout)
	out.MaxEvictRetries, out.NodeConditions = copied(in.MaxEvictRetries), copied(in.NodeConditions)
}

// DeepCopyInto copies into out.
func (in *NodeTemplateSpec) DeepCopyInto(out *NodeTemplateSpec) {
	*out = *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	in.Spec.DeepCopyInto(&out.Spec)
}

// DeepCopyInto copies into out.
func (in *MachineDeploymentStatus) DeepCopyInto(out *MachineDeploymentStatus) {
	*out = *in
	out.Conditions = each(in.Conditions, (*Condition).DeepCopyInto)
	out.CollisionCount = copied(in.CollisionCount)
	out.FailedMachines = each(in.FailedMachines, func(in, out **MachineSummary) {
		if *in != nil {
			*out = &MachineSummary{}
			(*in).DeepCopyInto(*out)
		}
	})
}

// DeepCopyInto copies into out.
func (in *MachineSetSpec) DeepCopyInto(out *MachineSetSpec) {
	*out = *in
	out.Selector = in.Selector.DeepCopy()
	in.Template.DeepCopyInto(&out.Template)
	out.AutoPreserveFailedMachineMax = copied(in.AutoPreserveFailedMachineMax)
}

// DeepCopyInto copies into out.
func (in *MachineSetStatus) DeepCopyInto(out *MachineSetStatus) {
	*out = *in
	out.Conditions = each(in.Conditions, (*Condition).DeepCopyInto)
	in.LastOperation.DeepCopyInto(&out.LastOperation)
	out.FailedMachines = each(in.FailedMachines, (*MachineSummary).DeepCopyInto)
}

// DeepCopyInto copies into out.
func (in *MachineStatus) DeepCopyInto(out *MachineStatus) {
	*out = *in
	out.Addresses = each(in.Addresses, (*corev1.NodeAddress).DeepCopyInto)
	out.Conditions = each(in.Conditions, (*corev1.NodeCondition).DeepCopyInto)
	in.LastOperation.DeepCopyInto(&out.LastOperation)
	in.CurrentStatus.DeepCopyInto(&out.CurrentStatus)
}

// DeepCopyInto copies into out.
func (in *CurrentStatus) DeepCopyInto(out *CurrentStatus) {
	*out = *in
	in.LastUpdateTime.DeepCopyInto(&out.LastUpdateTime)
	out.PreserveExpiryTime = in.PreserveExpiryTime.DeepCopy()
}

// DeepCopyInto copies into out.
func (in *LastOperation) DeepCopyInto(out *LastOperation) {
	*out = *in
	in.LastUpdateTime.DeepCopyInto(&out.LastUpdateTime)
}

// DeepCopyInto copies into out.
func (in *MachineSummary) DeepCopyInto(out *MachineSummary) {
	*out = *in
	in.LastOperation.DeepCopyInto(&out.LastOperation)
}

// DeepCopyInto copies into out.
func (in *Condition) DeepCopyInto(out *Condition) {
	*out = *in
	in.LastUpdateTime.DeepCopyInto(&out.LastUpdateTime)
	in.LastTransitionTime.DeepCopyInto(&out.LastTransitionTime)
}

// DeepCopy is a copy.
func (in *MachineDeployment) DeepCopy() *MachineDeployment {
	if in == nil {
		return nil
	}
	out := &MachineDeployment{}
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is a copy.
func (in *MachineDeployment) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopyObject is a copy.
func (in *MachineDeploymentList) DeepCopyObject() runtime.Object {
	return &MachineDeploymentList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy(), Items: each(in.Items, (*MachineDeployment).DeepCopyInto)}
}

// DeepCopy is a copy.
func (in *MachineSet) DeepCopy() *MachineSet {
	if in == nil {
		return nil
	}
	out := &MachineSet{}
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is a copy.
func (in *MachineSet) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopyObject is a copy.
func (in *MachineSetList) DeepCopyObject() runtime.Object {
	return &MachineSetList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy(), Items: each(in.Items, (*MachineSet).DeepCopyInto)}
}

// DeepCopy is a copy.
func (in *Machine) DeepCopy() *Machine {
	if in == nil {
		return nil
	}
	out := &Machine{}
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is a copy.
func (in *Machine) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopyObject is a copy.
func (in *MachineList) DeepCopyObject() runtime.Object {
	return &MachineList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy(), Items: each(in.Items, (*Machine).DeepCopyInto)}
}

// DeepCopy is a copy.
func (in *MachineClass) DeepCopy() *MachineClass {
	if in == nil {
		return nil
	}
	out := &MachineClass{}
	in.DeepCopyInto(out)
	return out
}

// DeepCopyObject is a copy.
func (in *MachineClass) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopyObject is a copy.
func (in *MachineClassList) DeepCopyObject() runtime.Object {
	return &MachineClassList{TypeMeta: in.TypeMeta, ListMeta: *in.ListMeta.DeepCopy(), Items: each(in.Items, (*MachineClass).DeepCopyInto)}
}
