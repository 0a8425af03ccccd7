package explain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestWhatAGroupSays: of pods that wait the fix that works, with what DaemonSets take of a new node; and of the nodes
// that came lately, whether they run the pods that they were bought for.
func TestWhatAGroupSays(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group g max=4 cpu=4 memory=16Gi
daemonset agent cpu=200m memory=100Mi
node n1 group=g
node n2 group=g
arrived n1 group=g ready=2m for=web
arrived n2 group=g ready=1m for=web
pods web count=2 cpu=1 node=n1
pods huge count=1 cpu=6`); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	c := model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}
	g, err := explain.GroupOf(c, s.Policy, "g")
	if err != nil {
		t.Fatal(err)
	}
	var came []string
	for _, x := range g.Came {
		came = append(came, fmt.Sprint(x.Node, " ", len(x.For), " ", x.Runs, " ", snap.Now.Sub(x.Ready)))
	}
	if want := "[n2 1 0 1m0s n1 1 2 2m0s]"; fmt.Sprint(came) != want {
		t.Errorf("nodes that came: %v, want %s", came, want)
	}
	const detail = "cpu 6 > 3800m (cpu 4 allocatable − 200m DaemonSets)"
	if len(g.Classes) != 1 || g.Classes[0].Detail != detail || g.Classes[0].WorksIf == nil ||
		g.Classes[0].WorksIf.Short != "request cpu ≤ 3800m" {
		t.Errorf("answers %+v, want %s", g.Classes, detail)
	}
	// The pod's answer is the same.
	p, err := explain.PodOf(c, s.Policy, "default/huge-000001")
	if err != nil || p.Pending.Groups[0].Detail != detail || p.Pending.Fix.Text != g.Classes[0].WorksIf.Text {
		t.Errorf("the pod's answer is %+v (%v)", p.Pending, err)
	}
}

// TestAGroupThatIsBoughtLast says so with the numbers of the notice, and until when.
func TestAGroupThatIsBoughtLast(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group spot max=4 cpu=4 memory=16Gi
group other max=4 cpu=4 memory=16Gi
last interruption of=a group=spot age=50m
last interruption of=b group=spot age=20m
last interruption of=c group=other age=20m
pods web count=1 cpu=1`); err != nil {
		t.Fatal(err)
	}
	s.Policy.Moves.MaxInterruptions, s.Policy.Moves.InterruptionSpan = 2, time.Hour
	snap := s.Snapshot(s.Policy)
	c := model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}
	notice := slices.IndexFunc(c.Plan.Notices, func(n provider.Notice) bool { return n.Code == "InterruptedOften" })
	if notice < 0 {
		t.Fatalf("notices: %v", c.Plan.Notices)
	}
	got, err := explain.GroupOf(c, s.Policy, "spot")
	if err != nil || got.BoughtLast == nil {
		t.Fatalf("%+v (%v)", got.BoughtLast, err)
	}
	want := fmt.Sprintf("spot (%s; until %s)", got.BoughtLast.Why, got.BoughtLast.Until.Format(time.RFC3339))
	if !strings.HasSuffix(c.Plan.Notices[notice].Message, want) || got.BoughtLast.Interrupted != 2 ||
		!got.BoughtLast.Until.Equal(snap.Now.Add(10*time.Minute)) {
		t.Errorf("%+v, and the notice is %q", got.BoughtLast, c.Plan.Notices[notice].Message)
	}
	if other, err := explain.GroupOf(c, s.Policy, "other"); err != nil || other.BoughtLast != nil {
		t.Errorf("the other group: %+v (%v)", other.BoughtLast, err)
	}
}

// TestARestSaysItsCodeOnce: what a group rests from has the code in its message already.
func TestARestSaysItsCodeOnce(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add("group g max=4 cpu=4 memory=16Gi"); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	snap.Groups[0].Rests.Put(model.Rest{Cause: model.RestFailed, Since: snap.Now, Until: snap.Now.Add(time.Minute),
		Code: model.CodeTimeout, Message: "timeout: 2 of the nodes asked for did not register"})
	g, err := explain.GroupOf(model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}, s.Policy, "g")
	if err != nil || len(g.Holds) != 1 || g.Holds[0].Detail != "timeout: 2 of the nodes asked for did not register" {
		t.Errorf("%v, %+v", err, g.Holds)
	}
}
