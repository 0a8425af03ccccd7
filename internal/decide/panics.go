package decide

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// panics tells of the classes that a filter of the scheduler panicked on, each by
// one of its pods.
func panics(s *model.Snapshot, world *schedsim.World) []provider.Notice {
	var out []provider.Notice
	for _, p := range world.Panicked() {
		out = append(out, provider.Notice{Code: "FilterPanicked",
			Message: fmt.Sprintf("pod %s: %s; pods like it are left alone for this cycle, all others are served",
				podOf(s, p.Class), p.Words)})
	}
	return out
}

// podOf names a pod of a class: one that waits, else one that is bound.
func podOf(s *model.Snapshot, c model.ClassID) string {
	namespace := s.Classes[c].Namespace() + "/"
	for i := range s.Pending {
		if s.Pending[i].Class == c {
			return namespace + s.Pending[i].Pods[0].Name
		}
	}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Bound {
			p := &s.Nodes[i].Bound[j]
			if id, ok := s.ClassOf(p); ok && id == c {
				return namespace + p.Name
			}
		}
	}
	return namespace + "of a DaemonSet or a template"
}
