package ledger

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// health answers S1: is the cluster, by and large, in a shape to be acted on?
func (l *Ledger) health(now time.Time) {
	for _, g := range l.order {
		l.counts = l.counts.Plus(g.counts)
	}
	amiss, all := l.rules.Amiss(l.counts, l.others)
	if !l.rules.TooMany(amiss, all) {
		l.unhealthy = nil
		return
	}
	l.unhealthy = since(l.unhealthy, now, model.Verdict{
		Reason: model.ClusterUnhealthy,
		Detail: fmt.Sprintf("%d of %d nodes are not ready", amiss, all) + lostOf(l.counts.Lost),
		Fix:    fmt.Sprintf("at most %d nodes, or %.0f%% of them, are not ready", l.rules.MaxUnready, l.rules.MaxUnreadyShare*100),
	})
}

// groupHealth answers S2: is the group in a shape to grow? Nodes that never started say
// no where they are a large share of it (UC3): of many machines, one is a dud now and then.
// What the cloud has no machines for says nothing about the group: it backs off for that.
func (l *Ledger) groupHealth(g *group, now time.Time) {
	without := 0
	for i := range g.waiting {
		if w := &g.waiting[i]; w.Lost || w.Long && w.Err == nil {
			without++
		}
	}
	c := &g.counts
	absent := g.unexplained + without
	amiss := c.Unready + c.NeverStarted + absent
	all := c.Total - c.BeingDeleted + absent
	switch {
	case l.rules.TooMany(amiss, all):
		g.unhealthy = since(g.unhealthy, now, model.Verdict{
			Reason: model.GroupUnhealthy, Detail: fmt.Sprintf("%d of its %d nodes are missing or not ready", amiss, all) + lostOf(c.Lost),
			Fix: fmt.Sprintf("at most %d of them, or %.0f%%, are", l.rules.MaxUnready, l.rules.MaxUnreadyShare*100),
		})
	case l.dudsStop(g):
		g.unhealthy = since(g.unhealthy, now, model.Verdict{
			Reason: model.NodeNeverStarted, Detail: fmt.Sprintf("%d nodes did not become ready in time, %s among them", c.NeverStarted, g.neverStarted),
			Fix: "they become ready, or go",
		})
	default:
		g.unhealthy = nil
	}
}

// dudsStop reports whether the group's nodes that never started stop its growth.
func (l *Ledger) dudsStop(g *group) bool {
	return l.rules.DudsStop(g.counts.NeverStarted, g.counts.Total-g.counts.BeingDeleted)
}

// lostOf tells how many machines have lost their node.
func lostOf(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of them are machines that run without a Node object", n)
}

// since keeps the time at which a verdict of the same reason began.
func since(before *model.Verdict, now time.Time, v model.Verdict) *model.Verdict {
	v.Since = now
	if before != nil && before.Reason == v.Reason {
		v.Since = before.Since
	}
	return &v
}

// leastRest is how long a group rests after a failure, whatever the operator says: the
// cloud is looked at within a second of it, and would be asked as often.
const leastRest = 10 * time.Second

// fail makes a group rest after a growth that failed: longer each time, unless
// it rests already.
func (l *Ledger) fail(g *group, now time.Time, e *provider.Error) {
	b := &g.backoff
	resting := now.Before(b.Until)
	switch {
	case b.Since.IsZero() || now.Sub(b.Since) > l.rules.BackoffReset:
		b.Duration = l.rules.BackoffFirst
	case !now.Before(b.Until):
		b.Duration = min(2*b.Duration, l.rules.BackoffMost)
	}
	b.Duration = max(b.Duration, l.rules.BackoffFirst, leastRest)
	b.Since, b.Until = now, now.Add(b.Duration)
	b.Kind, b.Code, b.Message = e.Kind, e.Code, saying(e)
	if resting {
		return
	}
	l.changed(model.Change{Kind: model.BackoffBegan, Group: g.id, Cause: e.Kind, Message: fmt.Sprintf("for %s: %s", b.Duration, b.Message)})
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

// rested forgets a failure that is long over.
func (l *Ledger) rested(g *group, now time.Time) {
	if b := g.backoff; !b.Since.IsZero() && now.Sub(b.Since) > l.rules.BackoffReset && !now.Before(b.Until) {
		g.backoff = model.Backoff{}
		l.changed(model.Change{Kind: model.BackoffEnded, Group: g.id, Message: fmt.Sprintf("nothing failed for %s", l.rules.BackoffReset)})
	}
}
