package decide_test

import (
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
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

// TestWakesForMoves: a node is used enough to stay, and its group's removals rest since the cloud refused them. When
// that is over a move may be worth it.
func TestWakesForMoves(t *testing.T) {
	snap, p := snapshotOf(t, "group dear max=10 cpu=8 memory=32Gi price=1\ngroup small max=10 cpu=4 memory=16Gi "+
		"price=0.1\nnode n1 group=dear\npods web count=7 cpu=1 node=n1")
	p.Moves.Consolidation = policy.WhenCheaper
	at := slices.IndexFunc(snap.Groups, func(g model.Group) bool { return g.ID == "dear" })
	over := snap.Now.Add(40 * time.Second)
	snap.Groups[at].Rests.Put(model.Rest{Cause: model.RestRefused, Since: snap.Now, Until: over, Length: time.Minute})
	if plan := decide.Decide(snap, p); !plan.Wake.Equal(over) || len(plan.Worth) > 0 {
		t.Errorf("it wakes at %s, want %s; %d moves are worth it", plan.Wake, over, len(plan.Worth))
	}
	snap.Now = over
	if plan := decide.Decide(snap, p); len(plan.Worth) != 1 {
		t.Errorf("%d moves are worth it after that", len(plan.Worth))
	}
}
