package ledger

import (
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// seenNodes takes in the nodes: each gets its state, and is counted in its
// group; drains go on.
func (l *Ledger) seenNodes(seen model.Observation) {
	l.counts, l.others = model.Counts{}, model.Counts{}
	clear(l.there)
	for i := range seen.Nodes {
		object := seen.Nodes[i].Object
		l.drainSeen(i, object, &seen.Inventory)
		n, known := l.nodes[object.Name]
		if known {
			l.there[object.Name] = true
		}
		home, ok := l.home(i, object)
		if !ok {
			state, _ := model.StateOf(object, nil, n.Drain, seen.Now, l.rules.StartupTime)
			l.others.Add(state, object)
			continue
		}
		g, pg := l.order[home.Group], &seen.Inventory.Groups[home.Group]
		in := &pg.Instances[home.Instance]
		state, until := model.StateOf(object, in, n.Drain, seen.Now, l.rules.Startup(pg))
		g.counts.Add(state, object)
		counted := state != model.StateBeingDeleted || model.CountedByTarget(n.Drain, in)
		if counted {
			g.registered++
		}
		switch state {
		case model.StateNeverStarted:
			if g.neverStarted == "" {
				g.neverStarted = object.Name
			}
		case model.StateYoung:
			g.wake(until)
		}
		rec := g.records[home.Instance]
		rec.node, rec.state, rec.since, rec.turn, rec.counted = object.Name, state, object.CreationTimestamp.Time, l.turn, counted
	}
	maps.DeleteFunc(l.nodes, func(name string, _ model.NodeStanding) bool { return !l.there[name] && !l.open(name) })
}

// drainSeen takes in what a node shows of its removal.
func (l *Ledger) drainSeen(i int, object *corev1.Node, inv *provider.Inventory) {
	n, ok := l.nodes[object.Name]
	if !ok {
		// A removal that somebody began and did not end: after a restart the
		// taint on the node is all that is left of it (rule L8).
		if since, tainted := taintedSince(object); tainted {
			l.nodes[object.Name] = model.NodeStanding{Drain: &model.Drain{Node: object.Name, Stage: model.Tainted, Since: since}}
		}
		return
	}
	changed := false
	if n.Drain == nil && n.Busy == nil && n.AwaitVersion == "" && !l.open(object.Name) {
		if since, tainted := taintedSince(object); tainted {
			n.Drain, changed = &model.Drain{Node: object.Name, Stage: model.Tainted, Since: since}, true
		}
	}
	if n.AwaitVersion != "" && seenVersion(object.ResourceVersion, n.AwaitVersion) {
		n.AwaitVersion, changed = "", true
	}
	// A newer read says whether a removal has happened, however it ended.
	if d := n.Drain; d != nil && (d.Stage == model.Removing || d.Stage == model.Removed) && !l.open(object.Name) && inv.AsOf.After(d.Since) {
		next := *d
		next.Stage = model.Removed
		// A cloud that said yes is believed for a while: an instance that it lists
		// no more is kept in the picture as long as its node is ready.
		said := d.Stage == model.Removed && inv.AsOf.Before(d.Since.Add(patience))
		if home, ok := l.home(i, object); ok {
			in := &inv.Groups[home.Group].Instances[home.Instance]
			if in.ID == d.Instance && in.State != provider.Deleting && !said && inv.Groups[home.Group].Err == nil {
				next.Stage, next.Since = model.Tainted, inv.AsOf
			}
		}
		n.Drain, changed = &next, true
	}
	if changed {
		l.nodes[object.Name] = n
	}
}

// patience is how long a cloud that has agreed to end an instance is believed,
// though it lists it still or its node is ready still.
const patience = 2 * time.Minute

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
	for i := range n.Spec.Taints {
		t := &n.Spec.Taints[i]
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
