package gardener

import (
	"slices"
	"strings"
	"time"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// naming is one entry of the trigger annotation: a machine that is to go, and when
// the autoscaler said so.
type naming struct {
	machine, at string
}

func (n naming) String() string { return n.machine + "~" + n.at }

// readTrigger reads the annotation. An entry without a time is none that this version
// knows: it is dropped, as the real one drops it, and another machine may go instead.
func readTrigger(text string) []naming {
	var all []naming
	for entry := range strings.SplitSeq(text, ",") {
		machine, at, ok := strings.Cut(entry, "~")
		if _, err := time.Parse(time.RFC3339, at); !ok || err != nil {
			continue
		}
		all = append(all, naming{machine: machine, at: at})
	}
	return all
}

// follow says what becomes of the entries: the machines to mark, and the entries that
// stay because their machines have not begun to end.
func follow(named []naming, machines []machinev1.Machine) (mark, stay []naming) {
	for _, n := range named {
		i := slices.IndexFunc(machines, func(m machinev1.Machine) bool { return m.Name == n.machine })
		if i < 0 || isEnding(machines[i]) || isFailed(machines[i]) {
			continue
		}
		stay = append(stay, n)
		if machines[i].Annotations[machinev1.PriorityAnnotation] != machinev1.PriorityDelete ||
			machines[i].Annotations[machinev1.MarkedForDeletionAnnotation] != n.at {
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
