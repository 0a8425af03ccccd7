package removal

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

const (
	// again is how long after a refusal an eviction is asked for again.
	again = 10 * time.Second
	// lapse is how long a granted eviction may take to show on the pod. After that it is
	// asked for again.
	lapse = time.Minute
)

// whenEvicting is the step of a node that is cordoned: evictions, level by level;
// then pods of DaemonSets; then Remove.
func whenEvicting(n *model.Node, d *model.Drain, v View, now time.Time, p model.ScaleDownPolicy) ([]Step, time.Time) {
	// 1. Replacements must not wait for long.
	why, wake := lateReplacement(v, now, p.Drain.ReplacementTime)
	if why != nil {
		return giveBack(why.Reason, why.Detail), time.Time{}
	}
	// 2. The pods of the lowest level that is not empty.
	e := evictor{drain: d, now: now, policy: p.Drain, wake: wake, slots: v.Slots, hurries: v.Hurries}
	if v.Barred != nil || v.Unsure || !v.Unmade.IsZero() {
		e.slots = 0
		e.wakeAt(now.Add(pace))
	}
	left := e.level(v.Pods)
	if len(left) > 0 {
		circle := !slices.ContainsFunc(left, func(q *Pod) bool { return !q.Follows })
		for _, q := range left {
			switch first := q.Answer.Kind == rules.Moves && e.eviction(q) == nil; {
			case first && q.Follows && !circle:
				continue // it is looked at again when those that it follows have gone
			case first && (q.Behind || (q.Seeks || q.Alone) && v.Missing):
				e.wakeAt(now.Add(time.Second))
				continue
			case first && (q.Seeks || q.Alone) && v.Replacement != "", first && q.Alone && e.last(q, left):
				continue
			}
			if refused := e.ask(q); refused != nil {
				return giveBack(refused.Reason, refused.Detail), time.Time{}
			}
		}
		return e.steps, e.wake
	}
	// 3. Pods of DaemonSets leave last. None of them keeps the node for long.
	policy := p.Drain.EvictDaemons
	if !d.Occupied {
		policy = p.Drain.EvictDaemonsEmpty
	}
	waits := false
	for i := range v.Pods {
		if q := &v.Pods[i]; daemonLeaves(q, policy) {
			waits = e.daemon(q) || waits
		}
	}
	if waits {
		return e.steps, e.wake
	}
	// 4. The replacements have nodes.
	if v.Missing {
		e.wakeAt(now.Add(time.Second))
	}
	if v.Missing || v.Replacement != "" || v.Barred != nil || v.Unsure {
		return nil, e.wake
	}
	return remove(n, d, v, now, p)
}

// lateReplacement says that a replacement has had no node for too long, or was not made in
// time; nil if neither is so. Wake is when that may change by time alone.
func lateReplacement(v View, now time.Time, most time.Duration) (why *model.Verdict, wake time.Time) {
	late := func(since time.Time, detail string) *model.Verdict {
		if wake = since.Add(most); now.Before(wake) {
			return nil
		}
		return &model.Verdict{Reason: model.ReplacementWaits, Detail: detail}
	}
	if since := v.ReplacementSince; v.Replacement != "" {
		why = late(since, fmt.Sprintf("pod %s, which came for an evicted one, has had no node for %s",
			v.Replacement, now.Sub(since).Round(time.Second)))
	}
	if why == nil && !v.Unmade.IsZero() {
		const detail = "no pod has come for one that was evicted %s ago, and another of the same controller is here"
		why = late(v.Unmade, fmt.Sprintf(detail, now.Sub(v.Unmade).Round(time.Second)))
	}
	return why, wake
}

// evictor gathers the evictions of one node.
type evictor struct {
	drain  *model.Drain
	now    time.Time
	policy model.DrainPolicy
	slots  int // how many more may be asked for now
	// hurries: all pods leave at once, and one that is refused is asked for again as long as it is there.
	hurries bool
	steps   []Step
	wake    time.Time
}

// level lists the pods that leave now, by priority: all that move or are ending, or, if the
// policy has levels, those of the lowest level. A level begins when the one below it has
// left.
func (e *evictor) level(pods []Pod) []*Pod {
	var left []*Pod
	for i := range pods {
		if k := pods[i].Answer.Kind; k == rules.Moves || k == rules.Ends {
			left = append(left, &pods[i])
		}
	}
	slices.SortStableFunc(left, func(a, b *Pod) int { return cmp.Compare(a.Priority, b.Priority) })
	if len(e.policy.Levels) == 0 || len(left) == 0 || e.hurries {
		return left
	}
	lowest := e.policy.LevelOf(left[0].Priority)
	if i := slices.IndexFunc(left, func(q *Pod) bool { return e.policy.LevelOf(q.Priority) != lowest }); i > 0 {
		left = left[:i]
	}
	return left
}

// grace is how long a pod may take to end: as long as it says, within the policy's limit.
func (e *evictor) grace(q *Pod) time.Duration { return min(q.Facts.Grace, e.policy.Most(q.Priority)) }

// last reports whether all other pods of its controller on the node leave already, and there are some.
func (e *evictor) last(q *Pod, left []*Pod) bool {
	others, later := false, false
	for _, o := range left {
		switch {
		case o == q:
			later = true
		case o.Owner != q.Owner:
		case later && o.Answer.Kind == rules.Moves && e.eviction(o) == nil:
			return false
		default:
			others = true
		}
	}
	return others
}

// ask evicts one pod, or waits for it. The verdict is set if the drain is rolled back, since
// the eviction was refused for too long or the pod takes too long to end.
func (e *evictor) ask(q *Pod) *model.Verdict {
	if q.Answer.Kind == rules.Ends {
		e.wakeAt(q.Answer.Until)
		if late := e.tooLate(q); late != nil {
			return late
		}
		return nil
	}
	was := e.eviction(q)
	switch {
	case was == nil:
		e.evict(q)
		return nil
	case was.Busy:
		return nil // its slot is taken already
	case was.Granted:
		if at := was.Last.Add(lapse); e.now.Before(at) {
			e.wakeAt(at)
		} else {
			e.evict(q)
		}
		return nil
	}
	// A budget may let pods go one after the other: each one that goes is progress.
	if until := model.Latest(was.First, e.granted()).Add(e.policy.EvictionTime); !e.hurries && !e.now.Before(until) {
		detail := fmt.Sprintf("pod %s could not be evicted for %s: %s", q.Name, e.policy.EvictionTime, was.Why)
		return &model.Verdict{Reason: model.EvictionRefused, Detail: detail}
	} else if at := was.Last.Add(again); e.now.Before(at) {
		e.wakeAt(at)
		e.wakeAt(until)
		return nil
	}
	e.evict(q)
	return nil
}

// granted is when an eviction of this drain was last granted, zero if none was.
func (e *evictor) granted() time.Time {
	at := e.drain.Moved
	for i := range e.drain.Evictions {
		if x := &e.drain.Evictions[i]; x.Granted {
			at = model.Latest(at, x.Last)
		}
	}
	return at
}

// tooLate says that a pod that another client deletes takes longer to end than an evicted pod may; nil if it does not.
func (e *evictor) tooLate(q *Pod) *model.Verdict {
	most := e.policy.Most(q.Priority) + rules.OverdueAfter
	if e.hurries || q.Answer.Until.IsZero() || !q.Answer.Until.After(e.now.Add(most)) || e.eviction(q) != nil {
		return nil
	}
	detail := fmt.Sprintf("pod %s is being deleted and has %s left", q.Name, q.Answer.Until.Sub(e.now).Round(time.Second))
	return &model.Verdict{Reason: model.PodEnding, Detail: detail}
}

// daemon evicts a pod of a DaemonSet, once, and reports whether to wait for it. A refusal
// does not keep the node: the pod would end with it anyway.
func (e *evictor) daemon(q *Pod) (waits bool) {
	was := e.eviction(q)
	switch {
	case q.Flags&model.Terminating != 0:
		over := time.Unix(q.Ends, 0).Add(rules.OverdueAfter)
		if !e.now.Before(over) {
			return false
		}
		e.wakeAt(over)
		return true
	case was == nil && e.hadOne(q):
		return false // its DaemonSet made it again, and would each time
	case was == nil:
		e.evict(q)
		return true
	case was.Busy:
		return true
	case was.Granted:
		at := was.Last.Add(again)
		e.wakeAt(at)
		return e.now.Before(at)
	}
	return false
}

func (e *evictor) eviction(q *Pod) *model.Eviction {
	for i := range e.drain.Evictions {
		if x := &e.drain.Evictions[i]; x.UID == q.UID {
			return x
		}
	}
	return nil
}

// hadOne reports whether another pod of the same controller was evicted.
func (e *evictor) hadOne(q *Pod) bool {
	return slices.ContainsFunc(e.drain.Evictions, func(x model.Eviction) bool {
		return x.Owner == q.Owner && x.UID != q.UID
	})
}

// evict asks for the eviction of one pod, unless too many are under way. The API server
// gets no more at a time than it answers at once, so that no eviction waits in a queue when
// the drain is rolled back.
func (e *evictor) evict(q *Pod) {
	if e.slots <= 0 {
		e.wakeAt(e.now.Add(time.Second))
		return
	}
	e.slots--
	e.steps = append(e.steps, Step{
		Verb: model.Evict, Reason: model.Unneeded, Why: "its node goes", Unready: e.drain.Unready,
		Pod: q.Name, PodUID: q.UID, Grace: e.grace(q),
	})
}

func (e *evictor) wakeAt(t time.Time) {
	if t.After(e.now) && (e.wake.IsZero() || t.Before(e.wake)) {
		e.wake = t
	}
}
