// Package replace decides which nodes are worth replacing by others, which are bought first.
//
// What flows in: a snapshot, the world with all that waits placed in it and all that nothing needs gone, and the
// nodes that only their pods keep. What flows out: moves that begin, and others that would be worth it, all of them
// feasible together.
//
//	movable nodes → ranked by what they waste → emptied in windows, by the packing of growth → worth it?
//	worth it → for long enough, nothing else going on, within the limits? → begin
//
// No move leads back: each makes the fleet cheaper by what the policy asks for at least, with prices as they are,
// and between moves the price falls with each removal and rises only with pods that have no room. So with a steady
// load and steady prices no set of nodes comes back. Where prices change, Stay keeps the nodes of a move that is over
// out of others (ADR 60).
//
// Pure. Who may import it: decide.
package replace

import (
	"cmp"
	"fmt"
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
	Begin, Worth []model.Move
	// Wake is the earliest instant at which time alone would change this.
	Wake time.Time
}

// Find finds moves. The world is left as it was.
func Find(in Input) Result {
	f := &finder{Input: in, s: in.Snapshot, p: in.Policy.Moves, book: in.Snapshot.Book(in.Policy.Budgets)}
	if f.p.Consolidation != model.WhenCheaper || !in.Buyer.Sells() {
		return f.Result
	}
	mark := f.World.Mark()
	defer f.World.Undo(mark)
	// 1. Which nodes waste enough to be worth a look? None of them takes the pods of another.
	f.rank()
	for i := range f.list {
		f.World.Shut(f.list[i].Node)
	}
	// 2. As many together as may go at a time, fewer where that is not worth it.
	end := f.World.Work().Steps + f.p.StepLimit
	for len(f.list) > 0 && f.World.Work().Steps < end {
		f.next(end)
	}
	// 3. The best of them begin.
	f.begin()
	return f.Result
}

// finder finds moves. It serves one Find.
type finder struct {
	Input
	Result
	s    *model.Snapshot
	p    model.MovePolicy
	list []candidate
	// book has what budgets leave, moves that are not over yet counted as if all of their nodes were going.
	book *budget.Book
	// found are the moves with their nodes, and what the snapshot calls them.
	found []found
}

// candidate is a node that wastes something.
type candidate struct {
	scaledown.Movable
	price float64
	// waste is what its price is above the least that its pods could cost, and pain what evicting them costs, in
	// pods of ordinary priority; a node without any has 1.
	waste, pain float64
}

// found is a move that is worth it.
type found struct {
	model.Move
	nodes []model.NodeID
	comes map[int]int // by group
	pain  float64
}

// rank lists the nodes that could be worth a move, what saves most for each pod first.
func (f *finder) rank() {
	rests := f.resting()
	for _, n := range f.Search.Movable() {
		node := &f.s.Nodes[n.Node]
		price, ok := f.priceOf(node)
		if !ok || f.Search.Received(n.Node) || rests[node.Name] || f.movedLately(n.Moving) || f.led(n.Housed) {
			continue
		}
		c := candidate{Movable: n, price: price, pain: pain(f.s, n.Moving)}
		if c.waste = price - f.Buyer.Least(n.Housed); c.waste > 0 && c.waste >= f.p.MinSavingsShare*price {
			f.list = append(f.list, c)
		}
	}
	slices.SortStableFunc(f.list, func(a, b candidate) int { return cmp.Compare(b.waste/b.pain, a.waste/a.pain) })
}

// resting are the nodes of moves that are over, and that are left alone.
func (f *finder) resting() map[string]bool {
	rests := map[string]bool{}
	for i := range f.s.Moves {
		m := &f.s.Moves[i]
		for _, name := range append(m.Bought(), m.Goes...) {
			rests[name] = true
		}
		if !m.Open() {
			f.wakeAt(m.Rests())
		}
	}
	return rests
}

// movedLately reports whether some of the pods came for pods that a move has evicted, and rest as long as its nodes.
func (f *finder) movedLately(pods []*model.Pod) bool {
	if len(f.s.Moves) == 0 {
		return false
	}
	return slices.ContainsFunc(pods, func(p *model.Pod) bool {
		d, ok := f.s.Displaced[p.Owner]
		return ok && d.CameFor(p.Created)
	})
}

// led reports whether some of the pods follow others by affinity, or are followed. Those move with company only,
// which the ordinary search for unneeded nodes sees to.
func (f *finder) led(pods []model.Batch) bool {
	return slices.ContainsFunc(pods, func(b model.Batch) bool { return f.World.Led(b.Class) })
}

func (f *finder) priceOf(n *model.Node) (float64, bool) {
	return f.s.PriceOf(n.Group, n.Shape)
}

// pain is what it costs to evict pods, in pods of ordinary priority: one with a higher priority counts more, up to
// ten. A node counts as one pod beside its own.
func pain(s *model.Snapshot, pods []*model.Pod) float64 {
	sum := 1.0
	for _, p := range pods {
		priority := float64(s.Contents.Specs[p.Spec].Priority)
		sum += min(max(1+priority/(1<<25), 0), mostPain)
	}
	return sum
}

const mostPain = 10

// next takes the next few candidates together, fewer and fewer until it is worth it. The first of them is out of the
// search then, whatever came of it.
func (f *finder) next(end int) {
	most := min(len(f.list), f.Policy.ScaleDown.MaxParallelism)
	most = max(1, min(most, f.book.Most(f.s.Nodes[f.list[0].Node].Group, budget.Cheaper)))
	for count := most; count > 0; count /= 2 {
		if f.try(f.list[:count], end) {
			f.list = f.list[count:]
			return
		}
	}
	f.World.Reopen(f.list[0].Node)
	f.list = f.list[1:]
}

// try empties nodes together, and reports whether that is worth it. If it is, it is done in the world.
func (f *finder) try(list []candidate, end int) bool {
	m := found{comes: nil}
	var pods []model.Batch
	for i := range list {
		c := &list[i]
		m.nodes = append(m.nodes, c.Node)
		m.Goes = append(m.Goes, f.s.Nodes[c.Node].Name)
		m.Before += c.price
		m.Pods += len(c.Moving)
		m.pain += c.pain
		pods = append(pods, c.Housed...)
	}
	if f.Search.MayGo(m.nodes) != nil {
		return false
	}
	mark, size := f.World.Mark(), f.World.Size()
	for i := range list {
		f.World.Vacate(list[i].Node, list[i].Housed)
	}
	nodes, left := f.Buyer.Buy(pods, end-f.World.Work().Steps)
	m.comes = nodes
	if left > 0 || !f.price(&m) {
		f.World.Undo(mark)
		return false
	}
	// What is left on its new nodes is for nobody's pods but its own: it may not begin.
	for id := size; id < f.World.Size(); id++ {
		f.World.Shut(model.NodeID(id))
	}
	for group, n := range nodes {
		f.Buyer.Take(group, n)
	}
	f.Search.Take(m.nodes)
	slices.Sort(m.Goes)
	f.found = append(f.found, m)
	return true
}

// price says what a move costs, and reports whether it saves enough.
func (f *finder) price(m *found) bool {
	for _, group := range slices.Sorted(maps.Keys(m.comes)) {
		each, _ := f.Buyer.Price(group)
		m.After += each * float64(m.comes[group])
		m.Comes = append(m.Comes, model.Purchase{Group: f.s.Groups[group].ID, Count: m.comes[group]})
	}
	saved := m.Savings()
	least := math.Max(f.p.MinSavingsPerHour, f.p.MinSavingsShare*m.Before)
	return saved > tiny*m.Before && saved >= least && saved >= f.p.MinSavingsPerDisruption*m.pain
}

// tiny is the share of a price below which two prices are equal.
const tiny = 1e-6

// begin lets the best moves begin, as far as the limits allow, and says of the nodes of others what they wait for.
func (f *finder) begin() {
	slices.SortStableFunc(f.found, func(a, b found) int { return cmp.Compare(b.Savings()/b.pain, a.Savings()/a.pain) })
	going := 0
	for i := range f.s.Moves {
		if m := &f.s.Moves[i]; m.Open() {
			going += len(m.Goes) - m.Left
			f.wakeAt(m.Entered.Add(m.Patience))
			f.promise(m)
		}
	}
	grows := map[int]bool{}
	for i := range f.found {
		m := &f.found[i]
		m.ID = fmt.Sprintf("move/%s/%d", m.Goes[0], f.s.Now.UnixNano())
		m.Reason, m.Patience, m.Stay = model.CheaperElsewhere, f.p.Patience, f.p.Stay
		m.Began, m.Entered = f.s.Now, f.s.Now
		why := f.waits(m, going, grows)
		for _, id := range m.nodes {
			v := model.Verdict{Reason: model.CheaperElsewhere, Fix: "time",
				Detail: fmt.Sprintf("%s would save %.4g an hour", m.Text(), m.Savings())}
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
			f.Worth = append(f.Worth, m.Move)
			continue
		}
		for group := range m.comes {
			grows[group] = true
		}
		for _, id := range m.nodes {
			f.book.Take(f.s.Nodes[id].Group, budget.Cheaper, 1)
		}
		going += len(m.Goes)
		f.Begin = append(f.Begin, m.Move)
	}
}

// promise counts the nodes of a move under way that have not begun to go.
func (f *finder) promise(m *model.Move) {
	for i := range f.s.Nodes {
		if n := &f.s.Nodes[i]; n.Group >= 0 && n.Kind != model.Leaving && slices.Contains(m.Goes, n.Name) {
			f.book.Take(n.Group, budget.Cheaper, 1)
		}
	}
}

// overBudget says which budget keeps the nodes of a move from going, by group.
func (f *finder) overBudget(m *found) *budget.Held {
	counts := map[int]int{}
	for _, id := range m.nodes {
		counts[f.s.Nodes[id].Group]++
	}
	for _, group := range slices.Sorted(maps.Keys(counts)) {
		// All of them count in each of its groups: they go for one decision, and we err to waiting.
		if h := f.book.Ask(group, budget.Cheaper, len(m.nodes)); h != nil {
			return h
		}
	}
	return nil
}

// waits says what a move that is worth it waits for, nil if for nothing.
func (f *finder) waits(m *found, going int, grows map[int]bool) *model.Verdict {
	down := f.Policy.ScaleDown
	switch {
	case !down.Enabled:
		return &model.Verdict{Detail: "removals are off", Fix: "--scale-down-enabled"}
	case f.Quiet != nil:
		return f.Quiet
	case going+len(m.Goes) > down.MaxParallelism:
		return &model.Verdict{Detail: fmt.Sprintf("%d nodes are being replaced, of %d at a time", going, down.MaxParallelism),
			Fix: "their end, or a higher --max-scale-down-parallelism"}
	}
	if h := f.overBudget(m); h != nil {
		return &model.Verdict{Detail: fmt.Sprintf("budget %s: %s", h.Budget, h.Detail), Until: h.Until, Fix: h.Fix}
	}
	for group := range m.comes {
		if grows[group] {
			return &model.Verdict{Detail: "another move buys from the same group", Fix: "the next cycle"}
		}
	}
	// Each of its nodes has been worth it for as long as one must have been unneeded.
	for _, id := range m.nodes {
		n := &f.s.Nodes[id]
		wait := down.UnneededTime
		if t := f.s.Groups[n.Group].Options.ScaleDownUnneededTime; t != nil {
			wait = *t
		}
		since := f.s.Now
		if n.Standing.Held == model.CheaperElsewhere {
			since = n.Standing.HeldSince
		}
		if until := since.Add(wait); until.After(f.s.Now) {
			return &model.Verdict{Detail: fmt.Sprintf("that must be so for %s", wait), Until: until, Fix: "time"}
		}
		if n.Standing.AwaitVersion != "" || n.Standing.Busy != nil {
			return &model.Verdict{Detail: "a write to node " + n.Name + " has not been seen yet", Fix: "the next cycle"}
		}
	}
	return nil
}

func (f *finder) wakeAt(t time.Time) {
	if t.After(f.s.Now) && (f.Wake.IsZero() || t.Before(f.Wake)) {
		f.Wake = t
	}
}
