package v1alpha1

// Labels and annotations of Plimsoll's own. Annotations outlive whatever
// machine-controller-manager does to the objects, and it copies those of a
// MachineDeployment to its MachineSets.
const (
	// PoolMinimumAnnotation and PoolMaximumAnnotation, on a MachineDeployment, are
	// the limits of its whole worker pool. spec.poolMinimum and spec.poolMaximum
	// come before them.
	PoolMinimumAnnotation = "autoscaler.plimsoll.dev/pool-minimum"
	PoolMaximumAnnotation = "autoscaler.plimsoll.dev/pool-maximum"
	// SizingAnnotation names the strategy that spreads these over the zones.
	SizingAnnotation = "autoscaler.plimsoll.dev/sizing"
	// HibernatedAnnotation, on a MachineDeployment, says that its replicas are 0
	// because the shoot is hibernated: the autoscaler leaves it alone meanwhile, and
	// they come back when the shoot wakes up.
	HibernatedAnnotation = "autoscaler.plimsoll.dev/hibernated"
)

// The sizing strategies, as SizingAnnotation, a shoot and --mcm-sizing name them;
// case does not matter there.
const (
	SizingEquitable          = "Equitable"
	SizingLaxGreedy          = "Lax-Greedy"
	SizingBackwardCompatible = "Backward-Compatible"
)

// Labels and annotations of Gardener.
const (
	// PoolLabel names the worker pool, on a MachineDeployment and on nodes.
	PoolLabel = "worker.gardener.cloud/pool"
	// NameLabel is the one label by which Gardener's MachineDeployments select
	// their machines; its value is the MachineDeployment's name.
	NameLabel = "name"
	// MachineNameLabel, on a node, is the name of its Machine.
	MachineNameLabel = "node.gardener.cloud/machine-name"
	// CriticalComponentsNotReadyTaint is on a new node until its network and the
	// like run.
	CriticalComponentsNotReadyTaint = "node.gardener.cloud/critical-components-not-ready"
	// OptionPrefix begins the annotations of a MachineDeployment that are its own
	// values of the autoscaler's flags.
	OptionPrefix = "autoscaler.gardener.cloud/"
)

// Labels and annotations of machine-controller-manager.
const (
	// Finalizer holds Machines, MachineSets, MachineDeployments and MachineClasses.
	Finalizer = "machine.sapcloud.io/machine-controller-manager"
	// TemplateHashLabel is on MachineSets and Machines.
	TemplateHashLabel = "machine-template-hash"
	// NodeLabel, on a Machine, is the name of its node.
	NodeLabel = "node"
	// FreezeLabel with the value True is on what makes no more machines since too
	// many came.
	FreezeLabel = "freeze"
	// ScaleUpDisabledLabel is on a MachineSet that makes no machines during an
	// update in place.
	ScaleUpDisabledLabel = "node.machine.sapcloud.io/scale-up-disabled"
	// ForceDeletionLabel on a Machine skips its drain.
	ForceDeletionLabel = "force-deletion"

	// TriggerDeletionAnnotation, on a MachineDeployment, names the machines that
	// are to go: name~time, comma-separated; before v0.61.3 names alone.
	TriggerDeletionAnnotation = "node.machine.sapcloud.io/trigger-deletion-by-mcm"
	// LastReplicaChangeAnnotation, on a MachineDeployment and its MachineSets, is
	// when the autoscaler last asked for the deletion of machines.
	LastReplicaChangeAnnotation = "machine.sapcloud.io/last-deployment-replica-change-by-scaler-time"
	// MarkedForDeletionAnnotation, on a Machine, is the time with which it was named.
	MarkedForDeletionAnnotation = "machine.sapcloud.io/marked-for-deletion-time"
	// PriorityAnnotation, on a Machine, is how soon it goes when machines must:
	// the lowest first.
	PriorityAnnotation = "machinepriority.machine.sapcloud.io"
	// RevisionAnnotation numbers the MachineSets of a MachineDeployment.
	RevisionAnnotation = "deployment.kubernetes.io/revision"
	// DesiredReplicasAnnotation and MaxReplicasAnnotation, on a MachineSet, are
	// what its MachineDeployment wanted when it was last scaled.
	DesiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	MaxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
	// PreserveAnnotation, on a Machine or a node, keeps the machine for a person to
	// look at.
	PreserveAnnotation = "node.machine.sapcloud.io/preserve"
	// UnfreezeAnnotation ends a freeze by hand.
	UnfreezeAnnotation = "safety.machine.sapcloud.io/unfreeze"
	// PreferNoScheduleTaint is on nodes of older MachineSets during a rollout.
	PreferNoScheduleTaint = "deployment.machine.sapcloud.io/prefer-no-schedule"
)

// The values of PriorityAnnotation.
const (
	// PriorityDefault is what the machine controller sets.
	PriorityDefault = "3"
	// PriorityDelete is that of machines that are named in TriggerDeletionAnnotation.
	PriorityDelete = "1"
)

// FreezeValue is the value of FreezeLabel.
const FreezeValue = "True"

// The kinds and their resources.
const (
	KindMachineDeployment = "MachineDeployment"
	KindMachineSet        = "MachineSet"
	KindMachine           = "Machine"
	KindMachineClass      = "MachineClass"

	ResourceMachineDeployments = "machinedeployments"
	ResourceMachineSets        = "machinesets"
	ResourceMachines           = "machines"
	ResourceMachineClasses     = "machineclasses"
)

// The Deployment that machine-controller-manager runs in, in the control cluster's
// namespace of a shoot.
const ControllerManagerDeployment = "machine-controller-manager"
