// Package ledger is the cluster state registry, as a fold: what was asked, how
// far it has come, what is under way, and how healthy all of it is.
//
//	ledger' = ledger.Fold(seen, ended)     what is seen, after the ends of calls
//	standing = ledger.Standing()           for the snapshot to be decided on
//	ledger'' = ledger.Note(snapshot, plan) intent on record, before the writes
//
// It is a router: it keeps the records of groups and nodes and the calls under way,
// and hands what happens to the life that it is part of. How a scale-up goes on is
// for internal/growth to say, and how a removal does for internal/removal.
//
// What must survive a restart is a Memory, and Restore begins with one; with an
// empty one the ledger finds out from the cloud what is on its way.
//
// What flows in: observations, outcomes of calls, snapshots with their plans.
// What flows out: a model.Standing, a model.Memory, and what changed. It reads
// no clock and does no I/O.
//
// A file uses only what those below it declare: ledger.go, memory.go, calls.go, nodes.go,
// drains.go, verdicts.go, standing.go, state.go.
//
// Who may import it: loop and the hosts. It imports model, growth, move and removal.
package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/growth"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/move"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// New gives a ledger that knows nothing.
func New(rules model.Rules) *Ledger { return Restore(rules, model.Memory{}) }

// Adopt gives the rules that count from the next Fold on.
func (l *Ledger) Adopt(rules model.Rules) { l.rules, l.calm = rules, 0 }

// Fold takes in the ends of calls, then what is seen.
func (l *Ledger) Fold(seen model.Observation, ended []model.Outcome) {
	defer func() { l.folded = seen.Now }()
	if len(ended) == 0 && l.calm != 0 && seen.Generation == l.calm {
		l.readAgain(&seen.Inventory)
		return
	}
	l.turn++
	l.fold.Rules, l.fold.Turn, l.fold.Seen, l.fold.Halted = l.rules, l.turn, &seen, l.unhealthy != nil
	l.fold.Changes, l.fold.Closed = nil, nil
	if l.turn == 1 {
		l.trust(&seen)
	}
	// 1. Ends of calls, in the order in which they ended.
	if len(ended) > 0 {
		ended = slices.Clone(ended)
		slices.SortFunc(ended, func(a, b model.Outcome) int {
			return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Call.ID, b.Call.ID))
		})
	}
	for _, o := range ended {
		l.end(o)
	}
	// 2. Targets, and whose instance each node is.
	l.targets()
	l.match(&seen.Inventory)
	// 3. Nodes: their state; what we wrote is seen, what is gone is forgotten.
	l.seenNodes(&seen)
	// 4. Groups: how far each unit is, what is missing, what is given up.
	growth.PresumeLost(&l.fold, l.order, l.others.Total)
	for i, g := range l.order {
		if g.Sighted {
			g.Progress(&l.fold, &seen.Inventory.Groups[i])
		}
	}
	l.dropGone(&seen)
	l.news = removal.Settle(l.displaced, &seen) || l.news
	// 5. Moves: what has come for them, and what has left.
	l.moved(&seen)
	// 6. The health of it all (S1).
	l.health(&seen)
	l.fold.Seen = nil
	if l.calm = 0; l.isCalm() {
		l.calm = seen.Generation
	}
}

// isCalm reports whether a further fold of the same observation would change nothing, however much later and
// with however new a read of the cloud: nothing is under way, and no time runs. We err to saying no.
func (l *Ledger) isCalm() bool {
	if len(l.calls) > 0 || len(l.moves) > 0 || len(l.displaced) > 0 || len(l.strays) > 0 ||
		len(l.fold.Arrivals) > 0 || l.busyNodes > 0 || l.unhealthy != nil || len(l.order) != len(l.groups) {
		return false
	}
	if o := &l.others; o.Young > 0 || o.NeverStarted > 0 || o.BeingDeleted > 0 {
		return false
	}
	for i, g := range l.order {
		if !g.Calm(&l.of[i]) {
			return false
		}
	}
	return true
}

// readAgain takes in that a newer read of the cloud has shown the same.
func (l *Ledger) readAgain(inv *provider.Inventory) {
	l.fold.Changes, l.fold.Closed = nil, nil
	for i, g := range l.order {
		g.ReadAgain(&inv.Groups[i], inv.AsOf)
	}
}

// health answers S1: is the cluster healthy enough to be acted on?
func (l *Ledger) health(seen *model.Observation) {
	departed := 0
	for i, g := range l.order {
		l.counts = l.counts.Plus(g.Counts)
		departed += g.Departed(&seen.Inventory.Groups[i])
	}
	ours, rules := l.counts, l.rules
	ours.Total -= departed
	// Nodes of no group may be those of a group that this process has never read.
	unread := func(g *growth.Group) bool { return !g.Sighted }
	if rules.CountOthers = rules.CountOthers || slices.ContainsFunc(l.order, unread); !rules.CountOthers {
		ours = ours.Plus(l.astray(seen))
	}
	unready, all := rules.Unready(ours, l.others)
	if !rules.TooMany(unready, all) {
		l.unhealthy = nil
		return
	}
	l.unhealthy = model.Verdict{
		Reason: model.ClusterUnhealthy,
		Detail: fmt.Sprintf("%d of %s %s not ready", unready, spelling.Count(all, "node"),
			spelling.Are(unready)) + l.counts.LostText(),
		Fix: fmt.Sprintf("at most %s, or %.0f%% of all, not ready",
			spelling.Count(l.rules.MaxUnready, "node"), l.rules.MaxUnreadyShare*100),
	}.After(l.unhealthy, seen.Now)
}

// astray counts the nodes that had an instance of a group and have none any more. An answer of the cloud that lacks
// instances makes no node ready.
func (l *Ledger) astray(seen *model.Observation) (c model.Counts) {
	if len(l.strays) == 0 {
		return c
	}
	for i := range seen.Nodes {
		n := seen.Nodes[i].Object
		if _, stray := l.strays[n.Name]; stray {
			state, _ := model.StateOf(n, nil, l.nodes.of[n.Name], seen.Now, l.rules.StartupTime)
			c.Add(state, n)
		}
	}
	return c
}

// moved brings the moves up to date.
func (l *Ledger) moved(seen *model.Observation) {
	if len(l.moves) == 0 {
		return
	}
	left, ended, changed := move.Progress(l.moves, move.Seen{
		Now: seen.Now, Ask: l.ask, HasNode: seen.HasNode, Held: l.heldByBudget,
		Ready: func(group provider.GroupID, since time.Time) []string { return l.group(group).ReadySince(since) },
	})
	l.moves, l.news = left, l.news || changed
	for i := range ended {
		m := &ended[i]
		c := model.Change{Kind: model.MoveEnded, Count: len(m.Goes), Message: m.Text()}
		if len(m.Comes) > 0 {
			c.Group = m.Comes[0].Group
		}
		if m.Stage == model.MoveGivenUp {
			c.Kind, c.Message = model.MoveGivenUpOn, c.Message+": "+m.Why
		}
		l.fold.Changes = append(l.fold.Changes, c)
	}
}

// heldByBudget reports whether a budget kept a node from going when it was last judged.
func (l *Ledger) heldByBudget(name string) bool {
	n, ok := l.nodes.of[name]
	return ok && n.Held == model.HeldByBudget
}

// ask is a scale-up in flight, or one that ended in this fold.
func (l *Ledger) ask(group provider.GroupID, id string) (model.Ask, bool) {
	if g := l.groups[group]; g != nil {
		if a, ok := g.Ask(id); ok {
			return a, true
		}
	}
	for i := range l.fold.Closed {
		if l.fold.Closed[i].ID == id {
			return l.fold.Closed[i], true
		}
	}
	return model.Ask{}, false
}

// dropGone forgets arrivals whose node is gone.
func (l *Ledger) dropGone(seen *model.Observation) {
	l.fold.Arrivals = slices.DeleteFunc(l.fold.Arrivals, func(a model.Arrival) bool { return !seen.HasNode(a.Node) })
}

// match finds the home of every node, unless the instances are those of the last
// observation.
func (l *Ledger) match(inv *provider.Inventory) {
	l.order = l.order[:0]
	for i := range inv.Groups {
		g := l.group(inv.Groups[i].ID)
		g.Begin()
		l.order = append(l.order, g)
	}
	same, very := sameInstances(l.of, inv.Groups)
	if l.still = very; !same {
		l.homes.Fill(len(inv.Groups), func(i int) *provider.Group { return &inv.Groups[i] })
		l.places = l.places[:0]
		for i, g := range l.order {
			g.Fill(&l.fold, &inv.Groups[i])
		}
	}
	l.of = inv.Groups
}

// sameInstances reports whether two observations have the same instances, in the same order, whatever their states;
// very: they share the lists, so that the states are the same as well. A picture of the cloud is never changed.
func sameInstances(a, b []provider.Group) (same, very bool) {
	if len(a) != len(b) {
		return false, false
	}
	very = true
	for i := range a {
		x, y := &a[i], &b[i]
		if x.ID != y.ID || len(x.Instances) != len(y.Instances) {
			return false, false
		}
		if len(x.Instances) == 0 || &x.Instances[0] == &y.Instances[0] {
			continue
		}
		very = false
		for j := range x.Instances {
			p, q := &x.Instances[j], &y.Instances[j]
			if p.ID != q.ID || p.ProviderID != q.ProviderID || p.NodeName != q.NodeName {
				return false, false
			}
		}
	}
	return true, very
}

// Note puts a plan's intents on record, before any of its calls is started, and
// what the plan found out: since when nodes have been unneeded, what holds them,
// and which scale-ups did not help.
func (l *Ledger) Note(s *model.Snapshot, p model.Plan) {
	l.calm = 0
	// This plan has tried groups that the next one must not, or has left out some that it may.
	l.news = !slices.Equal(s.Brakes, p.Brakes)
	classes, pods := map[provider.GroupID][]string{}, map[provider.GroupID][]int{}
	for _, g := range p.Grow {
		for _, b := range g.Pods {
			classes[g.Group] = append(classes[g.Group], s.Classes[b.Class].Digest())
			pods[g.Group] = append(pods[g.Group], b.Count)
		}
	}
	for _, c := range p.Calls {
		l.calls[c.ID] = c
		switch {
		case c.Verb == model.Grow:
			l.group(c.Group).Note(s.Now, c, classes[c.Group], pods[c.Group])
		case c.Node != "":
			l.noteNode(s, c)
		}
	}
	l.noteVerdicts(s, &p)
	l.noteDuds(s)
	l.moves = append(slices.Clip(l.moves), p.Moves...)
	l.brakes, l.resume, l.unseen, l.interruptions = p.Brakes, p.Resume, p.Unseen, p.Interruptions
	for _, owner := range p.MadeUp {
		d := l.displaced[owner]
		d.Came = true
		l.displaced[owner] = d
	}
	l.dropArrivals(s, p)
	l.noteDoubts(s, p)
}

// dropArrivals forgets the nodes that were bought for pods which no longer wait. Those that are not ready are kept: by
// the time they are, such pods may wait again.
func (l *Ledger) dropArrivals(s *model.Snapshot, p model.Plan) {
	l.fold.Waits = nil
	for i := range p.Pending {
		l.fold.Waits = append(l.fold.Waits, s.Classes[p.Pending[i].Class].Digest())
	}
	if len(l.fold.Arrivals) == 0 {
		return
	}
	before := len(l.fold.Arrivals)
	l.fold.Arrivals = slices.DeleteFunc(slices.Clone(l.fold.Arrivals), func(a model.Arrival) bool {
		return !a.Ready.IsZero() &&
			!slices.ContainsFunc(a.For, func(class string) bool { return slices.Contains(l.fold.Waits, class) })
	})
	l.news = l.news || len(l.fold.Arrivals) < before // a node that settled for them is what it is
}

// AwaitsCloud reports whether a newer read of the cloud may change what is known
// even if it shows nothing new: a call is open, a node is on its way out, or a
// group is not settled. We err to saying so.
func (l *Ledger) AwaitsCloud() bool {
	if len(l.calls) > 0 || l.nodes.leaving > 0 {
		return true
	}
	for _, g := range l.groups {
		if !g.Settled() {
			return true
		}
	}
	return false
}

// News reports whether the ledger says something else than it did to the last decision,
// though nothing that is seen need have changed: a version that was waited for is seen,
// which by itself is no news of a node; a time is over; the last plan let something be
// forgotten.
func (l *Ledger) News() bool { return l.news }

// Changes are what happened in the last Fold, and what was odd in the Note after it.
func (l *Ledger) Changes() []model.Change { return l.fold.Changes }
