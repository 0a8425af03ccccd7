package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestAClassOfSeveralWorkloads: equal pods of several workloads are told by the names of all of them, since a fix for
// one of them alone leaves the others waiting.
func TestAClassOfSeveralWorkloads(t *testing.T) {
	for _, c := range []struct{ lines, class, pod string }{
		{"pods web cpu=9\npods web cpu=9", "default/web", "one of 2 equal pods of ReplicaSet default/web)"},
		{"pods api cpu=9\npods web cpu=9", "default/api and default/web",
			"one of 2 equal pods of ReplicaSet default/api and ReplicaSet default/web)"},
		{"pods a cpu=9\npods b cpu=9\npods c cpu=9\npods web cpu=9\npods d cpu=9",
			"default/a, default/b and 3 others",
			"one of 5 equal pods of ReplicaSet default/a, ReplicaSet default/b and 3 others)"},
	} {
		s := testkit.NewScenario()
		if err := s.Add("group g max=4 cpu=4 memory=16Gi\n" + c.lines); err != nil {
			t.Fatal(err)
		}
		snap := s.Snapshot(s.Policy)
		cycle := model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy)}
		plan := explain.PlanOf(cycle, s.Policy)
		if len(plan.Pending) != 1 || plan.Pending[0].Class != c.class {
			t.Errorf("%s: the plan says %+v, want %s", c.lines, plan.Pending, c.class)
			continue
		}
		var wide, text strings.Builder
		if err := cli.Plan(&wide, plan, cli.Wide); err != nil {
			t.Fatal(err)
		}
		of := plan.Pending[0].Workloads
		for _, w := range of {
			if len(of) > 1 && !strings.Contains(wide.String(), w) {
				t.Errorf("%s: -o wide does not name %s:\n%s", c.lines, w, &wide)
			}
		}
		pod, err := explain.PodOf(cycle, s.Policy, "default/web-000001")
		if err != nil {
			t.Fatal(err)
		}
		if len(of) > 1 && fmt.Sprint(pod.Workloads) != fmt.Sprint(of) {
			t.Errorf("%s: explain says %v, and plan %v", c.lines, pod.Workloads, of)
		}
		if err := cli.Pod(&text, pod, cli.Table); err != nil || !strings.Contains(text.String(), c.pod) {
			t.Errorf("%s: want %q in\n%s", c.lines, c.pod, &text)
		}
	}
}
