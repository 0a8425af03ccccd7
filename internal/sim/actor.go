package sim

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// actor carries out one leader's calls, as package act does: one at a time on
// a pool (else group) and on a node, each within its deadline, its end told
// later.
type actor struct {
	w     *World
	lanes map[string][]model.Call
	ends  []model.Outcome
	// changed is told of each end; wrote when it was a write to the cloud.
	changed, wrote func()
	dead           bool
}

// Start begins the calls and returns at once. A leader that is to die between
// two calls does so here.
func (l *leader) Start(_ context.Context, calls []model.Call) {
	for _, c := range calls {
		if l.dead {
			return
		}
		l.w.sayCall(c)
		l.actor.start(c)
		if l.w.dieAfter > 0 {
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
	l.actor.ends = nil
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

// laneOf names what a call must not share with another one at the same time.
func laneOf(c model.Call) string {
	switch {
	case c.Verb == model.Taint || c.Verb == model.Untaint:
		return "node/" + c.Node
	case c.Pool != "":
		return "pool/" + string(c.Pool)
	default:
		return "group/" + string(c.Group)
	}
}

// turn carries out the first call of a lane, and then those behind it.
func (a *actor) turn(lane string) {
	queue := a.lanes[lane]
	if len(queue) == 0 {
		delete(a.lanes, lane)
		return
	}
	c := queue[0]
	a.lanes[lane] = queue[1:]
	w := a.w
	w.after(w.settings.Lags.Begin.draw(w.dice.act), func() {
		if a.dead {
			return
		}
		out := model.Outcome{Call: c, Began: w.now, Target: -1}
		if !w.now.Before(c.Deadline) {
			out.Err = refusal(c, provider.Transient, "not begun: its deadline passed while it waited for its turn")
			out.Err.Code = model.CodeNotBegun
			a.finish(lane, out)
			return
		}
		a.carryOut(lane, out)
	})
}

// carryOut lets a call take effect after half of its time and end after all of
// it, unless a fault or its deadline is in the way. A call whose leader dies
// meanwhile may take effect all the same.
func (a *actor) carryOut(lane string, out model.Outcome) {
	w, c := a.w, out.Call
	took := w.settings.Lags.Write.draw(w.dice.act)
	own := w.groups[c.Group]
	zone := ""
	if own != nil {
		zone = zoneOf(own)
	}
	met := func(what What) *Fault {
		f := w.meets(what, own, zone)
		if f == nil || f.Verb != "" && f.Verb != c.Verb {
			return nil
		}
		return f
	}
	if met(Slow) != nil {
		took += time.Duration(w.dice.act.Int64N(int64(3 * time.Minute)))
	}
	deadline := c.Deadline.Sub(w.now)
	unknown := func() {
		out.Err = refusal(c, provider.Unavailable, "it was not answered in time")
		out.Err.Code, out.Err.MayHaveHappened = "DeadlineExceeded", true
		out.Target, out.ResourceVersion = -1, ""
		a.finish(lane, out)
	}
	if met(Hang) != nil {
		w.after(deadline, unknown)
		return
	}
	if f := met(Refuse); f != nil {
		w.after(took, func() {
			err := f.Err
			err.Op, err.Group = provider.Op(c.Verb), c.Group
			out.Err = &err
			a.finish(lane, out)
		})
		return
	}
	lost := met(Lose) != nil || took > deadline
	survives := w.dice.act.IntN(2) == 0 // should the leader die
	w.after(min(took/2, deadline), func() {
		if a.dead && !survives {
			return
		}
		out = w.perform(out)
		if lost {
			w.after(c.Deadline.Sub(w.now), unknown)
			return
		}
		w.after(took-took/2, func() { a.finish(lane, out) })
	})
}

// finish tells an end.
func (a *actor) finish(lane string, out model.Outcome) {
	if a.dead {
		return
	}
	out.Ended = a.w.now
	a.w.sayEnd(out)
	a.ends = append(a.ends, out)
	a.changed()
	if laneOf(out.Call) == "node/"+out.Call.Node {
		a.turn(lane)
		return
	}
	a.wrote()
	a.turn(lane)
}

// perform is the effect of a call.
func (w *World) perform(out model.Outcome) model.Outcome {
	c := out.Call
	switch c.Verb {
	case model.Taint, model.Untaint:
		return w.performTaint(out)
	case model.Grow:
		w.judge.growing(c)
		result, err := w.cloud.Grow(background, provider.GrowRequest{Group: c.Group, From: c.From, To: c.To})
		out.Err, out.Target = provider.AsError(provider.OpGrow, c.Group, err), result.Target
	case model.Remove:
		if c.Node != "" {
			if landed, err := w.lastLook(c); err != nil {
				out.Err, out.Landed = err, landed
				return out
			}
		}
		w.judge.removing(c)
		result, err := w.cloud.Remove(background, provider.RemoveRequest{Group: c.Group, Instances: []provider.InstanceID{c.Instance}, Force: c.Force})
		out.Err, out.Target = provider.AsError(provider.OpRemove, c.Group, err), result.Target
		if err == nil && result.Instances[0].Err != nil {
			out.Err = result.Instances[0].Err
		}
	case model.Cancel:
		result, err := w.cloud.Cancel(background, provider.CancelRequest{Group: c.Group, From: c.From, To: c.To})
		out.Err, out.Target = provider.AsError(provider.OpCancel, c.Group, err), result.Target
	}
	if out.Err != nil {
		out.Target = -1
	}
	w.watchCloud()
	return out
}

// performTaint writes or takes away the mark of a node that goes.
func (w *World) performTaint(out model.Outcome) model.Outcome {
	c := out.Call
	n := w.truth.object(c.Node)
	if n == nil {
		out.Err = refusal(c, provider.NotFound, "there is no such node")
		return out
	}
	if model.HasTaint(n, model.TaintToBeDeleted) == (c.Verb == model.Taint) {
		out.ResourceVersion = n.ResourceVersion
		return out
	}
	n = w.editNode(c.Node, func(n *corev1.Node) {
		if c.Verb == model.Taint {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: model.TaintToBeDeleted, Value: strconv.FormatInt(w.now.Unix(), 10), Effect: corev1.TaintEffectNoSchedule})
			return
		}
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == model.TaintToBeDeleted })
	})
	out.ResourceVersion = n.ResourceVersion
	return out
}

// annotationDisabled keeps a node.
const annotationDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"

// lastLook looks at a node once more before its machine goes (rule L9).
func (w *World) lastLook(c model.Call) ([]string, *provider.Error) {
	n := w.truth.object(c.Node)
	switch {
	case n == nil:
		return nil, nil
	case !model.HasTaint(n, model.TaintToBeDeleted):
		return nil, refusal(c, provider.Conflict, "somebody took the taint away, so it stays")
	case n.Annotations[annotationDisabled] == "true":
		return nil, refusal(c, provider.Conflict, "it has been annotated, so it stays")
	case c.Unready && model.NodeReady(n):
		return nil, refusal(c, provider.Conflict, "it has become ready, so it stays")
	}
	if count, first := w.truth.ordinary(c.Node, w.expendable(c.ExpendableBelow)); count > 0 {
		return []string{first}, refusal(c, provider.Conflict, "pods are on it: "+first)
	}
	return nil, nil
}

// expendable tells which pods are below a priority.
func (w *World) expendable(below int32) func(model.Pod) bool {
	specs := w.catalog.Contents().Specs
	return func(p model.Pod) bool { return specs[p.Spec].Priority < below }
}

func refusal(c model.Call, kind provider.Kind, message string) *provider.Error {
	if c.Node != "" {
		message = "node " + c.Node + ": " + message
	}
	return &provider.Error{Op: provider.Op(c.Verb), Group: c.Group, Kind: kind, Message: message}
}
