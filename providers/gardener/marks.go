package gardener

import (
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// mark is one element of the annotation that names the machines that are to go.
type mark struct {
	machine string
	// at is its time, zero if it has none that can be read.
	at time.Time
	// text is the element as it was read, so that what others wrote stays as it is.
	text string
}

// parseMarks reads "name~time,...". It never fails: what cannot be read as a time
// is none.
func parseMarks(text string) []mark {
	var out []mark
	for element := range strings.SplitSeq(text, ",") {
		element = strings.TrimSpace(element)
		name, stamp, _ := strings.Cut(element, "~")
		if name == "" {
			continue
		}
		m := mark{machine: name, text: element}
		if at, err := time.Parse(time.RFC3339, stamp); err == nil {
			m.at = at
		}
		out = append(out, m)
	}
	return out
}

func formatMarks(marks []mark) string {
	texts := make([]string, len(marks))
	for i, m := range marks {
		texts[i] = m.text
	}
	return strings.Join(texts, ",")
}

// addMarks names machines, with a time or, if that is zero, without. One that is
// named already gets the new time.
func addMarks(marks []mark, machines []string, at time.Time) []mark {
	out := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return slices.Contains(machines, m.machine) })
	for _, name := range machines {
		m := mark{machine: name, at: at, text: name}
		if !at.IsZero() {
			m.text += "~" + at.UTC().Format(time.RFC3339)
		}
		out = append(out, m)
	}
	return out
}

// lastChange is when machines were last named, as the MachineDeployment says;
// zero if it does not.
func lastChange(d *v1alpha1.MachineDeployment) time.Time {
	at, err := time.Parse(time.RFC3339, d.Annotations[v1alpha1.LastReplicaChangeAnnotation])
	if err != nil {
		return time.Time{}
	}
	return at
}

// markTime is the time to name machines with: now, in whole seconds, and never
// before a time that is there already. machine-controller-manager ends a machine
// whose time is not after the last one, so that a clock that is behind must not let
// an earlier mark look as if it were still to come.
func markTime(now time.Time, d *v1alpha1.MachineDeployment, marks []mark) time.Time {
	at := now.UTC().Truncate(time.Second)
	for _, m := range marks {
		if m.at.After(at) {
			at = m.at
		}
	}
	if last := lastChange(d); last.After(at) {
		at = last
	}
	return at
}
