// Package v1beta1 is what Plimsoll reads of core.gardener.cloud/v1beta1 Shoots, in
// types of its own: the worker pools, the autoscaler's section, and whether the
// cluster is hibernated.
//
// These types are for reading only. A Shoot has many more fields, and writing one
// of these back would drop them. The package holds values and imports nothing but
// Kubernetes' own types, so that everybody may import it.
package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// What a Shoot is called in the API.
const (
	Group   = "core.gardener.cloud"
	Version = "v1beta1"
	Kind    = "Shoot"
)

// Shoot is the part of a Shoot that concerns its workers.
type Shoot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ShootSpec   `json:"spec"`
	Status            ShootStatus `json:"status"`
}

// ShootSpec is what the user asks for.
type ShootSpec struct {
	Region      string       `json:"region,omitempty"`
	Hibernation *Hibernation `json:"hibernation,omitempty"`
	Kubernetes  Kubernetes   `json:"kubernetes"`
	Provider    Provider     `json:"provider"`
}

// Hibernation reports whether a cluster is put to sleep.
type Hibernation struct {
	Enabled *bool `json:"enabled,omitempty"`
}

// Kubernetes holds the version and the autoscaler's section.
type Kubernetes struct {
	Version           string             `json:"version,omitempty"`
	ClusterAutoscaler *ClusterAutoscaler `json:"clusterAutoscaler,omitempty"`
}

// ClusterAutoscaler is what a user says about the autoscaler. A nil field has the
// default that Gardener gives it.
type ClusterAutoscaler struct {
	// Sizing and NodeGroupSizingStrategy are two spellings of one setting, as GEP-24
	// has both.
	Sizing                  *string `json:"sizing,omitempty"`
	NodeGroupSizingStrategy *string `json:"nodeGroupSizingStrategy,omitempty"`

	Expander                        *string          `json:"expander,omitempty"`
	MaxGracefulTerminationSeconds   *int32           `json:"maxGracefulTerminationSeconds,omitempty"`
	MaxNodeProvisionTime            *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	InitialNodeGroupBackoffDuration *metav1.Duration `json:"initialNodeGroupBackoffDuration,omitempty"`
	MaxNodeGroupBackoffDuration     *metav1.Duration `json:"maxNodeGroupBackoffDuration,omitempty"`
	NodeGroupBackoffResetTimeout    *metav1.Duration `json:"nodeGroupBackoffResetTimeout,omitempty"`
	ScaleDownUtilizationThreshold   *float64         `json:"scaleDownUtilizationThreshold,omitempty"`
	ScaleDownUnneededTime           *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownDelayAfterAdd          *metav1.Duration `json:"scaleDownDelayAfterAdd,omitempty"`
	ScaleDownDelayAfterDelete       *metav1.Duration `json:"scaleDownDelayAfterDelete,omitempty"`
	ScaleDownDelayAfterFailure      *metav1.Duration `json:"scaleDownDelayAfterFailure,omitempty"`
	ScanInterval                    *metav1.Duration `json:"scanInterval,omitempty"`
	IgnoreDaemonsetsUtilization     *bool            `json:"ignoreDaemonsetsUtilization,omitempty"`
	Verbosity                       *int32           `json:"verbosity,omitempty"`
	MaxScaleDownParallelism         *int32           `json:"maxScaleDownParallelism,omitempty"`
	MaxDrainParallelism             *int32           `json:"maxDrainParallelism,omitempty"`
	NewPodScaleUpDelay              *metav1.Duration `json:"newPodScaleUpDelay,omitempty"`
	EmitPerNodeGroupMetrics         *bool            `json:"emitPerNodeGroupMetrics,omitempty"`
	MaxBinpackingTime               *metav1.Duration `json:"maxBinpackingTime,omitempty"`
	StartupTaints                   []string         `json:"startupTaints,omitempty"`
	StatusTaints                    []string         `json:"statusTaints,omitempty"`
	IgnoreTaints                    []string         `json:"ignoreTaints,omitempty"`
	// MaxEmptyBulkDelete has no flag any more; it is read in order to be told of.
	MaxEmptyBulkDelete *int32 `json:"maxEmptyBulkDelete,omitempty"`
}

// Provider holds the worker pools.
type Provider struct {
	Type    string   `json:"type,omitempty"`
	Workers []Worker `json:"workers,omitempty"`
}

// Worker is one worker pool.
type Worker struct {
	Name             string              `json:"name"`
	Minimum          int32               `json:"minimum"`
	Maximum          int32               `json:"maximum"`
	MaxSurge         *intstr.IntOrString `json:"maxSurge,omitempty"`
	MaxUnavailable   *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	Zones            []string            `json:"zones,omitempty"`
	Priority         *int32              `json:"priority,omitempty"`
	SystemComponents *SystemComponents   `json:"systemComponents,omitempty"`
	UpdateStrategy   *string             `json:"updateStrategy,omitempty"`
	Labels           map[string]string   `json:"labels,omitempty"`
	Annotations      map[string]string   `json:"annotations,omitempty"`
	Taints           []corev1.Taint      `json:"taints,omitempty"`

	MachineControllerManager *MachineControllerManager `json:"machineControllerManager,omitempty"`
	ClusterAutoscaler        *PoolAutoscaler           `json:"clusterAutoscaler,omitempty"`
}

// SystemComponents reports whether Gardener's own pods may run in a pool. Without it
// they may.
type SystemComponents struct {
	Allow bool `json:"allow"`
}

// The ways to bring a pool's machines to a new state. The empty one is the first.
const (
	AutoRollingUpdate   = "AutoRollingUpdate"
	AutoInPlaceUpdate   = "AutoInPlaceUpdate"
	ManualInPlaceUpdate = "ManualInPlaceUpdate"
)

// MachineControllerManager is what a pool says to the machine-controller-manager.
// Workers (extensions.gardener.cloud) hold the same.
type MachineControllerManager struct {
	MachineDrainTimeout         *metav1.Duration `json:"machineDrainTimeout,omitempty"`
	MachineHealthTimeout        *metav1.Duration `json:"machineHealthTimeout,omitempty"`
	MachineCreationTimeout      *metav1.Duration `json:"machineCreationTimeout,omitempty"`
	MachineInPlaceUpdateTimeout *metav1.Duration `json:"machineInPlaceUpdateTimeout,omitempty"`
	MachinePreserveTimeout      *metav1.Duration `json:"machinePreserveTimeout,omitempty"`
	DisableHealthTimeout        *bool            `json:"disableHealthTimeout,omitempty"`
	MaxEvictRetries             *int32           `json:"maxEvictRetries,omitempty"`
	NodeConditions              []string         `json:"nodeConditions,omitempty"`
	// AutoPreserveFailedMachineMax is spread over the zones like the other numbers.
	AutoPreserveFailedMachineMax *int32 `json:"autoPreserveFailedMachineMax,omitempty"`
}

// PoolAutoscaler is what a pool says to the autoscaler.
type PoolAutoscaler struct {
	ScaleDownUtilizationThreshold    *float64         `json:"scaleDownUtilizationThreshold,omitempty"`
	ScaleDownGpuUtilizationThreshold *float64         `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	ScaleDownUnneededTime            *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownUnreadyTime             *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	MaxNodeProvisionTime             *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
}

// ShootStatus holds the name that Gardener gave the cluster on its seed.
type ShootStatus struct {
	TechnicalID string `json:"technicalID,omitempty"`
}

// Hibernated reports whether the cluster should be hibernated.
func (s Shoot) Hibernated() bool {
	return s.Spec.Hibernation != nil && s.Spec.Hibernation.Enabled != nil && *s.Spec.Hibernation.Enabled
}
