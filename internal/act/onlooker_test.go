package act

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var _ loop.Actor = (*Onlooker)(nil)

// began is when the tests begin.
var began = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// What an onlooker is given leaves no trace in the ledger: after the next Fold it
// stands as if the plan had had no calls. One verb after another, each on a subject
// that the ledger has something to say of.
func TestTheLedgerForgetsWhatIsOnlyObserved(t *testing.T) {
	for _, call := range []model.Call{
		{Verb: model.Grow, Group: "g", Pool: "p", From: 3, To: 7, MaxTo: 10},
		{Verb: model.Cancel, Group: "g", Pool: "p", From: 3, To: 2},
		{Verb: model.Remove, Group: "g", Pool: "p", Instance: "late"},
		{Verb: model.Taint, Group: "g", Node: "n1", Instance: "n1"},
		{Verb: model.Mark, Group: "g", Node: "n1"},
		{Verb: model.Unmark, Group: "g", Node: "n1"},
		{Verb: model.Annotate, Group: "g", Node: "n1", Note: "x"},
		// n2 has the taint of another client's removal.
		{Verb: model.Untaint, Group: "g", Node: "n2", Reason: model.LeaderChanged},
		{Verb: model.Untaint, Group: "g", Node: "n2", Reason: model.PodLanded, Why: "x"},
		{Verb: model.Cordon, Group: "g", Node: "n2"},
		{Verb: model.Remove, Group: "g", Pool: "p", Node: "n2", Instance: "n2"},
		{Verb: model.Evict, Group: "g", Node: "n2", Pod: "default/a", PodUID: "a"},
	} {
		t.Run(fmt.Sprint(call.Verb, call.Node, call.Reason), func(t *testing.T) {
			call.ID = "call"
			stand := func(plan model.Plan) model.Standing {
				onlooker := NewOnlooker()
				seen := fleet(began)
				book := ledger.New(testkit.Policy().Rules)
				book.Fold(seen, onlooker.Collect())
				snap := snapshot.New(nil, seen, book.Standing(), testkit.Policy().Rules)
				book.Note(snap, plan)
				onlooker.Start(t.Context(), plan.Calls)
				seen = fleet(began.Add(10 * time.Second))
				seen.Inventory.AsOf = began.Add(-time.Second) // no newer read of the cloud is needed
				book.Fold(seen, onlooker.Collect())
				if open := book.Open(); len(open) > 0 {
					t.Errorf("under way: %v", open)
				}
				return book.Standing()
			}
			got, want := stand(model.Plan{Calls: []model.Call{call}}), stand(model.Plan{})
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
				// Rests that ended long before the start, and the cause of a failure that never happened: no code reads them.
				cmp.FilterPath(func(p cmp.Path) bool {
					name := p.Last().String()
					return name == ".Rests" || name == ".FailureWhy" || name == ".NotBefore" ||
						name == ".MarkAfter" || name == ".TaintAfter" ||
						name == ".Evictions" || p.Index(-2).String() == ".Failed" && name != ".At"
				}, cmp.Ignore()),
				// A node of which nothing is said is as good as none.
				cmpopts.IgnoreMapEntries(func(_ string, n model.NodeStanding) bool {
					n.MarkAfter, n.TaintAfter = time.Time{}, time.Time{}
					return n == model.NodeStanding{}
				})); diff != "" {
				t.Error(diff)
			}
			for id, g := range got.Groups {
				for _, r := range g.Rests {
					if r.Until.After(began.AddDate(-1, 0, 0)) {
						t.Errorf("group %s rests: %+v", id, r)
					}
				}
			}
			for name, n := range got.Nodes {
				if n.MarkAfter.After(began.AddDate(-1, 0, 0)) || n.TaintAfter.After(began.AddDate(-1, 0, 0)) ||
					n.Drain != nil && n.Drain.NotBefore.After(began.AddDate(-1, 0, 0)) {
					t.Errorf("node %s rests", name)
				}
			}
		})
	}
}

// fleet is a group of three that lacks one node, and whose node n2 is on its way out.
func fleet(now time.Time) model.Observation {
	c := testkit.New()
	c.Now = now
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
	c.Groups[0].Pool = "p"
	for i := 1; i <= 2; i++ {
		node := testkit.Node(fmt.Sprint("n", i), "4", "16Gi", nil)
		node.CreationTimestamp.Time = began.Add(-time.Hour)
		if i == 2 {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
				Key:    model.TaintToBeDeleted,
				Value:  fmt.Sprint(began.Add(-time.Minute).Unix()),
				Effect: corev1.TaintEffectNoSchedule,
			})
		}
		c.AddNode(node, "g")
	}
	c.Groups[0].Target = 3
	c.Groups[0].Instances = append(c.Groups[0].Instances, provider.Instance{
		ID: "late", State: provider.Creating, Created: began.Add(-time.Minute),
	})
	return c.Observation()
}

// A loop with an onlooker goes on to see the same need, and plans the same for it:
// it neither waits for nodes that were not bought, nor turns to another group.
func TestAnObservedLoopSeesTheSameNeedAgain(t *testing.T) {
	c := testkit.New()
	c.Now = began
	c.Group("a", 0, 10, testkit.Node("", "4", "16Gi", nil))
	c.Group("b", 0, 10, testkit.Node("", "8", "32Gi", nil))
	c.Pending(testkit.Pod("default", "web", "1", "1Gi", nil), 10)
	o := &onlooking{cluster: c}
	l := loop.New(o, NewOnlooker(), o, testkit.Policy(), func() time.Time { return c.Now },
		ledger.New(testkit.Policy().Rules))
	defer l.Close()
	want := decide.Decide(snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules),
		testkit.Policy()).Nodes
	if want == 0 {
		t.Fatal("the plan adds no node")
	}
	// Far beyond the time that a node may take to come.
	for range 200 {
		if err := l.RunOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		p, s := o.cycle.Plan, o.cycle.Snapshot
		if len(p.Grow) != 1 || p.Nodes == 0 || p.Grow[0].From != 0 {
			t.Fatalf("at %s: %s", c.Now, p.Text(s))
		}
		g := s.Groups[0]
		failed := !g.Rests.Of(model.RestFailed).Since.IsZero()
		if g.Expected != 0 || failed || g.Busy != nil || len(s.Brakes) > 0 {
			t.Fatalf("the ledger believes in it: %+v", g.GroupStanding)
		}
		c.Now = c.Now.Add(10 * time.Second)
	}
	// Another client buys them: the need is met by what is coming.
	grown := o.cycle.Plan.Grow[0]
	for i := range c.Groups {
		if c.Groups[i].ID == grown.Group {
			c.Groups[i].Target = grown.To
		}
	}
	if err := l.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := o.cycle.Plan; len(p.Grow) != 0 || len(p.Pending) != 1 || p.Pending[0].Upcoming != 10 {
		t.Errorf("after another client's scale-up: %s", p.Text(o.cycle.Snapshot))
	}
}

// A node that others begin to remove, and then give back, is a node like any other
// again: pods have room there, and it may be found unneeded.
func TestANodeThatOthersGiveBack(t *testing.T) {
	c := testkit.New()
	c.Now = began
	c.Group("g", 0, 10, testkit.Node("", "4", "16Gi", nil))
	free, used := testkit.Node("free", "4", "16Gi", nil), testkit.Node("used", "4", "16Gi", nil)
	for _, n := range []*corev1.Node{free, used} {
		n.CreationTimestamp.Time = c.Now.Add(-time.Hour)
		c.AddNode(n, "g")
	}
	c.Bound(testkit.Pod("default", "web", "1", "1Gi", nil), 1, "used")
	o := &onlooking{cluster: c}
	l := loop.New(o, NewOnlooker(), o, testkit.Policy(), func() time.Time { return c.Now },
		ledger.New(testkit.Policy().Rules))
	defer l.Close()
	kinds := func() string {
		t.Helper()
		for range 3 {
			if err := l.RunOnce(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.Now = c.Now.Add(time.Second)
		}
		s := o.cycle.Snapshot
		return fmt.Sprint(s.Nodes[0].Kind, " ", s.Nodes[1].Kind)
	}
	if got := kinds(); got != "Ready Ready" {
		t.Errorf("at first: %s", got)
	}
	mark := corev1.Taint{
		Key: model.TaintToBeDeleted, Value: fmt.Sprint(c.Now.Unix()), Effect: corev1.TaintEffectNoSchedule,
	}
	free.Spec.Taints, used.Spec.Taints = []corev1.Taint{mark}, []corev1.Taint{mark}
	if got := kinds(); got != "Leaving Leaving" {
		t.Errorf("while others remove them: %s", got)
	}
	free.Spec.Taints, used.Spec.Taints = nil, nil
	if got := kinds(); got != "Ready Ready" {
		t.Errorf("after others have given them back: %s", got)
	}
	for name, at := range map[string]time.Time{
		"growth":  o.cycle.Snapshot.LastGrowth,
		"removal": o.cycle.Snapshot.LastRemoval,
		"failure": o.cycle.Snapshot.LastFailure,
	} {
		if !at.IsZero() {
			t.Errorf("the last %s is on record, at %s", name, at)
		}
	}
}

// onlooking observes a cluster and keeps the last cycle.
type onlooking struct {
	cluster *testkit.Cluster
	cycle   model.Cycle
}

func (o *onlooking) Observe(context.Context, time.Time) (model.Observation, error) {
	return o.cluster.Observation(), nil
}

func (o *onlooking) Report(_ context.Context, c model.Cycle) error {
	o.cycle = c
	return nil
}
