package decide

import (
	"slices"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
)

// mark keeps the soft taints of candidates, of nodes that go for a move as well, and, where it is asked for, the
// annotations that tell what keeps a node, in step with the plan: so many nodes
// in one cycle, the next goes on when those writes have ended. Nothing else
// depends on either.
func (m *maker) mark() {
	s, p, plan := m.snap, m.policy, &m.plan
	left := p.ScaleDown.SoftTaints
	next := 0 // of those unneeded, which are in the order of the nodes
	going := m.going()
	var kept map[string]*model.NodeVerdict
	if p.ScaleDown.Annotate {
		kept = make(map[string]*model.NodeVerdict, len(plan.Kept)+len(plan.Unneeded))
		for i := range plan.Kept {
			kept[plan.Kept[i].Node] = &plan.Kept[i]
		}
		for i := range plan.Unneeded {
			kept[plan.Unneeded[i].Node] = &plan.Unneeded[i]
		}
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		unneeded := next < len(plan.Unneeded) && plan.Unneeded[next].Node == n.Name
		if unneeded {
			next++
		}
		if n.Object == nil || n.Group < 0 || n.Kind == model.Leaving || n.Standing.Busy != nil ||
			n.Standing.AwaitVersion != "" {
			continue
		}
		want := (unneeded || going[n.Name]) && p.ScaleDown.Enabled && p.ScaleDown.SoftTaints > 0
		note := ""
		if v := kept[n.Name]; v != nil && v.Reason != model.Unneeded {
			note = noteOf(v)
		}
		var step removal.Step
		switch {
		case starts(plan, n.Name):
			continue
		case want && !n.Marked:
			step = removal.Step{Verb: model.Mark, Reason: model.Unneeded, Why: "nothing needs it"}
		case n.Marked && !want:
			step = removal.Step{Verb: model.Unmark, Reason: model.Fits, Why: "it is no candidate any more"}
		case note != n.Note:
			step = removal.Step{Verb: model.Annotate, Note: note}
		default:
			continue
		}
		if s.Now.Before(n.Standing.MarkAfter) {
			m.wakeAt(n.Standing.MarkAfter)
			continue
		}
		if left <= 0 && step.Verb == model.Mark {
			continue
		}
		if left <= -bulk {
			return
		}
		left--
		m.call(nodeCall(s, p, n, step))
	}
}

// going are the nodes that go for a move. The pods of others had better not come to one, and be moved again with it.
func (m *maker) going() map[string]bool {
	names := map[string]bool{}
	for _, moves := range [][]model.Move{m.snap.Moves, m.plan.Moves} {
		for i := range moves {
			if !moves[i].Open() {
				continue
			}
			for _, name := range moves[i].Going() {
				names[name] = true
			}
		}
	}
	return names
}

// bulk is how many marks are taken away, or annotations written, in one cycle
// beyond the soft taints.
const bulk = 10

// starts reports whether the plan has a call on the node already.
func starts(plan *model.Plan, node string) bool {
	return slices.ContainsFunc(plan.Calls, func(c model.Call) bool { return c.Node == node })
}

// noteOf is what a node's annotation says of what keeps it: the reason, and what
// it is about where that does not change by the minute.
func noteOf(v *model.NodeVerdict) string {
	if v.Reason.DetailStays() {
		return short(string(v.Reason) + ": " + v.Detail)
	}
	return string(v.Reason)
}

// longest is how many bytes of a note are written.
const longest = 300

// short cuts a note between two characters.
func short(text string) string {
	if len(text) <= longest {
		return text
	}
	cut := longest
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
