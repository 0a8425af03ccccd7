package decide_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestRemovalsAreSafeTogether: whatever the cluster, all nodes that the plan
// calls unneeded can go at once without a group or a pool under its minimum, a
// budget overdrawn, or a pod ended that keeps its node; and those that start keep
// to the limits on what runs at a time. What is counted here is counted plainly,
// from the pods themselves.
func TestRemovalsAreSafeTogether(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawOccupied(t)
		p := drawn.Policy
		p.ScaleDown.UnneededTime = 0
		p.ScaleDown.MaxDrains = rapid.IntRange(1, 4).Draw(t, "drains")
		p.ScaleDown.MaxParallelism = rapid.IntRange(1, 6).Draw(t, "parallel")
		s := snapshot.New(nil, drawn.Build(testkit.InOrder).Observation(), model.Standing{}, p.Rules)
		plan := decide.Decide(s, p)
		nodes := map[string]*model.Node{}
		for i := range s.Nodes {
			nodes[s.Nodes[i].Name] = s.Nodes[i]
		}

		left := map[provider.GroupID]int{}
		pools := map[provider.PoolID]int{}
		for i := range s.Groups {
			left[s.Groups[i].ID] = s.Groups[i].Expected
			pools[s.Groups[i].Pool] += s.Groups[i].Expected
		}
		evicted, most := make([]int, len(s.Budgets)), make([]int, len(s.Budgets))
		for _, v := range plan.Unneeded {
			n := nodes[v.Node]
			if v.Reason != model.Unneeded && !slices.ContainsFunc(n.Bound, func(q model.Pod) bool { return matters(s, &q) }) {
				continue // nothing needs it, and a minimum may keep it all the same
			}
			left[v.Group]--
			pools[s.Groups[n.Group].Pool]--
			before := slices.Clone(evicted)
			for i := range n.Bound {
				checkPod(t, s, n, &n.Bound[i], evicted)
			}
			for i := range evicted {
				most[i] = max(most[i], evicted[i]-before[i])
			}
		}
		for i := range s.Groups {
			if g := &s.Groups[i]; left[g.ID] < min(g.Min, g.Expected) {
				t.Fatalf("%d of %s would be left, of at least %d\n%s", left[g.ID], g.ID, g.Min, plan.Text(s))
			}
		}
		for _, pool := range s.Pools {
			if got := pools[pool.ID]; got < pool.Min && touches(s, plan, pool.ID) {
				t.Fatalf("%d of pool %s would be left, of at least %d\n%s", got, pool.ID, pool.Min, plan.Text(s))
			}
		}
		for i, b := range s.Budgets {
			// One node may have more of a budget's pods than it allows now: they go in turn,
			// as long as the others leave it one.
			if evicted[i] > max(0, b.Allowed) && (b.Allowed <= 0 || evicted[i]-most[i] > b.Allowed-1) {
				t.Fatalf("budget %s allows %d, and %d pods go, %d of them of one node\n%s",
					b.Name, b.Allowed, evicted[i], most[i], plan.Text(s))
			}
		}

		starts, drains := 0, 0
		for _, c := range plan.Calls {
			if c.Verb == model.Taint {
				starts++
				if len(c.Known) > 0 {
					drains++
				}
			}
		}
		if starts > p.ScaleDown.MaxParallelism || drains > p.ScaleDown.MaxDrains {
			t.Fatalf("%d removals begin, %d of them of nodes with pods, of at most %d and %d",
				starts, drains, p.ScaleDown.MaxParallelism, p.ScaleDown.MaxDrains)
		}
	})
}

// touches reports whether a node of the pool goes.
func touches(s *model.Snapshot, plan model.Plan, pool provider.PoolID) bool {
	return slices.ContainsFunc(plan.Unneeded, func(v model.NodeVerdict) bool {
		return v.Reason == model.Unneeded &&
			slices.ContainsFunc(s.Groups, func(g model.Group) bool { return g.ID == v.Group && g.Pool == pool })
	})
}

// matters reports whether a pod must be moved before its node goes.
func matters(s *model.Snapshot, q *model.Pod) bool {
	return q.Flags&(model.Finished|model.Mirror|model.FromDaemonSet|model.Terminating) == 0 &&
		s.Contents.Specs[q.Spec].Priority >= -10
}

// checkPod fails for a pod that must not be on an unneeded node, and counts what its
// eviction takes of budgets.
func checkPod(t *rapid.T, s *model.Snapshot, n *model.Node, q *model.Pod, evicted []int) {
	if !matters(s, q) {
		return
	}
	facts, namespace := s.Contents.Facts[q.Facts], s.Contents.Specs[q.Spec].Pod.Namespace
	if facts.Safe == model.EvictNo || facts.Safe == model.EvictOnCompletion ||
		(facts.Controller == "" && facts.Safe != model.EvictYes) {
		t.Fatalf("%s is unneeded, and pod %s/%s may not be moved: %+v", n.Name, namespace, q.Name, facts)
	}
	covers := 0
	for i, b := range s.Budgets {
		if b.Namespace == namespace && b.Selector != nil &&
			b.Selector.Matches(labels.Set(s.Contents.Labels[q.Labels].Labels)) {
			evicted[i]++
			covers++
		}
	}
	if covers > 1 {
		t.Fatalf("%s is unneeded, and the API server never evicts pod %s/%s, which %d budgets cover",
			n.Name, namespace, q.Name, covers)
	}
}

// TestRemovalsDoNotDependOnOrder: the same cluster, told in another order, gives
// the same removals.
func TestRemovalsDoNotDependOnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawOccupied(t)
		text := func(o func(int) []int) string {
			s := snapshot.New(nil, drawn.Build(o).Observation(), model.Standing{}, drawn.Policy.Rules)
			return decide.Decide(s, drawn.Policy).Text(s)
		}
		if one, other := text(testkit.InOrder), text(testkit.Backwards); one != other {
			t.Fatalf("in order:\n%s\nreversed:\n%s", one, other)
		}
	})
}

// TestTheTaintChangesNoAnswer: a removal that begins is not taken back in the next
// cycle if nothing has happened but its taint. The templates of some groups have no
// zone, as those of groups over several zones.
func TestTheTaintChangesNoAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		drawn := testkit.DrawOccupied(t)
		p := drawn.Policy
		p.ScaleDown.UnneededTime = 0
		p.ScaleDown.MaxDrains = rapid.IntRange(1, 4).Draw(t, "drains")
		c := drawn.Build(testkit.InOrder)
		for i := range c.Groups {
			if rapid.Bool().Draw(t, "over several zones") {
				c.Groups[i].Template.Node = c.Groups[i].Template.Node.DeepCopy()
				delete(c.Groups[i].Template.Node.Labels, corev1.LabelTopologyZone)
			}
		}
		seen := c.Observation()
		s := snapshot.New(nil, seen, model.Standing{}, p.Rules)
		before := decide.Decide(s, p)
		standing := model.Standing{Nodes: map[string]model.NodeStanding{}}
		for _, call := range before.Calls {
			i := slices.IndexFunc(seen.Nodes, func(n model.ObservedNode) bool { return n.Object.Name == call.Node })
			if call.Verb != model.Taint || i < 0 {
				continue
			}
			n := seen.Nodes[i].Object.DeepCopy()
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
				Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule,
			})
			seen.Nodes[i].Object, seen.Nodes[i].Shape = n, c.Catalog.Shape(n)
			standing.Nodes[call.Node] = model.NodeStanding{Drain: &model.Drain{
				Node: call.Node, Group: call.Group, Instance: call.Instance, Stage: model.Tainted, Since: s.Now, Began: s.Now,
				Occupied: len(call.Known) > 0, Pods: call.Known, Unready: call.Unready,
			}}
		}
		seen.Contents = c.Catalog.Contents()
		tainted := snapshot.New(nil, seen, standing, p.Rules)
		after := decide.Decide(tainted, p)
		for _, call := range after.Calls {
			if call.Verb == model.Untaint {
				t.Fatalf("%s is given back at once: %s (%s)\nbefore:\n%s\nafter:\n%s",
					call.Node, call.Reason, call.Why, before.Text(s), after.Text(tainted))
			}
		}
	})
}

// TestNoRemovalMakesTheClusterUnhealthy: a healthy cluster, some of whose nodes are not
// ready, is healthy still when the removals of a cycle have begun. Otherwise they would be
// taken back, and begin again, without end.
func TestNoRemovalMakesTheClusterUnhealthy(t *testing.T) {
	for _, test := range []struct {
		name, group    string
		unready, empty int
		duds           int    // nodes that never started
		first          string // the first letter of their names
		begin, never   int
	}{
		{name: "one by one", unready: 4, empty: 12, begin: 10}, // as many as may be under way at a time
		{name: "as a whole", group: "whole", unready: 4, empty: 12},
		{name: "a whole group that may go", group: "whole", unready: 3, empty: 12, begin: 12},
		{name: "those that never started come first", unready: 4, empty: 4, duds: 3, first: "a", begin: 6, never: 3},
		{name: "those that never started come last", unready: 4, empty: 4, duds: 3, first: "z", begin: 6, never: 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			scenario := func(going map[string]bool) *model.Snapshot {
				var b strings.Builder
				fmt.Fprintf(&b, "group w max=20 cpu=4 memory=16Gi %s\ngroup g max=20 min=8 cpu=4 memory=16Gi\n", test.group)
				node := func(name, group, more string) {
					if going[name] {
						more += " tainted=10s"
					}
					fmt.Fprintf(&b, "node %s group=%s %s\n", name, group, more)
				}
				for i := range test.empty {
					name := fmt.Sprintf("w%02d", i)
					node(name, "w", "age=48h")
					fmt.Fprintf(&b, "unneeded %s since=30m\n", name)
				}
				for i := range test.duds {
					name := fmt.Sprintf("%s%02d", test.first, i)
					node(name, "w", "age=2h notready=2h")
					fmt.Fprintf(&b, "unneeded %s since=60m\n", name)
				}
				for i := range 8 {
					name, more := fmt.Sprintf("g%02d", i), "age=48h"
					if i < test.unready {
						more += " notready=2m"
					}
					node(name, "g", more)
					fmt.Fprintf(&b, "pods web count=3 cpu=1 memory=1Gi node=%s\n", name)
				}
				s := testkit.NewScenario()
				if err := s.Add(b.String()); err != nil {
					t.Fatal(err)
				}
				return s.Snapshot(s.Policy)
			}
			before := scenario(nil)
			if before.Unhealthy != nil {
				t.Fatalf("the cluster is unhealthy before: %+v", before.Unhealthy)
			}
			plan := decide.Decide(before, testkit.NewScenario().Policy)
			going := map[string]bool{}
			never := 0
			for _, c := range plan.Calls {
				if c.Verb == model.Taint {
					going[c.Node] = true
					if test.duds > 0 && strings.HasPrefix(c.Node, test.first) {
						never++
					}
				}
			}
			if len(going) != test.begin || never != test.never {
				t.Errorf("%d removals begin, %d of them of nodes that never started, want %d and %d\n%s",
					len(going), never, test.begin, test.never, plan.Text(before))
			}
			if after := scenario(going); after.Unhealthy != nil {
				t.Errorf("the removals of %d nodes make the cluster unhealthy: %s\n%s",
					len(going), after.Unhealthy.Detail, plan.Text(before))
			}
		})
	}
}

// TestEvictionsAtATime: of one removal as many as ten evictions are under way, of all
// together twenty.
func TestEvictionsAtATime(t *testing.T) {
	c := testkit.NewScenario()
	err := c.Add("group g max=20 cpu=64 memory=256Gi\nnode big group=g\npods full cpu=40 memory=1Gi node=big")
	for _, name := range []string{"a", "b", "c", "d"} {
		if err == nil {
			err = c.Add(fmt.Sprintf("node %s group=g\npods %[1]s count=12 cpu=100m memory=1Mi node=%[1]s\n"+
				"drain %[1]s stage=Evicting since=1m occupied", name))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	plan := decide.Decide(c.Snapshot(c.Policy), c.Policy)
	got := map[string]int{}
	for _, call := range plan.Calls {
		if call.Verb == model.Evict {
			got[call.Node]++
		}
	}
	if want := map[string]int{"a": 10, "b": 10}; !maps.Equal(got, want) {
		t.Errorf("evictions by node: %v, want %v", got, want)
	}
}
