package growth

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	// pause is how long a group rests after a call that failed for no fault of its
	// own, unless the cloud says otherwise.
	pause = 30 * time.Second
	// retry is how long it rests after a write whose effect is unknown.
	retry = 5 * time.Second
	// leastRest is how long it rests after a failure, whatever the operator says: the
	// cloud is looked at within a second of it, and would be asked as often.
	leastRest = 10 * time.Second
	// longAgo is after how long a refusal is no longer the one before the next.
	longAgo = 10 * time.Minute
	// burst is how long refused removals count as one: of many nodes, all are refused at
	// once.
	burst = 30 * time.Second
)

// How often in a row, at most.
const (
	// strikes is how many scale-ups may end without an answer, or in an outage, before that
	// is held against the group.
	strikes = 1
	// mostThrottled bounds how far pauses grow while a group is throttled: 30 s twice, then
	// 1 and 2 minutes.
	mostThrottled = 4
	// mostConflicts bounds how far pauses grow while scale-ups of a group end in a conflict:
	// none after the first, then 10, 20, 40, 80 and 160 seconds.
	mostConflicts = 6
	// mostLimited is how many scale-ups a pool's maximum may refuse before that is held
	// against the group: what is seen never tells why.
	mostLimited = 4
)

// fail makes a group rest after a scale-up that failed: longer each time, unless
// it rests already.
func (g *Group) fail(f *Fold, now time.Time, e *provider.Error) {
	r := g.Rests.Of(model.RestFailed)
	resting := r.Stands(now)
	switch {
	case r.Since.IsZero() || now.Sub(r.Since) > f.Rules.BackoffReset:
		r.Length = f.Rules.BackoffFirst
	case !resting:
		r.Length = min(2*r.Length, f.Rules.BackoffMost)
	}
	r.Length = max(r.Length, f.Rules.BackoffFirst, leastRest)
	r.Since, r.Until = now, now.Add(r.Length)
	r.Kind, r.Code, r.Message = e.Kind, e.Code, saying(e)
	g.Rests.Put(r)
	if resting {
		return
	}
	f.changed(model.Change{Kind: model.BackoffBegan, Group: g.ID, Cause: e.Kind,
		Message: fmt.Sprintf("for %s: %s", r.Length, r.Message)})
}

// rested forgets a failure that is long over.
func (g *Group) rested(f *Fold) {
	now := f.Seen.Now
	if r := g.Rests.Of(model.RestFailed); !r.Since.IsZero() && longOver(f.Rules, r, now) {
		g.endBackoff(f, fmt.Sprintf("nothing failed for %s", f.Rules.BackoffReset))
	}
}

// longOver reports whether a failure is too long ago to count for the next one.
func longOver(rules model.Rules, r model.Rest, now time.Time) bool {
	return now.Sub(r.Since) > rules.BackoffReset && !r.Stands(now)
}

func (g *Group) endBackoff(f *Fold, why string) {
	g.Rests.End(model.RestFailed)
	f.changed(model.Change{Kind: model.BackoffEnded, Group: g.ID, Message: why})
}

// rest keeps a group from being written to for a short while after a call that failed.
func (g *Group) rest(o model.Outcome, least time.Duration) {
	length := max(least, o.Err.RetryAfter)
	g.Rests.Put(model.Rest{Cause: model.RestPaused, Since: o.Ended, Until: o.Ended.Add(length), Length: length,
		Message: o.Err.Error()})
}

// again counts one more growth in a row that ended so, up to a bound. One that is longer ago
// than forget, if that is set, was not the one before.
func (g *Group) again(c model.RestCause, at time.Time, most int, forget time.Duration) int {
	r := g.Rests.Of(c)
	if forget > 0 && at.Sub(r.Since) > forget {
		r.Count = 0
	}
	r.Count, r.Since = min(r.Count+1, most), at
	g.Rests.Put(r)
	return r.Count
}

// RemovalRefused lets the removals of a group rest from the second refusal in a row on,
// longer each time: to empty nodes that cannot be ended moves pods for nothing, and to taint
// and cordon nodes whose pods Plimsoll may not evict is as vain.
func (g *Group) RemovalRefused(rules model.Rules, o model.Outcome) {
	r := g.Rests.Of(model.RestRefused)
	if r.Count > 0 && o.Ended.Sub(r.Since) < burst {
		return
	}
	r.Count, r.Since = r.Count+1, o.Ended
	if r.Count > 1 { // after the first one, the delay after a failure is enough
		length := rules.BackoffFirst
		if r.Length > 0 {
			length = min(2*r.Length, rules.BackoffMost)
		}
		r.Length = max(length, leastRest)
		r.Until, r.Kind, r.Code, r.Message = o.Ended.Add(r.Length), o.Err.Kind, o.Err.Code, saying(o.Err)
	}
	g.Rests.Put(r)
}

// saying is what a failure says beyond its group: the kind, the cloud's own word
// for it, the message.
func saying(e *provider.Error) string {
	text := string(e.Kind)
	switch {
	case e.Code == model.CodeTimeout, e.Code == model.CodeNeverStarted:
		text = e.Code
	case e.Code != "":
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}
