package gardener

import (
	"slices"
	"strings"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// naming is one entry of the trigger annotation: a machine that is to go, and when
// the autoscaler said so.
type naming struct {
	machine, at string
}

func (n naming) String() string { return n.machine + "~" + n.at }

// readTrigger reads the annotation. A bare name gets the time of the last change, and so is
// obeyed at once, whatever the replicas are; an entry with more than one time is dropped.
func readTrigger(text, lastChange string) []naming {
	var all []naming
	for entry := range strings.SplitSeq(text, ",") {
		switch parts := strings.Split(entry, "~"); len(parts) {
		case 1:
			all = append(all, naming{machine: entry, at: lastChange})
		case 2:
			all = append(all, naming{machine: parts[0], at: parts[1]})
		}
	}
	return all
}

// follow says what becomes of the entries: the machines to mark, and the entries that
// stay because their machines have not begun to end. A machine that has been marked keeps
// its time.
func follow(named []naming, machines []machinev1.Machine) (mark, stay []naming) {
	for _, n := range named {
		i := slices.IndexFunc(machines, func(m machinev1.Machine) bool { return m.Name == n.machine })
		if i < 0 || isEnding(machines[i]) || isFailed(machines[i]) {
			continue
		}
		stay = append(stay, n)
		has := machines[i].Annotations[machinev1.MarkedForDeletionAnnotation]
		if has != "" {
			n.at = has
		}
		if has == "" || machines[i].Annotations[machinev1.PriorityAnnotation] != machinev1.PriorityDelete {
			mark = append(mark, n)
		}
	}
	return mark, stay
}

func writeTrigger(named []naming) string {
	var entries []string
	for _, n := range named {
		entries = append(entries, n.String())
	}
	return strings.Join(entries, ",")
}

// isEnding tells of a machine that counts for its set no more.
func isEnding(m machinev1.Machine) bool {
	return m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase == machinev1.MachineTerminating
}

func isFailed(m machinev1.Machine) bool {
	return m.Status.CurrentStatus.Phase == machinev1.MachineFailed
}
