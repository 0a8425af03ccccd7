// Package gardener stands in for Gardener's machine-controller-manager beside a
// rehearsal's control plane: the controllers of MachineDeployments, MachineSets and
// Machines, whose machines are nodes in the care of kwok. The control plane is the
// control cluster and the shoot at once.
//
//	MachineDeployment ── MachineSet, one for each revision ── Machine ── Node
//	   rollouts,             which machines go,                 quota, boot,
//	   named machines        freezing                           health, drain
//
// It keeps to what an autoscaler can tell of the real one (v0.63): one deployment's
// machines that are named in the trigger annotation go, in a union with those that
// the order of victims chooses; a shrinking in the middle of a rollout
// takes from all sets; a set with far too many machines is frozen
// (freeze.go); and MachineDeployments are written back as a whole, as its typed
// client does, so that fields it does not know are lost (Settings.KnowsPools).
//
// What it leaves out: updates in place, rolling back, preserved machines beyond that
// they are the last to be chosen, copying of later changes of a node template to
// nodes, and orphans. The safety rule is looked at with every change instead of each
// minute, and its end is not delayed.
//
// A MachineClass, which is one pool in one zone, says how its machines misbehave, by
// annotations that may be changed at any time:
//
//	rehearse.plimsoll.dev/join-delay       from the machine's making to its node, 5s say
//	rehearse.plimsoll.dev/quota            how many machines of its zone and instance
//	                                       type there may be, of all classes together
//	rehearse.plimsoll.dev/never-registers  "true": machines come, their nodes do not
//	rehearse.plimsoll.dev/delete-delay     how long a machine takes to end after its
//	                                       drain
//	rehearse.plimsoll.dev/create-error     the code that the cloud answers with instead of
//	                                       making a machine; Unavailable:2, for the first
//	                                       two tries of each. It is tried again as the real
//	                                       one does: after 5 s, 3 or 10 minutes
//
// and rehearse.plimsoll.dev/not-ready: "true" on a Machine takes its node from kwok
// and has it not ready, until the annotation goes.
//
// It is made to be a process of its own: Flags reads its command line. Subpackages:
// definitions (the CustomResourceDefinitions), pools (a file of worker pools as
// objects). What it decides of machines and sets is providers/gardener/mcm. Of this
// module it imports package kinds; packages component and world import it.
package gardener
