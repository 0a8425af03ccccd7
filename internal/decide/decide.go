// Package decide is the product: what to do, given a snapshot and a policy.
//
// What flows in: a frozen model.Snapshot. What flows out: a model.Plan, sorted,
// with a reason for all that was not done. Deciding never fails: where it must
// not act, it returns a plan that says why. It is pure: the clock is the
// snapshot's Now, chance is its Seed, and budgets are counted in steps, so that
// the same snapshot gives the same plan on any machine.
//
//	snapshot → health → what does not arrive → growth → removals → plan
//
// These are the nine steps of a cycle, by number; see docs/architecture.md.
//
// Who may import it: loop and the hosts.
package decide

import (
	"cmp"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/repair"
	"github.com/plimsoll-dev/plimsoll/internal/decide/replace"
	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaledown"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Decide makes the plan for one snapshot.
func Decide(s *model.Snapshot, p model.Policy) model.Plan {
	var d Decider
	defer d.Close()
	return d.Decide(s, p)
}

// Decider is Decide with a memory that only saves work: its plans are those of
// Decide. It serves one goroutine.
type Decider struct {
	world *schedsim.World
	kept  scaledown.Kept
	steps atomic.Int64
}

// Steps counts the steps of all decisions so far. It may be read while one is being
// made, from any goroutine: one that gets on counts.
func (d *Decider) Steps() int64 { return d.steps.Load() }

// Decide makes the plan for one snapshot.
func (d *Decider) Decide(s *model.Snapshot, p model.Policy) model.Plan {
	// 1. All nodes, as the snapshot has them, become a cluster in memory.
	d.load(s, p)
	// 2. An unhealthy cluster is left alone, and looked at again a little later.
	if s.Unhealthy != nil {
		return halted(s, p)
	}
	m := d.serve(s, p)
	m.room.GatherDrafts(m.wanted)
	m.room.PlaceLeaving()
	// 8. Nodes that nothing needs are found, and moves that are worth it. Removals under way go on,
	// or are taken back.
	search := m.findUnneeded(d.kept)
	d.kept = search.Kept()
	m.findMoves(search)
	m.hold(search.Begin(m.plan.Moves))
	m.advance()
	// 9. Some of the unneeded nodes begin to go; the others are marked.
	m.begin()
	m.mark()
	return m.finish()
}

// Serve makes the part of a plan by which pods that wait get room. What removes and replaces nodes comes after it, and
// lets none in.
func (d *Decider) Serve(s *model.Snapshot, p model.Policy) model.Plan {
	d.load(s, p)
	if s.Unhealthy != nil {
		return halted(s, p)
	}
	return d.serve(s, p).plan
}

// serve begins a plan with all that pods get room by.
func (d *Decider) serve(s *model.Snapshot, p model.Policy) *maker {
	m := &maker{
		snap: s, policy: p, gate: gate.New(s, p), rate: repair.NewRate(s), room: reserve.New(s, p, d.world),
	}
	m.plan.Interruptions = m.gate.Interruptions()
	for _, d := range m.gate.Distrusts() {
		m.wakeAt(d.Until)
	}
	// 3. and 4. What does not arrive is given up. Nothing else is done to its group then.
	m.repair()
	// Pods whose nodes are being emptied have room before all others (rule L7).
	m.room.PlaceBegun()
	m.room.PlaceMoves()
	m.plan.MadeUp = m.room.MadeUp()
	// 5. to 7. Pods that wait: room that is there or on its way, then new nodes. They may
	// have the room of drafts, or the draft itself, before anything is bought.
	m.grow()
	return m
}

// ReservedFor are the pods for which a plan reserves a node of the snapshot, by class: those that wait, and those of
// nodes that leave.
func ReservedFor(s *model.Snapshot, p model.Policy, node model.NodeID) []model.Batch {
	if s.Unhealthy != nil {
		return nil
	}
	var d Decider
	defer d.Close()
	d.load(s, p)
	return d.serve(s, p).room.World.PlacedOn(node)
}

// load makes the snapshot a cluster in memory. To load a node takes a step.
func (d *Decider) load(s *model.Snapshot, p model.Policy) {
	d.world = schedsim.Load(d.world, s)
	d.world.AskPlugins(p.Disallowed)
	d.world.CountSteps(&d.steps)
	d.steps.Add(int64(len(s.Nodes)))
}

// Close releases what the decider holds of shared things.
func (d *Decider) Close() {
	d.kept = scaledown.Kept{}
	if d.world != nil {
		d.world.Close()
		d.world = nil
	}
}

// maker makes one plan.
type maker struct {
	snap   *model.Snapshot
	policy model.Policy
	plan   model.Plan
	gate   *gate.Gate
	rate   *repair.Rate
	room   *reserve.Room
	up     scaleup.Result
	down   scaledown.Result
	// waited are the classes of pods that wait and have a place in the plan, and wanted
	// the nodes of the snapshot on which they have it.
	waited []model.ClassID
	wanted map[model.NodeID]bool
}

// repair gives up what does not arrive.
func (m *maker) repair() {
	fix := repair.Plan(m.snap, m.policy, m.rate, m.gate)
	for i := range fix.Steps {
		m.call(repairCall(m.snap, m.policy, &fix.Steps[i]))
	}
	if m.policy.Repair.WholeCycle && fix.Resized() {
		for i := range m.snap.Groups {
			m.gate.Close(i, model.Verdict{Reason: model.Resizing, Detail: "another group is resized", Fix: "the next cycle"})
		}
	}
	m.plan.Repair = fix.Verdicts
	m.wakeAt(fix.Wake)
}

// grow finds room for the pods that wait, and buys nodes for the others.
func (m *maker) grow() {
	m.up = scaleup.Plan(m.room.World, m.snap, m.policy, m.gate)
	up, plan := &m.up, &m.plan
	plan.Grow, plan.Pending, plan.Nodes, plan.LowerBound = up.Grow, up.Pending, up.Nodes, up.LowerBound
	plan.Price, plan.PriceBound, plan.Tighter = up.Price, up.PriceBound, up.Tighter
	plan.Notices, plan.Brakes, plan.Shares, plan.Unseen = up.Notices, up.Brakes, up.Shares, up.Unseen
	for i := range up.Grow {
		m.call(growCall(m.snap, m.policy, &up.Grow[i]))
	}
	m.wakeAt(up.Wake)
	m.wanted = m.room.World.Reserved()
	for i := range up.Pending {
		if v := &up.Pending[i]; v.Skipped == nil && v.Existing+v.Upcoming+v.Planned > 0 {
			m.waited = append(m.waited, v.Class)
		}
	}
}

// findUnneeded finds the nodes that nothing needs.
func (m *maker) findUnneeded(kept scaledown.Kept) *scaledown.Search {
	return scaledown.Find(scaledown.Input{
		Snapshot: m.snap, Policy: m.policy, Gate: m.gate, Rate: m.rate, Room: m.room, Wanted: m.wanted,
		Moving: m.room.Moving(m.waited), Growing: m.growing(), Unseen: len(m.up.Unseen), Kept: kept,
	})
}

// findMoves finds nodes that are worth replacing, and begins to buy for some of them.
func (m *maker) findMoves(search *scaledown.Search) {
	if !search.Replaces() {
		return
	}
	r := replace.Find(replace.Input{
		Snapshot: m.snap, Policy: m.policy, World: m.room.World, Search: search, Quiet: m.busy(),
		Buyer: scaleup.NewBuyer(m.room.World, m.snap, m.policy.ScaleUp, m.gate, m.up.Grow),
	})
	for i := range r.Begin {
		x := &r.Begin[i]
		for j := range x.Comes {
			c := moveCall(m.snap, m.policy, x, &x.Comes[j])
			x.Comes[j].Ask = c.ID
			m.call(c)
		}
	}
	m.plan.Moves, m.plan.Worth = r.Begin, r.Worth
	m.wakeAt(r.Wake)
}

// busy says why no move begins in this plan: pods that wait come first.
func (m *maker) busy() *model.Verdict {
	switch {
	case len(m.up.Grow) > 0 || len(m.up.Unseen) > 0 || slices.ContainsFunc(m.up.Pending, isUpcoming):
		return &model.Verdict{Detail: "pods that wait come first", Fix: "they have nodes"}
	case m.snap.LastGrowth.Add(m.policy.ScaleDown.DelayAfterAdd).After(m.snap.Now):
		return &model.Verdict{Detail: fmt.Sprintf("nothing moves for %s after a scale-up", m.policy.ScaleDown.DelayAfterAdd),
			Until: m.snap.LastGrowth.Add(m.policy.ScaleDown.DelayAfterAdd), Fix: "time"}
	}
	return nil
}

// isUpcoming reports whether pods are to come to nodes that are on their way: a move might take their place, or leave
// it against a skew.
func isUpcoming(v model.PendingVerdict) bool { return v.Skipped == nil && v.Upcoming > 0 }

// hold takes over what the search for unneeded nodes has found.
func (m *maker) hold(r scaledown.Result) {
	m.down = r
	m.plan.Unneeded, m.plan.Kept, m.plan.Resume = m.down.Unneeded, m.down.Kept, m.down.Resume
	m.wakeAt(m.down.Wake)
}

// growing are the groups, by index, that the plan lets grow or that a scale-up is
// under way in; true: for anything but a move.
func (m *maker) growing() map[int]bool {
	groups := map[int]bool{}
	for i := range m.snap.Groups {
		g := &m.snap.Groups[i]
		planned := slices.ContainsFunc(m.up.Grow, func(x model.Growth) bool { return x.Group == g.ID })
		if planned || (g.Busy != nil && g.Busy.Verb == model.Grow && g.Busy.Group == g.ID) {
			groups[i] = planned || !g.Busy.Reason.OfMove()
		}
	}
	return groups
}

// begin begins to remove nodes that the search has chosen.
func (m *maker) begin() {
	for _, start := range m.down.Start {
		n := m.snap.Nodes[start.Node]
		m.call(nodeCall(m.snap, m.policy, n, removal.Step{
			Verb: model.Taint, Reason: start.Reason, Unready: n.Kind == model.Unready, Known: start.Known, Why: start.Why,
		}))
	}
}

// finish sorts the plan, and says when time alone would change it.
func (m *maker) finish() model.Plan {
	m.wakeAt(m.room.Wake)
	m.wakeAt(m.room.World.Wake())
	m.wakeAt(m.snap.SettledUntil)
	for i := range m.snap.Nodes {
		m.wakeAt(m.snap.Nodes[i].BootsUntil)
	}
	slices.SortFunc(m.plan.Calls, func(a, b model.Call) int { return cmp.Compare(a.ID, b.ID) })
	m.plan.Notices = append(m.plan.Notices, panics(m.snap, m.room.World)...)
	m.plan.Notices = append(m.plan.Notices, disallowed(m.policy)...)
	m.plan.Work = m.room.World.Work()
	m.plan.Work.Options, m.plan.Work.Allowed = m.up.Options, m.policy.Steps
	return m.plan
}

func (m *maker) call(c model.Call) { m.plan.Calls = append(m.plan.Calls, c) }

func (m *maker) wakeAt(t time.Time) { m.plan.Wake = earliest(m.plan.Wake, t) }

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
