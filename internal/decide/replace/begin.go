package replace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// begin lets the best moves begin, as far as the limits allow, and says of the nodes of others what they wait for.
func (f *finder) begin() {
	// Moves of nodes that are due were found first, and stay in that order.
	cheaper := slices.IndexFunc(f.found, func(m found) bool { return m.due == nil })
	if cheaper >= 0 {
		slices.SortStableFunc(f.found[cheaper:], func(a, b found) int {
			return cmp.Or(turn(a.first)-turn(b.first), cmp.Compare(b.Savings()/b.pain, a.Savings()/a.pain))
		})
	}
	f.s.Promise(f.book, f.s.Moves, func(model.NodeID) bool { return false })
	going := 0
	for i := range f.s.Moves {
		if m := &f.s.Moves[i]; m.Open() {
			going += len(m.Going())
			f.wakeAt(m.Entered.Add(m.Patience))
			f.wakeAt(m.DrainAt)
		}
	}
	grows := map[int]bool{}
	for i := range f.found {
		m := &f.found[i]
		m.ID = fmt.Sprintf("move/%s/%d", m.Goes[0], f.s.Now.UnixNano())
		m.Patience, m.Stay = f.p.Patience, m.gate.Stay
		m.Began, m.Entered, m.DrainAt = f.s.Now, f.s.Now, f.drainAt(m)
		why := f.waits(m, going, grows)
		for _, id := range m.nodes {
			v := model.Verdict{Reason: m.Reason, Fix: "time", Detail: m.would()}
			if why != nil {
				v.Until, v.Fix = why.Until, why.Fix
				v.Detail += "; " + why.Detail
			} else {
				v = model.Verdict{Reason: model.MoveUnderWay, Detail: m.Text(), Since: f.s.Now, Fix: "its end"}
			}
			f.Search.Hold(id, v)
		}
		if why != nil {
			f.wakeAt(why.Until)
			f.Worth = append(f.Worth, model.WaitingMove{Move: m.Move, Waits: *why})
			continue
		}
		for group := range m.comes {
			grows[group] = true
		}
		for _, id := range m.nodes {
			f.book.Take(f.s.Nodes[id].Group, exitOf(m.Reason), 1)
		}
		going += len(m.Goes)
		f.wakeAt(m.DrainAt)
		f.Begin = append(f.Begin, m.Move)
	}
}

// drainAt is when the notice that the cloud gives is over but for the time that pods have to end, zero where no end of
// it is known. The notice of spot capacity is short. A move of one of the nodes that was given up has begun that time.
func (f *finder) drainAt(m *found) time.Time {
	var at time.Time
	if m.Reason != model.NodeInterrupted {
		return at
	}
	if m.spot {
		at = f.s.Now.Add(model.SpotNotice - m.grace)
	}
	for _, id := range m.nodes {
		if until := f.s.Nodes[id].DrainedBy(); !until.IsZero() && (at.IsZero() || until.Add(-m.grace).Before(at)) {
			at = until.Add(-m.grace)
		}
	}
	if at.IsZero() {
		return at
	}
	for i := range f.s.Moves {
		x := &f.s.Moves[i]
		again := slices.ContainsFunc(m.Goes, func(name string) bool { return slices.Contains(x.Going(), name) })
		if again && x.DrainAt.Before(at) && f.s.Now.Before(x.DrainAt.Add(model.SpotNotice)) {
			at = x.DrainAt
		}
	}
	return at
}

// overBudget says which budget keeps the nodes of a move from going, by group.
func (f *finder) overBudget(m *found) *budget.Held {
	counts := map[int]int{}
	for _, id := range m.nodes {
		counts[f.s.Nodes[id].Group]++
	}
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		// All of them count in each of its groups: they go for one decision, and we err to waiting.
		if h := f.book.Ask(group, exitOf(m.Reason), len(m.nodes)); h != nil {
			return h
		}
	}
	return nil
}

// waits says what a move that is worth it waits for, nil if for nothing.
func (f *finder) waits(m *found, going int, grows map[int]bool) *model.Verdict {
	down := f.Policy.ScaleDown
	most, flag := f.atOnce()
	switch {
	case !down.Enabled:
		return &model.Verdict{Detail: "removals are off", Fix: "--scale-down-enabled"}
	case m.Reason == model.NodeInterrupted:
		return f.collides(m, grows) // the cloud does not wait
	case f.Quiet != nil:
		return f.Quiet
	case going+len(m.Goes) > most:
		return &model.Verdict{Detail: fmt.Sprintf("%s on the way to be replaced, of %d at a time",
			spelling.Count(going, "node"), most), Fix: "their end, or a " + flag}
	}
	if h := f.overBudget(m); h != nil {
		return &model.Verdict{Detail: fmt.Sprintf("budget %s: %s", h.Budget, h.Detail), Until: h.Until, Fix: h.Fix}
	}
	if v := f.collides(m, grows); v != nil || m.due != nil {
		return v
	}
	// Each of its nodes has been worth it for as long as one must have been unneeded.
	for _, id := range m.nodes {
		n := f.s.Nodes[id]
		wait := down.UnneededTime
		if t := f.s.Groups[n.Group].Options.ScaleDownUnneededTime; t != nil {
			wait = *t
		}
		since := f.s.Now
		if n.Standing.Held == m.Reason {
			since = n.Standing.HeldSince
		}
		if until := since.Add(wait); until.After(f.s.Now) {
			return &model.Verdict{Detail: fmt.Sprintf("that must be so for %s", wait), Until: until, Fix: "time"}
		}
	}
	return nil
}

// collides says what else this plan does, or the last one did, that a move must not come between.
func (f *finder) collides(m *found, grows map[int]bool) *model.Verdict {
	for group := range m.comes {
		if grows[group] {
			return &model.Verdict{Detail: "another move buys from the same group", Fix: "the next cycle"}
		}
	}
	for _, id := range m.nodes {
		if n := f.s.Nodes[id]; n.Standing.AwaitVersion != "" || n.Standing.Busy != nil {
			return &model.Verdict{Detail: "a write to node " + n.Name + " has not been seen yet", Fix: "the next cycle"}
		}
	}
	return nil
}

// would says what it is for.
func (m *found) would() string {
	if m.due != nil {
		return m.due.Detail + "; " + m.Text()
	}
	if m.ByPriority() {
		return m.Text() + ", which the priorities prefer"
	}
	return fmt.Sprintf("%s would save %.4g an hour", m.Text(), m.Savings())
}
