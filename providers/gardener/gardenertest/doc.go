// Package gardenertest is a control cluster of Gardener that fits in a test: the API
// server of kubetest with machine.sapcloud.io/v1alpha1 in it, and what
// machine-controller-manager does with MachineDeployments.
//
// What flows in: HTTP requests of a real client library, and hands of tests (Add,
// Edit, Settle, Roll, Starve, FailCreation, CreateAgain, Arm). What flows out: lists, watches,
// objects, Status errors.
//
// The controllers are those of the contract, not machine-controller-manager's code:
// a MachineDeployment marks the machines that its annotation names, then scales its
// MachineSets, and a MachineSet makes what is missing and deletes what is too much, as
// package mcm decides. A machine gets a node after a while, or
// cannot be made, and is held by a finalizer for a while when it is deleted. They act
// when Timing says, at the next request, or at once by Settle.
//
// Machine-controller-manager changed how it is told which machines are to go:
// Understands says which age it has here. One that does not know spec.poolMinimum and
// spec.poolMaximum drops them with every update (Forgetful).
//
// It imports kubetest, mcm and v1alpha1. Who may import it: tests. Package door is its
// back door for the conformance suite.
package gardenertest
