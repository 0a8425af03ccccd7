package decide

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestACycleEndsWhenItsStepsAreUsedUp: what a cycle has no steps for is reported, and is
// first in the next, so that every class has its turn after a few cycles whatever
// the others cost.
func TestACycleEndsWhenItsStepsAreUsedUp(t *testing.T) {
	const classes, limit = 60, 300
	c := testkit.New()
	for g := range 5 {
		c.Group(fmt.Sprintf("g%d", g), 0, 100, testkit.Node("", "4", "16Gi", nil))
	}
	for i := range classes {
		p := testkit.Pod("default", fmt.Sprintf("db-%02d", i), "3", "1Gi", nil)
		c.Claim(p, fmt.Sprintf("data-%02d", i), false) // the plugins are asked about each
		c.Pending(p, 1)
	}
	policy := testkit.Policy()
	policy.ScaleUp.SpreadStepLimit = limit
	served := map[model.ClassID]bool{}
	var unseen []string
	for cycle := 1; len(served) < classes; cycle++ {
		if cycle > 20 {
			t.Fatalf("after 20 cycles %d of %d classes have had a turn", len(served), classes)
		}
		s := snapshot.New(nil, c.Observation(), model.Standing{Unseen: unseen}, policy.Rules)
		plan := Decide(s, policy)
		if most := limit + 100; plan.Work.Steps > most {
			t.Errorf("cycle %d took %d steps, want at most %d", cycle, plan.Work.Steps, most)
		}
		for i := range plan.Pending {
			v := &plan.Pending[i]
			digest := s.Classes[v.Class].Digest()
			left := slices.Contains(plan.Unseen, digest)
			switch {
			case v.Left == 0:
				served[v.Class] = true
			case !left:
				t.Errorf("cycle %d: pods of %s are left, and it is not said that they are first in the next", cycle, digest)
			case v.Groups[0].Reason != model.StepBudget:
				t.Errorf("cycle %d: pods of %s are left for %+v", cycle, digest, v.Groups[0])
			}
		}
		told := slices.ContainsFunc(plan.Notices, func(n provider.Notice) bool { return n.Code == "StepsUsedUp" })
		if told != (len(plan.Unseen) > 0) || (told && plan.Wake.IsZero()) {
			t.Errorf("cycle %d: %d classes were not looked at, told %v, wake %s", cycle, len(plan.Unseen), told, plan.Wake)
		}
		unseen = plan.Unseen
	}
}

// TestNothingGoesThatUnseenPodsMayNeed: in a cycle that had no steps for some of the pods
// that wait, no removal begins or goes on past the taint, until a node has been unneeded
// for so long that each of them has had its turn.
func TestNothingGoesThatUnseenPodsMayNeed(t *testing.T) {
	for _, c := range []struct {
		steps int
		since time.Duration
		goes  bool
	}{{1, 11 * time.Minute, false}, {1, 21 * time.Minute, true}, {100000, 11 * time.Minute, true}} {
		scenario := testkit.NewScenario()
		if err := scenario.Add(fmt.Sprintf(`
			group a max=10 cpu=4 memory=16Gi
			node a1 group=a age=48h
			node a2 group=a age=48h tainted=%s
			unneeded a1 since=%s
			pods big count=1 cpu=3 memory=1Gi select=is:elsewhere`, 30*time.Second+c.since-11*time.Minute, c.since)); err != nil {
			t.Fatal(err)
		}
		policy := scenario.Policy
		policy.ScaleUp.SpreadStepLimit = c.steps
		plan := Decide(scenario.Snapshot(policy), policy)
		if unseen := len(plan.Unseen) > 0; unseen != (c.steps == 1) {
			t.Fatalf("%d steps: %d classes were not looked at", c.steps, len(plan.Unseen))
		}
		var verbs []model.Verb
		for _, call := range plan.Calls {
			verbs = append(verbs, call.Verb)
		}
		if goes := slices.Contains(verbs, model.Taint) && slices.Contains(verbs, model.Remove); goes != c.goes ||
			!c.goes && len(verbs) > 0 {
			t.Errorf("%d steps, unneeded for %s: %v, %+v", c.steps, c.since, verbs, plan.Unneeded)
		}
	}
}

// TestMoreStepsNeverPlaceFewerPods: the attempt at a spread that serves most pods is not
// given up for others that the steps do not suffice for.
func TestMoreStepsNeverPlaceFewerPods(t *testing.T) {
	scenario := testkit.NewScenario()
	if err := scenario.Add(`
		group a max=30 cpu=4 memory=16Gi zone=a
		group b max=30 cpu=4 memory=16Gi zone=b
		group c max=1 cpu=4 memory=16Gi zone=c
		pods web count=60 cpu=1 memory=1Gi spread=zone`); err != nil {
		t.Fatal(err)
	}
	policy := scenario.Policy
	most := 0
	for policy.ScaleUp.SpreadStepLimit = 20; policy.ScaleUp.SpreadStepLimit < 6000; policy.ScaleUp.SpreadStepLimit += 20 {
		plan := Decide(scenario.Snapshot(policy), policy)
		placed := plan.Pending[0].Planned
		if placed < most*9/10 {
			t.Errorf("%d steps place %d pods, fewer steps placed %d", policy.ScaleUp.SpreadStepLimit, placed, most)
		}
		most = max(most, placed)
	}
	if most != 60 {
		t.Errorf("%d of 60 pods were placed at most", most)
	}
}

// TestWordsThatRanOutSaySo: pods that were looked at, and for which there are no steps left
// to say why they wait, have a verdict that says so.
func TestWordsThatRanOutSaySo(t *testing.T) {
	scenario := testkit.NewScenario()
	if err := scenario.Add("group g max=10 cpu=4 memory=16Gi\nnode n group=g\ngroup h max=10 cpu=4 memory=16Gi\ngroup i " +
		"max=10 cpu=4 memory=16Gi"); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		p := testkit.Pod("default", fmt.Sprintf("db-%02d", i), fmt.Sprintf("%dm", 100+i), "1Gi", nil)
		testkit.Together(p, "topology.kubernetes.io/zone", map[string]string{"app": "none"})
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80, ContainerPort: 80}} // the plugins are asked
		scenario.Pending(p, 1)
	}
	policy := scenario.Policy
	policy.ScaleUp.SpreadStepLimit = 1000
	plan := Decide(scenario.Snapshot(policy), policy)
	short := 0
	for i := range plan.Pending {
		if v := plan.Pending[i].Groups[0]; !slices.Contains(
			plan.Unseen, scenario.Snapshot(policy).Classes[plan.Pending[i].Class].Digest(),
		) && v.Reason == model.StepBudget {
			if short++; !strings.Contains(v.Detail, "no steps are left to say why") {
				t.Errorf("%+v", v)
			}
		}
	}
	if short == 0 {
		t.Errorf("the words did not run out, or the steps for the pods did: %d unseen, %+v", len(plan.Unseen), plan.Work)
	}
}
