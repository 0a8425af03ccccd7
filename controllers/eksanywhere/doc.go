// Package eksanywhere is the controller of the worker node groups of EKS Anywhere
// clusters whose number of workers an autoscaler decides. It keeps the
// WorkersReady condition of anywhere.eks.amazonaws.com/v1alpha1 Clusters, and
// applies their machine deployments so that the autoscaler's number is never
// overwritten.
//
// What flows in: watches of Clusters and of Cluster API's MachineDeployments, in
// whichever version is served, as unstructured objects. What flows out: server-side
// applies to machine deployments, a patch of a Cluster's conditions, events and
// metrics. What to write is decided by package workers, which is pure; here is
// what reads and writes.
//
// Every write to an existing object expects the resource version that was read, so that no decision
// is carried out on what has changed since. Right before a creation, the API server itself is asked
// whether the name is free. It owns only what it applies: fields of a Cluster that it does not know
// survive, since it never updates one as a whole, and a condition that another controller writes is
// left to that controller.
//
// Hosts import it: Add for a manager of their own, Run for one that it makes.
package eksanywhere
