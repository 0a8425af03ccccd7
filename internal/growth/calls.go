package growth

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Note puts a scale-up on record that is about to be asked for, and what for: how many pods of each class, by digest.
func (g *Group) Note(now time.Time, c model.Call, classes []string, pods []int) {
	g.Expected, g.written = c.To, now
	units := make([]model.Unit, max(0, c.To-c.From))
	g.asks = append(g.asks, model.Ask{
		ID: c.ID, Group: c.Group, At: now, For: classes, Pods: pods, Bought: len(units), Units: units,
	})
}

// AskedAt is when a scale-up was asked for, zero if it is not in flight.
func (g *Group) AskedAt(id string) time.Time {
	for i := range g.asks {
		if g.asks[i].ID == id {
			return g.asks[i].At
		}
	}
	return time.Time{}
}

// Grown takes in the end of a scale-up. It reports whether nodes may come of it, and whether
// the cloud as a whole did not answer, which is no fault of the group that was asked for.
func (g *Group) Grown(f *Fold, o model.Outcome) (mayCome, outage bool) {
	outage = g.answered(f, o)
	if mayCome = o.Err == nil || o.Err.MayHaveHappened || g.Expected > o.Call.From; mayCome {
		g.Last.Grew(o)
	}
	return mayCome, outage
}

// answered takes in what the cloud has answered to a scale-up, if anything: what is expected
// from now on, and what the group rests from.
func (g *Group) answered(f *Fold, o model.Outcome) (outage bool) {
	unknown := o.Err != nil && o.Err.MayHaveHappened
	g.Expected, g.written = o.Call.To, o.Ended
	g.Rests.End(model.RestPaused)
	g.unsure = o.Err != nil
	if o.Target >= 0 {
		g.Expected = o.Target
	} else if o.Err != nil && !unknown {
		g.Expected = o.Call.From
	}
	g.cut(o.Call.ID, o.Call.To-g.Expected)
	if o.Err == nil {
		g.agreed, g.from = o.Ended, o.Call.From
		g.Rests.End(model.RestUnanswered, model.RestThrottled, model.RestLimited, model.RestConflict)
		return false
	}
	unanswered := g.Rests.Of(model.RestUnanswered).Count
	if unknown || o.Err.Kind == provider.Unavailable {
		unanswered = g.again(model.RestUnanswered, o.Ended, strikes+1, 0)
	}
	switch {
	case unanswered > strikes:
		g.fail(f, o.Ended, o.Err)
		return !unknown
	case unknown: // much of it may have happened: the next read tells what is missing
		g.rest(o, retry)
	case o.Err.Code == model.CodeNotBegun:
		g.rest(o, retry)
	case o.Err.Kind == provider.Conflict:
		// Another client changed the target at the same moment: read again, and decide
		// again. Where that goes on, or what is read is old, do not ask at each look.
		if n := g.again(model.RestConflict, o.Ended, mostConflicts, longAgo); n > strikes {
			g.rest(o, retry<<(n-strikes))
		}
	case o.Err.Kind == provider.Limit && o.Call.Pool != "" && g.Rests.Of(model.RestLimited).Count < mostLimited:
		// Another client raised another group of the pool at the same moment: look again,
		// too. Where that does not explain it, do not ask at each look.
		if g.again(model.RestLimited, o.Ended, mostLimited, longAgo) > strikes {
			g.rest(o, pause)
		}
	case o.Err.Kind == provider.Unavailable:
		return true
	case o.Err.Kind == provider.Throttled: // the account's trouble rather than the group's
		// One that goes on rests longer, so that what it cannot take is bought elsewhere.
		g.rest(o, pause<<max(0, g.again(model.RestThrottled, o.Ended, mostThrottled, 0)-2))
	default:
		g.fail(f, o.Ended, o.Err)
		if r := g.Rests.Of(model.RestFailed); o.Ended.Add(o.Err.RetryAfter).After(r.Until) {
			r.Until = o.Ended.Add(o.Err.RetryAfter)
			g.Rests.Put(r)
		}
	}
	return false
}

// Outage keeps the group from growing until a newer read: the cloud as a whole did not
// answer, and the next choice is to be as free as the one was that came to nothing.
func (g *Group) Outage(ended time.Time) { g.unsure, g.written = true, model.Latest(g.written, ended) }

// cut takes units that were not granted from the ask that wanted them.
func (g *Group) cut(id string, units int) {
	for i := range g.asks {
		if a := &g.asks[i]; a.ID == id && units > 0 {
			a.Units = a.Units[:max(0, len(a.Units)-units)]
		}
	}
	g.asks = slices.DeleteFunc(g.asks, func(a model.Ask) bool { return len(a.Units) == 0 })
}

// Written takes in that a write to the target has ended that lowers it. Where
// it is unknown whether it did, the expected target stays, and is not relied on
// until a later read.
func (g *Group) Written(o model.Outcome) {
	g.written = o.Ended
	switch {
	case o.Target >= 0:
		g.Expected, g.doubted = o.Target, nil
	case o.Err != nil && o.Err.MayHaveHappened:
		if g.unsure = true; o.Call.Verb == model.Remove {
			g.doubted = append(g.doubted, o.Call.Instance)
		}
	}
}

// Removed takes in that the cloud has agreed to end the machine of a node.
func (g *Group) Removed(at time.Time) {
	g.Rests.End(model.RestRefused)
	g.Last.Removal = at
}

// Ended counts an unhealthy machine that was ended.
func (g *Group) Ended(at time.Time) { g.Rests.Put(g.Rests.Ended(at)) }

// inherit counts as many endings as an earlier leader can have begun before it died, since it may
// not have written them down. We err to no endings for a while.
func (g *Group) inherit(now time.Time) {
	for g.Rests.Of(model.RestEnded).Within(now) < model.MostEndings(g.Expected) {
		g.Ended(now)
	}
}

// Repaired takes in the end of a Cancel, or of the removal of an instance without a node.
// One that changed nothing, though it may be right, is not tried again at once.
func (g *Group) Repaired(o model.Outcome) {
	unknown := o.Err != nil && o.Err.MayHaveHappened
	cancels := o.Call.Verb == model.Cancel
	g.Written(o)
	changed := true
	if in := g.machines[o.Call.Instance]; in != nil && o.Err == nil {
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
	case cancels && o.Target >= 0:
		g.keep(min(o.Target, o.Call.From)-o.Call.To, o.Ended)
	case !cancels && !changed:
		g.Rests.Put(model.Rest{Cause: model.RestPaused, Since: o.Ended, Until: o.Ended.Add(pause), Length: pause,
			Message: "the cloud had nothing that it could take back"})
	}
}

// keep notes that the cloud could not take back n of the units that were given up:
// it is not asked again.
func (g *Group) keep(n int, at time.Time) {
	for i := range g.asks {
		for j := range g.asks[i].Units {
			u := &g.asks[i].Units[j]
			if n > 0 && u.Instance == "" && u.State == model.UnitGivenUp {
				*u, _ = Advance(*u, Event{Kind: NotCancelled, At: at})
				n--
			}
		}
	}
}
