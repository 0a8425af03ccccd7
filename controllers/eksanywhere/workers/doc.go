// Package workers decides for the worker node groups of one EKS Anywhere cluster:
// is the cluster's WorkersReady condition true (Ready), what must be written to
// its machine deployments (MakePlan), and is its spec valid at all (Validate).
//
// Everything here is values in, values out: no clock, no clients, no order that
// depends on a map. What flows in is the Cluster's spec and its machine
// deployments as Read found them; Bind brings the two together. What flows out is
// carried out by package eksanywhere, the only one that imports this package.
//
// Two sentences govern all of it. Whether a group is autoscaled is what the
// Cluster's spec says, never what annotations on a machine deployment say: those
// lag behind the spec, and anybody can write them. And the replicas of an autoscaled group belong
// to the autoscaler: this controller writes them once when there is no other way (they are not set,
// the group has just become autoscaled, its range has changed), and then gives up their ownership.
package workers
