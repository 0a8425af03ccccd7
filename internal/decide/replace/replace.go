// Package replace decides which nodes are worth replacing by others, which are bought first.
//
// What flows in: a snapshot, the world with all that waits placed in it and all that nothing needs gone, and the
// nodes that only their pods keep. What flows out: moves that begin, and others that would be worth it, all of them
// feasible together.
//
//	movable nodes that are due → ranked by why ──────────┐
//	movable nodes → ranked by how far behind they are ───┤
//	movable nodes → ranked by what they waste ───────────┴→ emptied in windows, by the packing of growth → worth it?
//	worth it → for long enough, nothing else going on, within the limits? → begin
//
// A node is due if it is to be replaced whatever that costs: unsound, drifted or too old.
//
// No move leads back: each makes the fleet cheaper by what the policy asks for at least, with prices as they are,
// and between moves the price falls with each removal and rises only with pods that have no room. So with a steady
// load and steady prices no set of nodes comes back. Where prices change, Stay keeps the nodes of a move that is over
// out of others (ADR 60). A move back to preferred groups that has no price leads to what the priorities prefer, and
// no other leads away from there (ADR 64).
//
// Pure. Who may import it: decide.
package replace

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaledown"
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// Input is what moves are found from.
type Input struct {
	Snapshot *model.Snapshot
	Policy   model.Policy
	World    *schedsim.World
	Search   *scaledown.Search
	Buyer    *scaleup.Buyer
	// Quiet says why nothing may begin now beside what else the plan does, nil if it may.
	Quiet *model.Verdict
}

// Result is what was decided.
type Result struct {
	// Begin are the moves that begin now, and Worth the others that would be worth it; the best first.
	Begin []model.Move
	Worth []model.WaitingMove
	// Wake is the earliest instant at which time alone would change this.
	Wake time.Time
}

// Find finds moves. The world is left as it was.
func Find(in Input) Result {
	f := &finder{Input: in, s: in.Snapshot, p: in.Policy.Moves, book: in.Snapshot.Book(in.Policy.Budgets)}
	mark := f.World.Mark()
	defer f.World.Undo(mark)
	f.World.ShutReturning() // a node that is emptied is had back for pods that wait, and for no move
	f.Search.ShutUnneeded()
	f.end = f.World.Work().Steps + f.p.StepLimit
	for i := range f.s.Groups {
		f.cheaper = f.cheaper || f.Search.MovesOf(i).Cheaper()
	}
	f.weigh()
	rests := f.resting()
	// 1. Which nodes are due? They go as many together as may at a time, fewer where those have no room.
	f.rankDue(rests)
	f.search()
	// 2. Which are behind what the priorities prefer?
	f.rankBehind(rests)
	f.search()
	// 3. Which waste enough to be worth a look? As many together, fewer where that is not worth it.
	if in.Buyer.Sells() {
		f.rank(rests)
		f.search()
	}
	// 4. The best of them begin.
	f.begin()
	return f.Result
}

// finder finds moves. It serves one Find.
type finder struct {
	Input
	Result
	s    *model.Snapshot
	p    model.MovePolicy
	end  int // of the steps
	list []candidate
	// cheaper: some nodes may go for cheaper ones.
	cheaper bool
	// weights are what each group's nodes must save beside all else, as shares of their price.
	weights []float64
	// book has what budgets leave, moves that are not over yet counted as if all of their nodes were going.
	book *budget.Book
	// found are the moves with their nodes, and what the snapshot calls them.
	found []found
}

// weigh says by what share the price of a spot node that comes counts for more. That of one that goes is what it is: by
// its weight no spot node goes for a dearer one, and the fleet gets cheaper by each move all the same (ADR 66).
func (f *finder) weigh() {
	f.weights = make([]float64, len(f.s.Groups))
	for i := range f.s.Groups {
		if f.s.SellsSpot(i) {
			f.weights[i] = f.Search.MovesOf(i).InterruptionWeight
		}
	}
	f.Buyer.Weigh(f.weights)
}

// candidate is a node that wastes something.
type candidate struct {
	scaledown.Movable
	// first: it is to be maintained, and goes before others.
	first bool
	// behind: it goes for one of a group that the priorities prefer.
	behind bool
	// waste is what its price is above the least that its pods could cost, and pain what evicting them costs, in
	// pods of ordinary priority; a node without any has 1.
	waste, pain float64
}

// reason is why it would go.
func (c *candidate) reason() model.Reason {
	if c.Due != nil {
		return c.Due.Reason
	}
	if c.behind {
		return model.PreferredElsewhere
	}
	return model.CheaperElsewhere
}

// policyOf says what counts for a candidate's group.
func (f *finder) policyOf(c *candidate) *model.MovePolicy {
	return f.Search.MovesOf(f.s.Nodes[c.Node].Group)
}

// exitOf is how budgets call a reason.
func exitOf(why model.Reason) budget.Reason { return model.ExitReason(why, false, true) }

// found is a move that is worth it.
type found struct {
	model.Move
	nodes []model.NodeID
	comes map[int]int // by group
	pain  float64
	first bool // a node of it is to be maintained
	// dearest is what the dearest of its nodes costs.
	dearest float64
	// gate is what the groups of its nodes ask of it.
	gate model.MovePolicy
	// spot: one of its nodes is spot capacity; grace is the longest time that pods on those have to end.
	spot  bool
	grace time.Duration
	// due says why its nodes are to be replaced whatever that costs, nil if it is for the money.
	due *model.Verdict
}

// search takes candidates together. None of them takes the pods of another.
func (f *finder) search() {
	for i := range f.list {
		f.World.Shut(f.list[i].Node)
	}
	for len(f.list) > 0 && f.World.Work().Steps < f.end {
		f.next()
	}
	for i := range f.list {
		f.World.Reopen(f.list[i].Node)
	}
	f.list = nil
}

// next takes the next few candidates together, fewer and fewer until it is worth it. The first of them is out of the
// search then, whatever came of it.
func (f *finder) next() {
	first := &f.list[0]
	atOnce, _ := f.atOnce()
	most := min(len(f.list), atOnce)
	most = max(1, min(most, f.book.Most(f.s.Nodes[first.Node].Group, exitOf(first.reason()))))
	if first.reason() == model.NodeInterrupted {
		most = len(f.list)
	}
	// Those that go for one reason are one move.
	if other := slices.IndexFunc(f.list, func(c candidate) bool { return c.reason() != first.reason() }); other >= 0 {
		most = min(most, other)
	}
	if first.Due == nil {
		most = f.Buyer.AtOnePrice(f.nodesOf(f.list[:most]))
	}
	for count := most; count > 0; count /= 2 {
		if f.try(f.list[:count]) {
			f.list = f.list[count:]
			return
		}
	}
	if first.Due != nil {
		v := *first.Due
		v.Detail += "; its pods have no room elsewhere, and no group can grow for them"
		v.Fix = "room in a group, or without the setting"
		f.Search.Hold(first.Node, v)
	}
	f.World.Reopen(first.Node)
	f.list = f.list[1:]
}

// atOnce is how many nodes may be on the way to be replaced, and the flag that says so: no more than can leave, with
// the delay after each removal, while a move waits for one. What was bought for others would stand idle for hours.
func (f *finder) atOnce() (most int, flag string) {
	down := f.Policy.ScaleDown
	if delay := down.DelayAfterDelete; delay > 0 {
		rounds := max(1, min(int(f.p.Patience/delay), down.MaxParallelism))
		if most = rounds * max(1, min(down.MaxDrains, down.MaxParallelism)); most < down.MaxParallelism {
			return most, "shorter --scale-down-delay-after-delete"
		}
	}
	return down.MaxParallelism, "higher --max-scale-down-parallelism"
}

// try empties nodes together, and reports whether that is worth it, with none bought of the groups in without. If it
// is, it is done in the world.
func (f *finder) try(list []candidate, without ...int) bool {
	m := found{due: list[0].Due, gate: *f.policyOf(&list[0])}
	m.Reason = list[0].reason()
	var pods []model.Batch
	groups := slices.Clone(without)
	for i := range list {
		c := &list[i]
		m.nodes, m.gate = append(m.nodes, c.Node), m.gate.Stricter(*f.policyOf(c))
		m.Goes = append(m.Goes, f.s.Nodes[c.Node].Name)
		m.Pods += len(c.Moving)
		m.pain += c.pain
		m.first = m.first || c.first
		pods = append(pods, c.Housed...)
		groups = append(groups, f.s.Nodes[c.Node].Group)
		price, _ := f.priceOf(f.s.Nodes[c.Node])
		m.dearest = max(m.dearest, price)
		if n := f.s.Nodes[c.Node]; f.s.Spot(n) || !n.DrainedBy().IsZero() {
			m.spot, m.grace = m.spot || f.s.Spot(n), max(m.grace, f.grace(c.Moving))
		}
	}
	if m.due == nil && f.Search.MayGo(m.nodes) != nil {
		return false
	}
	mark, size := f.World.Mark(), f.World.Size()
	for i := range list {
		f.World.Vacate(list[i].Node, list[i].Housed)
	}
	// Without the nodes that go, commitments may pay for those that come.
	vacated := f.World.Mark()
	saved, back := f.Buyer.Lose(f.nodesOf(list))
	m.Before = saved
	steps, left := f.end-f.World.Work().Steps, 0
	switch {
	case m.due != nil:
		m.comes, left = f.Buyer.Buy(pods, m.due.Reason == model.NodeInterrupted, steps)
	case m.Reason == model.PreferredElsewhere:
		m.comes, left = f.Buyer.BuyPreferred(pods, f.foremost(groups), steps)
	default:
		// What goes for the money is not bought again: nodes of one group are worth the same.
		m.comes, left = f.Buyer.BuyCheap(pods, groups, steps)
	}
	ok := left == 0 && (m.due == nil || f.refill(&m)) && f.price(&m)
	holds := !ok || f.holds(&m, pods, vacated)
	if !ok || !holds {
		back()
		f.World.Undo(mark)
		// What is larger may have room for all of them.
		return !holds && m.Reason == model.CheaperElsewhere && len(m.comes) > 0 &&
			f.try(list, slices.AppendSeq(without, maps.Keys(m.comes))...)
	}
	// The room left on its new nodes is only for its own pods: it may not begin.
	for id := size; id < f.World.Size(); id++ {
		f.World.Shut(model.NodeID(id))
	}
	f.Search.Take(m.nodes)
	slices.Sort(m.Goes)
	f.found = append(f.found, m)
	return true
}

// holds reports whether a move saves something in whatever order the scheduler binds its pods. A node of which one
// finds no room is given back, after others were moved for nothing. Where it is all that would go, or what the move
// would save, more nodes are there than before until those that have come go, too; and then it is tried again.
func (f *finder) holds(m *found, pods []model.Batch, vacated schedsim.Mark) bool {
	if m.due != nil || len(m.Comes) > 0 && m.Savings() > m.dearest {
		return true
	}
	plan := f.World.Since(vacated)
	f.World.Undo(vacated)
	for _, t := range plan.Nodes {
		f.World.AddNodes(t, 1)
	}
	const on = schedsim.OnReady | schedsim.OnPlanned
	holds := len(f.World.BindEvenly(f.commonFirst(pods, on), on, f.end-f.World.Work().Steps)) == 0
	f.World.Undo(vacated)
	f.World.Lay(plan)
	return holds
}

// commonFirst orders pods so that those come first that most nodes of the given sets would take.
func (f *finder) commonFirst(pods []model.Batch, on schedsim.NodeSet) []model.Batch {
	order, hosts := slices.Clone(pods), map[model.ClassID]int{}
	for _, b := range order {
		if f.World.Bulk(b.Class) { // those that spread over zones have fewer than each node tells
			hosts[b.Class] = len(f.World.Hosts(b.Class, on))
		}
	}
	slices.SortStableFunc(order, func(a, b model.Batch) int { return hosts[b.Class] - hosts[a.Class] })
	return order
}

// grace is the longest time that one of the pods has to end.
func (f *finder) grace(pods []*model.Pod) (most time.Duration) {
	for _, p := range pods {
		its := f.Policy.ScaleDown.Drain.Most(f.s.Contents.Specs[p.Spec].Priority)
		most = max(most, min(its, f.s.Contents.Facts[p.Facts].Grace))
	}
	return most
}

func (f *finder) nodesOf(list []candidate) []*model.Node {
	nodes := make([]*model.Node, len(list))
	for i := range list {
		nodes[i] = f.s.Nodes[list[i].Node]
	}
	return nodes
}

// refill buys nodes for the minimums that those which go leave short, and reports whether it can.
func (f *finder) refill(m *found) bool {
	var alone []model.NodeID // without one of their own group that comes for them
	has := maps.Clone(m.comes)
	for _, id := range m.nodes {
		if group := f.s.Nodes[id].Group; has[group] > 0 {
			has[group]--
		} else {
			alone = append(alone, id)
		}
	}
	for len(alone) > 0 && f.Search.MayGo(alone) != nil {
		group := f.s.Nodes[alone[0]].Group
		if f.Buyer.Room(group, m.comes) <= 0 {
			return false
		}
		m.comes[group]++
		alone = alone[1:]
	}
	return true
}

// price says what a move costs, and reports whether it saves enough, if it is to save anything.
func (f *finder) price(m *found) bool {
	risk := 0.0
	for _, group := range slices.Sorted(maps.Keys(m.comes)) {
		cost := f.Buyer.Take(group, m.comes[group])
		m.After, risk = m.After+cost, risk+cost*f.weights[group]
		m.Comes = append(m.Comes, model.Purchase{Group: f.s.Groups[group].ID, Count: m.comes[group]})
	}
	if m.due != nil {
		return true
	}
	if m.Reason == model.PreferredElsewhere && len(m.Comes) == 0 {
		return false // that would be a removal, and nothing is behind in it
	}
	if m.Reason == model.PreferredElsewhere && !f.priced(m) {
		m.Before, m.After = 0, 0
		return !f.cheaper
	}
	saved := m.Savings() - risk
	least := math.Max(m.gate.MinSavingsPerHour, m.gate.MinSavingsShare*m.Before)
	return saved > tiny*m.Before && saved >= least && saved >= m.gate.MinSavingsPerDisruption*m.pain
}

// priced reports whether all prices of a move are known.
func (f *finder) priced(m *found) bool {
	for group := range m.comes {
		if _, ok := f.Buyer.Price(group); !ok {
			return false
		}
	}
	return !slices.ContainsFunc(m.nodes, func(id model.NodeID) bool {
		_, ok := f.priceOf(f.s.Nodes[id])
		return !ok
	})
}

// foremost is the preference of the one of some groups that the priorities prefer.
func (f *finder) foremost(groups []int) float64 {
	most := math.Inf(1)
	for _, group := range groups {
		most = min(most, f.Search.Preference(group))
	}
	return most
}

// tiny is the share of a price below which two prices are equal.
const tiny = 1e-6

func (f *finder) wakeAt(t time.Time) {
	if t.After(f.s.Now) && (f.Wake.IsZero() || t.Before(f.Wake)) {
		f.Wake = t
	}
}
