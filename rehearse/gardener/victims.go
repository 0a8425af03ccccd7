package gardener

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// burst is the most machines of a set that are made or ended at a time.
const burst = 100

// usualPriority is machinev1.PriorityDefault, as a number.
const usualPriority = 3

// frailty orders phases: the lower one goes first.
var frailty = map[machinev1.MachinePhase]int{
	machinev1.MachineTerminating:      0,
	machinev1.MachineFailed:           1,
	machinev1.MachineCrashLoopBackOff: 2,
	machinev1.MachineUnknown:          3,
	machinev1.MachinePending:          4,
	machinev1.MachineAvailable:        5,
	machinev1.MachineRunning:          6,
}

// plan is what a set does about its machines now.
type plan struct {
	make int
	end  []string // names, sorted
}

// planOf compares a set with its machines. Those that end go by three rights at once:
// more than the set shall have, in the order of victims; named by the autoscaler, not
// later than it last resized the set; and failed. So a machine that was named goes
// even if the set has grown again since, and a new one comes for it.
func planOf(want int, blocked bool, lastChange string, machines []machinev1.Machine) plan {
	active := slices.DeleteFunc(slices.Clone(machines), isEnding)
	if missing := want - len(active); missing > 0 {
		if blocked {
			return plan{}
		}
		return plan{make: min(missing, burst)}
	}
	slices.SortFunc(active, victimOrder)
	var end []string
	for i, m := range active {
		surplus := i < len(active)-want
		failed := isFailed(m) && m.Status.CurrentStatus.PreserveExpiryTime == nil
		if surplus || failed || isNamed(m, lastChange) {
			end = append(end, m.Name)
		}
	}
	end = end[:min(len(end), burst)]
	slices.Sort(end)
	return plan{end: end}
}

// isNamed tells whether the autoscaler chose the machine with the last resizing that
// its set knows of, or before.
func isNamed(m machinev1.Machine, lastChange string) bool {
	if m.Annotations[machinev1.PriorityAnnotation] != machinev1.PriorityDelete {
		return false
	}
	marked, errMarked := time.Parse(time.RFC3339, m.Annotations[machinev1.MarkedForDeletionAnnotation])
	changed, errChanged := time.Parse(time.RFC3339, lastChange)
	return errMarked == nil && errChanged == nil && !marked.After(changed)
}

// victimOrder puts first the machine that goes first: not preserved, of low priority,
// named longest ago, frail, old. So by itself the oldest machine of a set is the one
// that goes.
func victimOrder(a, b machinev1.Machine) int {
	return cmp.Or(
		cmp.Compare(preserved(a), preserved(b)),
		cmp.Compare(priority(a), priority(b)),
		cmp.Compare(marked(a), marked(b)),
		cmp.Compare(frailtyOf(a), frailtyOf(b)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

func preserved(m machinev1.Machine) int {
	if m.Status.CurrentStatus.PreserveExpiryTime != nil {
		return 1
	}
	return 0
}

func priority(m machinev1.Machine) int {
	n, err := strconv.Atoi(m.Annotations[machinev1.PriorityAnnotation])
	if err != nil {
		return usualPriority
	}
	return n
}

// marked is when the machine was named; those that never were come last.
func marked(m machinev1.Machine) int64 {
	at, err := time.Parse(time.RFC3339, m.Annotations[machinev1.MarkedForDeletionAnnotation])
	if err != nil {
		return 1<<63 - 1
	}
	return at.Unix()
}

// frailtyOf takes a machine that has no phase yet for one that is pending.
func frailtyOf(m machinev1.Machine) int {
	if f, ok := frailty[m.Status.CurrentStatus.Phase]; ok {
		return f
	}
	return frailty[machinev1.MachinePending]
}
