package kwokapi

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MachineFinalizer keeps a KwokMachine until its node is deleted.
const MachineFinalizer = "kwokmachine.infrastructure.cluster.x-k8s.io"

// KwokMachine is one machine without hardware: a node in the care of kwok.
//
// +kubebuilder:object:root=true
type KwokMachine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KwokMachineSpec   `json:"spec,omitempty"`
	Status KwokMachineStatus `json:"status,omitempty"`
}

// KwokMachineSpec says what the machine shall be, and how it shall misbehave.
type KwokMachineSpec struct {
	// ProviderID is written by the provider once the machine exists.
	ProviderID string `json:"providerID,omitempty"`
	// Node is what the machine's node will look like.
	Node NodeSpec `json:"node,omitempty"`
	// StartupDelay is the time between the machine's creation and the moment at
	// which its node joins the cluster. Meanwhile the machine exists: it has its
	// provider id, as an instance that boots has.
	StartupDelay *metav1.Duration `json:"startupDelay,omitempty"`
	// Failure, if set, keeps the machine from ever being provisioned: it fails as
	// soon as its start-up delay has passed. A machine that is provisioned already
	// stays so.
	Failure *Failure `json:"failure,omitempty"`
}

// NodeSpec is a node as its kubelet would register it.
type NodeSpec struct {
	Labels   map[string]string   `json:"labels,omitempty"`
	Taints   []corev1.Taint      `json:"taints,omitempty"`
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	// Allocatable is the capacity, unless it is set.
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`
	// Architecture is amd64 unless it is set, OperatingSystem is linux.
	Architecture    string `json:"architecture,omitempty"`
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// Failure is how a machine fails: what its status will say.
type Failure struct {
	// Reason is one word, as of a condition.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// KwokMachineStatus is what Cluster API reads of a machine, and where its node is.
type KwokMachineStatus struct {
	Initialization *MachineInitialization `json:"initialization,omitempty"`
	// NodeName is the name of the node, once it has joined. A node that is deleted
	// behind the machine's back does not join again.
	NodeName       string             `json:"nodeName,omitempty"`
	FailureReason  string             `json:"failureReason,omitempty"`
	FailureMessage string             `json:"failureMessage,omitempty"`
	Conditions     []metav1.Condition `json:"conditions,omitempty"`
}

// MachineInitialization tells of steps that are never taken back.
type MachineInitialization struct {
	Provisioned bool `json:"provisioned,omitempty"`
}

// GetConditions and SetConditions are what Cluster API's helpers ask for.
func (m *KwokMachine) GetConditions() []metav1.Condition { return m.Status.Conditions }

// SetConditions replaces all conditions.
func (m *KwokMachine) SetConditions(conditions []metav1.Condition) { m.Status.Conditions = conditions }

// Provisioned reports whether the machine exists, as far as Cluster API knows.
func (m *KwokMachine) Provisioned() bool {
	return m.Status.Initialization != nil && m.Status.Initialization.Provisioned
}

// KwokMachineList is a list of KwokMachines.
//
// +kubebuilder:object:root=true
type KwokMachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KwokMachine `json:"items"`
}

// KwokMachineTemplate is what the machines of a group are cloned from.
//
// +kubebuilder:object:root=true
type KwokMachineTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   KwokMachineTemplateSpec   `json:"spec,omitempty"`
	Status KwokMachineTemplateStatus `json:"status,omitempty"`
}

// KwokMachineTemplateSpec holds the template.
type KwokMachineTemplateSpec struct {
	Template KwokMachineTemplateResource `json:"template"`
}

// KwokMachineTemplateResource is what is cloned.
type KwokMachineTemplateResource struct {
	Metadata TemplateMetadata `json:"metadata,omitempty"`
	Spec     KwokMachineSpec  `json:"spec"`
}

// TemplateMetadata is put on the cloned KwokMachines.
type TemplateMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// KwokMachineTemplateStatus tells an autoscaler what a machine would offer, so
// that a group can grow from zero.
type KwokMachineTemplateStatus struct {
	Capacity corev1.ResourceList `json:"capacity,omitempty"`
	NodeInfo *TemplateNodeInfo   `json:"nodeInfo,omitempty"`
}

// TemplateNodeInfo is the platform of the machines.
type TemplateNodeInfo struct {
	Architecture    string `json:"architecture,omitempty"`
	OperatingSystem string `json:"operatingSystem,omitempty"`
}

// KwokMachineTemplateList is a list of KwokMachineTemplates.
//
// +kubebuilder:object:root=true
type KwokMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KwokMachineTemplate `json:"items"`
}

// KwokControlPlane is the control plane of a cluster that runs already, somewhere
// else: a rehearsal's own, as a rule. It has no machines and no fields to set.
//
// +kubebuilder:object:root=true
type KwokControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status KwokControlPlaneStatus `json:"status,omitempty"`
}

// KwokControlPlaneStatus is what Cluster API reads of a control plane.
type KwokControlPlaneStatus struct {
	Initialization *ControlPlaneInitialization `json:"initialization,omitempty"`
	// ExternalManagedControlPlane tells that no Machines stand for it.
	ExternalManagedControlPlane *bool `json:"externalManagedControlPlane,omitempty"`
}

// ControlPlaneInitialization tells of steps that are never taken back.
type ControlPlaneInitialization struct {
	ControlPlaneInitialized bool `json:"controlPlaneInitialized,omitempty"`
}

// KwokControlPlaneList is a list of KwokControlPlanes.
//
// +kubebuilder:object:root=true
type KwokControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KwokControlPlane `json:"items"`
}
