package mcm

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// Naming is one entry of the trigger annotation: a machine that is to go, and when
// the autoscaler said so; no time in a version that knows names alone.
type Naming struct {
	Machine, At string
}

func (n Naming) String() string {
	if n.At == "" {
		return n.Machine
	}
	return n.Machine + "~" + n.At
}

// ReadNames reads the annotation as versions did that knew no times: each entry is a name.
func ReadNames(text string) []Naming {
	var all []Naming
	for entry := range strings.SplitSeq(text, ",") {
		all = append(all, Naming{Machine: entry})
	}
	return all
}

// ReadTrigger reads the annotation. A bare name gets the time of the last change, and so is
// obeyed at once, whatever the replicas are; an entry with more than one time is dropped.
func ReadTrigger(text, lastChange string) []Naming {
	var all []Naming
	for entry := range strings.SplitSeq(text, ",") {
		switch parts := strings.Split(entry, "~"); len(parts) {
		case 1:
			all = append(all, Naming{entry, lastChange})
		case 2:
			all = append(all, Naming{parts[0], parts[1]})
		}
	}
	return all
}

// Follow says what becomes of the entries: the machines to mark, and the entries that
// stay because their machines have not begun to end. A machine that has been marked keeps
// its time.
func Follow(named []Naming, machines []v1alpha1.Machine) (mark, stay []Naming) {
	for _, n := range named {
		i := slices.IndexFunc(machines, func(m v1alpha1.Machine) bool { return m.Name == n.Machine })
		if i < 0 || IsEnding(machines[i]) || isFailed(machines[i]) {
			continue
		}
		stay = append(stay, n)
		has := machines[i].Annotations[v1alpha1.MarkedForDeletionAnnotation]
		if has != "" {
			n.At = has
		}
		if has == "" && n.At != "" || machines[i].Annotations[v1alpha1.PriorityAnnotation] != v1alpha1.PriorityDelete {
			mark = append(mark, n)
		}
	}
	return mark, stay
}

// WriteTrigger writes the entries as the annotation has them.
func WriteTrigger(named []Naming) string {
	var entries []string
	for _, n := range named {
		entries = append(entries, n.String())
	}
	return strings.Join(entries, ",")
}

// IsEnding reports whether a machine counts for its set no more.
func IsEnding(m v1alpha1.Machine) bool {
	return m.DeletionTimestamp != nil || m.Status.CurrentStatus.Phase == v1alpha1.MachineTerminating
}

// Mark gives a machine the lowest priority, and the time if there is one.
func (n Naming) Mark(m *v1alpha1.Machine) {
	metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.PriorityAnnotation, v1alpha1.PriorityDelete)
	if n.At != "" {
		metav1.SetMetaDataAnnotation(&m.ObjectMeta, v1alpha1.MarkedForDeletionAnnotation, n.At)
	}
}

func isFailed(m v1alpha1.Machine) bool {
	return m.Status.CurrentStatus.Phase == v1alpha1.MachineFailed
}
