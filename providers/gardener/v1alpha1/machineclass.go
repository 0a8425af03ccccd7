package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// MachineClass says what machines of a kind are like. It has no spec: its fields
// are at the top.
//
// +kubebuilder:object:root=true
type MachineClass struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	NodeTemplate *NodeTemplate `json:"nodeTemplate,omitempty"`
	Provider     string        `json:"provider,omitempty"`
	// ProviderSpec is the cloud's own.
	ProviderSpec         runtime.RawExtension    `json:"providerSpec"`
	SecretRef            *corev1.SecretReference `json:"secretRef,omitempty"`
	CredentialsSecretRef *corev1.SecretReference `json:"credentialsSecretRef,omitempty"`
}

// MachineClassList is a list of them.
//
// +kubebuilder:object:root=true
type MachineClassList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []MachineClass `json:"items"`
}

// NodeTemplate is what a node of the class has.
type NodeTemplate struct {
	Capacity corev1.ResourceList `json:"capacity"`
	// VirtualCapacity are extended resources that are written to the node's status
	// without a rollout.
	VirtualCapacity corev1.ResourceList `json:"virtualCapacity,omitempty"`
	InstanceType    string              `json:"instanceType"`
	Region          string              `json:"region"`
	Zone            string              `json:"zone"`
	Architecture    *string             `json:"architecture,omitempty"`
}

// ResourceGPU is how Gardener writes GPUs into a capacity: a number of
// nvidia.com/gpu.
const ResourceGPU corev1.ResourceName = "gpu"
