package provider

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// GroupID names a node group. It is stable over restarts.
type GroupID string

// PoolID names a set of groups that share limits. The empty PoolID means that the group shares its
// limits with no other group.
type PoolID string

// InstanceID names an instance for its whole life: never a placeholder first
// and the machine's own id later.
type InstanceID string

// Inventory is one consistent picture of the cloud.
type Inventory struct {
	Groups  []Group  `json:"groups"`
	Pools   []Pool   `json:"pools,omitempty"`
	Notices []Notice `json:"notices,omitempty"`
	// Commitments are machines that are paid for whether they run or not, such as reserved ones.
	Commitments []Commitment `json:"commitments,omitempty"`
	// CommitmentsUnread: there may be some, and it is not known which. What is not spot has no known price then.
	CommitmentsUnread bool `json:"commitmentsUnread,omitempty"`
	// Others is how many groups the provider read that are not Plimsoll's. They prove that an
	// answer without groups is no failed read: without any, it is not believed (rule P7).
	Others int `json:"others,omitempty"`
	// AsOf is when the oldest read behind this picture began.
	AsOf time.Time `json:"asOf"`
}

// Group is a set of interchangeable machines with one target size.
type Group struct {
	ID   GroupID `json:"id"`
	Pool PoolID  `json:"pool,omitempty"`
	// Min and Max bound Target. Target is the size asked of the cloud;
	// anonymous requests = Target − instances that are not being deleted.
	Min    int `json:"min"`
	Max    int `json:"max"`
	Target int `json:"target"`
	// TargetSince is when the target last changed, zero if unknown.
	TargetSince time.Time  `json:"targetSince,omitzero"`
	Instances   []Instance `json:"instances,omitempty"`
	// Template is the node that a scale-up would add; nil with TemplateErr set
	// when it cannot be known.
	Template    *Template `json:"template,omitempty"`
	TemplateErr *Error    `json:"templateErr,omitempty"`
	Options     Options   `json:"options,omitzero"`
	// PricePerHour is the price of one node, in whatever currency the operator
	// uses throughout; nil if unknown.
	PricePerHour *float64 `json:"pricePerHour,omitempty"`
	// Prices are those of nodes by what they are, where nodes of the group differ in price.
	// They count before PricePerHour.
	Prices []Price `json:"prices,omitempty"`
	// Currency is that of the group's prices, such as USD, where the provider knows it.
	Currency string `json:"currency,omitempty"`
	// CapacityType is OnDemand or Spot where all nodes of the group are so.
	CapacityType string `json:"capacityType,omitempty"`
	// Accelerator is the label value that marks GPU nodes of this group.
	Accelerator string `json:"accelerator,omitempty"`
	// OwnLabels are keys of labels whose value names the group itself: groups
	// that differ in nothing else are similar.
	OwnLabels []string `json:"ownLabels,omitempty"`
	// AllOrNothing groups are either at zero or at Max.
	AllOrNothing bool `json:"allOrNothing,omitempty"`
	// CloudChooses groups have machines that cannot be ended by name: when the target is lowered,
	// the cloud chooses which end. A removal must name all instances, which leaves no choice; any
	// other is refused.
	CloudChooses bool   `json:"cloudChooses,omitempty"`
	Holds        []Hold `json:"holds,omitempty"`
	// Err, when set, says that this group could not be read: its former state is kept, and nothing
	// is done to it.
	Err *Error `json:"err,omitempty"`
}

// Template is the node that a scale-up of its group adds. Its Node has no name,
// no Ready condition and no taint that passes with time.
type Template struct {
	// Version changes when anything in the template does.
	Version        string                      `json:"version"`
	Node           *corev1.Node                `json:"node"`
	CSINode        *storagev1.CSINode          `json:"csiNode,omitempty"`
	ResourceSlices []*resourcev1.ResourceSlice `json:"resourceSlices,omitempty"`
	// Pods are the static pods that every such node carries. DaemonSet pods
	// are the caller's concern.
	Pods []*corev1.Pod `json:"pods,omitempty"`
	// Varies lists labels that the cloud picks as it makes a node, with the values
	// that it may pick, in order: the instance type of a group of mixed types, the
	// zone of a group over several zones. Node has none of these labels, and its
	// amounts are the least that any of its nodes has.
	Varies map[string][]string `json:"varies,omitempty"`
	// Places are the zones among which the cloud picks one for each new node, with
	// the labels that a node there has besides those of Node; sorted by zone, and
	// empty for a group that is in one zone. Keys that Varies has are given their
	// value by each place, or by none.
	Places []Place `json:"places,omitempty"`
	// Balanced: the cloud picks the place with the fewest of the group's instances, as an Auto
	// Scaling group does. Otherwise its rule is unknown. A balanced group shows the zone of each
	// instance that it can name.
	Balanced bool `json:"balanced,omitempty"`
	// Sources says where each label, taint and resource of Node comes from, for a person:
	// "label/<key>", "taint/<key>", "resource/<name>" → source.
	Sources map[string]string `json:"sources,omitempty"`
}

// Place is where the cloud may put a new node of a group.
type Place struct {
	// Zone is what Instance.Zone says of an instance there.
	Zone   string            `json:"zone"`
	Labels map[string]string `json:"labels"`
}

// State is where an instance is in its life.
type State string

// The states of an instance.
const (
	Creating State = "Creating"
	Running  State = "Running"
	Deleting State = "Deleting"
)

// Instance is a machine that the cloud can name.
type Instance struct {
	ID InstanceID `json:"id"`
	// ProviderID is the node's spec.providerID, exactly; NodeName its name, if
	// the provider knows it (rule P6).
	ProviderID string    `json:"providerID,omitempty"`
	NodeName   string    `json:"nodeName,omitempty"`
	State      State     `json:"state"`
	Created    time.Time `json:"created,omitzero"`
	Zone       string    `json:"zone,omitempty"`
	// Err says why the cloud could not make this instance, or, while it is being deleted,
	// what is wrong with it.
	Err *Error `json:"err,omitempty"`
	// Retry, beside Err, says that the cloud tries by itself to make this instance
	// again, about as often; zero: it does not, or the next try is sure to fail as well.
	Retry time.Duration `json:"retry,omitempty"`
	// Hold says why this instance must not be removed now; empty if it may.
	Hold string `json:"hold,omitempty"`
	// Drifted says in what this instance is not what its group makes now, empty if it is that or
	// the provider cannot tell: "launch template version 3, now 4".
	Drifted string `json:"drifted,omitempty"`
	// Interrupted says that the cloud is about to take this machine; nil if it is not, or says so in another way.
	Interrupted *Interruption `json:"interrupted,omitempty"`
	// Unlisted: the newest answer lacks it, and it is believed because its node is
	// Ready. Plimsoll sets this, no provider.
	Unlisted bool `json:"-"`
}

// Interruption is what the cloud says of a machine that it is about to take.
type Interruption struct {
	// Kind is what is about to happen, in the cloud's words: "spot interruption".
	Kind string `json:"kind"`
	// Since is when the cloud said so.
	Since time.Time `json:"since"`
	// Until is when the machine is taken, zero if that is not known.
	Until time.Time `json:"until,omitzero"`
}

// Pool is a set of groups that share a minimum and a maximum.
type Pool struct {
	ID  PoolID `json:"id"`
	Min int    `json:"min"`
	Max int    `json:"max"`
	// Sizing names the strategy by which the pool's limits are spread over its
	// groups: Equitable, Lax-Greedy or Backward-Compatible. The empty name spreads
	// nothing: the limits hold for the sum, and each group may have all of it.
	Sizing string `json:"sizing,omitempty"`
}

// Notice is something that a person should know about the provider's configuration. It stops
// nothing.
type Notice struct {
	Group   GroupID `json:"group,omitempty"`
	Code    string  `json:"code"`
	Message string  `json:"message"`
}

// Hold says that one operation on a group must not be started now.
type Hold struct {
	Op      Op        `json:"op"`
	Reason  string    `json:"reason"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	// Until is when the hold ends, zero if only a change ends it.
	Until time.Time `json:"until,omitzero"`
	// Stalled also says that whatever makes and ends the group's machines does not work now.
	// Requested nodes do not arrive meanwhile, which is not the group's fault, so its deadlines are
	// paused.
	Stalled bool `json:"stalled,omitempty"`
}

// Stands reports whether the hold applies now.
func (h Hold) Stands(now time.Time) bool { return h.Until.IsZero() || h.Until.After(now) }

// BeingDeleted is the Reason of holds on a group that is being deleted with all of its machines.
const BeingDeleted = "BeingDeleted"

// NoLaunch reports whether the hold also says that the cloud failed to launch at Since: units
// requested until then that have no instance will not come. The Reason of such a hold is one of the
// kinds NoCapacity, Quota and BadConfig, and Since is set.
func (h Hold) NoLaunch() bool {
	if h.Op != OpGrow || h.Since.IsZero() {
		return false
	}
	switch Kind(h.Reason) {
	case NoCapacity, Quota, BadConfig:
		return true
	}
	return false
}

// Options are one group's own settings; nil means the flag's value.
type Options struct {
	ScaleDownUtilizationThreshold    *float64       `json:"scaleDownUtilizationThreshold,omitempty"`
	ScaleDownGPUUtilizationThreshold *float64       `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	ScaleDownUnneededTime            *time.Duration `json:"scaleDownUnneededTime,omitempty"`
	ScaleDownUnreadyTime             *time.Duration `json:"scaleDownUnreadyTime,omitempty"`
	MaxNodeProvisionTime             *time.Duration `json:"maxNodeProvisionTime,omitempty"`
	MaxNodeStartupTime               *time.Duration `json:"maxNodeStartupTime,omitempty"`
	IgnoreDaemonSetsUtilization      *bool          `json:"ignoreDaemonSetsUtilization,omitempty"`
}
