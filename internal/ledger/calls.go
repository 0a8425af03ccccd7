package ledger

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// pause is how long a group rests after a call that failed for no fault of its
// own, unless the cloud says otherwise.
const pause = 30 * time.Second

// retry is how long a step of a drain rests after it failed, and a group after a
// write of which nobody knows how far it went.
const retry = 5 * time.Second

// end closes a call.
func (l *Ledger) end(o model.Outcome) {
	if _, open := l.calls[o.Call.ID]; !open {
		return // it was told before, or is another leader's
	}
	delete(l.calls, o.Call.ID)
	unknown := o.Err != nil && o.Err.MayHaveHappened
	switch {
	case o.Call.Verb == model.Grow:
		l.endGrow(o, unknown)
	case o.Call.Verb == model.Cancel:
		l.endRepair(o, unknown, o.Target >= 0 && o.Target < o.Call.From)
		if o.Err == nil && o.Target >= 0 {
			l.group(o.Call.Group).keep(min(o.Target, o.Call.From)-o.Call.To, o.Ended)
		}
	case o.Call.Verb == model.Remove && o.Call.Node == "":
		l.endRepair(o, unknown, true)
	case o.Call.Verb == model.Remove:
		l.endRemove(o, unknown)
	default:
		l.endNode(o)
	}
}

func (l *Ledger) endGrow(o model.Outcome, unknown bool) {
	g := l.group(o.Call.Group)
	g.expected, g.written = o.Call.To, o.Ended
	g.pausedUntil, g.failure, g.unsure = time.Time{}, "", o.Err != nil
	if o.Target >= 0 {
		g.expected = o.Target
	} else if o.Err != nil && !unknown {
		g.expected = o.Call.From
	}
	if o.Err == nil || unknown || g.expected > o.Call.From {
		l.last.growth, g.last.growth = o.Ended, o.Ended
	}
	if g.expected <= o.Call.From {
		l.unbrake(o.Call)
	}
	g.cut(o.Call.ID, o.Call.To-g.expected)
	if o.Err == nil {
		g.strikes, g.limited, g.throttled, g.conflicts = 0, 0, 0, 0
		return
	}
	if unknown || o.Err.Kind == provider.Unavailable {
		g.strikes++
	}
	switch {
	case g.strikes > strikes:
		l.fail(g, o.Ended, o.Err)
		if !unknown {
			l.outage(o.Ended)
		}
	case unknown: // much of it may have happened: the next read tells what is missing
		g.rest(o, retry)
	case o.Err.Code == model.CodeNotBegun:
		g.rest(o, retry)
	case o.Err.Kind == provider.Conflict:
		// Somebody moved the target in the same moment: look again, and decide anew. Where
		// that goes on, or what is read is old, do not ask at each look.
		if o.Ended.Sub(g.conflictAt) > longAgo {
			g.conflicts = 0
		}
		if g.conflicts, g.conflictAt = min(g.conflicts+1, mostConflicts), o.Ended; g.conflicts > strikes {
			g.rest(o, retry<<(g.conflicts-strikes))
		}
	case o.Err.Kind == provider.Limit && o.Call.Pool != "" && g.limited < mostLimited:
		// Somebody raised another group of the pool in the same moment: look again, too.
		// Where that does not tell why, do not ask at each look.
		if o.Ended.Sub(g.limitedAt) > longAgo {
			g.limited = 0
		}
		if g.limited, g.limitedAt = g.limited+1, o.Ended; g.limited > strikes {
			g.rest(o, pause)
		}
	case o.Err.Kind == provider.Unavailable:
		l.outage(o.Ended)
	case o.Err.Kind == provider.Throttled: // the account's trouble rather than the group's
		// One that goes on rests longer, so that what it cannot take is bought elsewhere.
		g.throttled = min(g.throttled+1, mostThrottled)
		g.rest(o, pause<<max(0, g.throttled-2))
	default:
		l.fail(g, o.Ended, o.Err)
		if until := o.Ended.Add(o.Err.RetryAfter); until.After(g.backoff.Until) {
			g.backoff.Until = until
		}
	}
}

// strikes is how many growths in a row may end without an answer, or in an
// outage, before that is held against the group.
const strikes = 1

// mostThrottled bounds how far rests grow while a group is throttled: 30 s twice, then 1
// and 2 minutes.
const mostThrottled = 4

// mostConflicts bounds how far rests grow while growths of a group end in a conflict: none
// after the first, then 10, 20, 40, 80 and 160 seconds.
const mostConflicts = 6

// longAgo is after how long a refusal is no longer the one before the next.
const longAgo = 10 * time.Minute

// mostLimited is how many growths in a row a pool's maximum may refuse before that is
// held against the group: what is seen never tells why.
const mostLimited = 4

// unbrake lifts the brakes that came with a growth of which nothing was granted: there is
// no node that could show whether it helps.
func (l *Ledger) unbrake(c model.Call) {
	for _, a := range l.group(c.Group).asks {
		if a.ID == c.ID {
			l.brakes = slices.DeleteFunc(slices.Clone(l.brakes), func(k model.Brake) bool {
				return k.Group == c.Group && k.Reason == model.SchedulerDisagrees && k.Node == "" && k.Since.Equal(a.At)
			})
		}
	}
}

// cut takes units that were not granted from the ask that wanted them.
func (g *group) cut(id string, units int) {
	for i := range g.asks {
		if a := &g.asks[i]; a.ID == id && units > 0 {
			a.Units = a.Units[:max(0, len(a.Units)-units)]
		}
	}
	g.asks = slices.DeleteFunc(g.asks, func(a model.Ask) bool { return len(a.Units) == 0 })
}

// rest keeps a group from being written to for a short while.
func (g *group) rest(o model.Outcome, least time.Duration) {
	g.pausedUntil, g.failure = o.Ended.Add(max(least, o.Err.RetryAfter)), o.Err.Error()
}

// outage: the cloud as a whole did not answer, which is no fault of the group
// that was asked for. No group grows until a newer read, and the next choice is
// as free as this one was.
func (l *Ledger) outage(ended time.Time) {
	for _, g := range l.groups {
		g.unsure = true
		if g.written.Before(ended) {
			g.written = ended
		}
	}
}

// endRepair closes a Cancel, or the removal of an instance without a node. One
// that changed nothing, though it may be right, is not tried again at once.
func (l *Ledger) endRepair(o model.Outcome, unknown, changed bool) {
	g := l.group(o.Call.Group)
	g.written = o.Ended
	if o.Target >= 0 {
		g.expected = o.Target
	}
	if o.Call.Verb == model.Remove && o.Call.Reason != model.InstanceFailed && (o.Err == nil || unknown) {
		g.endings = g.endings.Add(o.Ended)
	}
	if in := g.instances[o.Call.Instance]; in != nil && o.Err == nil {
		changed = in.removed.IsZero() // once is enough, and twice is odd
		in.removed = o.Ended
	}
	switch {
	case o.Err != nil:
		g.unsure = true
		if unknown {
			g.rest(o, retry)
		} else {
			g.rest(o, pause)
		}
	case !changed && o.Call.Verb != model.Cancel:
		g.pausedUntil, g.failure = o.Ended.Add(pause), "the cloud had nothing that it could take back"
	}
}

// keep notes that the cloud could not take back n of the units that were given up:
// it is not asked again.
func (g *group) keep(n int, at time.Time) {
	for i := range g.asks {
		for j := range g.asks[i].Units {
			u := &g.asks[i].Units[j]
			if n > 0 && u.Instance == "" && !u.GivenUp.IsZero() && u.Kept.IsZero() {
				u.Kept = at
				n--
			}
		}
	}
}

// endRemove closes the removal of a node.
func (l *Ledger) endRemove(o model.Outcome, unknown bool) {
	g := l.group(o.Call.Group)
	g.written = o.Ended
	if o.Target >= 0 {
		g.expected = o.Target
	}
	if d := l.nodes.of[o.Call.Node].Drain; d != nil && d.Unready && (o.Err == nil || unknown) {
		g.endings = g.endings.Add(o.Ended)
	}
	l.endNode(o)
}

// busy tells whether a write to the group is under way.
func (l *Ledger) busy(id provider.GroupID) bool {
	for _, c := range l.calls {
		if c.Group == id && busiesGroup(&c) {
			return true
		}
	}
	return false
}
