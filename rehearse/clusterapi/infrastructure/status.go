package infrastructure

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// The reasons of the Ready condition, beside a failure's own.
const (
	reasonProvisioned = "Provisioned"
	reasonStarting    = "Starting"
)

// machineStatus is the status of a machine of which it is known how far it has
// come. The node's name, once it is known, is never taken back.
func machineStatus(machine *kwokapi.KwokMachine, reached stage, node string) kwokapi.KwokMachineStatus {
	status := machine.Status
	status.Conditions = slices.Clone(status.Conditions)
	status.FailureReason, status.FailureMessage = "", ""
	if node != "" {
		status.NodeName = node
	}
	ready := metav1.Condition{Type: clusterv1.ReadyCondition, ObservedGeneration: machine.Generation}
	switch reached {
	case stageFailed:
		status.FailureReason, status.FailureMessage = machine.Spec.Failure.Reason, machine.Spec.Failure.Message
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, machine.Spec.Failure.Reason,
			machine.Spec.Failure.Message
	case stageStarting:
		ready.Status, ready.Reason = metav1.ConditionFalse, reasonStarting
	case stageProvisioned:
		status.Initialization = &kwokapi.MachineInitialization{Provisioned: true}
		ready.Status, ready.Reason = metav1.ConditionTrue, reasonProvisioned
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// stage is how far a machine has come.
type stage int

const (
	stageStarting    stage = iota // will fail, and has not yet
	stageFailed                   // will never be provisioned
	stageProvisioned              // exists, whether or not its node has joined
)

// stageOf decides how far a machine has come whose start-up delay has passed, or
// has not. A machine that is provisioned can fail no more.
func stageOf(machine *kwokapi.KwokMachine, started bool) stage {
	switch {
	case machine.Spec.Failure == nil || machine.Provisioned():
		return stageProvisioned
	case started:
		return stageFailed
	}
	return stageStarting
}
