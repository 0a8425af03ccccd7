package decide_test

import (
	"fmt"
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
		{"a pod that came for an evicted one has lacked a node for long", "last eviction of=api age=30s\n" +
			"pods api count=1 cpu=100m gated age=20s", 0, model.Patience - 20*time.Second},
		{"nothing is written on a node for a while", "", time.Minute, time.Minute},
		{"a pod of a drain that failed ends soon", "failed n2 age=4s why=EvictionRefused\n" +
			"pods gone count=1 cpu=100m node=n2 ends=50s", 0, 20 * time.Second},
		{"a pod of a drain that failed is late", "failed n2 age=4s why=EvictionRefused\n" +
			"pods gone count=1 cpu=100m node=n2 ends=10s", time.Minute, 20 * time.Second},
		{"a drain that failed is over for long enough", "failed n2 age=4s why=EvictionRefused\n" +
			"pods gone count=1 cpu=100m node=n2 ends=5m", 0, 56 * time.Second},
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

// TestWakesForTheEndOfANotice: a spot node is about to be taken. Its pods leave when no more of the notice is left than
// they have to end, whatever has come by then. A move of it that was given up has begun that time.
func TestWakesForTheEndOfANotice(t *testing.T) {
	const cluster = `group g max=10 cpu=8 memory=32Gi labels=karpenter.sh/capacity-type:%s
node n1 group=g annotate=example.com/leaves=soon
pods a count=5 cpu=1100m memory=1Gi node=n1 grace=%s
pods b count=1 cpu=100m memory=1Gi node=n1 grace=5s`
	for _, c := range []struct {
		capacity, grace string
		given           time.Duration // how long ago the time of a move that was given up was over
		want            time.Duration
	}{
		{"on-demand", "30s", 0, 0},
		{"spot", "30s", 0, model.SpotNotice - 30*time.Second},
		{"spot", "5m", 0, model.SpotNotice - 5*time.Minute},
		{"spot", "30s", 10 * time.Second, -10 * time.Second},
		{"spot", "30s", -time.Hour, model.SpotNotice - 30*time.Second},
		{"spot", "30s", time.Hour, model.SpotNotice - 30*time.Second}, // of another notice
	} {
		snap, p := snapshotOf(t, fmt.Sprintf(cluster, c.capacity, c.grace))
		p.Moves.Interrupted = []string{"example.com/leaves"}
		if c.given != 0 {
			snap.Moves = []model.Move{{ID: "m", Goes: []string{"n1"}, Stage: model.MoveGivenUp, Entered: snap.Now,
				DrainAt: snap.Now.Add(-c.given), Stay: 2 * time.Hour}}
		}
		plan := decide.Decide(snap, p)
		if len(plan.Moves) != 1 {
			t.Fatalf("%+v: %d moves", c, len(plan.Moves))
		}
		switch at := plan.Moves[0].DrainAt; {
		case c.want == 0 && at.IsZero():
		case c.want == 0 || at.Sub(snap.Now) != c.want:
			t.Errorf("%+v: they leave after %s", c, at.Sub(snap.Now))
		case c.want > 0 && !plan.Wake.Equal(at):
			t.Errorf("%+v: it wakes at %s, and not at %s", c, plan.Wake, at)
		}
	}
}
