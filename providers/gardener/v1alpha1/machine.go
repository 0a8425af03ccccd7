package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Machine is one machine, from the wish for it to its end.
//
// +kubebuilder:object:root=true
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   MachineSpec   `json:"spec,omitempty"`
	Status MachineStatus `json:"status,omitempty"`
}

// MachineList is a list of them.
//
// +kubebuilder:object:root=true
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Machine `json:"items"`
}

// ClassSpec names a MachineClass.
type ClassSpec struct {
	APIGroup string `json:"apiGroup,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name,omitempty"`
}

// MachineSpec is what is wanted.
type MachineSpec struct {
	Class        ClassSpec        `json:"class,omitempty"`
	ProviderID   string           `json:"providerID,omitempty"`
	NodeTemplate NodeTemplateSpec `json:"nodeTemplate,omitempty"`

	DrainTimeout           *metav1.Duration `json:"drainTimeout,omitempty"`
	HealthTimeout          *metav1.Duration `json:"healthTimeout,omitempty"`
	CreationTimeout        *metav1.Duration `json:"creationTimeout,omitempty"`
	InPlaceUpdateTimeout   *metav1.Duration `json:"inPlaceUpdateTimeout,omitempty"`
	MachinePreserveTimeout *metav1.Duration `json:"machinePreserveTimeout,omitempty"`
	DisableHealthTimeout   *bool            `json:"disableHealthTimeout,omitempty"`
	MaxEvictRetries        *int32           `json:"maxEvictRetries,omitempty"`
	NodeConditions         *string          `json:"nodeConditions,omitempty"`
}

// NodeTemplateSpec is what the machine's node gets: labels, annotations and taints.
type NodeTemplateSpec struct {
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec corev1.NodeSpec `json:"spec,omitempty"`
}

// MachineStatus is what there is.
type MachineStatus struct {
	Addresses      []corev1.NodeAddress   `json:"addresses,omitempty"`
	Conditions     []corev1.NodeCondition `json:"conditions,omitempty"`
	LastOperation  LastOperation          `json:"lastOperation,omitempty"`
	CurrentStatus  CurrentStatus          `json:"currentStatus,omitempty"`
	LastKnownState string                 `json:"lastKnownState,omitempty"`
}

// MachineOperationType is what was last done with a machine.
type MachineOperationType string

// The operations.
const (
	OperationCreate      MachineOperationType = "Create"
	OperationDrainNode   MachineOperationType = "DrainNode"
	OperationHealthCheck MachineOperationType = "HealthCheck"
	OperationDelete      MachineOperationType = "Delete"
)

// MachineState is how an operation stands.
type MachineState string

// The states.
const (
	StateProcessing MachineState = "Processing"
	StateFailed     MachineState = "Failed"
	StateSuccessful MachineState = "Successful"
)

// LastOperation is what was last done, and what came of it.
type LastOperation struct {
	Description    string               `json:"description,omitempty"`
	ErrorCode      string               `json:"errorCode,omitempty"`
	LastUpdateTime metav1.Time          `json:"lastUpdateTime,omitempty"`
	State          MachineState         `json:"state,omitempty"`
	Type           MachineOperationType `json:"type,omitempty"`
}

// The error codes, which are those of gRPC.
const (
	CodeUnknown            = "Unknown"
	CodeInvalidArgument    = "InvalidArgument"
	CodeDeadlineExceeded   = "DeadlineExceeded"
	CodePermissionDenied   = "PermissionDenied"
	CodeResourceExhausted  = "ResourceExhausted"
	CodeFailedPrecondition = "FailedPrecondition"
	CodeAborted            = "Aborted"
	CodeOutOfRange         = "OutOfRange"
	CodeUnimplemented      = "Unimplemented"
	CodeInternal           = "Internal"
	CodeUnavailable        = "Unavailable"
	CodeUnauthenticated    = "Unauthenticated"
	CodeUninitialized      = "Uninitialized"
)

// MachinePhase is where a machine is in its life; the empty one comes first.
type MachinePhase string

// The phases. A machine whose creation fails is in CrashLoopBackOff, and tried
// again, until its creation timeout makes it Failed.
const (
	MachinePending                 MachinePhase = "Pending"
	MachineAvailable               MachinePhase = "Available"
	MachineRunning                 MachinePhase = "Running"
	MachineTerminating             MachinePhase = "Terminating"
	MachineUnknown                 MachinePhase = "Unknown"
	MachineFailed                  MachinePhase = "Failed"
	MachineCrashLoopBackOff        MachinePhase = "CrashLoopBackOff"
	MachineInPlaceUpdating         MachinePhase = "InPlaceUpdating"
	MachineInPlaceUpdateSuccessful MachinePhase = "InPlaceUpdateSuccessful"
	MachineInPlaceUpdateFailed     MachinePhase = "InPlaceUpdateFailed"
)

// CurrentStatus is the phase, and what goes with it.
type CurrentStatus struct {
	Phase          MachinePhase `json:"phase,omitempty"`
	TimeoutActive  bool         `json:"timeoutActive,omitempty"`
	LastUpdateTime metav1.Time  `json:"lastUpdateTime,omitempty"`
	// PreserveExpiryTime is until when the machine is kept for a person to look at;
	// nil if it is not.
	PreserveExpiryTime *metav1.Time `json:"preserveExpiryTime,omitempty"`
}
