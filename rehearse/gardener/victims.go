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

// frailty orders phases: the lower one goes first. A machine that has no phase yet is not
// there, and goes with the first.
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

// demand is what a set shall have: how many machines, unless it makes none now, and when
// the autoscaler last resized it.
type demand struct {
	replicas   int
	blocked    bool
	lastChange string
	now        time.Time
}

// planOf compares a set with its machines. Those that end go by three rights at once:
// more than the set shall have, in the order of victims; named by the autoscaler, not
// later than it last resized the set; and failed. So a machine that was named goes
// even if the set has grown again since, and a new one comes for it.
func planOf(want demand, machines []machinev1.Machine) plan {
	active := slices.DeleteFunc(slices.Clone(machines), isEnding)
	if missing := want.replicas - len(active); missing > 0 {
		if want.blocked {
			return plan{}
		}
		return plan{make: min(missing, burst)}
	}
	slices.SortFunc(active, func(a, b machinev1.Machine) int { return victimOrder(a, b, want.now) })
	var end []string
	for i, m := range active {
		surplus := i < len(active)-want.replicas
		failed := isFailed(m) && preserved(m, want.now) == 0
		if surplus || failed || isNamed(m, want.lastChange) {
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
func victimOrder(a, b machinev1.Machine, now time.Time) int {
	return cmp.Or(
		cmp.Compare(preserved(a, now), preserved(b, now)),
		cmp.Compare(priority(a), priority(b)),
		cmp.Compare(marked(a), marked(b)),
		cmp.Compare(frailty[a.Status.CurrentStatus.Phase], frailty[b.Status.CurrentStatus.Phase]),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// autoPreserved is the preserve annotation's value on what was preserved without anybody
// asking for it: that goes before what a person wants to look at.
const autoPreserved = "auto-preserved"

func preserved(m machinev1.Machine, now time.Time) int {
	switch until := m.Status.CurrentStatus.PreserveExpiryTime; {
	case until == nil || !until.After(now):
		return 0
	case m.Annotations[machinev1.PreserveAnnotation] == autoPreserved:
		return 1
	}
	return 2
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
