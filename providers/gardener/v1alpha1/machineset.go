package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// MachineSet is the machines of one revision of a MachineDeployment.
//
// +kubebuilder:object:root=true
type MachineSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineSetSpec   `json:"spec,omitempty"`
	Status MachineSetStatus `json:"status,omitempty"`
}

// MachineSetList is a list of them.
//
// +kubebuilder:object:root=true
type MachineSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineSet `json:"items"`
}

// MachineSetSpec is what is wanted.
type MachineSetSpec struct {
	Replicas     int32                 `json:"replicas,omitempty"`
	Selector     *metav1.LabelSelector `json:"selector,omitempty"`
	MachineClass ClassSpec             `json:"machineClass,omitempty"`
	Template     MachineTemplateSpec   `json:"template,omitempty"`

	MinReadySeconds              int32  `json:"minReadySeconds,omitempty"`
	AutoPreserveFailedMachineMax *int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// MachineSetStatus is what there is. Replicas counts machines that are on their
// way out as well.
type MachineSetStatus struct {
	Replicas                int32 `json:"replicas"`
	FullyLabeledReplicas    int32 `json:"fullyLabeledReplicas,omitempty"`
	ReadyReplicas           int32 `json:"readyReplicas,omitempty"`
	AvailableReplicas       int32 `json:"availableReplicas,omitempty"`
	PreservedFailedReplicas int32 `json:"preservedFailedReplicas,omitempty"`
	ObservedGeneration      int64 `json:"observedGeneration,omitempty"`
	// Conditions has another name in JSON than anywhere else.
	Conditions []Condition `json:"machineSetCondition,omitempty"`

	LastOperation  LastOperation    `json:"lastOperation,omitempty"`
	FailedMachines []MachineSummary `json:"failedMachines,omitempty"`
}
