// Package mcm is what Gardener's machine-controller-manager decides, as far as an
// autoscaler can tell: how many machines each MachineSet of a MachineDeployment shall
// have, on a resize and at each step of a rolling update (Scale, Roll), which machines of
// a set go (PlanOf), what becomes of machines that are named in the trigger annotation
// (ReadTrigger, Follow), and how long it waits after an error of the cloud (RetryAfter).
// It follows the rules of the real one (v0.63), odd ones included, since an autoscaler
// must live with them.
//
// What flows in: sizes, machines, annotations and a time, as values. What flows out: sizes
// and names. Pure; it imports v1alpha1. Who may import it: the two stand-ins that act on
// it, gardenertest, which fits in a test, and rehearse/gardener, which is a process.
package mcm
