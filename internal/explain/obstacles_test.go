package explain_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// cycleOf is a decision on a scenario, which settle has changed.
func cycleOf(t *testing.T, lines string, settle func(*model.Snapshot, *model.Policy)) (model.Cycle, model.Policy) {
	t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(lines); err != nil {
		t.Fatal(err)
	}
	snap, p := s.Snapshot(s.Policy), s.Policy
	settle(snap, &p)
	return model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, p)}, p
}

// TestAllLimitsInTheWay: where more than two limits are in the way, the fix raises all of them, and was tried.
func TestAllLimitsInTheWay(t *testing.T) {
	const lines = "group g max=1 cpu=4 memory=16Gi\npods web count=3 cpu=3"
	c, p := cycleOf(t, lines, func(_ *model.Snapshot, p *model.Policy) {
		p.ScaleUp.MaxNodesTotal, p.ScaleUp.MaxCoresTotal = 1, 4
	})
	pod, err := explain.PodOf(c, p, "default/web-000001")
	if err != nil {
		t.Fatal(err)
	}
	const want = "raise g.max 1 → 3, and raise --max-nodes-total 1 → 3, and raise --cores-total 4 → 12 (+2 nodes)"
	if fix := pod.Pending.Fix; fix == nil || fix.Text != want {
		t.Errorf("fix %+v, want %s", fix, want)
	}
}

// TestWhatIsNotKnownIsSaid: whether pods fit is unknown of a group without a template, and no setting helps there; and
// groups that could not be read are named as the cause, of pods and of nodes.
func TestWhatIsNotKnownIsSaid(t *testing.T) {
	const lines = "group g max=4 cpu=4 memory=16Gi\npods web count=1 cpu=3"
	c, p := cycleOf(t, lines, func(s *model.Snapshot, _ *model.Policy) {
		s.Groups[0].HasTemplate = false
	})
	plan := explain.PlanOf(c, p)
	plan.Try(c, p)
	if g := plan.Pending[0].Groups[0]; g.Fits || !g.Unknown {
		t.Errorf("without a template: %+v", g)
	}
	var text strings.Builder
	if err := cli.Plan(&text, plan, cli.Table); err != nil {
		t.Fatal(err)
	}
	if s := text.String(); strings.Contains(s, "No fix was found") || !strings.Contains(s, "g      unknown  NoTemplate") {
		t.Errorf("without a template:\n%s", &text)
	}

	c, p = cycleOf(t, "node n1\npods huge count=1 cpu=90", func(s *model.Snapshot, _ *model.Policy) {
		s.InventoryErr, s.AsOf, s.Nodes[0].Unknown = "no groups", time.Time{}, true
	})
	pod, err := explain.PodOf(c, p, "default/huge-000001")
	const cause = "the node groups could not be read: no groups"
	if err != nil || pod.Pending.Verdict == nil || pod.Pending.Verdict.Detail != cause {
		t.Errorf("a pod without groups: %+v (%v)", pod.Pending, err)
	}
	node, err := explain.NodeOf(c, p, "n1")
	if err != nil || node.Hold == nil || node.Hold.Detail != cause {
		t.Errorf("a node without groups: %+v (%v)", node.Hold, err)
	}
}

// TestWhatElseKeepsANode: of a node that its group's minimum keeps, what keeps it without that is said too.
func TestWhatElseKeepsANode(t *testing.T) {
	c, p := cycleOf(t, "group g min=1 max=4 cpu=4 memory=16Gi\nnode n1 group=g", func(*model.Snapshot, *model.Policy) {})
	n, err := explain.NodeOf(c, p, "n1")
	if err != nil || n.Hold.Reason != model.GroupAtMin || n.Then == nil || n.Then.Reason != model.NotUnneededLongEnough {
		t.Fatalf("%+v, then %+v (%v)", n.Hold, n.Then, err)
	}
	var text strings.Builder
	if err := cli.Node(&text, n, cli.Table); err != nil ||
		!strings.Contains(text.String(), "Without that minimum: NotUnneededLongEnough") {
		t.Errorf("%v\n%s", err, &text)
	}
}

// TestAFixOnANodeThatIsThere: where a node that is there takes the pod with less change than the groups ask for, that
// is the nearest fix, and it says where the pod goes.
func TestAFixOnANodeThatIsThere(t *testing.T) {
	const lines = "group g max=1 cpu=4 memory=16Gi\nnode n1 group=g\n" +
		"pods run count=1 cpu=1 node=n1\npods web count=1 cpu=5"
	c, p := cycleOf(t, lines, func(*model.Snapshot, *model.Policy) {})
	pod, err := explain.PodOf(c, p, "default/web-000001")
	if err != nil {
		t.Fatal(err)
	}
	const want = "request cpu ≤ 3 (on a node that is there)"
	if fix := pod.Pending.Fix; fix == nil || fix.Text != want || fix.Nodes != 0 {
		t.Errorf("fix %+v, want %s", fix, want)
	}
	group, fix, _ := explain.FixOf(c, p, c.Plan.Pending[0].Class, explain.Effort{Plans: 80, Steps: 60_000_000})
	if group != "" || fix == nil || fix.Text != want {
		t.Errorf("fix %+v of group %q, want %s of none", fix, group, want)
	}
}

// TestTheSmallestCutComesFirst: of fixes that cut requests, the one that cuts the least is named first, whatever its
// node costs, and wherever it is.
func TestTheSmallestCutComesFirst(t *testing.T) {
	const groups = "group big max=5 cpu=16 memory=64Gi price=0.8\n" +
		"group small max=5 cpu=2 memory=64Gi price=0.1\n"
	for _, x := range [][2]string{
		{groups + "pods web count=1 cpu=20", "request cpu ≤ 16 (+1 node, +0.80 per hour)"},
		{groups + "pods web count=1 cpu=20 memory=66Gi", "request cpu ≤ 16, memory ≤ 64Gi (+1 node, +0.80 per hour)"},
		{groups + "group odd max=5 cpu=19 memory=1Gi price=0.1\npods web count=1 cpu=20 memory=66Gi",
			"request cpu ≤ 16, memory ≤ 64Gi (+1 node, +0.80 per hour)"},
		{"group small max=5 cpu=2 memory=64Gi\nnode n1 cpu=4 memory=16Gi\npods run count=1 cpu=1 node=n1\n" +
			"pods web count=1 cpu=5", "request cpu ≤ 3 (on a node that is there)"},
		{"group small max=5 cpu=4 memory=64Gi\nnode n1 cpu=4 memory=16Gi\npods run count=1 cpu=1 node=n1\n" +
			"pods web count=1 cpu=5", "request cpu ≤ 4 (+1 node)"},
	} {
		c, p := cycleOf(t, x[0], func(*model.Snapshot, *model.Policy) {})
		pod, err := explain.PodOf(c, p, "default/web-000001")
		if err != nil {
			t.Fatal(err)
		}
		if fix := pod.Pending.Fix; fix == nil || fix.Text != x[1] {
			t.Errorf("fix %+v, want %s of\n%s", fix, x[1], x[0])
		}
	}
}

// TestWithoutAnyGroup: where there is no node group at all, plan and explain say so.
func TestWithoutAnyGroup(t *testing.T) {
	c, p := cycleOf(t, "pods web count=1 cpu=5", func(*model.Snapshot, *model.Policy) {})
	pod, err := explain.PodOf(c, p, "default/web-000001")
	if err != nil {
		t.Fatal(err)
	}
	var ofPod, ofPlan strings.Builder
	plan := explain.PlanOf(c, p)
	if err := errors.Join(cli.Pod(&ofPod, pod, cli.Table), cli.Plan(&ofPlan, plan, cli.Table)); err != nil {
		t.Fatal(err)
	}
	const want = "There is no node group that could take them.\n"
	if !strings.Contains(ofPod.String(), "BLOCKED  "+want) || !strings.Contains(ofPlan.String(), "\n"+want) {
		t.Errorf("%q is missing:\n%s\n%s", want, &ofPod, &ofPlan)
	}
}
