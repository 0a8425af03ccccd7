package ledger

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// replacing is a group of two nodes of which the first goes for one that is bought.
func replacing(t *testing.T) *stage {
	s := settled(t, 2)
	c := model.Call{ID: "grow/g/0", Verb: model.Grow, Group: "g", From: 2, To: 3}
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{c}, Moves: []model.Move{{
		ID: "move", Goes: []string{"i001"}, Comes: []model.Purchase{{Group: "g", Count: 1, Ask: c.ID}},
		Began: s.now(), Entered: s.now(), Patience: time.Hour, Stay: time.Hour,
	}}})
	s.target = 3
	s.l.Fold(s.seen(), []model.Outcome{{Call: c, Ended: s.now(), Target: 3}})
	return s
}

// stageOf is the stage of the only move, "none" if there is none.
func stageOf(l *Ledger) string {
	if moves := l.Standing().Moves; len(moves) == 1 {
		return moves[0].Stage.String()
	}
	return "none"
}

// TestAMoveIsFollowed: from the purchase to the end, through a restart after each step.
func TestAMoveIsFollowed(t *testing.T) {
	for _, restarts := range []bool{false, true} {
		s := replacing(t)
		restart := func() {
			if restarts {
				m := s.l.Memory()
				m.Written = s.now()
				s.l = Restore(s.l.rules, m)
			}
		}
		s.at(1)
		want(t, "asked for", stageOf(s.l), "buying")
		restart()
		s.minute = 2
		s.node(s.instance(), corev1.ConditionTrue, s.now())
		s.at(2)
		want(t, "ready"+s.l.Standing().Moves[0].Why, stageOf(s.l), "emptying")
		want(t, "news", s.l.News(), true)
		want(t, "what came", s.l.Standing().Moves[0].Bought(), []string{"i003"})
		restart()
		s.nodes, s.instances, s.target = s.nodes[1:], s.instances[1:], 2
		s.at(3)
		want(t, "gone", stageOf(s.l), "done")
		want(t, "changes", s.l.Changes()[len(s.l.Changes())-1].Kind, model.MoveEnded)
		restart()
		s.at(62)
		want(t, "at rest", stageOf(s.l), "done")
		s.at(63)
		want(t, "over", stageOf(s.l), "none")
	}
}

// TestAMoveIsGivenUp: what was bought does not come.
func TestAMoveIsGivenUp(t *testing.T) {
	s := replacing(t)
	s.at(14)
	want(t, "in time", stageOf(s.l), "buying")
	s.at(16)
	want(t, "late", stageOf(s.l), "givenUp")
	want(t, "kind", s.l.Changes()[len(s.l.Changes())-1].Kind, model.MoveGivenUpOn)
}

// TestInterruptionsAreRemembered: through a restart, and not as of a time to come.
func TestInterruptionsAreRemembered(t *testing.T) {
	s := settled(t, 1)
	s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Interruptions: []model.Interruption{
		{Node: "a", Group: "g", At: s.now().Add(-time.Minute)}, {Node: "b", Group: "g", At: s.now().Add(time.Hour)}}})
	m := s.l.Memory()
	m.Written = s.now()
	s.l = Restore(s.l.rules, m)
	s.l.Fold(s.seen(), nil)
	got := s.l.Standing().Interruptions
	if len(got) != 2 || got[1].At.After(s.now()) || !got[0].At.Equal(s.now().Add(-time.Minute)) {
		t.Errorf("remembered: %+v", got)
	}
}
