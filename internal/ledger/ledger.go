// Package ledger is the cluster state registry, as a fold: what was asked, what
// is under way, and how that stands to what is seen.
//
//	ledger' = ledger.Fold(seen, ended)     what is seen, after the ends of calls
//	standing = ledger.Standing()           for the snapshot to be decided on
//	ledger'' = ledger.Note(now, plan)      intent on record, before the writes
//
// What flows in: observations, outcomes of calls, plans. What flows out: a
// model.Standing. It reads no clock and does no I/O. Fold and Note consume
// their receiver: use only what they return.
//
// In this form it knows growths and removals under way and what targets to
// expect (rules L1 to L4); timers that give up on what never arrives are not
// there yet.
//
// Who may import it: loop and the hosts. It imports model.
package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Ledger is what is known beyond what can be seen. The zero value knows
// nothing, which is how a restart begins.
type Ledger struct {
	groups map[provider.GroupID]group
	calls  map[string]model.Call
	nodes  map[string]model.NodeStanding

	lastGrowth, lastRemoval, lastFailure time.Time
}

// group is what we know of a group's target.
type group struct {
	expected int
	// written is when our last write ended; an inventory whose AsOf is not
	// after it does not change what is expected (rules L2, L3).
	written time.Time
	pool    provider.PoolID
	// A growth failed: until when no other is tried, and why.
	pausedUntil time.Time
	failure     string
	// A growth failed, and no newer read has shown the target.
	unsure bool
}

// pause is how long a group rests after a growth failed, unless the cloud says
// otherwise.
const pause = 30 * time.Second

// retry is how long a step of a drain rests after it failed, and a group after a
// growth of which nobody knows how far it went.
const retry = 5 * time.Second

// Fold takes in the ends of calls, then what is seen.
func (l Ledger) Fold(seen model.Observation, ended []model.Outcome) Ledger {
	if l.groups == nil {
		l = Ledger{groups: map[provider.GroupID]group{}, calls: map[string]model.Call{}, nodes: map[string]model.NodeStanding{}}
	}
	// 1. Ends of calls, in the order in which they ended.
	ended = slices.Clone(ended)
	slices.SortFunc(ended, func(a, b model.Outcome) int {
		return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Call.ID, b.Call.ID))
	})
	for _, o := range ended {
		l.end(o)
	}
	// 2. Targets.
	l.targets(seen.Inventory)
	// 3. Nodes: what we wrote is seen, what is gone is forgotten.
	l.seenNodes(seen)
	return l
}

// end closes a call.
func (l *Ledger) end(o model.Outcome) {
	delete(l.calls, o.Call.ID)
	unknown := o.Err != nil && o.Err.MayHaveHappened
	switch o.Call.Verb {
	case model.Grow:
		g := l.groups[o.Call.Group]
		g.expected, g.written = o.Call.To, o.Ended
		g.pausedUntil, g.failure, g.unsure = time.Time{}, "", o.Err != nil
		outage := o.Err != nil && o.Err.Kind == provider.Unavailable && !unknown
		if o.Err != nil && o.Err.Kind != provider.Conflict && !outage {
			rest := pause
			if unknown {
				rest = retry // much of it may have happened: the next read tells what is missing
			}
			g.pausedUntil, g.failure = o.Ended.Add(max(rest, o.Err.RetryAfter)), o.Err.Error()
		}
		if o.Target >= 0 {
			g.expected = o.Target
		} else if o.Err != nil && !unknown {
			g.expected = o.Call.From
		}
		l.groups[o.Call.Group] = g
		if outage {
			l.outage(o.Ended)
		}
		if o.Err == nil || unknown || g.expected > o.Call.From {
			l.lastGrowth = o.Ended
		}
	case model.Taint, model.Untaint:
		l.endTaint(o, unknown)
	case model.Remove:
		l.endRemove(o, unknown)
	}
}

// outage: the cloud as a whole did not answer, which is no fault of the group
// that was asked for. No group grows until a newer read, and the next choice is
// as free as this one was.
func (l *Ledger) outage(ended time.Time) {
	for id, g := range l.groups {
		g.unsure = true
		if g.written.Before(ended) {
			g.written = ended
		}
		l.groups[id] = g
	}
}

func (l *Ledger) endTaint(o model.Outcome, unknown bool) {
	n, ok := l.nodes[o.Call.Node]
	if !ok {
		return
	}
	n.AwaitVersion = o.ResourceVersion
	if d := n.Drain; d != nil {
		next := *d
		switch {
		case o.Call.Verb == model.Taint && (o.Err == nil || unknown):
			next.Stage, next.Since = model.Tainted, o.Ended
		case o.Call.Verb == model.Taint:
			// Nothing was written: there is nothing to take back.
			n.Drain = nil
			l.lastFailure = o.Ended
			l.nodes[o.Call.Node] = n
			return
		case o.Err == nil:
			n.Drain = nil
			n.UnneededSince = time.Time{}
			l.nodes[o.Call.Node] = n
			return
		default:
			// The taint may still be there: it is tried again, not at once.
			next.NotBefore = o.Ended.Add(retry)
		}
		n.Drain = &next
	}
	l.nodes[o.Call.Node] = n
}

func (l *Ledger) endRemove(o model.Outcome, unknown bool) {
	g := l.groups[o.Call.Group]
	g.written = o.Ended
	if o.Target >= 0 {
		g.expected = o.Target
	}
	l.groups[o.Call.Group] = g
	n, ok := l.nodes[o.Call.Node]
	if !ok || n.Drain == nil {
		return
	}
	d := *n.Drain
	switch {
	case o.Err == nil:
		d.Stage, d.Since = model.Removed, o.Ended
		l.lastRemoval = o.Ended
	case unknown:
		// A read that began after this says whether it is gone (rule L2).
		d.Stage, d.Since = model.Removing, o.Ended
	default:
		d.Stage, d.Why = model.RollingBack, o.Err.Error()
		l.lastFailure = o.Ended
	}
	n.Drain = &d
	l.nodes[o.Call.Node] = n
}

// targets takes over observed targets where no write of ours is newer.
func (l *Ledger) targets(inv provider.Inventory) {
	there := map[provider.GroupID]bool{}
	for i := range inv.Groups {
		g := &inv.Groups[i]
		there[g.ID] = true
		known, ok := l.groups[g.ID]
		if !ok && g.Err != nil {
			continue // never read yet: nothing is known of it, least of all zero
		}
		known.pool = g.Pool
		// An unreadable group stays as it is known.
		if !ok || (g.Err == nil && inv.AsOf.After(known.written) && !l.busy(g.ID)) {
			known.expected, known.unsure = g.Target, false
		}
		l.groups[g.ID] = known
	}
	if inv.AsOf.IsZero() {
		return
	}
	maps.DeleteFunc(l.groups, func(id provider.GroupID, _ group) bool { return !there[id] && !l.busy(id) })
}

func (l *Ledger) busy(id provider.GroupID) bool {
	for _, c := range l.calls {
		if c.Group == id && (c.Verb == model.Grow || c.Verb == model.Remove) {
			return true
		}
	}
	return false
}

func (l *Ledger) seenNodes(seen model.Observation) {
	instances := map[provider.InstanceID]provider.State{}
	for i := range seen.Inventory.Groups {
		for _, in := range seen.Inventory.Groups[i].Instances {
			instances[in.ID] = in.State
		}
	}
	there := make(map[string]bool, len(l.nodes))
	for i := range seen.Nodes {
		object := seen.Nodes[i].Object
		n, ok := l.nodes[object.Name]
		if !ok {
			// A removal that somebody began and did not end: after a restart the
			// taint on the node is all that is left of it (rule L8).
			if since, tainted := taintedSince(object); tainted {
				l.nodes[object.Name] = model.NodeStanding{Drain: &model.Drain{Node: object.Name, Stage: model.Tainted, Since: since}}
				there[object.Name] = true
			}
			continue
		}
		there[object.Name] = true
		if n.AwaitVersion != "" && seenVersion(object.ResourceVersion, n.AwaitVersion) {
			n.AwaitVersion = ""
		}
		// A newer read says whether a removal has happened, however it ended.
		if d := n.Drain; d != nil && (d.Stage == model.Removing || d.Stage == model.Removed) && !l.open(object.Name) && seen.Inventory.AsOf.After(d.Since) {
			next := *d
			next.Stage = model.Removed
			if state, ok := instances[d.Instance]; ok && state != provider.Deleting {
				next.Stage, next.Since = model.Tainted, seen.Inventory.AsOf
			}
			n.Drain = &next
		}
		l.nodes[object.Name] = n
	}
	maps.DeleteFunc(l.nodes, func(name string, _ model.NodeStanding) bool { return !there[name] && !l.open(name) })
}

// open tells whether a call on the node is under way.
func (l *Ledger) open(node string) bool {
	for _, c := range l.calls {
		if c.Node == node {
			return true
		}
	}
	return false
}

// taintedSince reads when a node was marked as being deleted.
func taintedSince(n *corev1.Node) (time.Time, bool) {
	for _, t := range n.Spec.Taints {
		if t.Key != model.TaintToBeDeleted {
			continue
		}
		seconds, err := strconv.ParseInt(t.Value, 10, 64)
		if err != nil {
			return time.Time{}, true // a mark is a mark, however old
		}
		return time.Unix(seconds, 0), true
	}
	return time.Time{}, false
}

// seenVersion tells whether an observed resourceVersion is at least the one
// awaited. Versions of one resource are ordered numbers.
func seenVersion(observed, awaited string) bool {
	o, err1 := strconv.ParseUint(observed, 10, 64)
	a, err2 := strconv.ParseUint(awaited, 10, 64)
	if err1 != nil || err2 != nil {
		return observed == awaited
	}
	return o >= a
}

// Note puts a plan's intents on record, before any of its calls is started, and
// since when nodes have been unneeded.
func (l Ledger) Note(now time.Time, p model.Plan) Ledger {
	for _, c := range p.Calls {
		l.calls[c.ID] = c
		if c.Verb == model.Grow {
			g := l.groups[c.Group]
			g.expected, g.written = c.To, now
			l.groups[c.Group] = g
			continue
		}
		n := l.nodes[c.Node]
		switch c.Verb {
		case model.Taint:
			n.Drain = &model.Drain{Node: c.Node, Group: c.Group, Instance: c.Instance, Stage: model.Tainting, Since: now}
		case model.Remove, model.Untaint:
			d := model.Drain{Node: c.Node, Since: now}
			if n.Drain != nil {
				d = *n.Drain
			}
			d.Group, d.Instance = c.Group, c.Instance
			d.Stage = model.Removing
			if c.Verb == model.Untaint {
				d.Stage, d.Why = model.RollingBack, c.Why
			}
			n.Drain = &d
		}
		l.nodes[c.Node] = n
	}
	unneeded := map[string]time.Time{}
	for _, v := range p.Unneeded {
		unneeded[v.Node] = v.Since
	}
	for name, n := range l.nodes {
		n.UnneededSince = unneeded[name]
		delete(unneeded, name)
		if n == (model.NodeStanding{}) {
			delete(l.nodes, name)
			continue
		}
		l.nodes[name] = n
	}
	for name, since := range unneeded {
		l.nodes[name] = model.NodeStanding{UnneededSince: since}
	}
	return l
}

// Open counts the calls under way.
func (l Ledger) Open() int { return len(l.calls) }

// Standing is what the ledger adds to a snapshot.
func (l Ledger) Standing() model.Standing {
	s := model.Standing{
		Groups: make(map[provider.GroupID]model.GroupStanding, len(l.groups)),
		Nodes:  maps.Clone(l.nodes), LastGrowth: l.lastGrowth, LastRemoval: l.lastRemoval, LastFailure: l.lastFailure,
	}
	for id, g := range l.groups {
		s.Groups[id] = model.GroupStanding{Expected: g.expected, PausedUntil: g.pausedUntil, Failure: g.failure, Unsure: g.unsure}
	}
	for _, id := range slices.Sorted(maps.Keys(l.calls)) {
		c := l.calls[id]
		if c.Verb == model.Grow || c.Verb == model.Remove {
			for gid, g := range s.Groups {
				// A call on one group of a pool keeps the whole pool busy.
				if gid == c.Group || (c.Pool != "" && l.groups[gid].pool == c.Pool) {
					g.Busy = &c
					s.Groups[gid] = g
				}
			}
		}
		if c.Node != "" {
			n := s.Nodes[c.Node]
			n.Busy = &c
			s.Nodes[c.Node] = n
		}
	}
	return s
}
