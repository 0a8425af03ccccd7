package mcm

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// burst is the most machines of a set that are made or ended at a time.
const burst = 100

// usualPriority is v1alpha1.PriorityDefault, as a number.
const usualPriority = 3

// frailty orders phases: the lower one goes first. A phase that is not in the table, that
// of a machine without one among them, goes first of all.
var frailty = map[v1alpha1.MachinePhase]int{
	v1alpha1.MachineTerminating:      0,
	v1alpha1.MachineFailed:           1,
	v1alpha1.MachineCrashLoopBackOff: 2,
	v1alpha1.MachineUnknown:          3,
	v1alpha1.MachinePending:          4,
	v1alpha1.MachineAvailable:        5,
	v1alpha1.MachineRunning:          6,
}

// Plan is what a set does about its machines now.
type Plan struct {
	Make int
	End  []string // names, sorted
}

// Demand is what a set shall have: how many machines, unless it makes none now, and when
// the autoscaler last resized it. Without that time no machine goes for its name alone.
type Demand struct {
	Replicas   int
	Blocked    bool
	LastChange string
	Now        time.Time
}

// PlanOf compares a set with its machines. Those that end go by three rights at once:
// more than the set shall have, in the order of victims; named by the autoscaler, not
// later than it last resized the set; and failed. So a machine that was named goes
// even if the set has grown again since, and a new one comes for it. Machines that the
// order does not tell apart go in the order in which they are given.
func PlanOf(want Demand, machines []v1alpha1.Machine) Plan {
	active := slices.DeleteFunc(slices.Clone(machines), IsEnding)
	if missing := want.Replicas - len(active); missing > 0 {
		if want.Blocked {
			return Plan{}
		}
		return Plan{Make: min(missing, burst)}
	}
	slices.SortStableFunc(active, func(a, b v1alpha1.Machine) int { return victimOrder(a, b, want.Now) })
	var end []string
	for i, m := range active {
		surplus := i < len(active)-want.Replicas
		failed := isFailed(m) && preserved(m, want.Now) == 0
		if surplus || failed || isNamed(m, want.LastChange) {
			end = append(end, m.Name)
		}
	}
	end = end[:min(len(end), burst)]
	slices.Sort(end)
	return Plan{End: end}
}

// isNamed reports whether the autoscaler chose the machine with the last resizing that
// its set knows of, or before.
func isNamed(m v1alpha1.Machine, lastChange string) bool {
	if m.Annotations[v1alpha1.PriorityAnnotation] != v1alpha1.PriorityDelete {
		return false
	}
	marked, errMarked := time.Parse(time.RFC3339, m.Annotations[v1alpha1.MarkedForDeletionAnnotation])
	changed, errChanged := time.Parse(time.RFC3339, lastChange)
	return errMarked == nil && errChanged == nil && !marked.After(changed)
}

// victimOrder puts first the machine that goes first: not preserved, of low priority,
// named longest ago, frail, old. So by itself the oldest machine of a set is the one
// that goes.
func victimOrder(a, b v1alpha1.Machine, now time.Time) int {
	return cmp.Or(
		cmp.Compare(preserved(a, now), preserved(b, now)),
		cmp.Compare(priority(a), priority(b)),
		cmp.Compare(marked(a), marked(b)),
		cmp.Compare(frailty[a.Status.CurrentStatus.Phase], frailty[b.Status.CurrentStatus.Phase]),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
	)
}

// autoPreserved is the preserve annotation's value on what was preserved without anybody
// asking for it: that goes before what a person wants to look at.
const autoPreserved = "auto-preserved"

func preserved(m v1alpha1.Machine, now time.Time) int {
	switch until := m.Status.CurrentStatus.PreserveExpiryTime; {
	case until == nil || !until.After(now):
		return 0
	case m.Annotations[v1alpha1.PreserveAnnotation] == autoPreserved:
		return 1
	}
	return 2
}

func priority(m v1alpha1.Machine) int {
	n, err := strconv.Atoi(m.Annotations[v1alpha1.PriorityAnnotation])
	if err != nil {
		return usualPriority
	}
	return n
}

// marked is when the machine was named; those that never were come last.
func marked(m v1alpha1.Machine) int64 {
	at, err := time.Parse(time.RFC3339, m.Annotations[v1alpha1.MarkedForDeletionAnnotation])
	if err != nil {
		return 1<<63 - 1
	}
	return at.Unix()
}

// RetryAfter is how long the controller of machines waits before it asks the cloud again
// for one that was not made, by the code of the error.
func RetryAfter(code string) time.Duration {
	switch code {
	case v1alpha1.CodeUnavailable, v1alpha1.CodeUnknown, v1alpha1.CodeDeadlineExceeded, v1alpha1.CodeAborted:
		return 5 * time.Second
	case v1alpha1.CodeResourceExhausted:
		return 10 * time.Minute
	}
	return 3 * time.Minute
}
