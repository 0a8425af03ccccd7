package decide

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaledown"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
)

// How many evictions may be under way, of all removals together and of one.
const (
	mostEvictions     = 20
	mostEvictionsEach = 10
)

// advance asks every removal under way for its next calls.
func (m *maker) advance() {
	m.room.FindCompany(m.waited)
	slots := mostEvictions
	for i := range m.room.Removals {
		slots -= evictions(m.drain(&m.room.Removals[i]))
	}
	short := scaledown.Short(m.snap, m.policy.ScaleDown, m.gate)
	steps := make([][]removal.Step, len(m.room.Removals))
	for i := range m.room.Removals {
		o := &m.room.Removals[i]
		o.View.Slots = min(slots, mostEvictionsEach-evictions(m.drain(o)))
		m.complete(o, short[o.Node])
		var at time.Time
		steps[i], at = removal.Next(m.snap.Nodes[o.Node], o.View, m.snap.Now, m.policy.ScaleDown)
		m.wakeAt(at)
		for _, step := range steps[i] {
			if step.Verb == model.Evict {
				slots--
			}
		}
	}
	m.together(steps)
	for i := range steps {
		for _, step := range steps[i] {
			m.call(nodeCall(m.snap, m.policy, m.snap.Nodes[m.room.Removals[i].Node], step))
		}
	}
}

func (m *maker) drain(o *reserve.Removal) *model.Drain { return m.snap.Nodes[o.Node].Standing.Drain }

// evictions counts those under way.
func evictions(d *model.Drain) int {
	n := 0
	for i := range d.Evictions {
		if d.Evictions[i].Busy {
			n++
		}
	}
	return n
}

// complete adds to the view of a removal what the plan has found out by now. Short is the
// minimum that the removal would go below, nil if there is none.
func (m *maker) complete(o *reserve.Removal, short *model.Verdict) {
	v, d := &o.View, m.drain(o)
	v.Wanted, v.Replaced = m.wanted[o.Node], m.room.ReplacedBy(o.Node) != nil
	v.Hurries = m.snap.InterruptedBy(&m.policy.Moves, m.snap.Nodes[o.Node]) != ""
	// Growth had no steps for some pods. They may need the draft, which can still be had.
	if m.room.IsDraft(o) && !d.Unready && scaledown.MayBeNeeded(m.snap, len(m.up.Unseen), d.Since) {
		v.Unsure = true
	}
	if why, ok := m.down.Homeless[o.Node]; ok {
		v.Homeless, v.Unsure = why, v.Unsure || why == nil
	}
	if group := m.snap.Nodes[o.Node].Group; group >= 0 {
		v.Barred = m.gate.Closed(group, gate.Continue)
		v.Back = gate.RollsBack(v.Barred)
	}
	if v.Barred == nil {
		v.Barred, v.Back = short, short != nil
	}
	if v.Barred == nil && d.Stage == model.Tainted && d.Occupied && !v.Hurries {
		v.Barred, v.Back = m.unseen()
	}
}

// unseen says why no pod is to be evicted from a node that has its pods still: the scheduler has not looked at one that
// came for an evicted one. Back: that is so for longer than a drain waits. Nil if it has.
func (m *maker) unseen() (why *model.Verdict, back bool) {
	words, since := m.room.Unseen()
	if words == "" {
		return nil, false
	}
	return &model.Verdict{Reason: model.ReplacementWaits, Detail: words, Fix: "the scheduler is up"},
		!m.snap.Now.Before(since.Add(model.Patience))
}

// whole is how far the removals of a group are that goes as a whole.
type whole struct {
	leaving, ready, gone, back int
	emptied                    time.Time // when the last of its nodes was
}

// together holds the nodes of a group that goes as a whole until all of them can
// go. It rolls all of them back if one stays and none has gone, or if they have waited
// for too long for what could end with them.
func (m *maker) together(steps [][]removal.Step) {
	groups := m.wholes(steps)
	for i := range m.room.Removals {
		n := m.snap.Nodes[m.room.Removals[i].Node]
		w := groups[n.Group]
		if w == nil || w.gone > 0 {
			continue
		}
		g, stage := &m.snap.Groups[n.Group], n.Standing.Drain.Stage
		stays := g.ReadyNodes + g.UnreadyNodes + g.BootingNodes
		switch {
		case begins(steps[i], model.Untaint):
		case (w.back > 0 || stays > 0) && (stage == model.Tainted || stage == model.Evicting) &&
			n.Standing.Busy == nil && n.Standing.AwaitVersion == "":
			steps[i] = untaint(gate.Whole("another node of it stays", ""))
		case !begins(steps[i], model.Remove):
		case w.ready < w.leaving:
			steps[i] = nil
		default:
			steps[i] = m.removeWhole(g, w, steps[i])
		}
	}
}

// wholes counts, by group, the removals of groups that go as a whole.
func (m *maker) wholes(steps [][]removal.Step) map[int]*whole {
	groups := map[int]*whole{}
	for i := range m.room.Removals {
		n := m.snap.Nodes[m.room.Removals[i].Node]
		if n.Group < 0 || !m.snap.Groups[n.Group].GoesWhole() {
			continue
		}
		w := groups[n.Group]
		if w == nil {
			w = &whole{}
			groups[n.Group] = w
		}
		w.leaving++
		switch stage := n.Standing.Drain.Stage; {
		case stage == model.Removing || stage == model.Removed:
			w.gone++
		case stage == model.RollingBack || begins(steps[i], model.Untaint):
			w.back++
		case begins(steps[i], model.Remove):
			w.ready++
		}
		if at := removal.Emptied(n.Standing.Drain); at.After(w.emptied) {
			w.emptied = at
		}
	}
	return groups
}

// removeWhole is the last step of a node whose group is ready to go, unless a
// machine that the plan does not name would end with it.
func (m *maker) removeWhole(g *model.Group, w *whole, steps []removal.Step) []removal.Step {
	v, until := scaledown.Unnamed(m.snap, g), w.emptied.Add(scaledown.Unlisted)
	switch {
	case v != nil && m.snap.Now.Before(until):
		m.wakeAt(v.Until)
		m.wakeAt(until)
		return nil
	case v != nil:
		return untaint(v)
	case g.CloudChooses:
		steps[0].Whole = w.leaving
	}
	return steps
}

func begins(steps []removal.Step, verb model.Verb) bool {
	return len(steps) > 0 && steps[0].Verb == verb
}

func untaint(v *model.Verdict) []removal.Step {
	return []removal.Step{{Verb: model.Untaint, Reason: v.Reason, Why: v.Detail}}
}
