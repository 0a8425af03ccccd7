// Package v1alpha1 is what Plimsoll reads of anywhere.eks.amazonaws.com/v1alpha1
// Clusters, in types of its own: the fields that say how many workers a cluster
// has and how they are replaced, and its conditions.
//
// These types are for reading only. A Cluster has many more fields, and writing one of these back
// would drop them: writers send a patch. The package holds values and imports nothing, so any
// package may import it.
package v1alpha1

// A Cluster's names in the API.
const (
	Group   = "anywhere.eks.amazonaws.com"
	Version = "v1alpha1"
	Kind    = "Cluster"
)

// PausedAnnotation with the value "true" keeps EKS Anywhere's controller, and
// this one, from changing anything but the status of a Cluster.
const PausedAnnotation = "anywhere.eks.amazonaws.com/paused"

// TinkerbellDatacenter is the kind of datacenter whose machines can be upgraded
// in place.
const TinkerbellDatacenter = "TinkerbellDatacenterConfig"

// NutanixDatacenter is the kind of datacenter that splits groups over failure
// domains: one machine deployment for each. (A worker group's own failureDomains are
// vSphere's, and leave its one machine deployment as it is.)
const NutanixDatacenter = "NutanixDatacenterConfig"

// Nutanix is the part of a NutanixDatacenterConfig that says which groups it splits.
type Nutanix struct {
	Spec NutanixSpec `json:"spec,omitempty"`
}

// NutanixSpec has the failure domains, in the order in which they count.
type NutanixSpec struct {
	FailureDomains []FailureDomain `json:"failureDomains,omitempty"`
}

// FailureDomain is one of them, and the worker groups that have machines there.
type FailureDomain struct {
	Name                string   `json:"name,omitempty"`
	WorkerMachineGroups []string `json:"workerMachineGroups,omitempty"`
}

// DomainsOf are the failure domains of a worker group, in their order; none: it is not
// split.
func (n Nutanix) DomainsOf(group string) []string {
	var domains []string
	for _, d := range n.Spec.FailureDomains {
		for _, g := range d.WorkerMachineGroups {
			if g == group {
				domains = append(domains, d.Name)
				break
			}
		}
	}
	return domains
}

// Cluster is the part of a Cluster that concerns its workers.
type Cluster struct {
	Spec   ClusterSpec   `json:"spec,omitempty"`
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is what the user asks for.
type ClusterSpec struct {
	KubernetesVersion             string                    `json:"kubernetesVersion,omitempty"`
	DatacenterRef                 Ref                       `json:"datacenterRef,omitempty"`
	ControlPlaneConfiguration     ControlPlaneConfiguration `json:"controlPlaneConfiguration,omitempty"`
	WorkerNodeGroupConfigurations []WorkerNodeGroup         `json:"workerNodeGroupConfigurations,omitempty"`
}

// ControlPlaneConfiguration is what the workers' condition needs of it.
type ControlPlaneConfiguration struct {
	UpgradeRolloutStrategy *UpgradeRolloutStrategy `json:"upgradeRolloutStrategy,omitempty"`
}

// WorkerNodeGroup is one group of workers.
type WorkerNodeGroup struct {
	Name string `json:"name,omitempty"`
	// Count is the number of workers of a group without autoscaling. EKS Anywhere's
	// webhook fills it in; without it nil means 1. It means nothing for a group with
	// autoscaling.
	Count                    *int                      `json:"count,omitempty"`
	AutoscalingConfiguration *AutoscalingConfiguration `json:"autoscalingConfiguration,omitempty"`
	MachineGroupRef          *Ref                      `json:"machineGroupRef,omitempty"`
	Labels                   map[string]string         `json:"labels,omitempty"`
	UpgradeRolloutStrategy   *UpgradeRolloutStrategy   `json:"upgradeRolloutStrategy,omitempty"`
	KubernetesVersion        string                    `json:"kubernetesVersion,omitempty"`
}

// AutoscalingConfiguration is the range, inclusive, within which the autoscaler
// sizes a group.
type AutoscalingConfiguration struct {
	MinCount int `json:"minCount,omitempty"`
	MaxCount int `json:"maxCount,omitempty"`
}

// InPlace is the type of an upgrade that keeps the machines.
const InPlace = "InPlace"

// UpgradeRolloutStrategy says how machines are replaced.
type UpgradeRolloutStrategy struct {
	Type          string         `json:"type,omitempty"`
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"` // nil: Cluster API's default
}

// RollingUpdate are the bounds of a replacement.
type RollingUpdate struct {
	MaxSurge       int `json:"maxSurge"`
	MaxUnavailable int `json:"maxUnavailable"`
}

// Ref names an object of another kind in the same namespace.
type Ref struct {
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// ClusterStatus holds the conditions.
type ClusterStatus struct {
	Conditions []Condition `json:"conditions,omitempty"`
}

// The types of conditions that concern the workers. The last two are Plimsoll's own.
const (
	ControlPlaneInitialized = "ControlPlaneInitialized"
	WorkersReady            = "WorkersReady"
	WorkerNodeGroupsValid   = "WorkerNodeGroupsValid"
	WorkersReadyWritten     = "WorkersReadyWritten"
)

// The values of a condition's status, and severities of one that is not True.
const (
	True  = "True"
	False = "False"

	SeverityInfo  = "Info"
	SeverityError = "Error"
)

// Condition has the shape that Cluster API gave conditions in its v1beta1.
type Condition struct {
	Type               string `json:"type"`
	Status             string `json:"status"`
	Severity           string `json:"severity,omitempty"`
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`
	Reason             string `json:"reason,omitempty"`
	Message            string `json:"message,omitempty"`
}

// SameState reports whether two conditions differ in their time alone.
func (c Condition) SameState(other Condition) bool {
	c.LastTransitionTime, other.LastTransitionTime = "", ""
	return c == other
}
