package ledger

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

func verdictOn(name string, r model.Reason, since time.Time) []model.NodeVerdict {
	return []model.NodeVerdict{{Node: name, Verdict: model.Verdict{Reason: r, Since: since}}}
}

// TestHeld: what holds a node, and since when it has been that; a node that was
// not judged stays as it was. That its time is over is news to the next decision.
func TestHeld(t *testing.T) {
	l := folded(seen(0, 1, node("n", "7")), nil)
	was := time.Time{}
	for i, c := range []struct {
		plan     model.Plan
		held     model.Reason
		since    int
		unneeded int // since when; -1: it is not
	}{
		{model.Plan{Kept: verdictOn("n", model.NotUnderutilized, time.Time{})}, model.NotUnderutilized, 0, -1},
		{model.Plan{Kept: verdictOn("n", model.NotUnderutilized, at(-9))}, model.NotUnderutilized, 0, -1},
		{model.Plan{Kept: verdictOn("n", model.NotEnoughPdb, time.Time{})}, model.NotEnoughPdb, 2, -1},
		{model.Plan{Unneeded: verdictOn("n", model.NotUnneededLongEnough, at(3))}, model.NotUnneededLongEnough, 3, 3},
		{model.Plan{Kept: verdictOn("n", model.StepBudget, time.Time{})}, model.NotUnneededLongEnough, 3, 3},
		{model.Plan{Unneeded: verdictOn("n", model.NotUnneededLongEnough, at(3))}, model.NotUnneededLongEnough, 3, 3},
		{model.Plan{Unneeded: verdictOn("n", model.Cooldown, at(3))}, model.Cooldown, 6, 3},
		{model.Plan{}, model.Cooldown, 6, -1},
		{model.Plan{Kept: verdictOn("n", model.StepBudget, time.Time{})}, model.Cooldown, 6, -1},
		{model.Plan{Kept: verdictOn("n", model.Cooldown, time.Time{})}, model.Cooldown, 6, -1},
	} {
		l = noted(l, i, c.plan)
		l.Fold(seen(i, 1, node("n", "7")), nil)
		n := l.Standing().Nodes["n"]
		unneeded := time.Time{}
		if c.unneeded >= 0 {
			unneeded = at(c.unneeded)
		}
		want(t, "turn", []any{i, n.Held, n.HeldSince, n.UnneededSince}, []any{i, c.held, at(c.since), unneeded})
		want(t, "remembered", []any{i, l.Memory().Unneeded["n"]}, []any{i, unneeded})
		want(t, "news", []any{i, l.News()}, []any{i, !was.IsZero() && unneeded.IsZero()})
		was = unneeded
	}
	l.Fold(seen(20, 0), nil)
	want(t, "left behind", len(l.Standing().Nodes), 0)
}

// TestWhatHoldsADudIsNews: the next decision may try one more node of a group with nodes that never started, if its
// minimum is all that holds those.
func TestWhatHoldsADudIsNews(t *testing.T) {
	for _, state := range []model.NodeState{model.StateNeverStarted, model.StateUnready} {
		l := folded(seen(0, 1, node("n", "7")), nil)
		for i, held := range []model.Reason{model.GroupAtMin, model.GroupAtMin, model.Cooldown} {
			was := l.Standing().Nodes["n"]
			l.Note(&model.Snapshot{Now: at(i), Nodes: []*model.Node{{Name: "n", State: state, Standing: was}}},
				model.Plan{Unneeded: verdictOn("n", held, at(-900))})
			want(t, "news", []any{state, i, l.News()}, []any{state, i, state == model.StateNeverStarted && held != was.Held})
		}
	}
}

// TestUnneededAmongMany: the time of each runs or ends by itself, whichever else
// there are.
func TestUnneededAmongMany(t *testing.T) {
	l := folded(seen(0, 3, node("a", "1"), node("b", "1"), node("c", "1")), nil)
	all := append(append(verdictOn("a", model.Cooldown, at(0)), verdictOn("b", model.Cooldown, at(0))...),
		verdictOn("c", model.Cooldown, at(0))...)
	l = noted(l, 0, model.Plan{Unneeded: all})
	// One is needed, and one is new: as many as before.
	l = noted(l, 1, model.Plan{Unneeded: append(verdictOn("a", model.Cooldown, at(0)),
		verdictOn("d", model.Cooldown, at(1))...), Kept: verdictOn("c", model.StepBudget, time.Time{})})
	got := map[string]time.Time{}
	for name, n := range l.Standing().Nodes {
		got[name] = n.UnneededSince
	}
	want(t, "since", got, map[string]time.Time{"a": at(0), "b": {}, "c": at(0), "d": at(1)})
	// And with none left, no time runs.
	l = noted(l, 2, model.Plan{})
	for name, n := range l.Standing().Nodes {
		want(t, name, n.UnneededSince, time.Time{})
	}
}

// TestUnneededWhileNoGroupHasIt: a node keeps its time while no group has it, unless it is not ready.
func TestUnneededWhileNoGroupHasIt(t *testing.T) {
	for condition, since := range map[corev1.ConditionStatus]time.Time{
		corev1.ConditionTrue: at(0), corev1.ConditionUnknown: {},
	} {
		n := node("n", "7")
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: condition}}
		l := noted(folded(seen(0, 1, n), nil), 0, model.Plan{Unneeded: verdictOn("n", model.Cooldown, at(0))})
		astray := seen(1, 1, n)
		astray.Inventory.Groups[0].Instances[0].NodeName = "another"
		l.Fold(astray, nil)
		want(t, "ready is "+string(condition), l.Standing().Nodes["n"].UnneededSince, since)
		l.Fold(seen(2, 0), nil)
		want(t, "left behind", len(l.Standing().Nodes), 0)
	}
}

// TestUsedWhileNoGroupHasIt: it does not keep its time while it is used.
func TestUsedWhileNoGroupHasIt(t *testing.T) {
	for reason, since := range map[model.Reason]time.Time{model.NotAutoscaled: at(0), model.NotUnderutilized: {}} {
		l := noted(folded(seen(0, 1, node("n", "7")), nil), 0, model.Plan{Unneeded: verdictOn("n", model.Cooldown, at(0))})
		s := &model.Snapshot{Now: at(1), Nodes: []*model.Node{{Name: "n", Group: -1, Standing: l.Standing().Nodes["n"]}}}
		l.Note(s, model.Plan{Kept: verdictOn("n", reason, time.Time{})})
		want(t, string(reason), l.Standing().Nodes["n"].UnneededSince, since)
	}
}

// TestUnneededOverADrain: a node that was rolled back begins again.
func TestUnneededOverADrain(t *testing.T) {
	e := newEmptying(t)
	e.l.Note(&model.Snapshot{Now: at(1)},
		model.Plan{Calls: []model.Call{taintCall()}, Unneeded: verdictOn("n", model.Unneeded, at(0))})
	want(t, "as it begins", e.standing().UnneededSince, at(0))
	e.look(model.Outcome{Call: taintCall(), Ended: at(2), Target: -1})
	e.l.Note(&model.Snapshot{Now: at(2)}, model.Plan{Kept: verdictOn("n", model.CurrentlyBeingDeleted, time.Time{})})
	want(t, "while it goes", e.standing().UnneededSince, time.Time{})
	// Whatever has been said of it meanwhile.
	e.l.Note(&model.Snapshot{Now: at(2)}, model.Plan{Unneeded: verdictOn("n", model.Unneeded, at(0))})
	back := untaintCall(model.Reserved, "pending pods fit there")
	e.l.Note(&model.Snapshot{Now: at(2)},
		model.Plan{Calls: []model.Call{back}, Kept: verdictOn("n", model.StepBudget, time.Time{})})
	want(t, "before the rollback", e.standing().UnneededSince, at(0))
	e.look(model.Outcome{Call: back, Ended: at(3), Target: -1})
	want(t, "with the rollback", e.standing().UnneededSince, time.Time{})
}
