package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// noteNode puts a call on a node or on one of its pods on record.
func (l *Ledger) noteNode(s *model.Snapshot, c model.Call) {
	n := l.nodes.of[c.Node]
	if busiesNode(&c) {
		n.Busy = &c
	}
	if c.Verb == model.Taint {
		l.began(c.Group, model.ExitReason(c.Reason, c.Unready, len(c.Known) > 0), s.Now)
	}
	n, _ = l.advance(c.Node, n, s.Now, removal.Begun{Call: &c, In: s})
	l.nodes.put(c.Node, n)
}

// began puts a node that begins to go on record, where budgets count that.
func (l *Ledger) began(group provider.GroupID, reason budget.Reason, at time.Time) {
	if l.rules.RateSpan > 0 {
		l.exits = budget.Record(l.exits, budget.Exit{Group: group, Reason: reason, At: at, Count: 1}, l.rules.RateSpan)
	}
}

// found puts a removal on record that an earlier leader began and may not have remembered. Its taint has the time to
// the second. If in doubt it counts twice.
func (l *Ledger) found(group provider.GroupID, d *model.Drain, occupied bool) {
	if !slices.ContainsFunc(l.exits, func(e budget.Exit) bool {
		return e.Group == group && e.At.Sub(d.Began).Abs() < 2*time.Second
	}) {
		l.began(group, model.ExitReason(d.Code, d.Unready, occupied), d.Began)
	}
}

// endNode closes a call on a node or on one of its pods.
func (l *Ledger) endNode(o model.Outcome) {
	n := l.nodes.of[o.Call.Node]
	if n.Busy != nil && n.Busy.ID == o.Call.ID {
		n.Busy = nil
	}
	// What was written must be seen first; so must what was read, if nothing had to be
	// written: until then the node may look as if it had to be.
	if o.ResourceVersion != "" && o.Call.Verb != model.Evict {
		n.AwaitVersion = o.ResourceVersion
	}
	if marks(o.Call.Verb) {
		n.MarkAfter = time.Time{}
		if o.Err != nil {
			n.MarkAfter = o.Ended.Add(marksRest)
		}
	}
	n, news := l.advance(o.Call.Node, n, o.Ended, removal.Ended{Outcome: &o, Again: l.evicts(&o.Call)})
	n.TaintAfter = news.NotBefore
	if news.Refused {
		l.group(o.Call.Group).RemovalRefused(l.rules, o)
	}
	if news.Removed {
		l.group(o.Call.Group).Removed(o.Ended)
		l.last.Removal = o.Ended
	}
	l.nodes.put(o.Call.Node, n)
}

// advance hands an event on to the removal of a node, and takes note of what it means to
// the node and to the others.
func (l *Ledger) advance(
	name string, n model.NodeStanding, at time.Time, e removal.Event,
) (model.NodeStanding, removal.News) {
	was := n.Drain
	next, news := removal.Advance(was, e)
	n.Drain = next
	if news.Odd != "" {
		odd := model.Change{Kind: model.RemovalOdd, Message: fmt.Sprintf("node %q: %s", name, news.Odd)}
		if was != nil {
			odd.Group = was.Group
		}
		l.fold.Changes = append(l.fold.Changes, odd)
	}
	if news.Other {
		return model.NodeStanding{}, news
	}
	if news.GivenBack {
		n.UnneededSince = time.Time{}
	}
	if news.Failure != nil {
		n.Failed = removal.FailedAgain(n.Failed, *news.Failure)
	}
	if news.Failed != "" {
		l.failed(was.Group, at, news.Failed)
	}
	if news.Evicted != "" {
		removal.Displace(l.displaced, &news)
	}
	return n, news
}

// marksRest is how long a node rests after a mark could not be written.
const marksRest = time.Minute

// marks reports whether a call writes something on a node that nothing depends on.
func marks(v model.Verb) bool { return v == model.Mark || v == model.Unmark || v == model.Annotate }

// evicts reports whether a further eviction of the same pod is under way.
func (l *Ledger) evicts(of *model.Call) bool {
	if of.Verb != model.Evict {
		return false
	}
	for _, c := range l.calls {
		if c.Verb == model.Evict && c.Node == of.Node && c.Pod == of.Pod && c.PodUID == of.PodUID {
			return true
		}
	}
	return false
}

// failed puts a removal that failed on record.
func (l *Ledger) failed(id provider.GroupID, at time.Time, why string) {
	l.last.Failure, l.last.Why = at, why
	if g, ok := l.groups[id]; ok {
		g.Last.Failure, g.Last.Why = at, why
	}
}
