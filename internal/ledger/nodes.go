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

// seenNodes takes in the nodes: each gets its state, and is counted in its
// group; drains go on.
func (l *Ledger) seenNodes(seen *model.Observation) {
	l.counts, l.others = model.Counts{}, model.Counts{}
	there := 0 // of those that there is something to say of
	for i := range seen.Nodes {
		object := seen.Nodes[i].Object
		n, known := l.nodes.of[object.Name]
		if n.Drain != nil || n.AwaitVersion != "" || model.HasTaint(object, model.TaintToBeDeleted) {
			n = l.seenNode(i, n, seen)
			l.nodes.put(object.Name, n)
			known = n != (model.NodeStanding{})
		}
		if forgotten(n.Failed, seen.Now) {
			n.Failed = model.Failure{}
			l.nodes.put(object.Name, n)
			known = n != (model.NodeStanding{})
		}
		if known {
			there++
		}
		home, ok := l.home(i, object)
		if !ok {
			state, _ := model.StateOf(object, nil, n.Drain, seen.Now, l.rules.StartupTime)
			l.others.Add(state, object)
			continue
		}
		delete(l.strays, object.Name)
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
		if was := rec.state; rec.node == object.Name && !n.UnneededSince.IsZero() && (was == model.StateReady) != (state == model.StateReady) {
			// It has turned ready, or stopped to be: it has all of its time, by our own clock.
			n = l.nodes.of[object.Name]
			n.UnneededSince = time.Time{}
			l.nodes.put(object.Name, n)
		}
		rec.node, rec.state, rec.since, rec.turn, rec.counted = object.Name, state, object.CreationTimestamp.Time, l.turn, counted
	}
	maps.DeleteFunc(l.strays, func(node string, _ provider.GroupID) bool { return !inNodes(seen.Nodes, node) })
	if there == len(l.nodes.of) {
		return
	}
	for name := range l.nodes.of {
		if !inNodes(seen.Nodes, name) && !l.open(name) {
			l.nodes.put(name, model.NodeStanding{})
		}
	}
}

// inNodes tells whether a node of the name is seen.
func inNodes(nodes []model.ObservedNode, name string) bool {
	_, found := slices.BinarySearchFunc(nodes, name, func(n model.ObservedNode, name string) int { return cmp.Compare(n.Object.Name, name) })
	return found
}

// seenNode takes in what a node shows of its removal, and of what we wrote.
func (l *Ledger) seenNode(i int, n model.NodeStanding, seen *model.Observation) model.NodeStanding {
	object := seen.Nodes[i].Object
	if n.Drain != nil && l.turn == 1 {
		n = l.recall(n, object, seen.Now)
	}
	// A removal that somebody began and did not end: after a restart the taint on
	// the node is all that is left of it (rule L8).
	if n.Drain == nil && n.Busy == nil && n.AwaitVersion == "" {
		since, tainted := taintedSince(object)
		switch {
		case l.open(object.Name):
		case tainted:
			n.Drain = adopted(object, earlier(since, seen.Now))
		case object.Annotations[model.AnnotationRemoval] != "":
			// Somebody took the taint away, and not what we wrote beside it.
			n.Drain = adopted(object, seen.Now)
			n.Drain.Stage, n.Drain.Code, n.Drain.Why = model.RollingBack, model.LeaderChanged, "its removal was begun, and somebody took the taint away"
		}
	}
	if n.AwaitVersion != "" && seenVersion(object.ResourceVersion, n.AwaitVersion) {
		n.AwaitVersion, l.news = "", true
	}
	if n.Drain == nil {
		return n
	}
	switch n.Drain.Stage {
	case model.Removing, model.Removed:
		if l.usedAgain(i, n.Drain, object, &seen.Inventory) {
			return model.NodeStanding{} // nothing is known of this one
		}
		n.Drain = l.seenRemoval(i, n.Drain, object, &seen.Inventory)
	case model.Tainted, model.Evicting:
		n.Drain = seenPods(n.Drain, seen.Nodes[i].Pods, seen.Now)
		n.Drain = l.seenDeletion(i, n.Drain, object, &seen.Inventory)
	}
	return n
}

// recall holds a remembered drain against what its node shows when it is first
// seen again. One without the taint has been given back: by a person, or by the
// leader before, who did not get to say so. One whose pods were leaving goes on
// if it is still cordoned; otherwise pods may have landed that nobody has found
// a place for, so that it is taken back as any that is found. That is also so
// where nodes are not cordoned at all: we err to giving back.
func (l *Ledger) recall(n model.NodeStanding, object *corev1.Node, now time.Time) model.NodeStanding {
	since, tainted := taintedSince(object)
	switch {
	case !tainted:
		return l.givenBack(n, now)
	case n.Drain.Stage == model.Evicting && !object.Spec.Unschedulable && object.Annotations[model.AnnotationRemoval] != model.RemovalCordoned:
		n.Drain = adopted(object, earlier(since, now))
	}
	return n
}

// adopted is the drain of a node that somebody tainted and that we know nothing
// else of.
func adopted(object *corev1.Node, since time.Time) *model.Drain {
	return &model.Drain{Node: object.Name, Stage: model.Tainted, Since: since, Began: since, Unready: !model.NodeReady(object)}
}

// usedAgain tells whether a node that was removed has given its name to one of another
// machine, and nobody saw that it was gone in between: host names are used again, and
// addresses in names are.
func (l *Ledger) usedAgain(i int, d *model.Drain, object *corev1.Node, inv *provider.Inventory) bool {
	if d.Instance == "" || l.open(object.Name) || !inv.AsOf.After(d.Since) || model.HasTaint(object, model.TaintToBeDeleted) {
		return false
	}
	home, ok := l.home(i, object)
	if !ok || inv.Groups[home.Group].Err != nil {
		return false
	}
	in := &inv.Groups[home.Group].Instances[home.Instance]
	return in.ID != d.Instance && in.State != provider.Deleting
}

// seenRemoval takes in what a newer read says of a removal that was asked for:
// whether it has happened, however the call ended.
func (l *Ledger) seenRemoval(i int, d *model.Drain, object *corev1.Node, inv *provider.Inventory) *model.Drain {
	if l.open(object.Name) || !inv.AsOf.After(d.Since) {
		return d
	}
	home, ok := l.home(i, object)
	if ok && inv.Groups[home.Group].Err != nil {
		return d // it has not been read
	}
	next := *d
	next.Stage = model.Removed
	// A cloud that said yes is believed for a while: an instance that it lists
	// no more is kept in the picture as long as its node is ready.
	said := d.Stage == model.Removed && inv.AsOf.Before(d.Since.Add(patience))
	if ok {
		in := &inv.Groups[home.Group].Instances[home.Instance]
		if in.ID == d.Instance && in.State != provider.Deleting && !said {
			next.Stage, next.Since = model.Tainted, inv.AsOf
		}
	}
	if next.Stage == d.Stage {
		return d
	}
	return &next
}

// seenDeletion takes in that the cloud deletes an instance already, though we
// have not asked for it: somebody else has, or a leader before us who did not get
// to say so. Nothing is left to ask for.
func (l *Ledger) seenDeletion(i int, d *model.Drain, object *corev1.Node, inv *provider.Inventory) *model.Drain {
	home, ok := l.home(i, object)
	if !ok {
		return d
	}
	in := &inv.Groups[home.Group].Instances[home.Instance]
	if in.State != provider.Deleting {
		return d
	}
	next := *d
	next.Stage, next.Since, next.Instance = model.Removed, inv.AsOf, in.ID
	return &next
}

// patience is how long a cloud that has agreed to end an instance is believed,
// though it lists it still or its node is ready still.
const patience = 2 * time.Minute

// seenPods takes in which pods are gone from a node that is emptied: whatever
// became of their evictions, they have been granted.
func seenPods(d *model.Drain, pods []model.Pod, now time.Time) *model.Drain {
	next := d
	for i := range d.Evictions {
		e := &d.Evictions[i]
		if !e.Gone.IsZero() || slices.ContainsFunc(pods, func(p model.Pod) bool { return p.UID == e.UID }) {
			continue
		}
		if next == d {
			clone := *d
			clone.Evictions = slices.Clone(d.Evictions)
			next = &clone
		}
		next.Evictions[i].Granted, next.Evictions[i].Gone = true, now
	}
	return next
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
