package ledger

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestDoubts: since when the scheduler has refused pods that fit ready nodes. Progress
// begins the time again; so does a cycle in which they do not fit.
func TestDoubts(t *testing.T) {
	disagrees := &model.Verdict{Reason: model.SchedulerDisagrees}
	s := &model.Snapshot{Classes: []model.Class{{Key: "a"}, {Key: "b"}}}
	l := empty()
	for i, c := range []struct {
		pending []model.PendingVerdict
		want    map[model.ClassID]model.Doubt
	}{
		{[]model.PendingVerdict{{Class: 0, Pods: 3, Existing: 2}}, map[model.ClassID]model.Doubt{0: {Since: at(0), Pods: 3}}},
		{[]model.PendingVerdict{{Class: 0, Pods: 4, Existing: 2}, {Class: 1, Pods: 1, Existing: 1}}, map[model.ClassID]model.Doubt{0: {Since: at(0), Pods: 4}, 1: {Since: at(1), Pods: 1}}},
		// The pod of a step does not count where it fits.
		{[]model.PendingVerdict{{Class: 0, Pods: 4, Existing: 3}, {Class: 1, Pods: 1, Planned: 1, Disagrees: disagrees}}, map[model.ClassID]model.Doubt{0: {Since: at(0), Pods: 4}, 1: {Since: at(1), Pods: 1}}},
		{[]model.PendingVerdict{{Class: 0, Pods: 3, Existing: 3}, {Class: 1, Pods: 1, Left: 1}}, map[model.ClassID]model.Doubt{0: {Since: at(3), Pods: 3}}},
		{[]model.PendingVerdict{{Class: 0, Pods: 3, Existing: 3, Skipped: disagrees}}, nil},
	} {
		s.Now = at(i)
		l.Note(s, model.Plan{Pending: c.pending})
		got := l.Standing().Doubts
		if len(got) != len(c.want) {
			t.Errorf("turn %d: %d classes, want %d", i, len(got), len(c.want))
		}
		for id, d := range c.want {
			want(t, "turn", []any{i, got[s.Classes[id].Digest()]}, []any{i, d})
		}
	}
}

// TestAStepThatWasRefusedBrakesNothing: the brake that comes with a purchase goes if the
// cloud grants none of it, and stays if it grants some or may have.
func TestAStepThatWasRefusedBrakesNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		target int
		err    *provider.Error
		stays  bool
	}{
		{"granted", 3, nil, true},
		{"refused", -1, &provider.Error{Op: provider.OpGrow, Group: "g", Kind: provider.NoCapacity}, false},
		{"unknown", -1, &provider.Error{Op: provider.OpGrow, Group: "g", Kind: provider.Unavailable, MayHaveHappened: true}, true},
	} {
		s := newStage(t, 2)
		s.at(0)
		call := model.Call{ID: "grow/g/1", Verb: model.Grow, Group: "g", From: 2, To: 3}
		old := model.Brake{Group: "g", Class: "b", Reason: model.SchedulerDisagrees, Since: s.now().Add(-time.Hour)}
		step := model.Brake{Group: "g", Class: "a", Reason: model.SchedulerDisagrees, Since: s.now()}
		s.l.Note(&model.Snapshot{Now: s.now()}, model.Plan{Calls: []model.Call{call}, Brakes: []model.Brake{step, old}})
		s.at(1, model.Outcome{Call: call, Ended: s.now(), Target: c.target, Err: c.err})
		brakes := s.l.Standing().Brakes
		if stays := slices.Contains(brakes, step); stays != c.stays || !slices.Contains(brakes, old) {
			t.Errorf("%s: %+v", c.name, brakes)
		}
	}
}
