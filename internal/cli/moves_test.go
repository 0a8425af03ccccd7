package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// moving is a cycle with two dear nodes that are worth a move, in the words of scenarios and with those added.
func moving(t *testing.T, more string) (model.Cycle, model.Policy) {
	t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(`
group dear max=10 cpu=8 memory=32Gi price=1
group small max=10 cpu=8 memory=32Gi price=0.5
node d1 group=dear
node d2 group=dear
pods a count=4 cpu=1100m memory=1Gi node=d1
pods b count=4 cpu=1100m memory=1Gi node=d2
` + more); err != nil {
		t.Fatal(err)
	}
	s.Policy.Moves.Consolidation = policy.WhenCheaper
	s.Policy.Budgets = []budget.Budget{{Name: "at once", Nodes: &budget.Amount{Count: 2}}}
	snap := s.Snapshot(s.Policy)
	var d decide.Decider
	defer d.Close()
	return model.Cycle{Snapshot: snap, Plan: d.Decide(snap, s.Policy), Policy: s.Policy, Decided: true}, s.Policy
}

// TestMovesAreTold: a plan, a node's explanation and the status say what goes for what, what that saves and what it
// waits for, before it begins and when it does.
func TestMovesAreTold(t *testing.T) {
	const begin = "held d1 why=CheaperElsewhere age=11m\nheld d2 why=CheaperElsewhere age=11m\n"
	const saves = "Cost per hour: 2.00 now, 2.00 after purchases and removals, 1.00 after these moves (-1.00); " +
		"no fleet for these pods is below 1.00."
	for _, x := range []struct{ stage, more, waits string }{
		{"waiting", "", "that must be so"}, {"buying", begin, "what was bought"},
	} {
		c, p := moving(t, x.more)
		var plan, node, state bytes.Buffer
		if err := Plan(&plan, explain.PlanOf(c, p), Table); err != nil {
			t.Fatal(err)
		}
		n, err := explain.NodeOf(c, p, "d1")
		if err != nil || Node(&node, n, Table) != nil {
			t.Fatal(err)
		}
		document, err := status.Of(statusNow, c, status.Document{}).Text()
		if err != nil {
			t.Fatal(err)
		}
		m := corev1.ConfigMap{Data: map[string]string{status.Key: document}}
		if err := Status(&state, &m, statusNow.Add(time.Second), Table); err != nil {
			t.Fatal(err)
		}
		row := "2 nodes for 2 of small  d1, d2         CheaperElsewhere  " + x.stage
		for _, say := range []struct{ in, want string }{
			{plan.String(), row}, {plan.String(), saves}, {state.String(), row},
			{node.String(), "Move: 2 nodes for 2 of small (CheaperElsewhere), " + x.stage + ", 2.00 → 1.00 per hour; " + x.waits},
			{state.String(), "at once  the cluster  all      0 of 2"},
		} {
			if !strings.Contains(say.in, say.want) {
				t.Errorf("%s: there is no %q in:\n%s", x.stage, say.want, say.in)
			}
		}
		var back status.Document
		err = yaml.UnmarshalStrict([]byte(document), &back)
		if err != nil || len(back.Moves) != 1 || len(back.Budgets) != 1 {
			t.Errorf("%s: %v\n%s", x.stage, err, document)
		}
	}
}

// TestTheFleetsCostIsTold also where no move is worth it now, and not where none is asked for.
func TestTheFleetsCostIsTold(t *testing.T) {
	for kind, want := range map[policy.Consolidation]bool{policy.WhenCheaper: true, policy.WhenUnneeded: false} {
		c, p := moving(t, "")
		c.Plan.Worth, p.Moves.Consolidation = nil, kind
		var plan bytes.Buffer
		if err := Plan(&plan, explain.PlanOf(c, p), Table); err != nil {
			t.Fatal(err)
		}
		const line = "Cost per hour: 2.00 now, 2.00 after purchases and removals, 2.00 after these moves (+0.00); " +
			"no fleet for these pods is below 1.00."
		if strings.Contains(plan.String(), line) != want {
			t.Errorf("%s:\n%s", kind, plan.String())
		}
	}
}

// TestABoundOfNothingIsNotTold: where a commitment may make the whole fleet free, no sum is named that none is below.
func TestABoundOfNothingIsNotTold(t *testing.T) {
	c, p := moving(t, "")
	c.Snapshot.Prices = &model.Prices{Commitments: []model.Commitment{{Amount: 9}}}
	var plan bytes.Buffer
	if err := Plan(&plan, explain.PlanOf(c, p), Table); err != nil {
		t.Fatal(err)
	}
	text := plan.String()
	if !strings.Contains(text, "after these moves (+0.00).\n") || strings.Contains(text, "no fleet") {
		t.Errorf("there is a bound of nothing:\n%s", text)
	}
}
