package decide_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestWakes: where time alone changes a plan, the plan says when. The loop does not run before that.
func TestWakes(t *testing.T) {
	for _, tt := range []struct {
		name, scene string
		rests       time.Duration // of n1, from writing on it
		want        time.Duration
	}{
		{"a pod is still to come for an evicted one", "last eviction of=api age=4s", 0, 6 * time.Second},
		{"nothing is written on a node for a while", "", time.Minute, time.Minute},
		{"a node is not unneeded for long enough yet", "", 0, 10 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			snap, policy := snapshotOf(t, "group g max=10 cpu=4 memory=16Gi\nnode n1 group=g\npods api count=1 cpu=100m "+
				"node=n1 age=1h\nnode n2 group=g\npods rest count=3 cpu=1 node=n2\n"+tt.scene)
			policy.ScaleDown.DelayAfterAdd, policy.ScaleDown.SoftTaints = 0, 10
			if tt.rests > 0 {
				snap.Nodes[0].Standing.MarkAfter = snap.Now.Add(tt.rests)
			}
			plan := decide.Decide(snap, policy)
			if got := plan.Wake.Sub(snap.Now); got != tt.want {
				t.Errorf("it wakes after %s, want %s", got, tt.want)
			}
			marked := false
			for _, c := range plan.Calls {
				marked = marked || c.Verb == model.Mark
			}
			if marked != (tt.rests == 0) {
				t.Errorf("calls %+v", plan.Calls)
			}
		})
	}
}
