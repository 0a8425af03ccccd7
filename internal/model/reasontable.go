package model

// reasonUse is what the program does with a reason, beside showing it.
type reasonUse uint8

const (
	// refusesPod: a pod may not go to a node for it.
	refusesPod reasonUse = 1 << iota
	// keepsNode: the node stays at the wish of its pods, a person or its group, or because
	// its last removal failed.
	keepsNode
	// failsRemoval: a removal that is rolled back for it has failed: the node could not be
	// emptied, or not be ended.
	failsRemoval
	// detailStays: its detail does not change by the minute, so that the node's annotation
	// can have it.
	detailStays
)

// ReasonRow is what is true of a reason in general.
type ReasonRow struct {
	Reason Reason
	uses   reasonUse
	// Meaning and Fix are its row in docs/reasons.md.
	Meaning, Fix string
}

// ReasonsPage says what reasons mean, and what to do about each.
const ReasonsPage = "https://github.com/plimsoll-dev/plimsoll/blob/main/docs/reasons.md"

// Page is the place on ReasonsPage that is about a reason.
func (r Reason) Page() string { return ReasonsPage + "#" + string(r) }

// ReasonSection is a section of docs/reasons.md with its reasons.
type ReasonSection struct {
	Heading string
	Rows    []ReasonRow
}

// ReasonSections is the table of all reasons, in the order of docs/reasons.md, whose tables
// are rendered from it (go test ./internal/model -rewrite).
var ReasonSections = []ReasonSection{
	{"Why pods do not go to a node, or to a new node of a group", []ReasonRow{
		{Fits, 0,
			"Nothing is in the way.",
			"Nothing."},
		{InsufficientResources, refusesPod,
			"The pod asks for more of a resource than the node has left, after DaemonSet and static pods.",
			"Lower the pod's requests, or offer a group with larger nodes."},
		{NodeAffinity, refusesPod,
			"The node's labels do not match the pod's node selector or required node affinity.",
			"Correct the selector, or the labels of the group's template."},
		{TaintNotTolerated, refusesPod,
			"The node has a taint that the pod does not tolerate.",
			"Add the toleration, or use a group without the taint."},
		{NodeUnschedulable, refusesPod,
			"The node is cordoned.",
			"Uncordon it."},
		{PortConflict, refusesPod,
			"A host port that the pod wants is taken on the node.",
			"Use another port or none; otherwise each such pod needs a node of its own."},
		{PodAffinity, refusesPod,
			"A required pod affinity or anti-affinity, of the pod or of one that is there, says no.",
			"Check the terms and their topology keys; nodes need the labels that these keys name."},
		{TopologySpread, refusesPod,
			"One more pod here would break a DoNotSchedule spread constraint, or the node lacks its topology label.",
			"Offer groups in the domains that lack pods, or allow a larger maxSkew."},
		{VolumeNotBindable, refusesPod,
			"A claim cannot be bound on that node: no volume, class or capacity for it.",
			"Check the claim, its storage class and the volumes' node affinity."},
		{VolumeZone, refusesPod,
			"A volume of the pod is in another zone.",
			"Offer a group in the volume's zone."},
		{VolumeLimit, refusesPod,
			"The node cannot attach that many volumes.",
			"Offer another node type, or use fewer volumes."},
		{VolumeInUse, refusesPod,
			"A volume that may be used once only is in use.",
			"Wait for the other pod, or use another access mode."},
		{NodeFeatures, refusesPod,
			"The pod needs a feature that the node does not declare.",
			"Use nodes of a newer version."},
		{Unsupported, refusesPod,
			"The pod uses a feature for which Plimsoll gives no verdict; the detail names it.",
			"Place such pods on nodes that are there already."},
		{FilterPanicked, refusesPod,
			"A filter of the scheduler panicked when it was asked about the pod. Pods like it are left alone for this " +
				"cycle, and asked about again in the next; all others are served.",
			"Report the pod and the detail to the project; changing what the detail points at may help."},
		{OtherFilter, refusesPod,
			"Another filter of the scheduler said no; its words are in the detail.",
			"Read the detail."},
	}},
	{"Why a group that fits does not grow", []ReasonRow{
		{GroupAtMax, 0,
			"The group is at its maximum.",
			"Raise the maximum, or add a group."},
		{PoolAtMax, 0,
			"The groups that share a limit are at it together.",
			"Raise the pool's maximum."},
		{GroupBelowMin, 0,
			"Why a group grows without any pod that asks for it: it has fewer nodes than its minimum, and " +
				"`--enforce-node-group-min-size` is set.",
			"Nothing; or lower the group's minimum."},
		{PoolBelowMin, 0,
			"Why a group grows without any pod that asks for it: its pool has fewer nodes than its minimum.",
			"Nothing; or lower the pool's minimum."},
		{PoolShare, 0,
			"The pool may have more nodes, and the group has its share of them by the pool's sizing, or more. (If no " +
				"other group can fill the pool's minimum, a group exceeds its share; the detail says so.)",
			"Fewer nodes in the other groups, or other groups that cannot grow, or another sizing. If a node of the " +
				"group did not come, so that the others have its share meanwhile: wait until the node comes or is gone."},
		{MaxNodesTotal, 0,
			"The cluster has the largest number of nodes that it may have.",
			"Raise `--max-nodes-total`."},
		{CoresTotal, 0,
			"One more node would exceed the cores that the cluster may have.",
			"Raise `--cores-total`."},
		{MemoryTotal, 0,
			"One more node would exceed the memory that the cluster may have.",
			"Raise `--memory-total`."},
		{MaxNodesPerScaleUp, 0,
			"This cycle adds the largest number of nodes that one cycle may.",
			"Wait for the next cycle, or raise `--max-nodes-per-scaleup`."},
		{GroupBusy, 0,
			"A write to the group, or to its pool, is under way.",
			"Wait for its end, some seconds."},
		{GroupHeld, 0,
			"The provider says that the group must not be touched now; the detail says why.",
			"[Why a group is held](#why-a-group-is-held-and-kinds-of-errors) has each word and what ends it."},
		{HeldByOperator, 0,
			"A person has paused the group, or the whole cluster: nothing is bought, removed or repaired there. Removals " +
				"that had begun are taken back. The detail says where the pause is written, and why.",
			"`plimsoll resume`, or take the pause out of the configuration file; or wait for its end, if it has one."},
		{GroupPaused, 0,
			"The last write to the group failed for no fault of the group, or it is not known yet what it did. The " +
				"group is left alone for some seconds.",
			"Read the failure in the detail. The next try is at the time given, or when the cloud has been read."},
		{GroupBackoff, 0,
			"A scale-up of the group failed, or its nodes did not arrive in time. The group rests until the time given, " +
				"and twice as long after the next failure; other groups are tried.",
			"Read the failure in the detail; see `--initial-node-group-backoff-duration` and [status.md](status.md). " +
				"A scale-up that succeeds ends it."},
		{GroupUnhealthy, 0,
			"Too many of its nodes are missing or not ready.",
			"Look at those nodes; the limits are `--ok-total-unready-count` and `--max-total-unready-percentage`."},
		{NodeNeverStarted, 0,
			"Nodes of the group did not become ready within their start time, and another probably would not either: " +
				"more than `--max-total-unready-percentage` of them, or one of one or two.",
			"Look at the node that the detail names; see `--max-node-startup-time`. It ends when the node is ready or " +
				"gone; or, where only a minimum keeps it, when it would have gone (`--scale-down-unready-time`): then " +
				"another one is tried."},
		{Resizing, 0,
			"The group is being resized to what it has, or rid of instances that never registered.",
			"Wait for the next cycles; the events `ScaleUpTimedOut` and `DeleteUnregistered` say what is missing."},
		{TemplateMismatch, refusesPod,
			"A new node of the group differs from the template, and these pods do not fit it; the detail names the " +
				"difference.",
			"Correct what the template is made of (labels, taints, resources), or the pods."},
		{SchedulerDisagrees, 0,
			"By every filter the pods fit a node that is ready, and the scheduler leaves them waiting; the detail has " +
				"its words. After six minutes one node is bought for them, and no more until it has helped; or, once it " +
				"has gone or is full of others, one after an hour, then three, nine, and a day. Nodes that " +
				"pods like them run on are not drained meanwhile ([ADR 34](adr/0034-when-the-scheduler-disagrees.md)).",
			"Look at the scheduler: another profile, an extender, a plugin of its own, or a queue that is stuck."},
		{LandedElsewhere, 0,
			"The group's new nodes came up in a zone, or as a type, that these pods cannot use, although the cloud's " +
				"[balancing rule](aws.md#groups-over-several-zones) promised otherwise. No further node is bought there " +
				"for them until the time given.",
			"See whether the zone has machines of that type. Give the pods' zone or type a group of its own."},
		{WaitsForLanding, 0,
			"Nodes that may suit these pods are on their way, and the cloud chooses their zone or type, without a " +
				"[rule](aws.md#groups-over-several-zones) that could be relied on. More are bought only when those have " +
				"come up.",
			"Wait until they are there. Give the pods' zone or type a group of its own."},
		{OutOfReach, 0,
			"The cloud [balances](aws.md#groups-over-several-zones) the group's nodes over its zones, and the zone " +
				"that these pods want is so far ahead that more than two nodes in every other zone would have to come " +
				"first. Or the group's limits leave room for fewer nodes than it takes to be certain of one in that zone, " +
				"and those that came were elsewhere. One node was bought as a trial; the next trial is at the time given.",
			"Give the zone a group of its own, or even out the group's nodes over its zones."},
		{GroupUnreadable, 0,
			"The group could not be read from the cloud; or another group of its pool has not been read since the " +
				"process began, so that the pool's size is unknown.",
			"Look for errors of the provider in the log."},
		{GroupNotListed, 0,
			"The provider's newest answers lack the group: it was deleted, or is no node group any more, as when " +
				"autoscaling is switched off for it. It is forgotten after three answers; while one of its nodes is " +
				"Ready, after ten minutes.",
			"Nothing, if that is intended. Else see why the provider does not list it (`plimsoll groups`)."},
		{NoGroups, 0,
			"The provider lists no node group at all.",
			"Make one, or look at the provider's flags: `plimsoll groups` shows what it reads."},
		{NoTemplate, 0,
			"It is not known what a node of the group would look like.",
			"Complete what the provider's template is made of."},
		{StaleInventory, 0,
			"The last successful read of the cloud is too old; nothing is written to it until the next.",
			"Look for errors of the provider in the log."},
		{ScaleFromZeroOff, 0,
			"The cluster has no ready node, and scale-up from none is switched off.",
			"Set `--scale-up-from-zero=true`."},
		{NotChosen, 0,
			"The group suits the pods, and the expander preferred another.",
			"Nothing; see `--expander`."},
		{StepBudget, 0,
			"The cycle's limit of work is reached: in placing pods, in saying why they wait, or in the search for " +
				"unneeded nodes; or pods that it did not get to may need the node. The detail says which.",
			"Wait for the next cycles; see `--decide-budget`."},
		{SpreadPostponed, 0,
			"To open the group's topology domain in this cycle would hold back pods in the others.",
			"Wait for the next cycle."},
		{SpreadCapacity, 0,
			"The pod fits, and the other topology domains have no room for the pods that the spread constraint wants " +
				"there.",
			"Raise the maximum of the groups in those domains, or relax the constraint."},
	}},
	{"Why pods are not planned for", []ReasonRow{
		{Expendable, 0,
			"Their priority is below the cutoff.",
			"Raise the priority, or lower `--expendable-pods-priority-cutoff`."},
		{NotRefused, 0,
			"The scheduler has not tried them yet.",
			"Wait, normally less than a second. If it takes a minute, an event says so: is there a scheduler of the " +
				"name that the pods ask for, and do their resource claims exist?"},
		{ForeignScheduler, 0,
			"They ask for a scheduler whose pods do not count here.",
			"Name it in `--allowed-scheduler-names`."},
		{ClusterUnhealthy, 0,
			"Too many nodes are not ready, or too many machines run without a Node object; nothing is bought or " +
				"removed meanwhile. Of an unneeded node: without it, the share of those would be too large.",
			"Look at the nodes and their network, and whether all the groups are of this cluster; the limits are " +
				"`--ok-total-unready-count` and `--max-total-unready-percentage`."},
		{ScaleUpDelayed, 0,
			"They are young, and they or a flag ask to wait that long.",
			"Wait; see `--new-pod-scale-up-delay` and the pods' annotation."},
	}},
	{"Why a unit that was asked for is given up, or stays for now", []ReasonRow{
		{ProvisionTimeout, 0,
			"It did not register as a node in time. If the cloud replaces such a machine, the time goes on.",
			"Look at the machine's own log: its network, its credentials, its start script. The time is " +
				"`--max-node-provision-time`."},
		{InstanceFailed, 0,
			"The cloud could not make it; the detail has its words.",
			"Stock-outs pass, quotas can be raised; another group is tried meanwhile."},
		{CreationRetried, 0,
			"The cloud could not make it, for a reason that may pass, and tries again by itself. It is waited for " +
				"during two more tries, at least two minutes.",
			"Nothing: it comes, or it is given up (`InstanceFailed`) and its group rests."},
		{NotCancellable, 0,
			"It did not come, and the cloud cannot take the request back without a risk to machines that run, so that " +
				"the request stays. Pods go elsewhere meanwhile.",
			"Nothing: it may come late, and once the group may grow again it is waited for before more is asked for. " +
				"On AWS, with protection from scale-in it can be taken back " +
				"([aws.md](aws.md#sizes-grow-remove-take-back))."},
		{ManyAmiss, 0,
			"Many machines at once did not register, lost their Node object or are not ready; the cause is rarely in " +
				"the machines. Nothing is ended for ten minutes; then, within any ten minutes, at most 3 machines of a " +
				"group, or a tenth of it if that is more, and 10 of all groups, or a twentieth if that is more.",
			"Look for what they have in common: a zone, the network, an admission webhook, a client that deletes Node " +
				"objects. Otherwise nothing: they are removed a few at a time."},
		{MatchingBroken, 0,
			"Nodes that belong to no instance, of whatever zone, could be those of the group's instances without a " +
				"node: those are not removed. A lower target waits for six hours at most, unless the nodes were the group's.",
			"Compare `spec.providerID` of the nodes with the instances' ids (`plimsoll groups -o yaml`); the two must " +
				"agree."},
	}},
	{"Why a node stays, or goes", []ReasonRow{
		{Unneeded, 0,
			"Nothing is in the way of its removal.",
			"Nothing."},
		{TargetNotReached, 0,
			"It is not ready, and its group does not have all the nodes that it asked for. It is removed only when " +
				"the group has them.",
			"Wait for the others to arrive or to be given up."},
		{NotAutoscaled, 0,
			"It belongs to no node group.",
			"Nothing, unless it should belong to one."},
		{NotUnderutilized, 0,
			"The share of its CPU or memory that pods request is not below the threshold; on a node with " +
				"accelerators, the share of those. Or its allocatable amounts are unknown.",
			"Nothing; see `--scale-down-utilization-threshold` and `--scale-down-gpu-utilization-threshold`, and the " +
				"group's own."},
		{NoPlaceToMovePods, failsRemoval,
			"Not all of its pods fit on other nodes, together with the pods of all other nodes that are unneeded; or " +
				"they fit only on nodes that are not ready yet. The detail names a pod that does not fit, and why.",
			"Nothing; or see what keeps the pod from other nodes: its reason is in the detail."},
		{ReservedForMovedPods, 0,
			"Its room is reserved for pods of other nodes that are being removed.",
			"Wait until those nodes are gone."},
		{CheaperElsewhere, 0,
			"Its pods could run for less: on cheaper nodes, which are bought first. The detail names the nodes " +
				"that are removed and bought, and the saving per hour.",
			"Wait; it begins when that has been true for `--scale-down-unneeded-time` and no other move is under way."},
		{PreferredElsewhere, 0,
			"Its group comes behind others in the priorities, one of which can grow again: its pods go back there " +
				"(`--return-to-preferred`). The detail names the nodes that are removed and bought.",
			"Wait; it begins when that has been true for `--scale-down-unneeded-time` and no other move is under way."},
		{MoveUnderWay, 0,
			"It is replaced: nodes for its pods are on their way, or other nodes of the same move leave before it.",
			"Wait; if those nodes do not come, it stays."},
		{ReservedForMove, 0,
			"It was bought for pods of nodes that are being replaced, and not all of them have come.",
			"Wait for the move's end."},
		{NodeInterrupted, 0,
			"It is to be replaced at once: the cloud is about to take its machine, as the cloud itself says, or a taint, an " +
				"annotation or a condition that `--replace-interrupted` names. No budget and no delay holds that.",
			"See to what it waits for, if anything."},
		{NodeUnready, 0,
			"It is to be replaced: it has not been ready for as long as `--replace-unready-after` says. The detail says " +
				"what the replacement waits for, if anything.",
			"Resolve what it waits for, or repair the node."},
		{NodeUnsound, 0,
			"It will be replaced: a condition that `--replace-conditions` names is true. The detail says what " +
				"the replacement waits for, if anything.",
			"Resolve what it waits for, or repair the node."},
		{NodeDrifted, 0,
			"It will be replaced: it differs from what its group makes now, and `--replace-drifted` is set. The detail " +
				"says in what it differs, and what the replacement waits for, if anything.",
			"Resolve what it waits for."},
		{NodeExpired, 0,
			"It will be replaced: it is older than `--replace-after`. The detail says what that waits for, if anything.",
			"Resolve what it waits for."},
		{ScaleDownDisabled, keepsNode,
			"It is annotated `cluster-autoscaler.kubernetes.io/scale-down-disabled=true`, or `karpenter.sh/do-not-disrupt` " +
				"with `true` or with a time that is not over.",
			"Remove the annotation."},
		{ScaleDownOff, 0,
			"Removals are switched off.",
			"Set `--scale-down-enabled=true`."},
		{NotUnneededLongEnough, 0,
			"It has not been unneeded for long enough.",
			"Wait; see `--scale-down-unneeded-time`."},
		{NotUnreadyLongEnough, 0,
			"It is not ready, and has not been unneeded for as long as such a node must be.",
			"Wait; see `--scale-down-unready-time`."},
		{UnreadyDisabled, 0,
			"It is not ready, and the removal of such nodes is switched off.",
			"Set `--scale-down-unready-enabled=true`."},
		{PodEnding, 0,
			"One of its pods is being deleted by another client, and may take longer to end than an evicted pod may.",
			"Wait for that pod's end; see `--max-graceful-termination-sec`."},
		{GroupAtMin, detailStays,
			"The group is at its minimum.",
			"Lower the minimum."},
		{PoolAtMin, detailStays,
			"The groups that share limits are at their minimum together.",
			"Lower the pool's minimum."},
		{PoolFloor, 0,
			"The pool may have fewer nodes, and the group has only its part of the pool's minimum by the sizing, so " +
				"that its zone keeps nodes.",
			"Wait for unneeded nodes in the pool's other groups, or choose another sizing."},
		{MinimalResourceLimit, 0,
			"Without it the cluster would have fewer cores or less memory than the minimum.",
			"Lower the minimum in `--cores-total` or `--memory-total`."},
		{CurrentlyBeingDeleted, refusesPod,
			"Its removal is under way.",
			"Nothing."},
		{NotReady, 0,
			"It is not ready, and has not been given up: it boots, or is suspended.",
			"Look at the node."},
		{Reserved, 0,
			"Its room is reserved for pending pods.",
			"Nothing."},
		{Cooldown, 0,
			"A scale-up, a removal or a failed removal was a short while ago; or the cloud has refused the group's " +
				"removals several times in a row, and they rest, longer each time.",
			"Wait; see the `--scale-down-delay-after-...` flags. For refusals the detail has the cloud's words: mostly " +
				"a missing permission."},
		{DrainFailed, keepsNode | failsRemoval,
			"Its last removal failed, and the next one waits: for `--scale-down-delay-after-failure`; after a second " +
				"failure for half an hour at least, and after each further one three times as long, up to six hours. The " +
				"detail says what was in the way, and the verdict until when.",
			"Wait, or remove what was in the way; see the event `ScaleDownFailed` on the node."},
		{MovedLately, keepsNode,
			"A pod on it came for one that was evicted, which itself had come for one that was evicted within an " +
				"hour. Pods of this controller that came since are left alone: for an hour, after each further such move " +
				"three times as long, up to six hours. Or its node goes for a cheaper or preferred one, and the pod came for one " +
				"that was evicted within `--move-stay`.",
			"Wait; the verdict says until when. If that happens often, `--scale-down-unneeded-time` is too short for how the " +
				"load changes."},
		{MaxParallelismReached, 0,
			"The largest number of nodes that may be removed at once is being removed.",
			"Wait, or raise `--max-scale-down-parallelism`."},
		{HeldByBudget, 0,
			"A budget of the configuration file forbids its removal now; the verdict has its name, its numbers and, where " +
				"time alone changes that, until when.",
			"Wait, or change the budget; `plimsoll budgets` shows all of them."},
		{MaxDrainsReached, 0,
			"The largest number of nodes with pods that may be removed at once is being removed.",
			"Wait, or raise `--max-drain-parallelism`."},
		{ReadyAgain, 0,
			"It was being removed because it was not ready, and it has become ready; it is untainted and kept.",
			"Nothing."},
		{PodLanded, failsRemoval,
			"A pod was bound to it just before its end; it is untainted and kept.",
			"Nothing."},
		{EvictionRefused, failsRemoval,
			"The eviction of one of its pods was refused, or failed, for too long; the removal was rolled back. The " +
				"detail has the pod and the last answer.",
			"Look at the PodDisruptionBudget that the answer names; see `--max-pod-eviction-time`."},
		{ReplacementWaits, failsRemoval,
			"The replacement of an evicted pod has had no node for too long, since its room was taken meanwhile; no " +
				"other pod was evicted, and the removal was rolled back. Or, of an unneeded node: it has pods of a " +
				"controller whose pods were evicted, from this node or another, and have no replacement yet, or all others " +
				"of which leave their nodes, or the last pods of one that serve while another waits for a node; its " +
				"removal does not begin. Nor does that of any node with pods while the " +
				"scheduler has not looked at a replacement.",
			"Nothing, if the room was taken by chance; see `--max-replacement-wait`, and why that pod waits (a gate, " +
				"no room), or why none comes (a quota, a webhook). A controller that was scaled down meanwhile holds its " +
				"nodes for half an hour, and for up to six hours if no controller has made any pod since."},
		{CompanyMoves, 0,
			"One of its pods has a required affinity to pods that are on their way (evicted by another removal, or " +
				"waiting for a node), or they have one to it. Moved at the same time, they might end up apart.",
			"Wait until those have a node."},
		{UnevenMove, 0,
			"Pods of other removals are on their way (to be evicted, or evicted and without a node yet), and pods of it, or " +
				"some of those, are spread over zones less evenly than their constraint lets pods be that come now, since a zone " +
				"came or was left. Where one of them may go there may be room for one pod only.",
			"Wait until those have a node."},
		{TakenBack, 0,
			"Another client removed the taint, or the cordon, of its removal; the removal was rolled back, and no further " +
				"pod is evicted.",
			"Nothing; it is removed when it has been unneeded for long enough again. The annotation " +
				"`cluster-autoscaler.kubernetes.io/scale-down-disabled=true` keeps it."},
		{LeaderChanged, 0,
			"The leader that had begun its removal is gone, and the node has pods; the removal was rolled back.",
			"Nothing; it is removed when it has been unneeded for long enough again."},
		{OtherMachine, 0,
			"Its machine was removed, and another one, which was made later and has the same id, goes on with the node; the " +
				"node is untainted and kept.",
			"Nothing."},
		{AllOrNothing, keepsNode,
			"Its group is removed as a whole or not at all, and not all of its nodes can go.",
			"Free the group's other nodes."},
		{InstanceHeld, detailStays,
			"The provider says that its machine must not be removed now.",
			"End what holds it."},
		{NodeWithoutKnownInstance, 0,
			"It is younger than the last read of the cloud, or the node groups could not be read at all, so its group is " +
				"not known.",
			"Wait for the next read, or mend what keeps the groups from being read."},
		{ResourceVersionNotYetSeen, 0,
			"The watch has not shown Plimsoll's last write to it yet.",
			"Wait, normally less than a second."},
	}},
	{"Why a pod keeps its node", []ReasonRow{
		{NotReplicated, keepsNode | failsRemoval | detailStays,
			"Nothing would replace the pod: it has no controller, or one of a kind that is not known to replace its " +
				"pods (ReplicationController, ReplicaSet, StatefulSet and Job are).",
			"Let a controller make the pod, or annotate it `safe-to-evict=true`; for other kinds of controllers, set " +
				"`--skip-nodes-with-custom-controller-pods=false`."},
		{MinReplicasReached, keepsNode | failsRemoval | detailStays,
			"Its controller has fewer pods than `--min-replica-count`.",
			"Run more replicas, or lower `--min-replica-count`."},
		{LocalStorageRequested, keepsNode | failsRemoval | detailStays,
			"What it stores on the node would be lost: a volume of the kind `hostPath`, or `emptyDir` that is not in " +
				"memory.",
			"Name the volume in the pod's annotation `cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes`, " +
				"or annotate the pod `safe-to-evict=true`, or set `--skip-nodes-with-local-storage=false`."},
		{ToleratesRemoval, keepsNode | failsRemoval | detailStays,
			"It tolerates the taint `ToBeDeletedByClusterAutoscaler`, alone or with all others, so that its " +
				"replacement may come to the same node.",
			"Narrow its tolerations; or annotate it `cluster-autoscaler.kubernetes.io/safe-to-evict=true`, if a " +
				"useless eviction does no harm."},
		{NotSafeToEvict, keepsNode | failsRemoval | detailStays,
			"It is annotated `cluster-autoscaler.kubernetes.io/safe-to-evict=false`, or `karpenter.sh/do-not-disrupt` " +
				"with `true` or with a time that is not over.",
			"Remove the annotation."},
		{BlockedByOnCompletionPod, keepsNode | failsRemoval | detailStays,
			"It is annotated `cluster-autoscaler.kubernetes.io/safe-to-evict=on-completion`, and still runs.",
			"Wait for its end."},
		{UnmovableSystemPod, keepsNode | failsRemoval | detailStays,
			"It is in `kube-system`, no PodDisruptionBudget covers it, and it is younger than " +
				"`--blocking-system-pod-distruption-timeout`.",
			"Give it a budget, wait, or set `--skip-nodes-with-system-pods=false`."},
		{NotEnoughPdb, keepsNode | failsRemoval | detailStays,
			"Its PodDisruptionBudget allows no eviction now, or other removals take all that it allows; or " +
				"several budgets cover it, and then the API server never evicts it.",
			"Make more of the budget's pods ready, or let it allow more; of several budgets, leave one that covers " +
				"the pod."},
	}},
}

// rowOf finds a reason's row.
var rowOf = func() map[Reason]*ReasonRow {
	rows := map[Reason]*ReasonRow{}
	for _, section := range ReasonSections {
		for i := range section.Rows {
			rows[section.Rows[i].Reason] = &section.Rows[i]
		}
	}
	return rows
}()

func (r Reason) is(use reasonUse) bool {
	row := rowOf[r]
	return row != nil && row.uses&use != 0
}

// KeepsNode reports whether a node stays for this reason because a user wants it, or after a failed removal.
func (r Reason) KeepsNode() bool { return r.is(keepsNode) }

// FailedRemoval reports whether a removal that is rolled back for this reason has failed.
// For other reasons the node was needed, or must not be removed.
func (r Reason) FailedRemoval() bool { return r.is(failsRemoval) }

// DetailStays reports whether the detail of such a verdict does not change by the minute.
func (r Reason) DetailStays() bool { return r.is(detailStays) }

// RefusesPod reports whether a pod may not go to a node for this reason.
func (r Reason) RefusesPod() bool { return r.is(refusesPod) }
