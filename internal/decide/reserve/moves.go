package reserve

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Replaced is a node of an open move that has not begun to go.
type Replaced struct {
	Move *model.Move
	// Why says why its pods do not have their room yet; nil if they do, and have left the node in the world.
	Why *model.Verdict
}

// findMoves finds the nodes of open moves: those that go, and those that were bought.
func (r *Room) findMoves() {
	if len(r.snap.Moves) == 0 {
		return
	}
	r.replaced, r.bought = map[model.NodeID]*Replaced{}, map[model.NodeID]*model.Move{}
	for i := range r.snap.Moves {
		m := &r.snap.Moves[i]
		if !m.Open() {
			continue
		}
		for _, name := range m.Going() {
			if id, ok := r.nodeNamed(name); ok {
				r.replaced[id] = &Replaced{Move: m}
			}
		}
		for _, name := range m.Bought() {
			if id, ok := r.nodeNamed(name); ok {
				r.bought[id] = m
			}
		}
	}
}

func (r *Room) nodeNamed(name string) (model.NodeID, bool) {
	at := slices.IndexFunc(r.snap.Nodes, func(n *model.Node) bool { return n.Object != nil && n.Name == name })
	return model.NodeID(at), at >= 0
}

// ReplacedBy is the open move that a node goes for, nil if there is none.
func (r *Room) ReplacedBy(id model.NodeID) *Replaced { return r.replaced[id] }

// BoughtFor is the open move that a node was bought for, nil if there is none.
func (r *Room) BoughtFor(id model.NodeID) *model.Move { return r.bought[id] }

// PlaceMoves places the pods of nodes that go for a move, before those that wait: what was bought for them
// is theirs. While not all of it is ready, nodes on their way count.
func (r *Room) PlaceMoves() {
	left := r.policy.ScaleDown.StepLimit
	for _, stage := range []model.MoveStage{model.MoveEmptying, model.MoveBuying} {
		var mover *schedsim.Mover
		for id := range r.snap.Nodes {
			n, x := r.snap.Nodes[id], r.replaced[model.NodeID(id)]
			if x == nil || x.Move.Stage != stage || n.Standing.Drain != nil || n.Kind != model.Ready {
				continue
			}
			if mover == nil {
				mover = r.moverFor(stage, boughtFirst, left)
			}
			r.placeReplaced(mover, model.NodeID(id), x)
			left = mover.Left()
			if why := x.Why; why != nil && why.Reason == model.NoPlaceToMovePods {
				// A pod that fits elsewhere may have the room that was bought for one that does not.
				x.Why, mover = nil, r.moverFor(stage, boughtLast, left)
				r.placeReplaced(mover, model.NodeID(id), x)
				left, mover = mover.Left(), nil
				if x.Why != nil {
					x.Why = why
				}
			}
		}
	}
}

// The nodes that were bought for moves are tried before others, since what others have is left for pods of nodes that
// nothing needs; or after them.
const (
	boughtFirst = true
	boughtLast  = false
)

// moverFor moves pods onto nodes that stay, those that were bought for moves first or last.
func (r *Room) moverFor(stage model.MoveStage, bought bool, steps int) *schedsim.Mover {
	awaited, due := r.awaited(), r.due()
	hosts := slices.DeleteFunc(Hosts(r.snap, nil), func(id model.NodeID) bool {
		n := r.snap.Nodes[id]
		if r.replaced[id] != nil || awaited[n.Name] {
			return true
		}
		if n.Kind == model.Ready {
			return false
		}
		due[n.Group]--
		return stage == model.MoveEmptying || due[n.Group] < 0
	})
	turn := func(id model.NodeID) int {
		if bought == (r.bought[id] != nil || r.snap.Nodes[id].Kind != model.Ready) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(hosts, func(a, b model.NodeID) int { return turn(a) - turn(b) })
	return r.World.Mover(hosts, steps)
}

// due counts, by group, the nodes on their way that were bought for moves. Others are for pods that wait: a move whose
// own nodes came up different would take them, and more be bought for those pods, one after the other.
func (r *Room) due() map[int]int {
	out := map[int]int{}
	for i := range r.snap.Moves {
		m := &r.snap.Moves[i]
		for _, c := range m.Comes {
			at := slices.IndexFunc(r.snap.Groups, func(g model.Group) bool { return g.ID == c.Group })
			if m.Stage == model.MoveBuying && at >= 0 {
				out[at] += c.Count - len(c.Nodes)
			}
		}
	}
	return out
}

// bindsWithin is how long the room on a node that has come is left for the pods that it was bought for.
const bindsWithin = 2 * time.Minute

// awaited are the nodes that have just come for pods that wait still: the scheduler is about to bind those. Without
// that a move would take their room, and others be bought for them.
func (r *Room) awaited() map[string]bool {
	waits, out := map[string]bool{}, map[string]bool{}
	for i := range r.snap.Pending {
		waits[r.snap.Classes[r.snap.Pending[i].Class].Digest()] = true
	}
	for _, a := range r.snap.Arrivals {
		until := a.Ready.Add(bindsWithin)
		if until.After(r.snap.Now) && slices.ContainsFunc(a.For, func(class string) bool { return waits[class] }) {
			out[a.Node] = true
			r.wakeAt(until)
		}
	}
	return out
}

// presses reports whether a node of a move is drained now whatever has come.
func (r *Room) presses(id model.NodeID, m *model.Move) bool {
	n := r.snap.Nodes[id]
	if n.Object == nil {
		return false
	}
	// Another node of its move may have the shorter notice.
	until := n.DrainedBy()
	short := r.snap.Spot(n) || !until.IsZero() && !r.snap.Now.Before(until.Add(-r.policy.ScaleDown.Drain.MaxGrace))
	return m.Presses(r.snap.Now) && short && r.snap.InterruptedBy(&r.policy.Moves, n) != ""
}

func (r *Room) placeReplaced(mover *schedsim.Mover, id model.NodeID, x *Replaced) {
	var moving []*model.Pod
	for _, q := range r.podsOf(r.snap.Nodes[id]) {
		if q.Answer.Kind == rules.Blocks {
			v := q.Answer.Verdict
			x.Why = &v
			return
		}
		if NeedsRoom(q.Answer, q.Facts) {
			moving = append(moving, q.Pod)
		}
	}
	puts, stuck, enough := mover.Move(id, Batches(r.snap, moving))
	switch {
	case r.presses(id, x.Move): // what has no room yet waits for it, and does not end with the machine
	case !enough:
		x.Why = &model.Verdict{Reason: model.StepBudget, Fix: "the next cycles",
			Detail: "no steps were left to find room for its pods"}
	case stuck != nil:
		x.Why = NoPlace(r.snap, moving, stuck)
	}
	r.receive(puts)
}
