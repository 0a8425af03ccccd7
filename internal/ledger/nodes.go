package ledger

import (
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// seenNodes takes in the nodes: each gets its state, and is counted in its
// group; drains go on.
func (l *Ledger) seenNodes(seen *model.Observation) {
	l.counts, l.others = model.Counts{}, model.Counts{}
	l.busyNodes = 0
	there := 0 // of those that there is something to say of
	for i := range seen.Nodes {
		object := seen.Nodes[i].Object
		if known, ok := l.quiet(i, object); ok {
			if known {
				there++
			}
			continue
		}
		n, known := l.nodes.of[object.Name]
		if n.Drain != nil || n.AwaitVersion != "" || model.HasTaint(object, model.TaintToBeDeleted) ||
			object.Annotations[model.AnnotationRemoval] != "" {
			l.busyNodes++
			n = l.seenNode(i, n, seen)
			l.nodes.put(object.Name, n)
			known = n != (model.NodeStanding{})
		}
		if removal.Forgotten(n.Failed, seen.Now) {
			n.Failed = model.Failure{}
			l.nodes.put(object.Name, n)
			known = n != (model.NodeStanding{})
		}
		if !n.Failed.At.IsZero() {
			l.busyNodes++
		}
		if known {
			there++
		}
		home, ok := l.home(i, object)
		if !ok {
			state, _ := model.StateOf(object, nil, n, seen.Now, l.rules.StartupTime)
			l.others.Add(state, object)
			if !n.UnneededSince.IsZero() && !model.NodeReady(object) {
				// When it turns ready no group may have it yet: it has all of its time then.
				n.UnneededSince = time.Time{}
				if l.nodes.put(object.Name, n); n == (model.NodeStanding{}) {
					there--
				}
			}
			continue
		}
		g, pg := l.order[home.Group], &seen.Inventory.Groups[home.Group]
		in := &pg.Instances[home.Instance]
		if born := l.born(object, home, n, seen.Now); born != n.Born {
			n.Born = born
			if l.nodes.put(object.Name, n); !known {
				there++
			} else if n == (model.NodeStanding{}) {
				there--
			}
		}
		delete(l.strays, object.Name)
		state, until := model.StateOf(object, in, n, seen.Now, l.rules.Startup(pg))
		counted, ends := standsFor(object, state, n.Drain, in)
		if !until.IsZero() {
			g.Wake(until)
		}
		if g.See(l.turn, home.Instance, object, state, counted, ends) && !n.UnneededSince.IsZero() {
			// It has turned ready, or stopped to be: it has all of its time, by our own clock.
			n = l.nodes.of[object.Name]
			n.UnneededSince = time.Time{}
			if l.nodes.put(object.Name, n); n == (model.NodeStanding{}) {
				there--
			}
		}
		if state == model.StateReady && counted {
			l.hush(i, object, n)
		}
	}
	if len(l.nodes.changed) > 0 {
		clear(l.nodes.changed)
	}
	maps.DeleteFunc(l.strays, func(node string, _ provider.GroupID) bool { return !seen.HasNode(node) })
	if there != len(l.nodes.of) {
		l.nodesGone(seen)
	}
}

// standsFor reports whether the target counts a node, and whether it goes since its machine does.
func standsFor(n *corev1.Node, s model.NodeState, d *model.Drain, in *provider.Instance) (counted, ends bool) {
	if s != model.StateBeingDeleted {
		return true, false
	}
	return model.CountedByTarget(d, in), model.EndsWithMachine(n, d, in)
}

// nodesGone takes in that nodes which something is known of are not there any more.
func (l *Ledger) nodesGone(seen *model.Observation) {
	for name := range l.nodes.of {
		if !seen.HasNode(name) && !l.open(name) {
			_, _ = l.advance(name, l.nodes.of[name], seen.Now, removal.Gone{})
			l.nodes.put(name, model.NodeStanding{})
		}
	}
}

// hush notes that a node is quiet, if it is.
func (l *Ledger) hush(i int, object *corev1.Node, n model.NodeStanding) {
	if n.Drain == nil && n.AwaitVersion == "" && n.Failed.At.IsZero() &&
		object.Annotations[model.AnnotationRemoval] == "" {
		l.places[i].quiet, l.places[i].known = object, n != (model.NodeStanding{})
	}
}

// quiet takes in a node that is as it was, and reports whether it is; known: something is known of it. Others are
// looked at in full.
func (l *Ledger) quiet(i int, object *corev1.Node) (known, ok bool) {
	if i >= len(l.places) {
		return false, false
	}
	at := &l.places[i]
	if !l.still || at.quiet != object || len(l.nodes.changed) > 0 && l.nodes.changed[at.name] ||
		!l.order[at.home.Group].SeeAgain(l.turn, at.home.Instance, object, at.name) {
		at.quiet = nil
		return false, false
	}
	return at.known, true
}

// born is when a node was first seen that says that it is older than the fold before, which lacked it, or that it is
// still to come: our clock and the one that dates nodes are not the same, and its time to become ready runs by ours.
func (l *Ledger) born(n *corev1.Node, home model.Home, known model.NodeStanding, now time.Time) time.Time {
	_, stray := l.strays[n.Name]
	switch {
	case model.NodeReady(n):
		return time.Time{}
	case !known.Born.IsZero():
		return known.Born
	case n.CreationTimestamp.After(now.Add(lateWatch)):
		return now
	case stray || l.folded.IsZero() || l.order[home.Group].Has(home.Instance, n.Name):
		return time.Time{}
	case !n.CreationTimestamp.IsZero() && n.CreationTimestamp.Add(lateWatch).Before(l.folded):
		return now
	}
	return time.Time{}
}

// lateWatch is how late a watch may tell of a node: it is none that another clock has dated.
const lateWatch = time.Minute

// seenNode takes in what a node shows of its removal, and of what we wrote.
func (l *Ledger) seenNode(i int, n model.NodeStanding, seen *model.Observation) model.NodeStanding {
	object := seen.Nodes[i].Object
	e := removal.Seen{In: seen, Node: i, First: l.turn == 1, Open: l.open(object.Name), Await: n.AwaitVersion != ""}
	if home, ok := l.home(i, object); ok {
		e.Machine = seen.MachineAt(home)
	}
	if e.Await && seenVersion(object.ResourceVersion, n.AwaitVersion) {
		n.AwaitVersion, l.news = "", true
	}
	was := n.Drain
	n, _ = l.advance(object.Name, n, seen.Now, e)
	if home, ok := l.home(i, object); ok && was == nil && n.Drain != nil {
		l.found(seen.Inventory.Groups[home.Group].ID, n.Drain, len(seen.Nodes[i].Pods) > 0)
	}
	return n
}

// seenVersion reports whether an observed resourceVersion is at least the one
// awaited. Versions of one resource are ordered numbers.
func seenVersion(observed, awaited string) bool {
	o, err1 := strconv.ParseUint(observed, 10, 64)
	a, err2 := strconv.ParseUint(awaited, 10, 64)
	if err1 != nil || err2 != nil {
		return observed == awaited
	}
	return o >= a
}
