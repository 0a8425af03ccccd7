package decide

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// wait is what a controller of pods that were evicted a short while ago still lacks:
// a node for a pod that came for one of them, or that pod itself.
type wait struct {
	// pod has no node, since it came to be; empty where none has come at all, though
	// the last eviction was then.
	pod   string
	since time.Time
}

func (w wait) String() string {
	if w.pod == "" {
		return fmt.Sprintf("no pod has come for one that was evicted at %s", w.since.UTC().Format(time.TimeOnly))
	}
	return fmt.Sprintf("pod %s, which came for an evicted one, has had no node since %s", w.pod, w.since.UTC().Format(time.TimeOnly))
}

// waiting finds, of the controllers whose pods were evicted a short while ago, those
// that have not made up for it. Whatever drain it was: to evict more of their pods
// would leave fewer to serve, and so on to the last. A pod that came after the first
// eviction counts, whatever it came for: we err to waiting.
//
// Where no pod has come, the controller may just have fewer to make by now; it is
// not told from one that cannot make any. Wake is when the next of them has had its time.
func waiting(s *model.Snapshot) (out map[types.UID]wait, wake time.Time) {
	if len(s.Displaced) == 0 {
		return nil, time.Time{}
	}
	out = map[types.UID]wait{}
	unplaced := func(p *model.Pod) {
		d, ok := s.Displaced[p.Owner]
		created := time.Unix(p.Created, 0)
		// Creation is told in whole seconds, rounded down.
		if !ok || created.Add(time.Second).Before(d.First) {
			return
		}
		if was, ok := out[p.Owner]; !ok || created.Before(was.since) {
			out[p.Owner] = wait{pod: s.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name, since: created}
		}
	}
	for i := range s.Pending {
		for _, p := range s.Pending[i].Pods {
			unplaced(p)
		}
	}
	for _, p := range s.Gated {
		unplaced(p)
	}
	// Who has none without a node: has any come?
	came := map[types.UID]bool{}
	for i := range s.Nodes {
		for j := range s.Nodes[i].Bound {
			p := &s.Nodes[i].Bound[j]
			d, ok := s.Displaced[p.Owner]
			// Some controllers make the next one when the last has ended.
			if ok && (p.Flags&model.Terminating != 0 || !time.Unix(p.Created, 0).Add(time.Second).Before(d.Last)) {
				came[p.Owner] = true
			}
		}
	}
	for owner, d := range s.Displaced {
		if _, ok := out[owner]; ok || came[owner] {
			continue
		}
		if late := d.Last.Add(arrives); s.Now.Before(late) {
			wake = earliest(wake, late)
			continue
		}
		out[owner] = wait{since: d.Last}
	}
	return out, wake
}

// told is why no further pod of these controllers is to be evicted.
func told(waits map[types.UID]wait) map[types.UID]string {
	out := make(map[types.UID]string, len(waits))
	for owner, w := range waits {
		out[owner] = w.String()
	}
	return out
}
