// Package gardener is the provider of Gardener's machine-controller-manager
// (https://github.com/gardener/machine-controller-manager): its groups are the
// MachineDeployments of one namespace of the control cluster, and its pools are
// Gardener's worker pools, of which each MachineDeployment is one zone.
//
// What flows in: the operator's choice of groups (Config), and the objects of the
// namespace. What flows out: the contract of package provider. The steps are
//
//	flags   → Config → settings                                     (pure)
//	control → census: LISTs of Machines, MachineSets, MachineClasses
//	          and MachineDeployments, again at each call
//	shoot   → examples: a few nodes of each group                   (remembered)
//	of it   → poolsOf, standingOf, holdsOf, buildTemplate            (pure) → Inventory
//	Grow    → PATCH of spec.replicas, after a fresh look at the whole pool
//	Remove  → one PATCH: the machines' names in the annotation
//	          trigger-deletion-by-mcm, and spec.replicas
//	Cancel  → PATCH of spec.replicas, where no machine can be ended by it
//
// The control cluster is the only state. A group's id is its MachineDeployment's
// name, an instance's its Machine's, from its first moment to its last: with or
// without a virtual machine, a node, or luck.
//
// Whatever is written is a JSON merge patch of just those fields, with the
// resourceVersion of the object that was looked at: an update would destroy fields
// that this program does not know. machine-controller-manager itself does that to
// spec.poolMinimum and spec.poolMaximum as long as it does not know them, so that a
// pool's limits are read from annotations, too, and from --nodes.
//
// Which machine goes when replicas are lowered is machine-controller-manager's
// choice, unless it is given names. So replicas are lowered together with names, or
// where it has nothing to delete; and not at all during a rollout, where it would
// take machines of every MachineSet.
//
// A provider keeps its pool's hard limits by its fresh look; how they are spread
// over zones is the core's concern. No lock is held over a call.
//
// The package imports provider, providers/kube, its own v1alpha1 and client-go, and
// nothing of internal/. Hosts import it; nothing else does.
package gardener
