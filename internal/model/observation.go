package model

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Observation is what was seen in one moment: the cluster by its watches and
// the cloud by its newest inventory. It is frozen: nothing that it refers to changes.
type Observation struct {
	Now  time.Time
	Seed uint64
	// Generation changes whenever anything else in the Observation does but Now, Seed
	// and the inventory's AsOf, and when a read of the cloud that was asked for has
	// ended. Zero means that the maker does not keep count.
	Generation uint64

	Contents Contents
	// Nodes is sorted by name; each carries the pods bound to it.
	Nodes []ObservedNode
	// Unbound holds the pods that have no node, sorted by namespace and name.
	Unbound []Pod
	// NoNode are pods that are bound to a node which has no Node object.
	NoNode     []BoundPod
	DaemonSets []DaemonSet
	Namespaces map[string]map[string]string // name → labels
	Volumes    Volumes
	// Budgets is sorted by namespace and name.
	Budgets []Budget

	// Inventory is the newest picture of the cloud; InventoryErr says why there
	// is no newer one. With an empty AsOf there has never been one.
	Inventory    provider.Inventory
	InventoryErr string
	// Templates is aligned with Inventory.Groups: what each group's template
	// consists of.
	Templates []Template
	// Settled is what policies have settled for each of Inventory.Groups, nil without policies; and
	// SettledUntil is when time alone changes that. The groups are as policies want them.
	Settled      []policy.Resolved
	SettledUntil time.Time
	// Pauses are those that plimsoll pause has made.
	Pauses []policy.GroupPause
	// Priorities is the priority expander's document, as last read; nil if there is
	// none.
	Priorities *Priorities
	// Prices are the operator's, as last read; nil if there are none.
	Prices *Prices
	// Notices are what is wrong with documents of the operator's that the observer reads.
	Notices []provider.Notice
}

// ObservedNode is a node and the pods bound to it. Object is trimmed to what
// scheduling and reporting need.
type ObservedNode struct {
	Object *corev1.Node
	Shape  ShapeID
	Pods   []Pod
	// Generation changes whenever Object or Pods do; zero: not counted.
	Generation uint64
}

// Template is a group's template by content. Known is false where the provider
// could not tell.
type Template struct {
	Known bool
	Shape ShapeID
	Pods  []Content // static pods
}

// Flags are facts of a pod that are no part of its class.
type Flags uint16

// The flags of a pod.
const (
	// Terminating: it has a deletion timestamp.
	Terminating Flags = 1 << iota
	// Refused: the scheduler has marked it unschedulable.
	Refused
	// Mirror: it is a static pod's image in the API.
	Mirror
	// FromDaemonSet: a DaemonSet owns it, or it is annotated as if.
	FromDaemonSet
	// Finished: it has succeeded or failed, and takes no room.
	Finished
	// Gated: a scheduling gate holds it.
	Gated
)

// Pod is one pod, its content by reference.
type Pod struct {
	Name string
	UID  types.UID
	Content
	// Facts is what decides whether it may be moved; no part of its content.
	Facts FactsID
	Flags Flags
	// Nominated is the node that the scheduler is making room on for it.
	Nominated string
	// Said is why the scheduler has refused it, in the scheduler's words; empty if it
	// has not. Of a pod that scheduling gates hold it is their names.
	Said string
	// Owner is the UID of its controller, empty if it has none.
	Owner types.UID
	// Created is when it came to be, in seconds since 1970.
	Created int64
	// Ends is when the time that it has to end is over, in seconds since 1970; 0
	// unless it is being deleted.
	Ends int64
	// ScaleUpDelay is the pod's own wish to wait before nodes are bought for it.
	ScaleUpDelay time.Duration
}

// BoundPod is a pod, and the name of the node that it is bound to.
type BoundPod struct {
	Node string
	Pod
}

// A pod that is being deleted ends soon if it has at most soonest left: that is what a pod has
// that says nothing, and less than a node takes to boot. One that is overdue for longer than
// overdue may stay for ever.
const (
	soonest = 30 * time.Second
	overdue = 10 * time.Second
)

// EndsSoon reports whether a pod that is being deleted leaves its room soon.
func (p *Pod) EndsSoon(now time.Time) bool {
	from, until := p.Soon()
	return p.Flags&Terminating != 0 && !now.Before(from) && now.Before(until)
}

// Soon is from when until when a pod that is being deleted ends soon.
func (p *Pod) Soon() (from, until time.Time) {
	end := time.Unix(p.Ends, 0)
	return end.Add(-soonest), end.Add(overdue)
}

// DaemonSet is what puts a pod onto every node that it fits.
type DaemonSet struct {
	Namespace, Name string
	UID             types.UID
	Content         Content
	// Unmade is since when its controller has wanted more pods than there are, and
	// made none; zero if that is not so.
	Unmade time.Time
}

// Volumes holds the storage objects that the scheduler's volume plugins read,
// each slice sorted by namespace and name.
type Volumes struct {
	Claims      []*corev1.PersistentVolumeClaim
	Persistent  []*corev1.PersistentVolume
	Classes     []*storagev1.StorageClass
	CSINodes    []*storagev1.CSINode
	CSIDrivers  []*storagev1.CSIDriver
	Capacities  []*storagev1.CSIStorageCapacity
	Attachments []*storagev1.VolumeAttachment
	// Generation changes whenever any of the above does; zero: not counted.
	Generation uint64
}

// HasNode reports whether a node of the name is seen.
func (o *Observation) HasNode(name string) bool {
	_, found := slices.BinarySearchFunc(o.Nodes, name, func(n ObservedNode, name string) int {
		return cmp.Compare(n.Object.Name, name)
	})
	return found
}
