package gardener

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// Timeouts of a machine that names none, those of the real one.
const (
	creationTimeout = 20 * time.Minute
	healthTimeout   = 10 * time.Minute
	drainTimeout    = 2 * time.Hour
)

func timeout(own *metav1.Duration, usual time.Duration) time.Duration {
	if own != nil {
		return own.Duration
	}
	return usual
}

// view is what a machine's next status depends on.
type view struct {
	now  time.Time
	node *corev1.Node // nil: none has registered
	// replacing: another machine of the deployment is not well, or on its way out.
	// Machines that were well fail one after the other, lest a broken network takes
	// them all.
	replacing bool
}

// health is the next status of a machine that exists and does not end, and when to
// look again if nothing happens: 0 for never.
func health(m machinev1.Machine, v view) (machinev1.MachineStatus, time.Duration) {
	status := m.DeepCopy().Status
	if v.node != nil {
		status.Conditions = v.node.Status.Conditions
	}
	up := v.node != nil && mayRun(v.node)
	switch status.CurrentStatus.Phase {
	case machinev1.MachinePending, machinev1.MachineCrashLoopBackOff, "":
		if up {
			return moved(status, v.now, machinev1.MachineRunning, machinev1.OperationCreate, machinev1.StateSuccessful,
				"Machine "+m.Name+" successfully joined the cluster"), 0
		}
		limit := timeout(m.Spec.CreationTimeout, creationTimeout)
		left := m.CreationTimestamp.Add(limit).Sub(v.now)
		if left > 0 {
			return status, left
		}
		return moved(status, v.now, machinev1.MachineFailed, machinev1.OperationCreate, machinev1.StateFailed,
			fmt.Sprintf("Machine %s failed to join the cluster in %s", m.Name, limit)), 0
	case machinev1.MachineRunning, machinev1.MachineAvailable:
		if v.node != nil && isReady(v.node) {
			return status, 0
		}
		return moved(status, v.now, machinev1.MachineUnknown, machinev1.OperationHealthCheck, machinev1.StateProcessing,
			"Machine "+m.Name+" is unhealthy"), timeout(m.Spec.HealthTimeout, healthTimeout)
	case machinev1.MachineUnknown:
		if up {
			return moved(status, v.now, machinev1.MachineRunning, machinev1.OperationHealthCheck, machinev1.StateSuccessful,
				"Machine "+m.Name+" successfully re-joined the cluster"), 0
		}
		limit := timeout(m.Spec.HealthTimeout, healthTimeout)
		left := status.CurrentStatus.LastUpdateTime.Add(limit).Sub(v.now)
		if left > 0 {
			return status, left
		}
		if v.replacing {
			return status, lookAgain
		}
		return moved(status, v.now, machinev1.MachineFailed, machinev1.OperationHealthCheck, machinev1.StateFailed,
			fmt.Sprintf("Machine %s is not healthy since %s", m.Name, limit)), 0
	}
	return status, 0 // Terminating and Failed are the set's
}

// refused is the status of a machine that the cloud does not make.
func refused(m machinev1.Machine, now time.Time, code, message string) machinev1.MachineStatus {
	phase := machinev1.MachineCrashLoopBackOff
	if now.Sub(m.CreationTimestamp.Time) > timeout(m.Spec.CreationTimeout, creationTimeout) {
		phase = machinev1.MachineFailed
	}
	status := moved(m.DeepCopy().Status, now, phase, machinev1.OperationCreate, machinev1.StateFailed,
		"Cloud provider message - "+message)
	status.LastOperation.ErrorCode = code
	return status
}

// moved is the status with another phase and the operation that led to it. A phase
// that it has already keeps its time.
func moved(
	status machinev1.MachineStatus, now time.Time, phase machinev1.MachinePhase, operation machinev1.MachineOperationType,
	state machinev1.MachineState, why string,
) machinev1.MachineStatus {
	at := metav1.NewTime(now)
	if status.CurrentStatus.Phase != phase {
		status.CurrentStatus.Phase = phase
		status.CurrentStatus.LastUpdateTime = at
	}
	status.CurrentStatus.TimeoutActive = phase == machinev1.MachinePending || phase == machinev1.MachineUnknown
	status.LastOperation = machinev1.LastOperation{Description: why, LastUpdateTime: at, State: state, Type: operation}
	return status
}
