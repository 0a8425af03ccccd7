package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeployment keeps a number of equal machines, one zone of a worker pool in
// Gardener.
//
// +kubebuilder:object:root=true
type MachineDeployment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineDeploymentSpec   `json:"spec,omitempty"`
	Status MachineDeploymentStatus `json:"status,omitempty"`
}

// MachineDeploymentList is a list of them.
//
// +kubebuilder:object:root=true
type MachineDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineDeployment `json:"items"`
}

// MachineDeploymentSpec is what is wanted.
type MachineDeploymentSpec struct {
	Replicas int32                 `json:"replicas,omitempty"`
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	Template MachineTemplateSpec   `json:"template"`
	Strategy MachineStrategy       `json:"strategy,omitempty"`
	// PoolMinimum and PoolMaximum are the limits of the whole worker pool (GEP-24).
	PoolMinimum *int32 `json:"poolMinimum,omitempty"`
	PoolMaximum *int32 `json:"poolMaximum,omitempty"`

	MinReadySeconds              int32  `json:"minReadySeconds,omitempty"`
	RevisionHistoryLimit         *int32 `json:"revisionHistoryLimit,omitempty"`
	Paused                       bool   `json:"paused,omitempty"`
	ProgressDeadlineSeconds      *int32 `json:"progressDeadlineSeconds,omitempty"`
	AutoPreserveFailedMachineMax *int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// MachineTemplateSpec is what each machine is made with.
type MachineTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MachineSpec `json:"spec,omitempty"`
}

// MachineStrategyType is how machines are replaced.
type MachineStrategyType string

// The ways of replacing machines. A MachineDeployment without one is ignored.
const (
	Recreate      MachineStrategyType = "Recreate"
	RollingUpdate MachineStrategyType = "RollingUpdate"
	InPlaceUpdate MachineStrategyType = "InPlaceUpdate"
)

// MachineStrategy says how machines are replaced.
type MachineStrategy struct {
	Type          MachineStrategyType   `json:"type,omitempty"`
	RollingUpdate *UpdateBounds         `json:"rollingUpdate,omitempty"`
	InPlaceUpdate *InPlaceUpdateMachine `json:"inPlaceUpdate,omitempty"`
}

// UpdateBounds are the bounds of a replacement; both must be set.
type UpdateBounds struct {
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MaxSurge       *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// InPlaceUpdateMachine are the bounds of an update in place, and who starts it.
type InPlaceUpdateMachine struct {
	UpdateBounds      `json:",inline"`
	OrchestrationType string `json:"orchestrationType,omitempty"`
}

// MachineDeploymentStatus is what there is.
type MachineDeploymentStatus struct {
	ObservedGeneration      int64       `json:"observedGeneration,omitempty"`
	Replicas                int32       `json:"replicas,omitempty"`
	UpdatedReplicas         int32       `json:"updatedReplicas,omitempty"`
	ReadyReplicas           int32       `json:"readyReplicas,omitempty"`
	AvailableReplicas       int32       `json:"availableReplicas,omitempty"`
	UnavailableReplicas     int32       `json:"unavailableReplicas,omitempty"`
	PreservedFailedReplicas int32       `json:"preservedFailedReplicas,omitempty"`
	Conditions              []Condition `json:"conditions,omitempty"`
	CollisionCount          *int32      `json:"collisionCount,omitempty"`

	FailedMachines []*MachineSummary `json:"failedMachines,omitempty"`
}

// The types of conditions of a MachineDeployment; the last two are those of a
// MachineSet as well.
const (
	ConditionAvailable      = "Available"
	ConditionProgressing    = "Progressing"
	ConditionReplicaFailure = "ReplicaFailure"
	ConditionFrozen         = "Frozen"
)

// The values of a condition's status.
const (
	ConditionTrue    = "True"
	ConditionFalse   = "False"
	ConditionUnknown = "Unknown"
)

// Condition is one of a MachineDeployment or a MachineSet, which has no
// LastUpdateTime.
type Condition struct {
	Type               string      `json:"type"`
	Status             string      `json:"status"`
	LastUpdateTime     metav1.Time `json:"lastUpdateTime,omitempty"`
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty"`
	Reason             string      `json:"reason,omitempty"`
	Message            string      `json:"message,omitempty"`
}

// MachineSummary is a machine that failed.
type MachineSummary struct {
	Name          string        `json:"name,omitempty"`
	ProviderID    string        `json:"providerID,omitempty"`
	LastOperation LastOperation `json:"lastOperation,omitempty"`
	OwnerRef      string        `json:"ownerRef,omitempty"`
}
