package ledger

import (
	"maps"
	"slices"
	"testing"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestDoubts: since when the scheduler has refused pods that fit ready nodes. A pod that waited and is bound begins the
// time again, and so does a cycle in which they do not fit; pods that are wanted no more do not.
func TestDoubts(t *testing.T) {
	disagrees := &model.Verdict{Reason: model.SchedulerDisagrees}
	l := empty()
	for i, c := range []struct {
		name          string
		waiting, runs string // a letter is a pod of the first class, a digit one of the second
		pending       []model.PendingVerdict
		want          map[model.ClassID]int // in which turn the doubt began
	}{
		{"two fit", "abc", "", []model.PendingVerdict{{Class: 0, Pods: 3, Existing: 2}}, map[model.ClassID]int{0: 0}},
		{"more wait", "abcd1", "",
			[]model.PendingVerdict{{Class: 0, Pods: 4, Existing: 2}, {Class: 1, Pods: 1, Existing: 1}},
			map[model.ClassID]int{0: 0, 1: 1}},
		{"the pod of a step does not count where it fits", "abcd1", "",
			[]model.PendingVerdict{{Class: 0, Pods: 4, Existing: 3}, {Class: 1, Pods: 1, Planned: 1, Disagrees: disagrees}},
			map[model.ClassID]int{0: 0, 1: 1}},
		{"fewer are wanted", "abc1", "",
			[]model.PendingVerdict{{Class: 0, Pods: 3, Existing: 3}, {Class: 1, Pods: 1, Existing: 1}},
			map[model.ClassID]int{0: 0, 1: 1}},
		{"one is bound, and another comes", "abe1", "c",
			[]model.PendingVerdict{{Class: 0, Pods: 3, Existing: 3}, {Class: 1, Pods: 1, Left: 1}},
			map[model.ClassID]int{0: 4}},
		{"the scheduler makes room for others first", "abe!", "c", []model.PendingVerdict{{Class: 0, Pods: 3, Existing: 3}},
			nil},
		{"no turn of theirs", "abe", "c", []model.PendingVerdict{{Class: 0, Pods: 3, Existing: 3, Skipped: disagrees}}, nil},
	} {
		s := &model.Snapshot{Now: at(i), Classes: []model.Class{{Key: "a"}, {Key: "b"}},
			Pending: []model.Pending{{Class: 0}, {Class: 1}}}
		for _, uid := range c.waiting {
			q := &s.Pending[0]
			if uid == '!' {
				q.Awaits = true
				continue
			}
			if unicode.IsDigit(uid) {
				q = &s.Pending[1]
			}
			q.Pods = append(q.Pods, &model.Pod{UID: types.UID(uid)})
		}
		n := &model.Node{}
		for _, uid := range c.runs {
			n.Bound = append(n.Bound, model.Pod{UID: types.UID(uid)})
		}
		s.Nodes = []*model.Node{n}
		l.Note(s, model.Plan{Pending: c.pending})
		got := map[model.ClassID]int{}
		for id := range s.Classes {
			if d, ok := l.Standing().Doubts[s.Classes[id].Digest()]; ok {
				got[model.ClassID(id)] = slices.IndexFunc([]int{0, 1, 2, 3, 4, 5},
					func(turn int) bool { return at(turn).Equal(d.Since) })
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: doubts since turns %v, want %v", c.name, got, c.want)
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
