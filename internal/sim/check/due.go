package check

import "slices"

// This file is nodes that are to be replaced whatever that costs, by the flags.

// applyDue takes in what the cloud or a node says. What the cloud says of an instance counts whatever the flags say.
func (t *truth) applyDue(e *Event) {
	n, m := t.nodes[e.Node], t.machines[e.Machine]
	if m != nil && e.Own {
		m.taken, t.moving = true, true
	}
	switch {
	case n == nil:
	case e.Own:
		n.told = true
	case e.What == TakenSoon:
		n.taken = true
	default:
		n.unsound = true
	}
}

// hurried reports whether the cloud is about to take a node's machine, or was to take the one before, and has said so.
// No budget, limit or delay holds such a node, and no other one waits for what becomes of its pods.
func (j *Judge) hurried(n *node) bool {
	m := j.truth.machineOf(n)
	return m != nil && m.taken || n != nil && (n.told || n.taken && j.flags.Taken)
}

// Renews reports whether nodes are there that are to be replaced whatever that costs: it may take hours until all have
// been, one after the other.
func (j *Judge) Renews() bool {
	return slices.ContainsFunc(sorted(j.truth.nodes), func(name string) bool { return j.due(j.truth.nodes[name]) })
}

// due reports whether a node is to be replaced, whatever its use is.
func (j *Judge) due(n *node) bool {
	m := j.truth.machineOf(n)
	if n == nil || m == nil {
		return false
	}
	g, old, sick := j.truth.groups[m.group], j.flags.ReplaceAfter, j.flags.ReplaceUnready
	if sick > 0 && n.ever && !n.ready && j.since(n.changed) >= sick-rounding {
		return true
	}
	return n.wasDue || j.hurried(n) || n.unsound && j.flags.Unsound ||
		j.flags.Drifted && g != nil && m.version != g.makes ||
		old > 0 && (j.since(n.made) >= old-rounding || !j.truth.onTime())
}
