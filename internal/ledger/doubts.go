package ledger

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// noteDoubts keeps since when the scheduler has refused pods that fit ready nodes. A pod of the class that waited and
// is bound now is progress: the scheduler may have more to do than it can at once. Pods that are deleted, or wanted no
// more, are none. The time does not run while the scheduler makes room for pods that the place of these depends on. A
// restart starts over; we err to waiting longer.
func (l *Ledger) noteDoubts(s *model.Snapshot, p model.Plan) {
	before, progress := l.doubts, l.boundSince(s)
	l.doubts, l.doubted = nil, nil
	waiting := make(map[model.ClassID]*model.Pending, len(s.Pending))
	for i := range s.Pending {
		waiting[s.Pending[i].Class] = &s.Pending[i]
	}
	for i := range p.Pending {
		v := &p.Pending[i]
		q := waiting[v.Class]
		if v.Skipped != nil || (v.Existing == 0 && v.Disagrees == nil) || q == nil || q.Awaits {
			continue
		}
		class := s.Classes[v.Class].Digest()
		now := model.Doubt{Since: s.Now}
		switch was, ok := before[class]; {
		case ok && !progress[class]:
			now.Since = was.Since
		case ok:
			l.news = true // the plan still went by the time that begins again
		}
		if l.doubts == nil {
			l.doubts, l.doubted = map[string]model.Doubt{}, map[types.UID]string{}
		}
		l.doubts[class] = now
		for _, pod := range q.Pods {
			l.doubted[pod.UID] = class
		}
	}
	for class, was := range before {
		if _, still := l.doubts[class]; !still && !was.Counts().After(s.Now) {
			l.news = true // the plan still kept pods of the class where they are
		}
	}
}

// boundSince are the classes of which a pod is bound that the last Note saw waiting beside nodes that it fits. Nodes
// are looked at only if one of those pods waits no more.
func (l *Ledger) boundSince(s *model.Snapshot) map[string]bool {
	if len(l.doubted) == 0 {
		return nil
	}
	waiting := 0
	for q := range s.Pending {
		for _, pod := range s.Pending[q].Pods {
			if _, ok := l.doubted[pod.UID]; ok {
				waiting++
			}
		}
	}
	if waiting == len(l.doubted) {
		return nil
	}
	out := map[string]bool{}
	for _, n := range s.Nodes {
		for i := range n.Bound {
			if class, ok := l.doubted[n.Bound[i].UID]; ok {
				out[class] = true
			}
		}
	}
	return out
}
