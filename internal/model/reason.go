package model

import "time"

// Reason is why something is as it is: a stable code, the same in plans,
// events, metrics, logs and docs/reasons.md.
type Reason string

// Reasons why a class of pods does not go to a node or a group's template.
// The first group comes from the scheduler's own filters.
const (
	// Fits: nothing is in the way.
	Fits Reason = "Fits"

	InsufficientResources Reason = "InsufficientResources"
	NodeAffinity          Reason = "NodeAffinity"
	TaintNotTolerated     Reason = "TaintNotTolerated"
	NodeUnschedulable     Reason = "NodeUnschedulable"
	PortConflict          Reason = "PortConflict"
	PodAffinity           Reason = "PodAffinity"
	TopologySpread        Reason = "TopologySpread"
	VolumeNotBindable     Reason = "VolumeNotBindable"
	VolumeZone            Reason = "VolumeZone"
	VolumeLimit           Reason = "VolumeLimit"
	VolumeInUse           Reason = "VolumeInUse"
	NodeFeatures          Reason = "NodeFeatures"
	// OtherFilter: a filter without a code of its own here said no; the detail
	// has its words.
	OtherFilter Reason = "OtherFilter"
	// FilterPanicked: a filter of the scheduler panicked when it was asked about this
	// pod, which is left alone for the cycle.
	FilterPanicked Reason = "FilterPanicked"
	// Unsupported: no verdict can be given for a feature of this pod.
	Unsupported Reason = "Unsupported"

	// The group fits, and may not grow.
	GroupAtMax Reason = "GroupAtMax"
	PoolAtMax  Reason = "PoolAtMax"
	// PoolShare: its pool may have more nodes, and it has its share of them.
	PoolShare          Reason = "PoolShareReached"
	MaxNodesTotal      Reason = "MaxNodesTotal"
	CoresTotal         Reason = "CoresTotal"
	MemoryTotal        Reason = "MemoryTotal"
	MaxNodesPerScaleUp Reason = "MaxNodesPerScaleUp"
	GroupBusy          Reason = "GroupBusy"
	GroupHeld          Reason = "GroupHeld"
	GroupPaused        Reason = "GroupPaused"
	// HeldByOperator: a person has paused the group, or the whole cluster.
	HeldByOperator Reason = "HeldByOperator"
	// GroupBackoff: a scale-up failed there; it rests, longer each time.
	GroupBackoff Reason = "GroupBackoff"
	// GroupUnhealthy: too many of its nodes are missing or not ready (S2).
	GroupUnhealthy Reason = "GroupUnhealthy"
	// NodeNeverStarted: one of its nodes did not become ready in time (UC3).
	NodeNeverStarted Reason = "NodeNeverStarted"
	// Resizing: it is being resized to what it has (UC4), or rid of instances
	// that never registered (UC5).
	Resizing Reason = "Resizing"
	// TemplateMismatch: a node of the group came up otherwise than its template
	// said, and the class does not fit it.
	TemplateMismatch Reason = "TemplateMismatch"
	// SchedulerDisagrees: the class fits a node that is ready by every filter, and the
	// scheduler leaves its pods waiting.
	SchedulerDisagrees Reason = "SchedulerDisagrees"
	// LandedElsewhere: the cloud chooses the zone or the type of the group's new nodes,
	// and those that came for the class are none that it may run on.
	LandedElsewhere Reason = "LandedElsewhere"
	// WaitsForLanding: as many nodes of the group as may be what the class needs are on
	// their way, and it is not known yet where they come up, or the cloud has not kept to
	// its rule with one of them.
	WaitsForLanding Reason = "WaitsForLanding"
	// OutOfReach: the cloud would first make too many nodes in other zones, and one that
	// was bought to see has come up there.
	OutOfReach      Reason = "OutOfReach"
	GroupUnreadable Reason = "GroupUnreadable"
	// GroupNotListed: the provider's newest answers lack the group. It is forgotten
	// soon, unless they list it again.
	GroupNotListed Reason = "GroupNotListed"
	NoTemplate     Reason = "NoTemplate"
	// NoGroups: the provider lists no group at all.
	NoGroups         Reason = "NoGroups"
	StaleInventory   Reason = "StaleInventory"
	ScaleFromZeroOff Reason = "ScaleFromZeroOff"

	// NotChosen: it would do, and another group was better.
	NotChosen Reason = "NotChosen"
	// StepBudget: this cycle's budget of steps is used up; the next goes on.
	StepBudget Reason = "StepBudget"
	// SpreadCapacity: it fits, and the other topology domains have no room for
	// the pods that the spread constraint wants there.
	SpreadCapacity Reason = "SpreadCapacity"
	// SpreadPostponed: to open the group's topology domain in the same cycle
	// would hold back pods in the others; the next cycle may.
	SpreadPostponed Reason = "SpreadPostponed"
)

// Reasons why a class of pods is not planned for at all.
const (
	// Expendable: its priority is below the cutoff.
	Expendable Reason = "Expendable"
	// NotRefused: the scheduler has not said no to any of its pods yet.
	NotRefused Reason = "NotRefused"
	// ForeignScheduler: a scheduler that was not allowed is to place it.
	ForeignScheduler Reason = "ForeignScheduler"
	// ScaleUpDelayed: the pods are younger than they, or a flag, wish to wait.
	ScaleUpDelayed Reason = "ScaleUpDelayed"
	// ClusterUnhealthy: too many nodes are not ready; nothing is bought or
	// removed (S1).
	ClusterUnhealthy Reason = "ClusterUnhealthy"
)

// Reasons why a unit is not waited for any more, and why it stays for now.
const (
	// ProvisionTimeout: it did not register in time.
	ProvisionTimeout Reason = "ProvisionTimeout"
	// InstanceFailed: the cloud could not make it.
	InstanceFailed Reason = "InstanceFailed"
	// CreationRetried: the cloud could not make it, and tries again by itself.
	CreationRetried Reason = "CreationRetried"
	// NotCancellable: the cloud could not take back the request for it without a
	// risk to machines that run.
	NotCancellable Reason = "NotCancellable"
	// ManyAmiss: so many machines failed, lost their node or are not ready at once that
	// they are ended a few at a time.
	ManyAmiss Reason = "ManyMachinesAmiss"
	// MatchingBroken: nodes without an instance could be those of the group's
	// instances without a node (rule P6).
	MatchingBroken Reason = "MatchingBroken"
)

// IgnoredAfter is how long pods may go without any scheduler's word before a
// person should hear of it.
const IgnoredAfter = time.Minute

// Reasons why a node stays. Names are those of the Cluster Autoscaler where it
// has one.
const (
	// Unneeded: nothing is in the way of its removal.
	Unneeded Reason = "Unneeded"
	// TargetNotReached: its group has not all the nodes that it asked for, and a
	// node that is not ready goes only when it has (UC6).
	TargetNotReached      Reason = "TargetNotReached"
	NotAutoscaled         Reason = "NotAutoscaled"
	NotUnderutilized      Reason = "NotUnderutilized"
	ScaleDownDisabled     Reason = "ScaleDownDisabledAnnotation"
	ScaleDownOff          Reason = "ScaleDownOff"
	NotUnneededLongEnough Reason = "NotUnneededLongEnough"
	GroupAtMin            Reason = "NodeGroupMinSizeReached"
	PoolAtMin             Reason = "PoolMinSizeReached"
	// PoolFloor: its pool may have fewer nodes, and the group has no more than what
	// the pool's sizing leaves it.
	PoolFloor Reason = "PoolFloorReached"
	// PoolBelowMin: its pool has fewer nodes than its minimum, and it grows without any
	// pod that asks for it.
	PoolBelowMin Reason = "PoolBelowMinSize"
	// GroupBelowMin: the group has fewer nodes than its minimum, and
	// --enforce-node-group-min-size fills it without any pod that asks for it.
	GroupBelowMin        Reason = "NodeGroupBelowMinSize"
	MinimalResourceLimit Reason = "MinimalResourceLimitExceeded"
	// UnreadyDisabled and NotUnreadyLongEnough are of nodes that are not ready.
	UnreadyDisabled       Reason = "ScaleDownUnreadyDisabled"
	NotUnreadyLongEnough  Reason = "NotUnreadyLongEnough"
	ReadyAgain            Reason = "ReadyAgain"
	CurrentlyBeingDeleted Reason = "CurrentlyBeingDeleted"
	NotReady              Reason = "NotReady"
	Reserved              Reason = "ReservedForPendingPods"
	Cooldown              Reason = "Cooldown"
	MaxParallelismReached Reason = "MaxParallelismReached"
	PodLanded             Reason = "PodLanded"
	AllOrNothing          Reason = "AtomicScaleDownFailed"
	// NoPlaceToMovePods: not all of its pods fit on other nodes, together with what
	// else is to move.
	NoPlaceToMovePods Reason = "NoPlaceToMovePods"
	// ReservedForMovedPods: pods of other nodes that go are to come here.
	ReservedForMovedPods Reason = "ReservedForMovedPods"
	// PreferredElsewhere: its pods could run on nodes of groups that the priorities prefer, which are bought for them.
	PreferredElsewhere Reason = "PreferredElsewhere"
	// CheaperElsewhere: its pods could run for less on nodes that are bought for them. MoveUnderWay:
	// such nodes are bought, or its pods wait to be moved there; ReservedForMove is of one of those nodes.
	CheaperElsewhere Reason = "CheaperElsewhere"
	MoveUnderWay     Reason = "MoveUnderWay"
	ReservedForMove  Reason = "ReservedForMove"
	// NodeUnready, NodeUnsound, NodeDrifted, NodeExpired: it is to be replaced: it has not been ready for long, it
	// says that something is wrong with it, it is not what its group makes now, or it has got too old.
	NodeUnready Reason = "NodeUnready"
	NodeUnsound Reason = "NodeUnsound"
	// NodeInterrupted: the cloud is about to take its machine.
	NodeInterrupted Reason = "NodeInterrupted"
	NodeDrifted     Reason = "NodeDrifted"
	NodeExpired     Reason = "NodeExpired"
	// DrainFailed: its removal failed a short while ago.
	DrainFailed Reason = "DrainFailed"
	// MovedLately: one of its pods was moved twice in a short time, and is left alone.
	MovedLately Reason = "PodMovedLately"
	// HeldByBudget: a budget of the configuration file lets it not go now.
	HeldByBudget Reason = "HeldByBudget"
	// MaxDrainsReached: as many nodes with pods are being emptied as may be.
	MaxDrainsReached Reason = "MaxDrainParallelismReached"
	// EvictionRefused: a pod's eviction was refused for too long, or failed.
	EvictionRefused Reason = "EvictionRefused"
	// PodEnding: one of its pods is being deleted, and may take longer to end than an
	// evicted one may.
	PodEnding Reason = "PodEnding"
	// ReplacementWaits: the pod that came for an evicted one has no node, and has
	// waited too long.
	ReplacementWaits Reason = "ReplacementWaits"
	// CompanyMoves: pods that one of its pods follows by affinity, or that follow one of
	// them, are on the move.
	CompanyMoves Reason = "AffinityPodsMove"
	// UnevenMove: pods of it, or pods that are on the move, are spread less evenly than they may be.
	UnevenMove Reason = "UnevenPodsMove"
	// TakenBack: another client removed the taint or the cordon of the removal.
	TakenBack Reason = "TakenBack"
	// LeaderChanged: the leader that had begun the removal is gone.
	LeaderChanged Reason = "LeaderChanged"
	// OtherMachine: the machine that was removed is gone, and another one with its id has its node.
	OtherMachine              Reason = "OtherMachine"
	InstanceHeld              Reason = "InstanceHeld"
	NodeWithoutKnownInstance  Reason = "UnknownInstance"
	ResourceVersionNotYetSeen Reason = "WriteNotYetSeen"
)

// Reasons why a pod keeps its node. Names are those of the Cluster Autoscaler.
const (
	NotReplicated         Reason = "NotReplicated"
	MinReplicasReached    Reason = "MinReplicasReached"
	LocalStorageRequested Reason = "LocalStorageRequested"
	NotSafeToEvict        Reason = "NotSafeToEvictAnnotation"
	UnmovableSystemPod    Reason = "UnmovableKubeSystemPod"
	NotEnoughPdb          Reason = "NotEnoughPdb"
	// ToleratesRemoval: the pod tolerates the taint that keeps pods off a node that goes.
	ToleratesRemoval Reason = "ToleratesRemovalTaint"
	// BlockedByOnCompletionPod: the node waits for the pod's own end.
	BlockedByOnCompletionPod Reason = "BlockedByOnCompletionPod"
)

// Distance ranks what must change before a group with this reason takes the pods: 0 for time alone,
// 1 for a higher limit, 2 for the group's recovery, 3 for a smaller pod or a larger node, 4 for
// another pod or other nodes, and for any other reason.
func (r Reason) Distance() int {
	switch r {
	case Fits, GroupBusy, GroupPaused, GroupBackoff, GroupHeld,
		Resizing, StepBudget,
		MaxNodesPerScaleUp, SpreadPostponed, StaleInventory, NotChosen:
		return 0
	case GroupAtMax, PoolAtMax, PoolShare, MaxNodesTotal, CoresTotal, MemoryTotal,
		ScaleFromZeroOff, HeldByOperator:
		return 1
	case GroupUnhealthy, NodeNeverStarted, TemplateMismatch, SchedulerDisagrees,
		SpreadCapacity,
		GroupUnreadable, GroupNotListed, NoTemplate:
		return 2
	case InsufficientResources, VolumeLimit, PortConflict, TopologySpread, PodAffinity:
		return 3
	}
	return 4
}
