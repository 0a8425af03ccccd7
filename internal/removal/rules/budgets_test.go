package rules_test

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
)

// takes are tables of budgets before the pod web/shop-1 with the label app=shop.
var takes = []struct {
	name     string
	budgets  []model.Budget
	left     []int // nil: what they allow
	covering []int
	after    []int
	reason   model.Reason
	detail   string
}{
	{name: "no budget"},
	{name: "one that allows two", budgets: []model.Budget{budget("web", "b", "app=shop", 2)}, covering: []int{0}, after: []int{1}},
	{name: "one that allows one", budgets: []model.Budget{budget("web", "b", "app=shop", 1)}, covering: []int{0}, after: []int{0}},
	{name: "one that allows none", budgets: []model.Budget{budget("web", "b", "app=shop", 0)}, covering: []int{0},
		after:  []int{0},
		reason: model.NotEnoughPdb, detail: "web/shop-1: budget web/b allows no eviction now (2 of 3 healthy, 2 wanted)"},
	{name: "one that allows less than none", budgets: []model.Budget{budget("web", "b", "app=shop", -1)},
		covering: []int{0}, after: []int{0},
		reason: model.NotEnoughPdb, detail: "web/shop-1: budget web/b allows no eviction now (2 of 3 healthy, 2 wanted)"},
	{
		name:     "one that others have used up",
		budgets:  []model.Budget{budget("web", "b", "app=shop", 3)},
		left:     []int{0},
		covering: []int{0},
		after:    []int{0},
		reason:   model.NotEnoughPdb,
		detail:   "web/shop-1: budget web/b allows 3 now, and other pods that move take all of it (2 of 3 healthy, 2 wanted)",
	},
	{name: "another's", budgets: []model.Budget{budget("web", "b", "app=mail", 0)}, after: []int{0}},
	{name: "another namespace's", budgets: []model.Budget{budget("mail", "b", "app=shop", 0)}, after: []int{0}},
	{name: "the empty selector, which covers all", budgets: []model.Budget{budget("web", "b", "", 1)}, covering: []int{0}, after: []int{0}},
	{name: "no selector, which covers nothing", budgets: []model.Budget{budget("web", "b", "-", 0)}, after: []int{0}},
	{name: "a selector that says nothing, which covers nothing", budgets: []model.Budget{{Namespace: "web", Name: "b", Selector: labels.Nothing()}}, after: []int{0}},
	{name: "a list of values", budgets: []model.Budget{budget("web", "b", "app in (mail, shop)", 1)}, covering: []int{0}, after: []int{0}},
	{name: "a list of other values", budgets: []model.Budget{budget("web", "b", "app in (mail, news)", 0)}, after: []int{0}},
	{name: "not other values", budgets: []model.Budget{budget("web", "b", "app notin (mail)", 1)}, covering: []int{0}, after: []int{0}},
	{name: "a label that is there", budgets: []model.Budget{budget("web", "b", "app", 1)}, covering: []int{0}, after: []int{0}},
	{name: "a label that is not", budgets: []model.Budget{budget("web", "b", "!app", 0)}, after: []int{0}},
	{name: "a second requirement that is not met", budgets: []model.Budget{budget("web", "b", "app=shop,tier=front", 0)}, after: []int{0}},
	{name: "one of several", budgets: []model.Budget{budget("mail", "b", "", 1), budget("web", "a", "app=mail", 1),
		budget("web", "b", "app=shop", 1), budget("web", "c", "app=news", 1)},
		covering: []int{2}, after: []int{1, 1, 0, 1}},
	{
		name:     "two, whatever they allow",
		budgets:  []model.Budget{budget("web", "a", "", 5), budget("web", "b", "app=shop", 5)},
		covering: []int{0, 1},
		after:    []int{5, 5},
		reason:   model.NotEnoughPdb,
		detail:   "web/shop-1: the API server refuses to evict a pod that 2 budgets cover: web/a, web/b",
	},
	{
		name: "three",
		budgets: []model.Budget{
			budget("web", "a", "app", 5), budget("web", "b", "app=shop", 5), budget("web", "c", "app!=mail", 0),
		},
		covering: []int{0, 1, 2},
		after:    []int{5, 5, 0},
		reason:   model.NotEnoughPdb,
		detail:   "web/shop-1: the API server refuses to evict a pod that 3 budgets cover: web/a, web/b, web/c",
	},
}

func TestTake(t *testing.T) {
	for _, r := range takes {
		t.Run(r.name, func(t *testing.T) {
			s := plain()
			s.budgets = r.budgets
			c := s.cluster()
			left := c.Budgets()
			if r.left != nil {
				left = r.left
			}
			v := c.Take(&s.pod, left)
			var got model.Verdict
			if v != nil {
				got = *v
			}
			if got.Reason != r.reason || got.Detail != r.detail || (got.Fix != "") != (v != nil) {
				t.Errorf("%+v\nwant %q, %q", got, r.reason, r.detail)
			}
			if !slices.Equal(left, r.after) {
				t.Errorf("left is %v, want %v", left, r.after)
			}
			for range 2 { // found out, and remembered
				if covering := c.Covering(&s.pod); !slices.Equal(covering, r.covering) {
					t.Errorf("covered by %v, want %v", covering, r.covering)
				}
			}
		})
	}
}

// TestBudgetsAreCopies: neither a candidate that is tried nor a plan changes what
// the snapshot has.
func TestBudgetsAreCopies(t *testing.T) {
	s := plain()
	s.budgets = []model.Budget{budget("web", "b", "", 2)}
	c := s.cluster()
	left := c.Budgets()
	tried := left.Clone()
	if v := c.Take(&s.pod, tried); v != nil {
		t.Fatal(v)
	}
	if left[0] != 2 || tried[0] != 1 || c.Budgets()[0] != 2 || s.budgets[0].Allowed != 2 {
		t.Errorf("left %v, tried %v, from scratch %v, the snapshot's %d", left, tried, c.Budgets(), s.budgets[0].Allowed)
	}
}

// TestTakesAddUp: over any pods in any order, no budget goes below zero, one that
// is taken from covers the pod and is the only one, and who is refused takes
// nothing.
func TestTakesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawn{source: func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }}.world()
		c := rules.Of(w.snap, w.policy)
		left := c.Budgets()
		for step := range rapid.IntRange(0, 60).Draw(t, "takes") {
			p := &w.pods[rapid.IntRange(0, len(w.pods)-1).Draw(t, "pod")]
			before := left.Clone()
			v := c.Take(p, left)
			var lowered []int
			for i := range left {
				switch {
				case left[i] < 0:
					t.Fatalf("take %d: budget %d is at %d", step, i, left[i])
				case left[i] == before[i]-1:
					lowered = append(lowered, i)
				case left[i] != before[i]:
					t.Fatalf("take %d: budget %d went from %d to %d", step, i, before[i], left[i])
				}
			}
			want := slowCovering(w.snap, p)
			switch {
			case v != nil && len(lowered) > 0:
				t.Fatalf("take %d is refused (%s) and lowers %v", step, v.Detail, lowered)
			case v == nil && !slices.Equal(lowered, want):
				t.Fatalf("take %d lowers %v, and %v cover the pod", step, lowered, want)
			case v == nil && len(want) > 1:
				t.Fatalf("take %d: a pod that %v cover moves", step, want)
			case v != nil && len(want) == 0:
				t.Fatalf("take %d is refused (%s), and nothing covers the pod", step, v.Detail)
			case v != nil && len(want) == 1 && before[want[0]] > 0:
				t.Fatalf("take %d is refused (%s), and budget %d was at %d", step, v.Detail, want[0], before[want[0]])
			}
		}
	})
}

// TestAsks: what the pods of a node ask together is granted where each of them is in its turn, at the same cost.
func TestAsks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawn{source: func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "") }}.world()
		c := rules.Of(w.snap, w.policy)
		left := c.Budgets()
		for range rapid.IntRange(0, 10).Draw(t, "nodes") {
			var pods []*model.Pod
			for range rapid.IntRange(0, 8).Draw(t, "pods") {
				pods = append(pods, &w.pods[rapid.IntRange(0, len(w.pods)-1).Draw(t, "pod")])
			}
			// One by one. A budget that pods of the node have used up lets more of them go later.
			want, why := left.Clone(), (*model.Verdict)(nil)
			for _, p := range pods {
				if on := slowCovering(w.snap, p); len(on) == 1 && want[on[0]] == 0 && left[on[0]] > 0 {
					continue
				}
				if why = c.Take(p, want); why != nil {
					break
				}
			}
			asks := c.Asks(pods)
			at := left.Refused(asks)
			if (at >= 0) != (why != nil) || at >= 0 && *c.Refusal(&asks[at]) != *why {
				t.Fatalf("ask %d of %+v is refused, want %v", at, asks, why)
			}
			if at < 0 {
				if left.Spend(asks); !slices.Equal(left, want) {
					t.Fatalf("left is %v, want %v", left, want)
				}
			}
		}
	})
}

// TestManyBudgets: where each workload has a budget, pods find their own.
func TestManyBudgets(t *testing.T) {
	const n = 300
	w := manyBudgets(n, n)
	c := rules.Of(w.snap, w.policy)
	for i := range w.pods {
		if got := c.Covering(&w.pods[i]); !slices.Equal(got, []int{i}) {
			t.Fatalf("pod %d is covered by %v", i, got)
		}
	}
	if got := fmt.Sprint(slowCovering(w.snap, &w.pods[n-1])); got != fmt.Sprint([]int{n - 1}) {
		t.Fatalf("the plain statement says %s", got)
	}
}
