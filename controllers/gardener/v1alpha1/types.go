// Package v1alpha1 is what Plimsoll reads of extensions.gardener.cloud/v1alpha1, in
// types of its own: the pools of a Worker, which is a Shoot's workers as they reach
// the seed, and the Shoot that a Cluster carries along.
//
// These types are for reading only. The objects have many more fields, and writing one of these
// back would drop them: writers send a patch. The package holds values, so any package may import
// it.
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// What the kinds are called in the API. There is one Cluster, without a namespace,
// for each namespace of a shoot's control plane, and it has that namespace's name.
const (
	Group       = "extensions.gardener.cloud"
	Version     = "v1alpha1"
	WorkerKind  = "Worker"
	ClusterKind = "Cluster"
)

// OperationAnnotation says what is to be done with an extension's object. While it
// is OperationMigrate or OperationRestore, the shoot moves to another seed.
const (
	OperationAnnotation = "gardener.cloud/operation"
	OperationMigrate    = "migrate"
	OperationRestore    = "restore"
)

// Worker is the part of a Worker that its machine deployments are made from.
type Worker struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              WorkerSpec   `json:"spec"`
	Status            WorkerStatus `json:"status"`
}

// WorkerSpec holds the pools.
type WorkerSpec struct {
	Type   string `json:"type,omitempty"`
	Region string `json:"region,omitempty"`
	Pools  []Pool `json:"pools,omitempty"`
}

// Pool is one worker pool. Gardener has defaulted what the Shoot left open.
type Pool struct {
	Name           string             `json:"name"`
	Minimum        int32              `json:"minimum"`
	Maximum        int32              `json:"maximum"`
	MaxSurge       intstr.IntOrString `json:"maxSurge"`
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`
	Zones          []string           `json:"zones,omitempty"`
	Priority       *int32             `json:"priority,omitempty"`
	UpdateStrategy *string            `json:"updateStrategy,omitempty"`
	// Labels, Annotations and Taints are those of the nodes.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Taints      []corev1.Taint    `json:"taints,omitempty"`

	MachineControllerManager *v1beta1.MachineControllerManager `json:"machineControllerManager,omitempty"`
	ClusterAutoscaler        *PoolAutoscaler                   `json:"clusterAutoscaler,omitempty"`
}

// PoolAutoscaler is what a pool says to the autoscaler. Other than in a Shoot, the
// thresholds are text.
type PoolAutoscaler struct {
	ScaleDownUtilizationThreshold    *string          `json:"scaleDownUtilizationThreshold,omitempty"`
	ScaleDownGpuUtilizationThreshold *string          `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	ScaleDownUnneededTime            *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownUnreadyTime             *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	MaxNodeProvisionTime             *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
}

// WorkerStatus lists what there is.
type WorkerStatus struct {
	Conditions         []Condition         `json:"conditions,omitempty"`
	LastOperation      *LastOperation      `json:"lastOperation,omitempty"`
	MachineDeployments []MachineDeployment `json:"machineDeployments,omitempty"`
	// State is what a shoot brings along from another seed.
	State *State `json:"state,omitempty"`
}

// LastOperation is what Gardener's own worker controller did last. After a migration it
// takes the annotation away that has asked for it, and only this tells of it.
type LastOperation struct {
	Type string `json:"type"`
}

// Migrated is the type of a migration.
const Migrated = "Migrate"

// State is how many machines there were on the seed that a shoot came from, by the
// machine deployment's name.
type State struct {
	MachineDeployments map[string]MachineDeploymentState `json:"machineDeployments,omitempty"`
}

// MachineDeploymentState is one entry of State.
type MachineDeploymentState struct {
	Replicas int32 `json:"replicas"`
}

// MachineDeployment is one entry of the status: a machine deployment with its
// zone's share of the pool's limits.
type MachineDeployment struct {
	Name     string `json:"name"`
	Minimum  int32  `json:"minimum"`
	Maximum  int32  `json:"maximum"`
	Priority *int32 `json:"priority,omitempty"`
}

// The types of Plimsoll's own conditions of a Worker.
const (
	PoolsValid          = "PlimsollPoolsValid"
	PoolsApplied        = "PlimsollPoolsApplied"
	MachineClassesFound = "PlimsollMachineClassesFound"
)

// The values of a condition's status.
const (
	True  = "True"
	False = "False"
)

// Condition has the shape that Gardener gives conditions.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	LastUpdateTime     string `json:"lastUpdateTime,omitempty"`
	Reason             string `json:"reason"`
	Message            string `json:"message"`
}

// SameState reports whether two conditions differ in their times alone.
func (c Condition) SameState(other Condition) bool {
	c.LastTransitionTime, other.LastTransitionTime = "", ""
	c.LastUpdateTime, other.LastUpdateTime = "", ""
	return c == other
}

// Cluster carries a Shoot to the seed.
type Cluster struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              ClusterSpec `json:"spec"`
}

// ClusterSpec holds the Shoot.
type ClusterSpec struct {
	Shoot v1beta1.Shoot `json:"shoot"`
}
