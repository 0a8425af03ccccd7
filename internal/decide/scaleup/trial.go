package scaleup

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about the end of a brake that time ends: a group of whose nodes some helped, or whose node can
// show no more that the scheduler lets the class in, is tried again for the class, with one node first and with
// more only as they help. Else all pods would be bought for at once, most of them in vain, once an hour.

// onTrial reports whether a brake has been ended by time, so that its group is tried again.
func onTrial(k model.Brake, now time.Time) bool {
	return (k.Reason == model.TemplateMismatch || k.Reason == model.SchedulerDisagrees) &&
		!k.Until.IsZero() && !k.Until.After(now)
}

// until is when a brake ends by time, zero if it does not. The scheduler's word about a node is good for as long as
// the class has room there: it would take the pods in if it saw them otherwise by now. A node that has gone, or is
// full of others, can show that no more. Then one is tried after an hour, after three if that one was in vain,
// after nine and after a day.
func (b *brakes) until(k model.Brake) time.Time {
	if k.Reason != model.SchedulerDisagrees || ofStep(k) || onTrial(k, b.pl.s.Now) {
		return k.Until
	}
	i, there := b.node(k.Node)
	c, exists := b.class[k.Class]
	if there && (!exists || b.pl.s.Nodes[i].Kind == model.Ready && b.pl.w.Fits(c, model.NodeID(i)) == model.Fits) {
		return time.Time{}
	}
	rest := elsewhereRest
	for range k.Trials {
		rest = min(3*rest, forget)
	}
	return model.Latest(k.Since.Add(rest), b.pl.s.Now)
}

// trials is how often a group has been tried for a class by now, after the scheduler left its pods waiting beside
// nodes of it.
func (pl *planner) trials(group provider.GroupID, class string) int {
	for _, k := range pl.s.Brakes {
		if k.Group == group && k.Class == class && k.Reason == model.SchedulerDisagrees && onTrial(k, pl.s.Now) {
			return k.Trials + 1
		}
	}
	return 0
}

// trialOver reports whether a trial has gone well: no pod of the class waits, and a node that came in it runs
// some. One for which nothing was bought in a day is forgotten.
func (b *brakes) trialOver(c model.ClassID, group int, k model.Brake) bool {
	runsThere := func(n *model.Node) bool {
		return n.Group == group && n.Kind == model.Ready && n.Object.CreationTimestamp.After(k.Until) && runs(n, c)
	}
	return b.pl.s.Now.Sub(k.Until) >= forget || b.waits[c] == nil && slices.ContainsFunc(b.pl.s.Nodes, runsThere)
}

// before reports whether a node came before its group was tried again: it says nothing of that.
func (b *brakes) before(a model.Arrival, class string) bool {
	return slices.ContainsFunc(b.stand, func(k model.Brake) bool {
		return k.Class == class && k.Group == a.Group && onTrial(k, b.pl.s.Now) && !a.Ready.After(k.Until)
	})
}

// untry takes away the trial of a group for a class, and reports whether there was one.
func (b *brakes) untry(group provider.GroupID, class string) bool {
	before := len(b.stand)
	b.stand = slices.DeleteFunc(b.stand, func(k model.Brake) bool {
		return k.Class == class && k.Group == group && onTrial(k, b.pl.s.Now)
	})
	return len(b.stand) < before
}

// tryable notes how many nodes a trial allows, before the plan puts pods onto those that have come.
func (b *brakes) tryable(k model.Brake) {
	c, exists := b.class[k.Class]
	if group := groupIndex(b.pl.s, k); exists && group >= 0 && b.waits[c] != nil {
		b.pl.tries[brakeKey{c, group}] = b.pl.mayTry(c, group, k)
	}
}

// applyTrials bounds how many nodes the groups on trial may grow by now. A class for which none may be bought is
// kept from the group's further nodes; those on their way count for it as they are.
func (pl *planner) applyTrials(list []*waiting) {
	for _, k := range pl.brakes {
		group := groupIndex(pl.s, k)
		if group < 0 || !onTrial(k, pl.s.Now) {
			continue
		}
		i := slices.IndexFunc(list, func(q *waiting) bool { return pl.s.Classes[q.Class].Digest() == k.Class })
		if i < 0 || list[i].left == 0 {
			continue
		}
		if n := pl.tries[brakeKey{list[i].Class, group}]; n > 0 {
			pl.limits.try(group, n, k.Reason)
			continue
		}
		k.Detail, k.Until = k.Detail+"; it is tried again, with one node first", time.Time{}
		pl.applyBrake(list[i].Class, k)
	}
}

// mayTry is how many nodes may be bought for a class in a trial: one, and four more for each that has helped, less
// those that were. One that others have filled says nothing of the class.
func (pl *planner) mayTry(c model.ClassID, group int, k model.Brake) int {
	bought, helped := 0, 0
	for _, a := range pl.s.Groups[group].Asks {
		if !slices.Contains(a.For, k.Class) {
			continue
		}
		for i := range a.Units {
			if u := &a.Units[i]; u.State != model.UnitReady {
				bought++
			}
		}
	}
	for _, a := range pl.s.Arrivals {
		if a.Group != k.Group || !slices.Contains(a.For, k.Class) || !a.Ready.After(k.Until) {
			continue
		}
		i, ok := pl.node(a.Node)
		switch {
		case ok && runs(pl.s.Nodes[i], c):
			helped++
		case ok && pl.taken(c, model.NodeID(i)):
			continue
		}
		bought++
	}
	return max(0, 1+4*helped-bought)
}

// taken reports whether a node has room for a class but for the pods that others have there.
func (pl *planner) taken(c model.ClassID, id model.NodeID) bool {
	return pl.s.Nodes[id].Kind == model.Ready && pl.w.Fits(c, id) != model.Fits && pl.w.Alone(c, id).Reason == model.Fits
}

// trial is how many nodes more a group may be tried with in this plan, of how many, and after which brake.
type trial struct {
	left, of int
	after    model.Reason
}

// try bounds what a group may grow by in this plan.
func (l *limits) try(group, n int, after model.Reason) {
	if l.trials == nil {
		l.trials = map[int]trial{}
	}
	if t, ok := l.trials[group]; !ok || n < t.of {
		l.trials[group] = trial{n, n, after}
	}
}

// mostTrial is how many nodes a trial leaves a group.
func (l *limits) mostTrial(group int) int {
	if t, ok := l.trials[group]; ok {
		return t.left
	}
	return math.MaxInt
}

// tried counts n nodes of a group on trial as added.
func (l *limits) tried(group, n int) {
	if t, ok := l.trials[group]; ok {
		t.left -= n
		l.trials[group] = t
	}
}

// trialVerdict says that a group is on trial and has its nodes, nil if it is not so.
func (l *limits) trialVerdict(group int) *model.Verdict {
	t, ok := l.trials[group]
	if !ok || t.left > 0 {
		return nil
	}
	if v := l.s.Groups[group].Unhealthy; v != nil && v.Reason == model.NodeNeverStarted {
		tried := *v
		tried.Detail += "; one more is tried"
		return &tried
	}
	if t.after == model.SchedulerDisagrees {
		return &model.Verdict{Reason: t.after, Detail: fmt.Sprintf("the scheduler left pods waiting beside a node that can "+
			"show no more whether it still would; it is tried again, with %d now", t.of), Fix: "that these nodes help"}
	}
	return &model.Verdict{Reason: model.TemplateMismatch,
		Detail: fmt.Sprintf("most of its last nodes did not help; it is tried again, with %d now", t.of),
		Fix:    "that these nodes help"}
}
