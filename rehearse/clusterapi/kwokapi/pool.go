package kwokapi

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// KwokMachinePool makes the machines of a MachinePool: as many KwokMachines as it asks
// for. Cluster API makes a Machine of each, so that one can be chosen to go.
type KwokMachinePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KwokMachinePoolSpec   `json:"spec,omitempty"`
	Status KwokMachinePoolStatus `json:"status,omitempty"`
}

// KwokMachinePoolSpec says what each machine of the pool shall be.
type KwokMachinePoolSpec struct {
	// ProviderIDList is written by the provider: the machines that exist, those on
	// their way out as well.
	ProviderIDList []string                    `json:"providerIDList,omitempty"`
	Template       KwokMachineTemplateResource `json:"template"`
}

// KwokMachinePoolStatus is what Cluster API and an autoscaler read of the machines
// behind a MachinePool.
type KwokMachinePoolStatus struct {
	// KwokMachineTemplateStatus lets the pool grow from zero.
	KwokMachineTemplateStatus `json:",inline"`
	// Ready is what Cluster API asks of a pool, in whatever version of its contract.
	Ready bool `json:"ready,omitempty"`
	// Replicas is how many machines there are. It is written even if there is none:
	// Cluster API would take the last number for true.
	Replicas int32 `json:"replicas"`
	// InfrastructureMachineKind tells that there is an object for each machine.
	InfrastructureMachineKind string             `json:"infrastructureMachineKind,omitempty"`
	Conditions                []metav1.Condition `json:"conditions,omitempty"`
}

// GetConditions and SetConditions are what Cluster API's helpers ask for.
func (p *KwokMachinePool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions replaces all conditions.
func (p *KwokMachinePool) SetConditions(conditions []metav1.Condition) {
	p.Status.Conditions = conditions
}

// KwokMachinePoolList is a list of KwokMachinePools.
type KwokMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KwokMachinePool `json:"items"`
}

// DeepCopy returns a copy that shares nothing.
func (p *KwokMachinePool) DeepCopy() *KwokMachinePool {
	out := &KwokMachinePool{TypeMeta: p.TypeMeta, Status: p.Status}
	p.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Spec.ProviderIDList = slices.Clone(p.Spec.ProviderIDList)
	out.Spec.Template = p.Spec.Template.deepCopy()
	out.Status.KwokMachineTemplateStatus = p.Status.KwokMachineTemplateStatus.deepCopy()
	out.Status.Conditions = copyEach(p.Status.Conditions, func(c metav1.Condition) *metav1.Condition { return c.DeepCopy() })
	return out
}

// DeepCopyObject implements runtime.Object.
func (p *KwokMachinePool) DeepCopyObject() runtime.Object { return p.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *KwokMachinePoolList) DeepCopyObject() runtime.Object {
	out := &KwokMachinePoolList{TypeMeta: l.TypeMeta}
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = copyEach(l.Items, func(p KwokMachinePool) *KwokMachinePool { return p.DeepCopy() })
	return out
}

func (r KwokMachineTemplateResource) deepCopy() KwokMachineTemplateResource {
	return KwokMachineTemplateResource{
		Metadata: TemplateMetadata{Labels: maps.Clone(r.Metadata.Labels), Annotations: maps.Clone(r.Metadata.Annotations)},
		Spec:     r.Spec.deepCopy(),
	}
}

func (s KwokMachineTemplateStatus) deepCopy() KwokMachineTemplateStatus {
	return KwokMachineTemplateStatus{Capacity: s.Capacity.DeepCopy(), NodeInfo: copyOf(s.NodeInfo)}
}
