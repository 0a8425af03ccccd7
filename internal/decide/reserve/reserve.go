// Package reserve keeps room for pods whose nodes go.
//
// What flows in: a snapshot, and the world that its plan is made in. What flows
// out: the same world with those pods in it, what budgets for disruptions still
// allow, and the nodes that receive the pods and therefore stay. Pods are served
// in this order:
//
//  1. pods of removals that have moved pods: no other pod may have their room (rule L7); then pods of nodes
//     that go for a move
//  2. pods that wait for a node: growth places these, between 1 and 3
//  3. pods of drafts, which are removals that have got no further than the taint. The
//     search for unneeded nodes places them, as it did before it began the removal
//  4. pods of nodes that another client removes
//
// Pure. Who may import it: decide and scaledown.
package reserve

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Room is what one plan reserves. It serves one goroutine.
type Room struct {
	World *schedsim.World
	Rules *rules.Cluster
	// Budgets is what may still be disrupted. Pods that are to be evicted use it up.
	Budgets rules.Budgets
	// Receivers are the nodes on which pods of others have their room.
	Receivers map[model.NodeID]bool
	// Removals are those under way, in the order of their nodes.
	Removals []Removal
	// Wake is when a controller that owes a pod has had its time, a pod of it has lacked a node for long, or a node that
	// came for pods that wait has had its time; zero if none.
	Wake time.Time

	snap   *model.Snapshot
	policy model.Policy
	made   map[types.UID]*made
	lacks  map[types.UID]lack
	// shorts are made when they are first asked for.
	shorts map[types.UID]*short
	fewest int // how many serve of that one of them of which the fewest do
	uneven map[model.ClassID]bool
	// replaced and bought are the nodes of open moves.
	replaced map[model.NodeID]*Replaced
	bought   map[model.NodeID]*model.Move
}

// New is the room before anything is reserved.
func New(s *model.Snapshot, p model.Policy, w *schedsim.World) *Room {
	r := &Room{World: w, Rules: rules.Of(s, p), Receivers: map[model.NodeID]bool{}, snap: s, policy: p}
	r.Budgets = r.Rules.Budgets()
	r.findMoves()
	r.findRemovals()
	r.made = madeSince(s)
	r.lacks, r.Wake = lacking(s, r.made)
	return r
}

func (r *Room) wakeAt(t time.Time) {
	if r.Wake.IsZero() || t.Before(r.Wake) {
		r.Wake = t
	}
}

// PlaceBegun places the pods of removals that have moved pods.
func (r *Room) PlaceBegun() {
	r.gather(func(o *Removal) bool { return !r.IsDraft(o) })
	r.findUneven()
	var mover *schedsim.Mover
	for i := range r.Removals {
		o := &r.Removals[i]
		if len(o.Moving) == 0 {
			continue
		}
		if mover == nil {
			mover = r.mover()
		}
		puts, stuck, enough := mover.Move(o.Node, Batches(r.snap, o.Moving))
		switch {
		case !enough:
			o.View.Unsure = true
		case stuck != nil:
			o.View.Homeless = NoPlace(r.snap, o.Moving, stuck)
		case r.snap.InterruptedBy(&r.policy.Moves, r.snap.Nodes[o.Node]) != "": // its machine goes in any case
		case o.View.Replacement != "",
			!slices.ContainsFunc(o.Moving, func(p *model.Pod) bool { return p.Flags&model.Terminating == 0 }):
			r.World.Return(o.Node) // a rollback costs less than another node
		}
		r.receive(puts)
	}
}

// GatherDrafts finds the pods of drafts. A node that pending pods are to come to is
// left out: it is rolled back.
func (r *Room) GatherDrafts(wanted map[model.NodeID]bool) {
	r.gather(func(o *Removal) bool { return r.IsDraft(o) && !wanted[o.Node] })
}

// PlaceLeaving places the pods of nodes that another client removes: a person, or a
// cloud that replaces a machine that it considers broken. The pods will need room in a
// moment, and the node that came for theirs may be the emptiest of all.
//
// Nothing is bought for them before they wait. They use up no budget here: their
// eviction does, and it is not ours.
func (r *Room) PlaceLeaving() {
	var mover *schedsim.Mover
	for i := range r.snap.Nodes {
		n := r.snap.Nodes[i]
		if n.Kind != model.Leaving || n.Standing.Drain != nil || n.Group < 0 || len(n.Bound) == 0 {
			continue
		}
		// Our own taint may be seen for a moment after it is gone: no end is under way then.
		if in := r.snap.Groups[n.Group].InstanceNamed(n.Instance); in == nil || in.State != provider.Deleting {
			continue
		}
		moving := r.toMove(r.podsOf(n), r.Rules.Budgets())
		if len(moving) == 0 {
			continue
		}
		if mover == nil {
			mover = r.mover()
		}
		r.receive(moveSome(mover, model.NodeID(i), Batches(r.snap, moving)))
	}
}

// moveSome moves as many of the pods as there is room for. The others will wait, and
// nodes are bought for them then; so it is with those for which the steps do not suffice.
func moveSome(mover *schedsim.Mover, node model.NodeID, pods []model.Batch) []schedsim.Put {
	puts, stuck, _ := mover.Move(node, pods)
	if stuck == nil {
		return puts
	}
	for _, b := range pods {
		for range b.Count {
			put, stuck, enough := mover.Move(node, []model.Batch{{Class: b.Class, Count: 1}})
			if stuck != nil || !enough {
				break // the next pod of the class would fare no better
			}
			puts = append(puts, put...)
		}
	}
	return puts
}

// Moving are the classes of pods that are on their way: those of open removals, and
// those that waited and have a place in the plan.
func (r *Room) Moving(waited []model.ClassID) []model.ClassID {
	classes := slices.Clone(waited)
	for i := range r.Removals {
		for _, b := range Batches(r.snap, r.Removals[i].Moving) {
			classes = append(classes, b.Class)
		}
	}
	return classes
}

// Leaving are the classes of pods that removals move: those that are to leave their nodes, and those that came for
// evicted ones and have no node yet.
func (r *Room) Leaving() []model.ClassID {
	var came []model.ClassID
	for i := range r.snap.Pending {
		if q := &r.snap.Pending[i]; slices.ContainsFunc(q.Pods, r.Replaces) {
			came = append(came, q.Class)
		}
	}
	return r.Moving(came)
}

// findUneven finds, of the classes of pods that removals have moved or are to move, those that are spread less evenly
// than they may be. It is asked before any of them is placed: until they have nodes, they do not even anything out.
func (r *Room) findUneven() {
	r.uneven = map[model.ClassID]bool{}
	if len(r.Removals) == 0 {
		return
	}
	for _, c := range r.Leaving() {
		r.uneven[c] = r.World.Uneven(c)
	}
}

// Uneven reports whether pods of removals under way are spread less evenly than they may be.
func (r *Room) Uneven() bool {
	for _, yes := range r.uneven {
		if yes {
			return true
		}
	}
	return false
}

func (r *Room) mover() *schedsim.Mover {
	return r.World.Mover(ReadyOnly(r.snap, Hosts(r.snap, nil)), r.policy.ScaleDown.StepLimit)
}

func (r *Room) receive(puts []schedsim.Put) {
	for _, put := range puts {
		r.Receivers[put.Node] = true
	}
}

// Hosts are the nodes that pods may be moved to, in the order in which they are tried:
// nodes that stay before candidates, since a candidate that receives a pod is needed
// from then on. Among nodes that stay the fullest comes first, among candidates the
// one that would go last. Nodes that are not ready yet come after all others.
func Hosts(s *model.Snapshot, candidates []model.NodeID) []model.NodeID {
	type host struct {
		id   model.NodeID
		free int64
		kind model.NodeKind
	}
	goes := make([]bool, len(s.Nodes))
	for _, id := range candidates {
		goes[id] = true
	}
	stay := make([]host, 0, len(s.Nodes)-len(candidates))
	for i := range s.Nodes {
		if n := s.Nodes[i]; !goes[i] && takesPods(n.Kind) {
			stay = append(stay, host{model.NodeID(i), freeCPU(s, n), n.Kind})
		}
	}
	slices.SortFunc(stay, func(a, b host) int {
		if a.kind != b.kind {
			return cmp.Compare(a.kind, b.kind)
		}
		return cmp.Or(cmp.Compare(a.free, b.free), cmp.Compare(a.id, b.id))
	})
	order := make([]model.NodeID, 0, len(s.Nodes))
	for _, kind := range []model.NodeKind{model.Ready, model.Booting, model.Coming} {
		for ; len(stay) > 0 && stay[0].kind == kind; stay = stay[1:] {
			order = append(order, stay[0].id)
		}
		for _, id := range slices.Backward(candidates) {
			if s.Nodes[id].Kind == kind {
				order = append(order, id)
			}
		}
	}
	return order
}

func takesPods(k model.NodeKind) bool {
	return k == model.Ready || k == model.Booting || k == model.Coming
}

// ReadyOnly drops the nodes that are not ready. Nodes on their way may never come.
func ReadyOnly(s *model.Snapshot, hosts []model.NodeID) []model.NodeID {
	return slices.DeleteFunc(hosts, func(id model.NodeID) bool { return s.Nodes[id].Kind != model.Ready })
}

// freeCPU is how much CPU a node has left, in thousandths.
func freeCPU(s *model.Snapshot, n *model.Node) int64 {
	return s.Contents.Shapes[n.Shape].Allocatable.MilliCPU - n.MilliCPU
}
