package scaleup

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about the end of a brake that time ends: a group of whose nodes some helped is tried again
// for the class, with one node first and with more only as they help. Else all pods would be bought for at
// once, most of them in vain, once an hour.

// onTrial reports whether a brake has been ended by time, so that its group is tried again.
func onTrial(k model.Brake, now time.Time) bool {
	return k.Reason == model.TemplateMismatch && !k.Until.IsZero() && !k.Until.After(now)
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
		if n := pl.mayTry(list[i].Class, group, k); n > 0 {
			pl.limits.try(group, n)
			continue
		}
		k.Detail, k.Until = k.Detail+"; it is tried again, with one node first", time.Time{}
		pl.applyBrake(list[i].Class, k)
	}
}

// mayTry is how many nodes may be bought for a class in a trial: one, and four more for each that has helped, less
// those that were.
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
		bought++
		if i, ok := pl.node(a.Node); ok && runs(pl.s.Nodes[i], c) {
			helped++
		}
	}
	return max(0, 1+4*helped-bought)
}

// trial is how many nodes more a group may be tried with in this plan, and of how many.
type trial struct{ left, of int }

// try bounds what a group may grow by in this plan.
func (l *limits) try(group, n int) {
	if l.trials == nil {
		l.trials = map[int]trial{}
	}
	if t, ok := l.trials[group]; !ok || n < t.of {
		l.trials[group] = trial{n, n}
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
		l.trials[group] = trial{t.left - n, t.of}
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
	return &model.Verdict{Reason: model.TemplateMismatch,
		Detail: fmt.Sprintf("most of its last nodes did not help; it is tried again, with %d now", t.of),
		Fix:    "that these nodes help"}
}
