// Package clusterapitest is a management cluster of Cluster API that fits in a
// test: the API server of kubetest, and in it what Cluster API's controllers do
// with Machines.
//
// What flows in: HTTP requests of a real client library, and hands of tests
// (Apply, Edit, Settle, Roll, Deny, Arm). What flows out: discovery, lists,
// watches, objects, Status errors. It serves cluster.x-k8s.io in v1beta1 and
// v1beta2, converted from one and the same object, and any other kinds that a
// test adds. Writes are checked by resource version, spec changes count
// generations, finalizers hold up deletion, the scale subresource is one.
//
// The controllers are those of the contract, not Cluster API's code: a
// MachineDeployment has MachineSets, a MachineSet as many Machines as it should,
// those that are on their way out counted first and those that are marked with
// delete-machine next; a Machine gets a provider id and a node after a while,
// and is held by a finalizer for a while when it is deleted. They act when
// Timing says, at the next request, or at once by Settle.
//
// It imports kubetest alone: anybody may start a management cluster with it.
// Package door is its back door for the conformance suite.
package clusterapitest
