package removal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Event is something that happens to a removal: Begun, Ended, Seen or Gone.
type Event interface{ on(*advance) }

// Begun: a plan asks for a call on a node or on one of its pods. It is on record before
// the call is made.
type Begun struct {
	Call *model.Call
	In   *model.Snapshot
}

// Ended: such a call has ended.
type Ended struct {
	Outcome *model.Outcome
	// Again: another eviction of the same pod is under way, that of a removal before this
	// one.
	Again bool
}

// Gone: the node is gone, and no call on it is under way.
type Gone struct{}

// News is what others have to take note of after an event.
type News struct {
	// Failed: the removal has failed, and why. Further removals wait for a while.
	Failed string
	// Refused: the cloud does not end the machine, or the API server evicts no pod, and
	// nothing suggests that it would do so for the group's next node.
	Refused bool
	// Removed: the cloud has agreed to end the machine.
	Removed bool
	// GivenBack: the node stays, and its time of being unneeded begins again.
	GivenBack bool
	// Failure is set if the removal failed: the node may have to rest.
	Failure *model.Failure
	// NotBefore is set if nothing was written, and the removal may begin again then.
	NotBefore time.Time
	// Odd is what has happened though the table says that it cannot: a mistake of ours.
	// Nothing has changed for it.
	Odd string
	// Other: the node is another machine's. Nothing that is known of it holds.
	Other bool
	// Evicted is the controller of a pod that was evicted, Asked when that was asked for, and
	// Again whether the pod had come for one that was evicted before.
	Evicted types.UID
	Asked   time.Time
	Again   bool
}

// Advance is a removal after an event, nil if there is none. The drain that is given is
// never changed: snapshots refer to it.
func Advance(d *model.Drain, e Event) (*model.Drain, News) {
	a := advance{drain: d, given: d}
	e.on(&a)
	return a.drain, a.news
}

// advance is the work on one event.
type advance struct {
	drain, given *model.Drain
	news         News
}

// stage is where the removal is.
func (a *advance) stage() model.Stage {
	if a.drain == nil {
		return none
	}
	return a.drain.Stage
}

// edit gives the drain to be changed: a copy of the one that was given.
func (a *advance) edit() *model.Drain {
	if a.drain == a.given && a.drain != nil {
		d := *a.drain
		a.drain = &d
	}
	return a.drain
}

// step takes the removal to where the table says. It reports false if this kind
// of event cannot happen in this stage; nothing changes then.
func (a *advance) step(h kind) bool {
	to := after(a.stage(), h)
	if to == never || to == before && a.drain.Before == nil {
		a.news.Odd = fmt.Sprintf("%s, in stage %q", table[h].when, a.stage())
		return false
	}
	switch to {
	case stays:
	case ends:
		a.drain = nil
	case before:
		was := *a.drain.Before
		was.Evictions = a.drain.Evictions // some may have ended meanwhile
		a.drain = &was
	default:
		if a.drain == nil {
			a.drain = &model.Drain{}
		}
		a.edit().Stage = model.Stage(to)
	}
	return true
}

// begins has the kind of event of each call that is begun. Other verbs are no part of a removal.
var begins = map[model.Verb]kind{
	model.Taint: taintBegun, model.Cordon: cordonBegun, model.Evict: evictionBegun,
	model.Remove: removeBegun, model.Untaint: untaintBegun,
}

func (e Begun) on(a *advance) {
	c, now := e.Call, e.In.Now
	h, ok := begins[c.Verb]
	was := a.drain
	if !ok || !a.step(h) {
		return
	}
	d := a.edit()
	if h == evictionBegun {
		d.Evictions = asked(d.Evictions, d.Refused, e.In, c)
		return
	}
	d.Before, d.Node, d.Group, d.Instance = was, c.Node, c.Group, c.Instance
	switch {
	case h == taintBegun:
		d.Began, d.Since, d.Unready = now, now, c.Unready
		d.Occupied, d.Pods = len(c.Known) > 0, c.Known
	case h != untaintBegun:
		d.Since = now
	case was.Stage != model.RollingBack || was.Code == "":
		// A rollback keeps its first reason, whatever else would be one by now.
		d.Since, d.Why, d.Code = now, c.Why, c.Reason
	}
}

// asked gives the evictions of a drain with one more, or one that is asked for again. A
// pod that has the name of an earlier one takes its place.
func asked(all []model.Eviction, refused time.Time, s *model.Snapshot, c *model.Call) []model.Eviction {
	all = slices.Clone(all)
	i, found := slices.BinarySearchFunc(all, c.Pod, func(e model.Eviction, pod string) int {
		return cmp.Compare(e.Pod, pod)
	})
	if !found {
		all = slices.Insert(all, i, model.Eviction{})
	}
	if all[i].UID != c.PodUID || !found {
		all[i] = model.Eviction{Pod: c.Pod, UID: c.PodUID, First: s.Now}
		if p := podOf(s, c.Node, c.PodUID); p != nil {
			all[i].Owner, all[i].Again = p.Owner, s.Displaced[p.Owner].Moved(p.Created)
		}
		if !refused.IsZero() {
			all[i].First = refused // a leader before us began to ask then
		}
	}
	all[i].Last, all[i].Busy = s.Now, true
	return all
}

// podOf is a pod on a node, nil if it is not there.
func podOf(s *model.Snapshot, node string, pod types.UID) *model.Pod {
	nodes := s.Nodes[:s.Registered()]
	i, found := slices.BinarySearchFunc(nodes, node, func(n *model.Node, name string) int {
		return cmp.Compare(n.Name, name)
	})
	if !found {
		return nil
	}
	j := slices.IndexFunc(nodes[i].Bound, func(p model.Pod) bool { return p.UID == pod })
	if j < 0 {
		return nil
	}
	return &nodes[i].Bound[j]
}

// answers has the kind of event of each call that has ended, by answer: done, unknown, not
// begun, busy, conflict, refused. Other verbs are no part of a removal.
var answers = map[model.Verb][model.Answers]kind{
	model.Taint:   {taintDone, taintDone, taintNotBegun, taintRefused, taintNotBegun, taintRefused},
	model.Cordon:  {cordonDone, cordonUnknown, cordonNotBegun, cordonRefused, cordonRefused, cordonRefused},
	model.Remove:  {removeDone, removeUnknown, removeNotBegun, removeBusy, removeRefused, removeRefused},
	model.Untaint: {untaintDone, untaintFailed, untaintNotBegun, untaintFailed, untaintFailed, untaintFailed},
}

const (
	// retry is how long a step rests after it failed.
	retry = 5 * time.Second
	// mostTries is how often the removal of an emptied node is asked for again because
	// the cloud could not do it just then: after 5, 10, 20, 40 and 80 seconds, or as long
	// as the cloud says. A rollback would cost the pods that left it another
	// move.
	mostTries = 5
	// mostRest is how long a cloud may ask to be left alone between two tries.
	mostRest = 2 * time.Minute
)

func (e Ended) on(a *advance) {
	o := e.Outcome
	if o.Call.Verb == model.Evict {
		e.eviction(a)
		return
	}
	of, ok := answers[o.Call.Verb]
	if !ok || a.drain == nil {
		return
	}
	h, was := of[o.Answer()], a.drain
	if h == removeBusy && (len(o.Landed) > 0 || was.Tries >= mostTries) {
		h = removeRefused
	}
	if !a.step(h) {
		return
	}
	if a.drain != nil && after(was.Stage, h) != before {
		a.edit().Before = nil
	}
	switch d := a.drain; h {
	case taintDone, cordonDone, removeUnknown:
		// A read that began after a Remove of unknown end says whether the machine is gone
		// (rule L2).
		d.Since = o.Ended
	case removeDone:
		d.Since, a.news.Removed = o.Ended, true
	case taintRefused: // nothing was written, so nothing has to be taken back
		a.news.Failed = brief(o.Err.Error())
	case taintNotBegun: // no removal has failed: others go on
		a.news.NotBefore = o.Ended.Add(retry)
	case cordonUnknown: // it is asked for again, which does no harm if it was done
		d.Since, d.NotBefore = was.Before.Since, o.Ended.Add(retry)
	case cordonNotBegun, removeNotBegun, untaintNotBegun, untaintFailed:
		d.NotBefore = o.Ended.Add(retry)
	case removeBusy:
		d.Tries = was.Tries + 1
		d.NotBefore = o.Ended.Add(max(retry<<was.Tries, min(o.Err.RetryAfter, mostRest)))
		a.news.Failed = brief(o.Err.Error()) // no further node is emptied meanwhile
	case cordonRefused:
		rollBack(d, o)
	case removeRefused:
		rollBack(d, o)
		a.news.Failed = brief(d.Why)
		a.news.Refused = len(o.Landed) == 0 && o.Answer() != model.AnswerConflict && o.Err.Code != model.CodeNotBegun
	case untaintDone:
		a.givenBack(was, o.Ended)
	}
}

// eviction takes in the answer to one eviction. A refusal is no failure: the eviction may
// be asked for again.
func (e Ended) eviction(a *advance) {
	o, answer := e.Outcome, e.Outcome.Answer()
	a.step(evictionEnded)
	if a.drain == nil {
		return
	}
	i := slices.IndexFunc(a.drain.Evictions, func(x model.Eviction) bool {
		return x.Pod == o.Call.Pod && x.UID == o.Call.PodUID
	})
	if i < 0 {
		return // a removal before this one asked for it
	}
	d := a.edit()
	d.Evictions = slices.Clone(d.Evictions)
	x := &d.Evictions[i]
	if answer == model.AnswerDone || answer == model.AnswerUnknown {
		// The pod that replaces it may be there before the answer is.
		a.news.Evicted, a.news.Asked, a.news.Again = x.Owner, x.Last, x.Again
	}
	x.Last, x.Busy = o.Ended, e.Again
	switch answer {
	case model.AnswerDone:
		x.Granted = true
	case model.AnswerUnknown, model.AnswerNotBegun:
		x.Why = o.Err.Message
	default:
		// It may have been granted once, without effect; now it is not.
		x.Granted, x.Why = false, o.Err.Message
		a.news.Refused = o.Err.Code == model.CodeRightMissing // the next node's pods would fare no better
	}
}

func (Gone) on(a *advance) { a.step(nodeGone) }

// rollBack says why a drain whose last call was refused is rolled back.
func rollBack(d *model.Drain, o *model.Outcome) {
	d.Since, d.Code, d.Why = o.Ended, model.DrainFailed, o.Err.Error()
	if len(o.Landed) > 0 {
		d.Code, d.Why = model.PodLanded, "new pods are on it: "+firstOf(o.Landed)
	}
}

// firstOf names the first few.
func firstOf(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
