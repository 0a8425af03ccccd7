package workers

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// would is what the reasons of announcements begin with; the verb follows.
const would = "MachineDeploymentWould"

// Announce tells of each step what it would do, where none is carried out. What
// would cost nodes is a warning that says how many.
func (p Plan) Announce(w Workers) []Note {
	var notes []Note
	all := w.all()
	for _, step := range p.Steps {
		n := Note{Reason: would + string(step.Verb), Subject: step.Name, News: true,
			Message: fmt.Sprintf("would be done without --status-only: machine deployment %s %s", step.Name, step.Why)}
		i := slices.IndexFunc(all, func(md MachineDeployment) bool { return md.Name == step.Name })
		if i >= 0 && all[i].Wanted != nil {
			if now := *all[i].Wanted; now > step.replicas(now) {
				n.News = false
				n.Message += fmt.Sprintf(" (%d of its %d go)", now-step.replicas(now), now)
			}
		}
		notes = append(notes, n)
	}
	return notes
}

// replicas are those of a machine deployment that has so many now, after the step.
func (s Step) replicas(now int) int {
	if s.Verb == Delete {
		return 0
	}
	if n, found, err := unstructured.NestedInt64(s.Body, "spec", "replicas"); found && err == nil {
		return int(n)
	}
	return now
}

// announces reports whether a note is what Announce made.
func (n Note) announces() bool { return strings.HasPrefix(n.Reason, would) }
