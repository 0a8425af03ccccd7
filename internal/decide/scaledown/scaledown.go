// Package scaledown decides which nodes go, and says for every other what
// holds it.
//
// What flows in: a snapshot, the world with all pending pods placed in it, which
// nodes those were placed on, and what the budgets for disruptions still allow.
// What flows out: nodes that nothing needs, all of which could go together, those
// whose removal starts now, and a verdict for each node that stays.
//
//	eligible? → candidates, in order → can its pods live elsewhere? → unneeded
//	unneeded → long enough, above every minimum, within the limits? → start
//
// A candidate that is accepted is committed to the world: its pods lie on other
// nodes from then on, what its budgets allowed is used up, and a node that pods
// were moved to stays. So the whole set is feasible at once; the limits on what
// runs at a time only say which part of it starts now.
//
// Who may import it: decide.
package scaledown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/repair"
	"github.com/plimsoll-dev/plimsoll/internal/decide/reserve"
	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Result is what was decided.
type Result struct {
	// Unneeded and Kept are in the order of the snapshot's nodes.
	Unneeded []model.NodeVerdict
	Kept     []model.NodeVerdict
	// Start are the nodes whose removal begins now.
	Start []Start
	// Wake is the earliest instant at which time alone would change this.
	Wake time.Time
	// Resume is the first candidate that the steps did not suffice for, empty if
	// they sufficed for all.
	Resume string
	// Homeless says of drafts why their pods have no room any more; nil of those that
	// the steps did not suffice for.
	Homeless map[model.NodeID]*model.Verdict
}

// Start is a removal that begins now.
type Start struct {
	Node model.NodeID
	// Known are the pods that are there: one that comes later stops it. It is empty
	// for a node without pods of its own.
	Known []types.UID
	// Reason is Unneeded, or that of its move.
	Reason model.Reason
	Why    string
}

// Input is what a decision on removals is made from.
type Input struct {
	Snapshot *model.Snapshot
	Policy   model.Policy
	// Room has all pending pods in its world and those of removals under way, but for
	// drafts, which are placed here. What is accepted uses up its budgets.
	Room *reserve.Room
	// Wanted are the nodes that pending pods were placed on.
	Wanted map[model.NodeID]bool
	// Moving are the classes of pods that are on their way: those of open drains, and
	// those that wait and have a place in the plan.
	Moving []model.ClassID
	// Growing are the groups, by index, that the same plan lets grow, or in which a
	// growth is under way; true: for anything but a move.
	Growing map[int]bool
	// Unseen counts the classes of pods that growth had no steps to place.
	Unseen int
	// Rate bounds how many nodes go because they are not ready.
	Rate *repair.Rate
	// Gate says which groups nodes may go from.
	Gate *gate.Gate
	// Kept is what the search before has left.
	Kept Kept
}

// Search is the search for nodes that go, with those found that nothing needs.
type Search struct {
	finder   *finder
	mark     schedsim.Mark
	order    []model.NodeID
	homeless map[model.NodeID]*model.Verdict
}

// Find finds the nodes that nothing needs. The world is left with all of them gone.
func Find(in Input) *Search {
	s := in.Snapshot
	f := &finder{
		Input: in, verdicts: make([]model.NodeVerdict, len(s.Nodes)), unneeded: make([]bool, len(s.Nodes)),
		minimums: newMinimums(s, in.Policy.ScaleDown, in.Gate), moves: make([]model.MovePolicy, len(s.Groups)),
		allowed: in.Room.Rules.Budgets(),
	}
	for i := range s.Groups {
		f.moves[i] = in.Policy.Moves.Of(&s.Groups[i])
	}
	f.before = f.minimums.clone()
	f.doubts, f.wake = doubts(s)
	f.promise()
	f.takeOver()
	// 1. Which nodes may go at all, as far as the node itself tells?
	candidates := f.candidates()
	nodes := make([]model.NodeID, len(candidates))
	for i := range candidates {
		nodes[i] = candidates[i].node
	}
	x := &Search{finder: f, order: reserve.Hosts(s, nodes), mark: f.Room.World.Mark()}
	// 2. Can those that are tainted go on?
	if len(f.Room.Drafts()) > 0 {
		x.homeless = f.placeDrafts(f.readyMover(x.order), f.Room.Receivers)
	}
	// 3. Can the pods of each candidate live elsewhere, together with those of all that
	// were accepted before it?
	f.accept(candidates, x.order)
	return x
}

// Kept is what the search leaves to the next one.
func (x *Search) Kept() Kept { return x.finder.keeps }

// Begin decides which of the nodes that go begin to, beside moves that begin in the same plan, and says of all others
// what holds them.
func (x *Search) Begin(moves []model.Move) Result {
	f := x.finder
	f.moving = moves
	r := f.result(f.begin(&present{finder: f, mark: x.mark, order: x.order}))
	r.Homeless = x.homeless
	return r
}

// readyMover moves pods onto nodes that are ready.
func (f *finder) readyMover(order []model.NodeID) *schedsim.Mover {
	return f.Room.World.Mover(reserve.ReadyOnly(f.Snapshot, slices.Clone(order)), f.Policy.ScaleDown.StepLimit)
}

// finder finds unneeded nodes. It serves one Plan.
type finder struct {
	Input
	minimums *minimums // counted down by what was accepted
	before   *minimums // as they were before that
	// moves says what may go from each group beside what nothing needs.
	moves []model.MovePolicy
	// preferences are those of all groups, once they are asked for.
	preferences []float64
	// allowed is what each budget lets go, whatever else goes.
	allowed  rules.Budgets
	verdicts []model.NodeVerdict // by node
	unneeded []bool
	accepted []*candidate
	// spare are empty nodes that a minimum keeps: nothing needs them, unless pods
	// are moved there.
	spare []*candidate
	// replaced are nodes of moves whose new nodes are ready, and movable those that nothing keeps but that
	// they are used.
	replaced []*candidate
	movable  []*candidate
	moving   []model.Move // that begin in this plan
	// received are the nodes that pods of accepted ones have room on.
	received map[model.NodeID]bool
	resume   string
	wake     time.Time
	doubts   map[model.ClassID]time.Time
	held     []candidate // memory for candidates
	keeps    Kept        // what this search leaves to the next
}

func (f *finder) keep(id model.NodeID, v model.Verdict) { f.verdicts[id].Verdict = v }

// accept goes through the candidates and commits each that can go.
func (f *finder) accept(list []*candidate, order []model.NodeID) {
	m := &mover{
		finder: f, moves: f.Room.World.Mover(order, f.Policy.ScaleDown.StepLimit), enough: true, untried: true,
		receivers: maps.Clone(f.Room.Receivers),
	}
	for i, c := range list {
		g := &f.Snapshot.Groups[f.Snapshot.Nodes[c.node].Group]
		if g.GoesWhole() {
			continue // all of them at once, below
		}
		if !m.enough {
			f.postpone(c)
			continue
		}
		if why := cmp.Or(f.Gate.Closed(f.Snapshot.Nodes[c.node].Group, gate.Spare), f.minimums.room(c.node)); why != nil {
			// What is above the minimum may be one that waits as it does: that is what keeps both.
			if c.waits {
				why = cmp.Or(f.waitsFor(c), lastServing(f.Room, f.Snapshot.Nodes[c.node], c.moving), why)
			}
			if f.keep(c.node, *why); c.empty() {
				f.spare = append(f.spare, c)
			}
			if c.due {
				f.mayMove(c)
			}
			continue
		}
		first := m.untried
		why := m.move(c)
		if !m.enough {
			f.postpone(c)
			if m.resume = f.Snapshot.Nodes[c.node].Name; first && i+1 < len(list) {
				// All steps were not enough for it: the others are not to wait for it.
				m.resume = f.Snapshot.Nodes[list[i+1].node].Name
			}
			continue
		}
		if why != nil {
			f.keep(c.node, *why)
			if why.Reason == model.NoPlaceToMovePods {
				f.mayMove(c)
			}
			continue
		}
		f.take(c)
	}
	f.acceptWhole(m, list)
	f.resume, f.received = m.resume, m.receivers
	for _, c := range f.spare {
		if m.receivers[c.node] {
			f.keep(c.node, *movedThere)
			continue
		}
		f.unneeded[c.node] = true
		f.verdicts[c.node].Since = f.since(c)
	}
}

// take counts a candidate among the unneeded.
func (f *finder) take(c *candidate) {
	f.unneeded[c.node] = true
	f.accepted = append(f.accepted, c)
	f.minimums.take(c.node)
}

// postpone says of a candidate that this cycle did not get to it.
func (f *finder) postpone(c *candidate) {
	f.keep(c.node, *tooFewSteps(f.Policy.ScaleDown))
}

func tooFewSteps(p model.ScaleDownPolicy) *model.Verdict {
	return &model.Verdict{Reason: model.StepBudget,
		Detail: spelling.Count(p.StepLimit, "step") + " were not enough for it",
		Fix:    "the next cycles, or a higher --decide-budget"}
}

// begin starts the removal of unneeded nodes, in the order in which they were
// accepted, as far as the limits allow.
func (f *finder) begin(g *present) []Start {
	b := newStarts(f.Input, f.before)
	var out []Start
	for _, c := range f.replaced {
		out = f.settle(b, c, b.replaced(c, f.since(c)), out)
	}
	moves := slices.Concat(f.Snapshot.Moves, f.moving)
	f.Snapshot.Promise(b.budgets, moves, func(id model.NodeID) bool { return b.begun[id] })
	for _, c := range f.accepted {
		if f.Snapshot.Groups[f.Snapshot.Nodes[c.node].Group].GoesWhole() {
			continue
		}
		why := b.blocked(c, f.since(c))
		if why == nil {
			why, _ = g.leave([]*candidate{c}, out)
		}
		out = f.settle(b, c, why, out)
	}
	return f.beginWhole(b, g, out)
}

// since is when a candidate was first found unneeded: now, if it was not before.
func (f *finder) since(c *candidate) time.Time {
	if c.since.IsZero() {
		return f.Snapshot.Now
	}
	return c.since
}

// settle says of an unneeded node what holds it, or lets its removal begin.
func (f *finder) settle(b *starts, c *candidate, why *model.Verdict, begun []Start) []Start {
	n, since := f.Snapshot.Nodes[c.node], f.since(c)
	if why == nil {
		b.take(c)
		text := "empty"
		if !c.empty() {
			text = what(n, c)
		}
		start := Start{Node: c.node, Known: f.known(c), Reason: model.Unneeded,
			Why: text + ", since " + since.UTC().Format(time.TimeOnly)}
		why = &model.Verdict{Reason: model.Unneeded, Detail: what(n, c)}
		if x := f.Room.ReplacedBy(c.node); x != nil {
			start.Reason, start.Why = x.Move.Reason, "a move: "+x.Move.Text()
			why = &model.Verdict{Reason: model.MoveUnderWay, Detail: x.Move.Text()}
		}
		begun = append(begun, start)
	}
	v := &f.verdicts[c.node]
	v.Verdict, v.Since = *why, since
	f.wakeAt(why.Until)
	return begun
}

// what says what an unneeded node is.
func what(n *model.Node, c *candidate) string {
	switch {
	case n.Kind == model.Unready && c.empty():
		return "not ready, and empty"
	case n.Kind == model.Unready:
		return "not ready, and " + itsPods(len(c.housed)) + " room elsewhere"
	case c.empty():
		return "empty"
	}
	return percent(c.use) + " used, and " + itsPods(len(c.housed)) + " room elsewhere"
}

func (f *finder) wakeAt(t time.Time) {
	if !t.IsZero() && (f.wake.IsZero() || t.Before(f.wake)) {
		f.wake = t
	}
}

// pace is how soon a search that ran out of steps goes on.
const pace = 10 * time.Second

func (f *finder) result(start []Start) Result {
	unneeded := 0
	for _, yes := range f.unneeded {
		if yes {
			unneeded++
		}
	}
	// The verdicts on nodes that stay are moved together, and not copied.
	r := Result{Start: start, Resume: f.resume, Kept: f.verdicts[:0]}
	if unneeded > 0 {
		r.Unneeded = make([]model.NodeVerdict, 0, unneeded)
	}
	for i := range f.verdicts {
		v := &f.verdicts[i]
		switch {
		case v.Node == "":
		case f.unneeded[i]:
			r.Unneeded = append(r.Unneeded, *v)
		default:
			r.Kept = append(r.Kept, *v)
			if v.Reason != model.NotReady { // the start of a node has its own timer
				f.wakeAt(v.Until)
			}
		}
	}
	if f.resume != "" {
		f.wakeAt(f.Snapshot.Now.Add(pace))
	}
	r.Wake = f.wake
	return r
}

func itsPods(n int) string {
	if n == 1 {
		return "its 1 pod has"
	}
	return fmt.Sprintf("its %d pods have", n)
}
