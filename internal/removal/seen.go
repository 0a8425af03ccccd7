package removal

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Seen: an observation shows the node of a removal, or one that another client removes.
type Seen struct {
	In   *model.Observation
	Node int // its index
	// Machine is the node's in that observation.
	Machine model.Machine
	// First: this process has not looked before, so the drain is a remembered one.
	First bool
	// Open: a call on the node or on one of its pods is under way. Await: what we wrote
	// last on the node has not been seen yet.
	Open, Await bool
}

func (e Seen) on(a *advance) {
	if e.First && a.drain != nil {
		e.recall(a)
	}
	if a.drain == nil && !e.Open && !e.Await {
		e.find(a)
	}
	switch a.stage() {
	case model.Tainted, model.Evicting:
		e.pods(a)
		if e.Machine.Deleting && a.step(machineDeleting) {
			// Another client has requested the deletion, or an earlier leader that ended before it
			// could record that. No request is left to make.
			d := a.edit()
			d.Since, d.Instance, d.Ending = e.In.Inventory.AsOf, e.Machine.ID, e.Machine.Made
		}
	case model.Removing, model.Removed:
		e.machine(a)
	}
}

func (e Seen) object() *corev1.Node { return e.In.Nodes[e.Node].Object }

// recall compares a remembered drain with what its node shows when it is first seen
// again. A node without the taint was rolled back: by a person, or by the leader before,
// which ended before it could record that. A node whose pods were leaving goes on if it
// is still cordoned; otherwise pods may have landed for which no place was looked for, so
// it is treated as a node that another client tainted. That is also so where nodes are
// not cordoned at all: we err to a rollback.
func (e Seen) recall(a *advance) {
	n, was := e.object(), a.drain
	since, isTainted := taintedSince(n)
	isCordoned := n.Spec.Unschedulable || n.Annotations[model.AnnotationRemoval] == model.RemovalCordoned
	switch {
	case !isTainted:
		if a.step(recalledFreed) {
			a.givenBack(was, e.In.Now)
		}
	case was.Stage == model.Evicting && !isCordoned:
		if a.step(recalledOpen) {
			e.adopt(a, model.Earlier(since, e.In.Now))
		}
	}
}

// find looks for a removal that was begun and not ended: after a restart the taint may be
// all that is left of it (rule L8).
func (e Seen) find(a *advance) {
	n := e.object()
	if since, isTainted := taintedSince(n); isTainted {
		if a.step(foundTaint) {
			e.adopt(a, model.Earlier(since, e.In.Now))
		}
		return
	}
	if n.Annotations[model.AnnotationRemoval] != "" && a.step(foundNote) {
		e.adopt(a, e.In.Now)
		a.drain.Code, a.drain.Why = model.LeaderChanged, "its removal was begun, and its taint was removed"
	}
}

// adopt keeps of a removal only what its stage and the node show: another process began it.
func (e Seen) adopt(a *advance, since time.Time) {
	n := e.object()
	*a.edit() = model.Drain{Node: n.Name, Stage: a.stage(), Since: since, Began: since, Unready: !model.NodeReady(n)}
}

// pods takes note of the evicted pods that have left the node: whatever the answers were,
// their evictions were granted.
func (e Seen) pods(a *advance) {
	there := e.In.Nodes[e.Node].Pods
	copied := false
	for i := range a.drain.Evictions {
		x := &a.drain.Evictions[i]
		if !x.Gone.IsZero() || slices.ContainsFunc(there, func(p model.Pod) bool { return p.UID == x.UID }) {
			continue
		}
		if !copied {
			a.step(podLeft)
			d := a.edit()
			d.Evictions, copied = slices.Clone(d.Evictions), true
		}
		a.drain.Evictions[i].Granted, a.drain.Evictions[i].Gone = true, e.In.Now
	}
}

// machine takes in what a newer picture shows of a machine that was to be removed, however
// the call ended.
func (e Seen) machine(a *advance) {
	d, m, asOf := a.drain, e.Machine, e.In.Inventory.AsOf
	if e.Open || m.Unread || !asOf.After(d.Since) {
		return
	}
	switch ours := m.ID != "" && m.ID == d.Instance; {
	case ours && e.otherMachine(a):
	case m.Deleting:
		if a.step(machineDeleting) && !d.Ending.Equal(m.Made) {
			a.edit().Ending = m.Made
		}
	case ours && asOf.Before(d.Since.Add(model.Patience)):
		// A machine that the cloud lists no more stays in the picture as long as its node
		// is ready.
		e.runs(a, machineRunsYet)
	case ours:
		e.runs(a, machineRuns)
	case m.ID != "" && d.Instance != "" && !model.HasTaint(e.object(), model.TaintToBeDeleted):
		// Host names are used again, and so are addresses in names. It was not seen that the node was gone in between.
		a.news.Other = a.step(machineOther)
	default:
		a.step(machineGone)
	}
}

// otherMachine takes in a machine that was made after the one which was removed, and has its id: ids are used again.
// The node goes after the one that is gone, or the kubelet of the other goes on with it; a node that has been ready
// for longer than one without a kubelet can be has one. Where neither comes, it is not told apart for ever.
func (e Seen) otherMachine(a *advance) bool {
	d, m, now := a.drain, e.Machine, e.In.Now
	if m.Deleting || d.Ending.IsZero() || !m.Made.After(d.Ending) {
		return false
	}
	switch {
	case d.Other.IsZero():
		if a.step(machineGone) {
			a.edit().Other = now
		}
	case now.After(d.Other.Add(longest)):
		return false
	case now.Before(d.Other.Add(model.Patience)) || !model.NodeReady(e.object()):
		a.step(machineGone)
	case a.step(machineTakesOver):
		d := a.edit()
		d.Since, d.Code = now, model.OtherMachine
		d.Why = "its machine is gone, and another one of the same id goes on with the node"
	}
	return true
}

func (e Seen) runs(a *advance, h kind) {
	if was := a.stage(); a.step(h) && a.stage() != was {
		a.edit().Since = e.In.Inventory.AsOf
	}
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
			return time.Time{}, true // it counts as a mark of any age
		}
		return time.Unix(seconds, 0), true
	}
	return time.Time{}, false
}
