package explain_test

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

type fataler interface{ Fatalf(string, ...any) }

func planOf(t fataler, seen model.Observation, m model.Memory, p model.Policy) explain.Plan {
	cycle, err := ask.Decide(seen, m, p)
	if err != nil {
		t.Fatalf("decide: %v", err)
	}
	return explain.PlanOf(cycle, p)
}

// TestTheBoundHolds: no plan is below its own bound, on random worlds; and what is counted adds up.
func TestTheBoundHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := testkit.DrawWorld
		if rapid.Bool().Draw(t, "occupied") {
			draw = testkit.DrawOccupied
		}
		w := draw(t)
		c := w.Build(testkit.InOrder)
		prices := &model.Prices{}
		unit := rapid.SampledFrom([]float64{0.1, 0.00037, 1.0 / 3}).Draw(t, "unit")
		for _, g := range c.Inventory().Groups {
			prices = prices.WithGroup(g.ID, float64(rapid.IntRange(1, 40).Draw(t, "price"))*unit)
		}
		if rapid.Bool().Draw(t, "committed") {
			for range rapid.IntRange(1, 3).Draw(t, "commitments") {
				prices.Commitments = append(prices.Commitments, commitment(t, c.Inventory().Groups, unit))
			}
			w.Policy.ScaleUp.Expanders = []model.Expander{model.ByPrice}
		}
		seen := c.Observation()
		seen.Prices = prices
		plan := planOf(t, seen, model.Memory{}, w.Policy)
		bought, going, cost := 0, 0, 0.0
		for _, b := range plan.Buy {
			bought += b.To - b.From
			cost += *b.PricePerHour * float64(b.To-b.From)
		}
		for _, r := range plan.Remove {
			if r.When == explain.Now {
				going++
				cost -= *r.PricePerHour
			}
		}
		if before, after := plan.Before.CostPerHour, plan.After.CostPerHour; before != nil && after != nil &&
			math.Abs(*after-*before-cost) > 1e-5 {
			t.Errorf("%v more is paid, and the rows are %v", *after-*before, cost)
		}
		if want := plan.Before.Nodes + bought - going; plan.After.Nodes != want {
			t.Errorf("%d nodes after, want %d", plan.After.Nodes, want)
		}
		b := plan.Bound
		if b == nil {
			return
		}
		if b.AtLeast < 1 || b.AtLeast > b.Nodes {
			t.Errorf("%d nodes are bought, and any plan buys at least %d", b.Nodes, b.AtLeast)
		}
		if b.AtLeastPerHour == nil && prices.Committed() {
			return // nodes that a commitment may make free
		}
		if b.AtLeastPerHour == nil || *b.AtLeastPerHour <= 0 || *b.AtLeastPerHour > *b.CostPerHour {
			t.Errorf("they cost %v, and the bound is %+v", *b.CostPerHour, b)
		}
	})
}

// TestRemovalsShareACommitment: the rows of what goes add up to what is saved, of alike nodes each the same, first of
// what goes now, and then of what goes later.
func TestRemovalsShareACommitment(t *testing.T) {
	for _, c := range []struct {
		going string // which of the nodes have been unneeded for long
		want  string
	}{
		{"n1 n2 n3", "n1 Now 0.1, n2 Now 0.1, n3 Now 0.1, 0.3 less"},
		{"n2", "n2 Now 0.2, n1 Later 0.05, n3 Later 0.05, 0.2 less"},
	} {
		s := testkit.NewScenario()
		if err := s.Add("group g max=9 cpu=4 memory=16Gi price=0.2\n" +
			"node n1 group=g\nnode n2 group=g\nnode n3 group=g"); err != nil {
			t.Fatal(err)
		}
		snap := s.Snapshot(s.Policy)
		snap.Prices = &model.Prices{Commitments: []model.Commitment{{Amount: 2, PerHour: 0.05}}}
		plan := model.Plan{}
		for _, n := range snap.Nodes {
			if strings.Contains(c.going, n.Name) {
				plan.Calls = append(plan.Calls, model.Call{Verb: model.Taint, Node: n.Name})
			} else {
				plan.Unneeded = append(plan.Unneeded, model.NodeVerdict{Node: n.Name})
			}
		}
		out := explain.PlanOf(model.Cycle{Snapshot: snap, Plan: plan}, s.Policy)
		got := ""
		for _, r := range out.Remove {
			got += fmt.Sprintf("%s %s %v, ", r.Node, r.When, *r.PricePerHour)
		}
		less := *out.Before.CostPerHour
		if after := out.After.CostPerHour; after != nil { // else there is no node
			less -= *after
		}
		if got += fmt.Sprintf("%.4g less", less); got != c.want {
			t.Errorf("%s: %s, want %s", c.going, got, c.want)
		}
	}
}

// commitment is for one group or for all.
func commitment(t *rapid.T, groups []provider.Group, unit float64) model.Commitment {
	c := model.Commitment{Name: "c", Unit: model.CommitmentUnit(rapid.IntRange(0, 2).Draw(t, "counts")),
		Amount:  float64(rapid.IntRange(1, 40).Draw(t, "amount")) / 2,
		PerHour: unit * float64(rapid.IntRange(0, 40).Draw(t, "each"))}
	if rapid.Bool().Draw(t, "one group") {
		id := string(rapid.SampledFrom(groups).Draw(t, "committed group").ID)
		c.Groups = []*regexp.Regexp{regexp.MustCompile("^" + regexp.QuoteMeta(id) + "$")}
	}
	return c
}

// TestTheBoundCountsWhatIsOnePerNode: pods that stand each on a node of their own are no waste.
func TestTheBoundCountsWhatIsOnePerNode(t *testing.T) {
	for name, change := range map[string]func(*testkit.Cluster) int{
		"anti-affinity": func(c *testkit.Cluster) int {
			p := testkit.Pod("default", "web", "1", "1Gi", map[string]string{"app": "web"})
			testkit.Apart(p, "kubernetes.io/hostname", map[string]string{"app": "web"})
			c.Pending(p, 5)
			return 5
		},
		"fragments": func(c *testkit.Cluster) int {
			c.Pending(testkit.Pod("default", "web", "3", "1Gi", nil), 6) // two to a node of 8 cores
			return 3
		},
	} {
		c := testkit.New()
		c.Group("g", 0, 10, testkit.Node("", "8", "32Gi", nil))
		want := change(c)
		plan := planOf(t, c.Observation(), model.Memory{}, testkit.Policy())
		if plan.Bound == nil || plan.Bound.AtLeast != want || plan.Bound.Nodes != want {
			t.Errorf("%s: bound %+v, want %d", name, plan.Bound, want)
		}
	}
}

// TestPlanOf: what begins, what is under way, what goes later, what stays pending, in this order.
func TestPlanOf(t *testing.T) {
	c := testkit.New()
	g := c.Group("g", 0, 3, testkit.Node("", "4", "16Gi", nil))
	price := 0.5
	g.PricePerHour = &price
	c.AddNode(testkit.Node("long", "4", "16Gi", nil), "g")
	c.AddNode(testkit.Node("short", "4", "16Gi", nil), "g")
	c.Pending(testkit.Pod("default", "giant", "40", "1Gi", nil), 2)
	m := model.Memory{Written: c.Now, Unneeded: map[string]time.Time{"long": c.Now.Add(-time.Hour), "short": c.Now}}
	plan := planOf(t, c.Observation(), m, testkit.Policy())
	if !plan.Changes || len(plan.Remove) != 2 || plan.Remove[0].Node != "long" || plan.Remove[0].When != explain.Now ||
		plan.Remove[1].When != explain.Later || plan.Remove[1].Verdict.Reason != model.NotUnneededLongEnough {
		t.Errorf("changes %v, removals %+v", plan.Changes, plan.Remove)
	}
	if plan.Before.Nodes != 2 || plan.After.Nodes != 1 || *plan.Before.CostPerHour != 1 || *plan.After.CostPerHour != 0.5 {
		t.Errorf("%+v, then %+v", plan.Before, plan.After)
	}
	if len(plan.Pending) != 1 || plan.Pending[0].Left != 2 || plan.After.PendingPods != 2 ||
		plan.Pending[0].Groups[0].Reason != model.InsufficientResources {
		t.Errorf("pending %+v", plan.Pending)
	}
}

// TestACourseThatOnlyGoesOn: a removal under way changes the cluster, and begins nothing.
func TestACourseThatOnlyGoesOn(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 3, testkit.Node("", "4", "16Gi", nil))
	cycle, err := ask.Decide(c.Observation(), model.Memory{}, testkit.Policy())
	if err != nil {
		t.Fatal(err)
	}
	var course explain.Course
	course.Add(cycle, testkit.Policy())
	if course.Changes() {
		t.Error("nothing is there, and something changes")
	}
	cycle.Plan.Calls = []model.Call{{Verb: model.Evict, Node: "leaves"}}
	course.Add(cycle, testkit.Policy())
	if !course.Changes() || len(course.Steps) > 0 {
		t.Errorf("an eviction changes nothing, or is a step of its own: %+v", course.Steps)
	}
}

// TestWhatIsNotTriedSaysSo: the classes of a plan share one budget. What it does not suffice for has the verdicts'
// words, which are said to be not tried; with enough of it, the fix is the one that explain names.
func TestWhatIsNotTriedSaysSo(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 1, testkit.Node("", "4", "16Gi", nil))
	c.Pending(testkit.Pod("default", "web", "3", "1Gi", nil), 3)
	c.Pending(testkit.Pod("default", "db", "2", "2Gi", nil), 2)
	policy := testkit.Policy()
	cycle, err := ask.Decide(c.Observation(), model.Memory{}, policy)
	if err != nil {
		t.Fatal(err)
	}
	scarce := explain.PlanOf(cycle, policy)
	end := explain.LimitPlanning(explain.Effort{Plans: 1, Steps: 1 << 40})
	scarce.Try(cycle, policy)
	end()
	if first := &scarce.Pending[0]; first.Untried || !first.Unsearched {
		t.Errorf("the first class: %+v", first)
	}
	if second := &scarce.Pending[1]; !second.Untried || second.Fix != nil ||
		second.Groups[0].Instead != "max ≥ 2 (not tried)" {
		t.Errorf("the second class: %+v", second)
	}
	ample := explain.PlanOf(cycle, policy)
	ample.Try(cycle, policy)
	for i, name := range []string{"default/db-000001", "default/web-000001"} {
		pod, err := explain.PodOf(cycle, policy, name)
		if w := &ample.Pending[i]; err != nil || w.Untried || w.Fix == nil || w.Fix.Text != pod.Pending.Fix.Text {
			t.Errorf("%s: plan says %+v, explain %+v (%v)", name, w.Fix, pod.Pending, err)
		}
	}
}
