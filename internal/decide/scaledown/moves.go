package scaledown

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// ofMove sorts out a node that goes for an open move, and reports whether it is one. It begins to go when
// all that was bought is ready and its pods have room, whatever its use is and however long that has been so.
func (f *finder) ofMove(c *candidate) bool {
	x := f.Room.ReplacedBy(c.node)
	if x == nil {
		return false
	}
	m := x.Move
	switch {
	case m.Stage == model.MoveBuying:
		f.keep(c.node, model.Verdict{Reason: model.MoveUnderWay, Since: m.Began, Fix: "all that was bought is ready",
			Detail: m.Text() + ", which are on their way"})
	case x.Why != nil:
		f.keep(c.node, *x.Why)
	case m.Reason == model.NodeUnready && f.Snapshot.Nodes[c.node].Kind == model.Ready:
		f.keep(c.node, model.Verdict{Reason: model.MoveUnderWay, Since: m.Began, Fix: "the move's end",
			Detail: m.Text() + "; it is ready again, and stays"})
	default:
		why := f.blocked(c)
		if why == nil {
			why = f.cameOfMove(c, m)
		}
		if why == nil {
			if why = f.overBudget(c.judgement, f.Room.Budgets); why == nil {
				f.Room.Budgets.Spend(c.asks)
			}
		}
		if why != nil {
			f.keep(c.node, *why)
			break
		}
		if f.Snapshot.Nodes[c.node].Kind != model.Unready { // whose own time counts
			c.since = m.Began
		}
		f.unneeded[c.node] = true
		f.replaced = append(f.replaced, f.hold(*c))
	}
	return true
}

// cameOfMove keeps a node that goes for the money while a pod is on it that came for an evicted one: from another node
// of a move, or from this one before it was given back. It rests as long as the nodes of a move that is over. What was
// on the node when this one began was asked for then; a pod that was made shortly before may not have been.
func (f *finder) cameOfMove(c *candidate, m *model.Move) *model.Verdict {
	n := f.Snapshot.Nodes[c.node]
	if m.Reason != model.CheaperElsewhere && m.Reason != model.PreferredElsewhere || n.Kind != model.Ready ||
		f.interrupted(n) {
		return nil
	}
	var why *model.Verdict
	for _, p := range c.moving {
		until := time.Unix(p.Created, 0).Add(m.Stay)
		if until.After(f.Snapshot.Now) && model.CameAfter(p.Created, m.Began.Add(-bindsWithin)) &&
			f.Snapshot.Displaced[p.Owner].Moved(p.Created) && (why == nil || until.After(why.Until)) {
			why = &model.Verdict{Reason: model.MovedLately, Until: until, Fix: "time, or a shorter --move-stay",
				Detail: fmt.Sprintf("pod %s came for an evicted one", p.Name)}
		}
	}
	return why
}

// bindsWithin is how long a pod may wait for a node while nothing is wrong. We err to keeping a pod where it is.
const bindsWithin = time.Minute

// promise counts the old nodes of moves under way that have not begun to go as gone: the room above the minimums is
// theirs. Another node that took it would have the move wait in vain, and what it bought stay. One whose pods have no
// room, since what came is another than was bought, holds no others: it rather does not go at all.
func (f *finder) promise() {
	for i, n := range f.Snapshot.Nodes {
		x := f.Room.ReplacedBy(model.NodeID(i))
		if x == nil || n.Group < 0 || n.Kind == model.Leaving ||
			x.Move.Stage == model.MoveEmptying && x.Why != nil && x.Why.Reason == model.NoPlaceToMovePods {
			continue
		}
		f.minimums.take(model.NodeID(i))
		f.minimums.moves[n.Group]++
	}
}

// mayMove notes a node that could go if its pods had room, where moves are asked for.
func (f *finder) mayMove(c *candidate) {
	n := f.Snapshot.Nodes[c.node]
	due := f.due(c.node)
	wanted := f.moves[n.Group].Cheaper() || due != nil || f.behind(n.Group)
	if !wanted || n.Kind != model.Ready && due == nil || f.Snapshot.Groups[n.Group].GoesWhole() {
		return
	}
	var why *model.Verdict
	if c.judgement == nil {
		why = f.blocked(c)
	}
	if why == nil && (due == nil || due.Reason != model.NodeInterrupted) { // the cloud does not ask budgets
		if why = f.overBudget(c.judgement, f.allowed); why == nil {
			why = f.wouldWait(c)
		}
	}
	if why != nil {
		f.keep(c.node, *why) // its use would not keep it from a move
		return
	}
	for _, op := range []gate.Op{gate.Spare, gate.Begin} {
		if why := f.Gate.Closed(n.Group, op); why != nil {
			f.wakeAt(why.Until) // its verdict is another one, which wakes nothing
			return
		}
	}
	f.movable = append(f.movable, f.hold(*c))
}

// wouldWait says what a node would wait for when all that a move of it buys is there, and does so for longer than is
// usual now: what was bought would stand idle.
func (f *finder) wouldWait(c *candidate) *model.Verdict {
	if v := lastServing(f.Room, f.Snapshot.Nodes[c.node], c.moving); v != nil {
		return v
	}
	if f.waits(c) {
		return f.waitsFor(c)
	}
	return nil
}

// due says why a node is to be replaced whatever that costs, nil if it is not.
func (f *finder) due(id model.NodeID) *model.Verdict {
	n := f.Snapshot.Nodes[id]
	return f.moves[n.Group].Due(n, f.Snapshot.Now)
}

// behind reports whether nodes of a group are to go back to others that the priorities prefer, and there is one.
func (f *finder) behind(group int) bool {
	if !f.moves[group].Return || !f.Policy.ScaleUp.Prefers() {
		return false
	}
	return f.preference(group) > slices.Min(f.preferences)
}

// preference is the less, the more the priorities prefer a group.
func (f *finder) preference(group int) float64 {
	if f.preferences == nil {
		f.preferences = f.Snapshot.Preferences()
	}
	return f.preferences[group]
}

// onlyEmpty keeps a node with pods whose group lets only empty ones go.
func (f *finder) onlyEmpty(group int) *model.Verdict {
	if !f.moves[group].OnlyEmpty() {
		return nil
	}
	v := &model.Verdict{Reason: model.NotUnderutilized, Detail: "it has pods, and only empty nodes go",
		Fix: "another --consolidation"}
	if f.Snapshot.Groups[group].Settled.Moves.Consolidation != nil {
		v.Fix = "another consolidation in a policy of its group"
	}
	return v
}

// Replaces reports whether nodes of any group may go for others that are bought first.
func (x *Search) Replaces() bool {
	return slices.ContainsFunc(x.finder.moves, func(p model.MovePolicy) bool { return p.Replaces() }) ||
		slices.ContainsFunc(x.finder.Snapshot.Nodes, func(n *model.Node) bool { return n.Interrupted != nil })
}

// Behind reports whether nodes of a group are to go back to others that the priorities prefer.
func (x *Search) Behind(group int) bool { return x.finder.behind(group) }

// Preference is the less, the more the priorities prefer a group.
func (x *Search) Preference(group int) float64 { return x.finder.preference(group) }

// MovesOf says what may go from a group, and what a move of its nodes must be worth.
func (x *Search) MovesOf(group int) *model.MovePolicy { return &x.finder.moves[group] }

// Movable is a node that nothing keeps but its pods, which have no room elsewhere, or are too many to be moved
// for nothing; or one that is to be replaced, and whose group has no node to spare.
type Movable struct {
	Node model.NodeID
	// Due says why it is to be replaced whatever that costs, nil if it is not.
	Due *model.Verdict
	// Housed are the pods that must have room elsewhere, and Moving those that are to be evicted.
	Housed []model.Batch
	Moving []*model.Pod
}

// Movable lists the nodes that a move may replace, in the order of the snapshot's nodes.
func (x *Search) Movable() []Movable {
	f := x.finder
	var out []Movable
	for _, c := range f.movable {
		out = append(out, Movable{
			Node: c.node, Due: f.due(c.node), Housed: f.housed(c), Moving: c.moving,
		})
	}
	return out
}

// MayGo says which minimum keeps some of a few nodes, beside those that were taken; nil if none does.
func (x *Search) MayGo(nodes []model.NodeID) *model.Verdict {
	left := x.finder.minimums.clone()
	for _, id := range nodes {
		if why := left.room(id); why != nil {
			return why
		}
		left.take(id)
	}
	return nil
}

// Take counts nodes as gone for a move.
func (x *Search) Take(nodes []model.NodeID) {
	for _, id := range nodes {
		x.finder.minimums.take(id)
	}
}

// ShutUnneeded keeps pods off the nodes that nothing needs. Those that had pods take none already.
func (x *Search) ShutUnneeded() {
	for _, c := range x.finder.accepted {
		x.finder.Room.World.Shut(c.node)
	}
}

// Received reports whether pods of nodes that go have room on a node.
func (x *Search) Received(id model.NodeID) bool { return x.finder.received[id] }

// Hold says of a node what the search for moves has found out. One that nothing needs, and that a minimum keeps, is
// unneeded since it was found so, whatever it is to be replaced for: from one cycle to the next the same one is kept.
func (x *Search) Hold(id model.NodeID, v model.Verdict) {
	if f := x.finder; f.unneeded[id] {
		v.Since = f.verdicts[id].Since
	}
	x.finder.keep(id, v)
}
