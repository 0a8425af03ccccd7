// Package kube is what providers share whose cloud is objects of a Kubernetes API
// server: machines that a controller in that cluster makes, by the replicas that are
// written there.
//
// What flows in: errors and lists of the API server, the targets that a provider
// asked for, the notices that it has, the nodes that it read. What flows out: the
// contract's errors with what a person should look at (Hints), whether a list is one
// (Whole), what is new of the notices and how long to rest between reads (Memory),
// and nodes to learn from (Nodes).
//
// It makes no calls, and gets all of its input from the caller, times included; Wait alone lets
// time pass. Each provider defines what a group, a machine, a mark or a rollout is.
//
// The package imports provider and the types of Kubernetes, and nothing of internal/.
// Providers over Kubernetes objects import it; nothing else does.
package kube
