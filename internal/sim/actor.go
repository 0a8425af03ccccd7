package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// actor carries out one leader's calls, as package act does: one at a time on
// a pool (else group), on a node and on a pod, each within its deadline, its end
// told later.
type actor struct {
	w     *world
	lanes map[string][]model.Call
	ends  []model.Outcome
	// changed is told of each end; wrote when it was a write to the cloud.
	changed, wrote func()
	dead           bool
}

// Start begins the calls and returns at once. A leader that must die between two calls dies here.
func (l *leader) Start(_ context.Context, calls []model.Call) {
	for _, c := range calls {
		if l.dead {
			return
		}
		l.w.sayCall(c)
		l.actor.start(c)
		if l.w.dieAfter > 0 && (l.w.dieOf == "" || l.w.dieOf == c.Verb) {
			l.w.dieAfter--
		}
		if l.w.dieAfter == 0 {
			l.w.dieAfter = -1
			l.w.Crash(0)
		}
	}
}

// Collect gives the ends since it was last called.
func (l *leader) Collect() []model.Outcome {
	ends := l.actor.ends
	l.actor.ends, l.again.ended = nil, ends
	return ends
}

func (a *actor) start(c model.Call) {
	lane := laneOf(c)
	queue, busy := a.lanes[lane]
	a.lanes[lane] = append(queue, c)
	if !busy {
		a.turn(lane)
	}
}

// laneOf names what only one call may use at a time.
func laneOf(c model.Call) string {
	switch {
	case c.Verb == model.Evict:
		return "pod/" + c.Pod
	case writesNode(c.Verb):
		return "node/" + c.Node
	case c.Pool != "":
		return "pool/" + string(c.Pool)
	default:
		return "group/" + string(c.Group)
	}
}

// chance is the source from which a call's times are drawn. Frequent calls have their own, so that
// they do not disturb the others.
func (w *world) chance(c model.Call) *rand.Rand {
	switch c.Verb {
	case model.Mark, model.Unmark, model.Annotate, model.Evict:
		return w.dice.pods
	}
	return w.dice.act
}

// turn carries out the first call of a lane, and then those behind it.
func (a *actor) turn(lane string) {
	if len(a.lanes[lane]) == 0 {
		delete(a.lanes, lane)
		return
	}
	c := a.lanes[lane][0]
	w := a.w
	w.after(w.settings.Lags.Begin.draw(w.chance(c)), func() {
		if a.dead {
			return
		}
		queue, n := a.lanes[lane], 1
		for n < min(c.Whole, len(queue)) && queue[n].Whole == c.Whole && queue[n].Group == c.Group {
			n++ // those that end all of a group or none are one write
		}
		with := queue[1:n]
		a.lanes[lane] = queue[n:]
		out := model.Outcome{Call: c, Began: w.now, Target: -1}
		if !w.now.Before(c.Deadline) {
			out.Err = notBegun(c, "its deadline passed while it waited for its turn")
			a.finish(lane, out, with)
			return
		}
		a.carryOut(lane, out, with)
	})
}

func notBegun(c model.Call, why string) *provider.Error {
	err := refusal(c, provider.Transient, "not begun: "+why)
	err.Code = model.CodeNotBegun
	return err
}

// carryOut lets a call take effect after half of its time and end after all of it, unless a fault
// or its deadline prevents that. A call whose leader dies meanwhile may still take effect. The
// calls that are sent with it end the same way.
func (a *actor) carryOut(lane string, out model.Outcome, with []model.Call) {
	w, c := a.w, out.Call
	chance := w.chance(c)
	took := w.settings.Lags.Write.draw(chance)
	own := w.groups[c.Group]
	zone := ""
	if own != nil {
		zone = zoneOf(own)
	}
	met := func(what What) *fault {
		f := w.meets(what, own, zone)
		if f == nil || f.Verb != "" && f.Verb != c.Verb {
			return nil
		}
		return f
	}
	if met(slow) != nil {
		took += time.Duration(chance.Int64N(int64(3 * time.Minute)))
	}
	deadline := c.Deadline.Sub(w.now)
	unknown := func() {
		out.Err = refusal(c, provider.Unavailable, "it was not answered in time")
		out.Err.Code, out.Err.MayHaveHappened = "DeadlineExceeded", true
		out.Target, out.ResourceVersion = -1, ""
		a.finish(lane, out, with)
	}
	if met(hang) != nil {
		w.after(deadline, unknown)
		return
	}
	if f := met(refuse); f != nil {
		w.after(took, func() {
			err := f.Err
			err.Op, err.Group = provider.Op(c.Verb), c.Group
			out.Err = &err
			a.finish(lane, out, with)
		})
		return
	}
	lost := met(lose) != nil || took > deadline
	survives := chance.IntN(2) == 0 // should the leader die
	w.after(min(took/2, deadline), func() {
		if a.dead && !survives {
			return
		}
		out = w.perform(out, with)
		if lost {
			w.after(c.Deadline.Sub(w.now), unknown)
			return
		}
		w.after(took-took/2, func() { a.finish(lane, out, with) })
	})
}

// finish tells an end.
func (a *actor) finish(lane string, out model.Outcome, with []model.Call) {
	if a.dead {
		return
	}
	out.Ended = a.w.now
	a.w.sayEnd(out)
	a.ends = append(a.ends, out)
	for _, c := range with {
		also := out
		if also.Call, also.Landed = c, nil; len(out.Landed) > 0 {
			also.Err = notBegun(c, "another node of its group stays")
		}
		a.ends = append(a.ends, also)
	}
	a.changed()
	if v := out.Call.Verb; v == model.Grow || v == model.Remove || v == model.Cancel {
		a.wrote()
	}
	a.turn(lane)
}

// perform is the effect of a call and of those with it.
func (w *world) perform(out model.Outcome, with []model.Call) model.Outcome {
	c := out.Call
	switch {
	case writesNode(c.Verb):
		return w.performOnNode(out)
	case c.Verb == model.Evict:
		return w.performEvict(out)
	}
	switch c.Verb {
	case model.Grow:
		w.checker.growing(c)
		result, err := w.cloud.Grow(background, provider.GrowRequest{Group: c.Group, From: c.From, To: c.To})
		out.Err, out.Target = provider.AsError(provider.OpGrow, c.Group, err), result.Target
	case model.Remove:
		if landed, err := w.lookAgain(c); err != nil {
			out.Err, out.Landed = err, landed
			return out
		}
		ids := []provider.InstanceID{c.Instance}
		for _, other := range with {
			if _, err := w.lastLook(other); err != nil {
				out.Err = notBegun(c, "another node of its group stays: "+err.Message)
				return out
			}
			ids = append(ids, other.Instance)
		}
		if c.Whole > len(ids) {
			out.Err = notBegun(c, "other nodes of its group stay")
			return out
		}
		w.checker.removing(c)
		for _, other := range with {
			w.checker.removing(other)
		}
		result, err := w.cloud.Remove(background,
			provider.RemoveRequest{Group: c.Group, Instances: ids, Force: c.Force, If: c.If})
		out.Err, out.Target = provider.AsError(provider.OpRemove, c.Group, err), result.Target
		if err == nil && result.Instances[0].Err != nil {
			out.Err = result.Instances[0].Err
		}
	case model.Cancel:
		result, err := w.cloud.Cancel(background, provider.CancelRequest{Group: c.Group, From: c.From, To: c.To})
		out.Err, out.Target = provider.AsError(provider.OpCancel, c.Group, err), result.Target
		w.checker.cancelled(c)
	}
	if out.Err != nil {
		out.Target = -1
	}
	w.watchCloud()
	return out
}
