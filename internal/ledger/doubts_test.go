package ledger

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestDoubts: since when the scheduler has refused pods that fit ready nodes. Progress
// begins the time anew; so does a cycle in which they do not fit.
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
		l = l.Note(s, model.Plan{Pending: c.pending})
		got := l.Standing().Doubts
		if len(got) != len(c.want) {
			t.Errorf("turn %d: %d classes, want %d", i, len(got), len(c.want))
		}
		for id, d := range c.want {
			want(t, "turn", []any{i, got[s.Classes[id].Digest()]}, []any{i, d})
		}
	}
}
