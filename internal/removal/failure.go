package removal

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// What was in the way of a removal is mostly still there when the removal is begun again,
// and pods are moved for nothing each time. After the first time the delay after a failure is
// enough. After each further time the node rests, three times as long as before. Forgiven
// is how long after a rest nothing may have failed for the next failure to be the first.
const (
	firstNodeRest = 30 * time.Minute
	mostNodeRest  = 6 * time.Hour
	forgiven      = 6 * time.Hour
)

// givenBack tells the others that the node of a removal stays, and whether the removal has
// failed.
func (a *advance) givenBack(was *model.Drain, at time.Time) {
	a.news.GivenBack = true
	if !was.Code.FailedRemoval() && (was.Code != model.AllOrNothing || !moved(was)) {
		return
	}
	a.news.Failed = brief(fmt.Sprintf("node %q: %s: %s", was.Node, was.Code, was.Why))
	f := model.Failure{At: at, Why: brief(fmt.Sprintf("%s: %s", was.Code, was.Why)), Times: 1}
	if was.Code == model.DrainFailed && !moved(was) {
		f.Times = 0 // the cloud or the API server refused it, and no pod: the group rests
	}
	a.news.Failure = &f
}

// moved reports whether pods were moved for a removal: for nothing, if the node stays.
func moved(d *model.Drain) bool {
	return !d.Moved.IsZero() || slices.ContainsFunc(d.Evictions, func(e model.Eviction) bool { return e.Granted })
}

// FailedAgain adds one failure to those that a node has had, with the rest that follows.
func FailedAgain(was, now model.Failure) model.Failure {
	now.Times, now.Rest = was.Times+now.Times, was.Rest
	if now.Times > was.Times && was.Times > 0 {
		now.Rest = min(max(firstNodeRest, 3*was.Rest), mostNodeRest)
	}
	return now
}

// Forgotten reports whether a failure is too long ago to matter to the next one.
func Forgotten(f model.Failure, now time.Time) bool {
	return !f.At.IsZero() && now.Sub(f.Until()) > f.Rest+forgiven
}

// brief is the beginning of what was in the way of a removal: it is remembered.
func brief(why string) string {
	const most = 300
	return strings.ToValidUTF8(why[:min(len(why), most)], "")
}

// settled is how long after an eviction the controller of the pod is looked at for a
// replacement. If it has made none by then, it wants fewer pods; or no controller works, if none has
// made any pod since. Then it is looked at for longer: else services would lose a pod every half hour.
const (
	settled = 30 * time.Minute
	stuck   = 6 * time.Hour
	// known is how long after an eviction it is known that the pod which came for the evicted one was moved.
	known = time.Hour
)

// Displace takes note that a pod of a controller was evicted. The note outlives the
// removal: other nodes have pods of the same controller.
func Displace(all map[types.UID]model.Displaced, news *News) {
	d := all[news.Evicted]
	if d.First.IsZero() {
		d.First = news.Asked
	}
	d.Last, d.Came = news.Asked, false
	if news.Again {
		if d.Resting.IsZero() || !d.Rests().After(news.Asked) {
			d.Resting = news.Asked
		}
		if news.Asked.Sub(d.Again) >= burst {
			d.Times++ // else it left its node with another of the controller
		}
		d.Again = news.Asked
	}
	all[news.Evicted] = d
}

// burst is how long the pods of one node, moved again, count as one move.
const burst = 5 * time.Minute

// Settle forgets the controllers whose pods were evicted long ago, unless one of their
// pods is without a node and may be the replacement of one that was evicted. Of pods that rest it
// forgets all but that. It reports whether it has forgotten anything.
func Settle(all map[types.UID]model.Displaced, seen *model.Observation) bool {
	old := func(d model.Displaced) bool {
		if d.Last.IsZero() {
			return !d.Rests().After(seen.Now) && !d.Known.After(seen.Now)
		}
		return seen.Now.Sub(d.Last) > settled
	}
	late := false
	for _, d := range all {
		late = late || old(d)
	}
	if !late {
		return false
	}
	youngest := youngestMade(seen)
	mayMake := func(d model.Displaced) bool {
		return d.Last.IsZero() || d.Came || model.CameAfter(youngest, d.Last) || seen.Now.Sub(d.Last) > stuck
	}
	waits := map[types.UID]bool{}
	for i := range seen.Unbound {
		p := &seen.Unbound[i]
		d, ok := all[p.Owner]
		created := time.Unix(p.Created, 0).Add(time.Second) // whole seconds, rounded down
		if ok && p.Flags&(model.Finished|model.Terminating) == 0 && !created.Before(d.First) {
			waits[p.Owner] = true
		}
	}
	forgotten := false
	for owner, d := range all {
		if !old(d) || waits[owner] || !mayMake(d) {
			continue
		}
		if left := remains(d, seen.Now); left != (model.Displaced{}) {
			all[owner] = left
		} else {
			delete(all, owner)
		}
		forgotten = true
	}
	return forgotten
}

// remains is what is still known of a controller whose pods have settled: how long its pods rest that were moved again,
// and for a while that others were moved.
func remains(d model.Displaced, now time.Time) (left model.Displaced) {
	if d.Rests().After(now) {
		left.Again, left.Times, left.Resting = d.Again, d.Times, d.Resting
	}
	if until := d.Last.Add(known); !d.Last.IsZero() && until.After(now) {
		left.Settled, left.Known = d.First, until
	}
	return left
}

// youngestMade is when the youngest pod was created that some controller has made.
func youngestMade(seen *model.Observation) (created int64) {
	look := func(pods []model.Pod) {
		for i := range pods {
			if p := &pods[i]; p.Owner != "" && p.Flags&model.Mirror == 0 {
				created = max(created, p.Created)
			}
		}
	}
	for i := range seen.Nodes {
		look(seen.Nodes[i].Pods)
	}
	look(seen.Unbound)
	return created
}
