package kwokapi

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// KwokMachinePool makes the machines of a MachinePool: as many KwokMachines as it asks
// for. Cluster API makes a Machine of each, so that one can be chosen to go.
//
// +kubebuilder:object:root=true
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
//
// +kubebuilder:object:root=true
type KwokMachinePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KwokMachinePool `json:"items"`
}
