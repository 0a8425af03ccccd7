package status

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Pending are the pods that get no room: how many classes of equal pods, how many pods, and the first of the classes,
// those with the most pods first.
type Pending struct {
	Classes int            `json:"classes"`
	Pods    int            `json:"pods"`
	List    []PendingClass `json:"list,omitempty"`
}

// PendingClass are equal pods that get no room, and the answer that is nearest to a yes.
type PendingClass struct {
	// Pods says what made them, Class is the name of what they consist of, the same in every process.
	Pods  string `json:"pods"`
	Class string `json:"class"`
	// Count is how many get no room, of all that wait.
	Count int `json:"count"`
	Of    int `json:"of"`
	// Oldest is when the first of them was made, and Since since when the nearest answer has this reason.
	Oldest metav1.Time  `json:"oldest"`
	Group  string       `json:"group,omitempty"`
	Reason model.Reason `json:"reason"`
	Detail string       `json:"detail,omitempty"`
	Since  metav1.Time  `json:"since"`
	// NextTry is when time alone changes the answer, and Fix what else would.
	NextTry *metav1.Time `json:"nextTry,omitempty"`
	Fix     string       `json:"fix,omitempty"`
	Trial   model.Trial  `json:"trial,omitempty"`
}

// mostPending is how many classes the document has.
const mostPending = 50

// pendingOf are the pods that get no room. An answer with the reason that it had before keeps its time.
func pendingOf(c model.Cycle, before Pending) Pending {
	var out Pending
	var waiting []*model.PendingVerdict
	for i := range c.Plan.Pending {
		if v := &c.Plan.Pending[i]; v.Stays(c.Snapshot.Now) && v.Without() > 0 {
			waiting = append(waiting, v)
			out.Classes++
			out.Pods += v.Without()
		}
	}
	if len(waiting) == 0 {
		return out
	}
	names := c.Snapshot.ClassNames()
	slices.SortStableFunc(waiting, func(a, b *model.PendingVerdict) int {
		return cmp.Or(-cmp.Compare(a.Without(), b.Without()), cmp.Compare(names[a.Class], names[b.Class]))
	})
	was := map[string]*PendingClass{}
	for i := range before.List {
		was[before.List[i].Class] = &before.List[i]
	}
	for _, v := range waiting[:min(mostPending, len(waiting))] {
		digest := c.Snapshot.Classes[v.Class].Digest()
		out.List = append(out.List, pendingClass(c.Snapshot.Now, names[v.Class], digest, v, was[digest]))
	}
	return out
}

func pendingClass(now time.Time, name, digest string, v *model.PendingVerdict, was *PendingClass) PendingClass {
	p := PendingClass{Pods: name, Class: digest, Count: v.Without(), Of: v.Pods, Oldest: stamp(v.Since)}
	group, nearest := v.Nearest()
	p.Group, p.Reason, p.Since = string(group), nearest.Reason, stamp(now)
	p.Detail, p.Fix = cut(nearest.Detail, maxError), cut(nearest.Fix, maxError)
	p.Trial = v.Trial(now)
	if was != nil && was.Reason == p.Reason && !was.Since.After(now) {
		p.Since = was.Since
	}
	if nearest.Until.After(now) {
		at := stamp(nearest.Until)
		p.NextTry = &at
	}
	return p
}
