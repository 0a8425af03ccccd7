// Package gardener is the controller of a Gardener shoot's worker pools, on its seed. It makes of
// each pool of an extensions.gardener.cloud/v1alpha1 Worker one MachineDeployment of
// machine-controller-manager for each zone, writes the limits of the whole pool on each of them,
// and leaves their replicas to the autoscaler.
//
// What flows in: watches of Workers, of the Clusters that carry their Shoots, of
// MachineDeployments and of the names of MachineClasses. What flows out: JSON merge
// patches of MachineDeployments, the making and deleting of those that are this
// controller's own, a patch of a Worker's status, events and metrics. What to write
// is decided by package pools, which is pure; here is what reads and writes.
//
// Merge patches, not server-side apply: a definition of MachineDeployments that does
// not know the limits of pools refuses an apply that names them and prunes a patch;
// and replicas that were once applied would go with the next apply without them.
// Never an update as a whole, which would drop what these types do not have. Every
// write expects the resource version that was looked at.
//
// Hosts import it: Add for a manager of their own, Run for one that it makes.
package gardener
