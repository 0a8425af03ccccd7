package decide_test

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/window"
)

// TestScenarios plays the files in testdata. `go test ./internal/decide
// -rewrite` writes what the code does now into them: commit only a difference
// that you can explain.
//
//	cluster            adds things to the cluster (testkit.Scenario has the words)
//	priorities         sets the priority expander's document
//	prices             sets what a price file says
//	plan [key=value]   decides, under the default policy but for what is said
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "rapid") {
			return
		}
		s := testkit.NewScenario()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "cluster":
				if err := s.Add(d.Input); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return ""
			case "priorities":
				s.Priorities = d.Input
				return ""
			case "prices":
				prices, err := config.ParsePrices([]byte(d.Input))
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				s.Prices = prices
				return ""
			case "plan":
				p := s.Policy
				for _, a := range d.CmdArgs {
					if err := set(&p, a.Key, a.Vals); err != nil {
						d.Fatalf(t, "%v", err)
					}
				}
				snap := s.Snapshot(p)
				plan := decide.Decide(snap, p)
				checkServe(t, snap, p, &plan)
				var notices strings.Builder
				for _, n := range plan.Notices {
					fmt.Fprintf(&notices, "notice %s: %s\n", n.Code, n.Message)
				}
				return fmt.Sprintf("%s%sbought %d, at least %d needed\n",
					plan.Text(snap), notices.String(), plan.Nodes, plan.LowerBound)
			}
			d.Fatalf(t, "%q is none of cluster, priorities, plan", d.Cmd)
			return ""
		})
	})
}

// checkServe: what a plan serves pods by is what the whole plan does.
func checkServe(t *testing.T, s *model.Snapshot, p model.Policy, whole *model.Plan) {
	t.Helper()
	var d decide.Decider
	defer d.Close()
	part := d.Serve(s, p)
	if !reflect.DeepEqual(part.Pending, whole.Pending) || !reflect.DeepEqual(part.Grow, whole.Grow) ||
		part.Nodes != whole.Nodes {
		t.Errorf("the part that serves pods differs:\n%+v\n%+v\nfrom that of the whole plan:\n%+v\n%+v", part.Pending,
			part.Grow, whole.Pending, whole.Grow)
	}
}

// set changes one thing of the policy.
func set(p *model.Policy, key string, vals []string) error {
	var err error
	number := func() int {
		n := 0
		if len(vals) == 1 {
			_, err = fmt.Sscan(vals[0], &n)
		}
		return n
	}
	duration := func() time.Duration {
		var d time.Duration
		if len(vals) == 1 {
			d, err = time.ParseDuration(vals[0])
		}
		return d
	}
	switch key {
	case "expander":
		p.ScaleUp.Expanders = nil
		for _, name := range vals {
			e, ok := model.ExpanderNamed(name)
			if !ok {
				return fmt.Errorf("there is no expander %q", name)
			}
			p.ScaleUp.Expanders = append(p.ScaleUp.Expanders, e)
		}
	case "balance":
		p.ScaleUp.BalanceSimilar = true
	case "enforce-min":
		p.ScaleUp.EnforceMin = true
	case "max-nodes":
		p.ScaleUp.MaxNodesTotal = number()
	case "max-cores":
		p.ScaleUp.MaxCoresTotal = int64(number())
	case "max-memory-gi":
		p.ScaleUp.MaxMemoryTotal = int64(number()) << 30
	case "max-per-scaleup":
		p.ScaleUp.MaxNodesPerScaleUp = number()
	case "steps":
		p.ScaleUp.SpreadStepLimit = number()
	case "allowed":
		p.ScaleUp.Allowed = vals
	case "bypassed":
		p.ScaleUp.Bypassed = vals
	case "delay-after-add":
		p.ScaleDown.DelayAfterAdd = duration()
	case "delay-after-delete":
		p.ScaleDown.DelayAfterDelete = duration()
	case "scale-down":
		p.ScaleDown.Enabled = len(vals) == 1 && vals[0] != "off"
	case "parallel":
		p.ScaleDown.MaxParallelism = number()
	case "budget", "rate", "allow", "deny":
		return addBudget(p, key, vals)
	case "whole-cycle":
		p.Repair.WholeCycle = true
	case "force":
		p.Repair.ForceUnregistered, p.Repair.ForceFailed = true, true
	case "count-others":
		p.Rules.CountOthers = true
	case "unready-time":
		p.ScaleDown.UnreadyTime = duration()
	case "unneeded-time":
		p.ScaleDown.UnneededTime = duration()
	case "delete-delay":
		p.ScaleDown.DeleteDelay = duration()
	case "drains":
		p.ScaleDown.MaxDrains = number()
	case "threshold":
		p.ScaleDown.Threshold = float64(number()) / 100
	case "ignore-daemons":
		p.ScaleDown.IgnoreDaemons = true
	case "ignore-mirror":
		p.ScaleDown.IgnoreMirror = true
	case "soft-taints":
		p.ScaleDown.SoftTaints = number()
	case "annotate":
		p.ScaleDown.Annotate = true
	case "down-steps":
		p.ScaleDown.StepLimit = number()
	case "local-delays":
		p.ScaleDown.LocalDelays = true
	case "min-replicas":
		p.ScaleDown.Drain.MinReplicas = number()
	case "move-local":
		p.ScaleDown.Drain.SkipLocal = false
	case "move-system":
		p.ScaleDown.Drain.SkipSystem = false
	case "move-custom":
		p.ScaleDown.Drain.SkipCustom = false
	case "levels":
		p.ScaleDown.Drain.Levels = []model.DrainLevel{
			{Priority: 0, Grace: time.Minute}, {Priority: 1000, Grace: 20 * time.Second},
		}
	case "consolidation":
		p.Moves.Consolidation, _ = policy.ConsolidationNamed(vals[0])
	case "of":
		return addPolicy(p, vals)
	case "replace-after":
		p.Moves.ExpireAfter, err = time.ParseDuration(vals[0])
	case "replace-unready-after":
		p.Moves.UnreadyAfter, err = time.ParseDuration(vals[0])
	case "return-to-preferred":
		p.Moves.Return = true
	case "replace-drifted":
		p.Moves.Drifted = true
	case "replace-interrupted":
		p.Moves.Interrupted = vals
	case "maintenance-conditions":
		p.Moves.Maintained = vals
	case "max-interruptions":
		p.Moves.MaxInterruptions = number()
	case "interruption-weight":
		_, err = fmt.Sscan(vals[0], &p.Moves.InterruptionWeight)
	case "replace-conditions":
		p.Moves.Unsound = vals
	case "min-savings":
		_, err = fmt.Sscan(vals[0], &p.Moves.MinSavingsPerHour)
	case "min-share":
		_, err = fmt.Sscan(vals[0], &p.Moves.MinSavingsShare)
	case "per-disruption":
		_, err = fmt.Sscan(vals[0], &p.Moves.MinSavingsPerDisruption)
	case "min-cores":
		p.ScaleDown.MinCoresTotal = int64(number())
	default:
		return fmt.Errorf("%q is not a setting that plan takes", key)
	}
	return err
}

// addPolicy adds a policy for the groups of a pattern: of=(dear,consolidation=WhenCheaper,share=0.4).
func addPolicy(p *model.Policy, vals []string) (err error) {
	own := policy.Policy{Name: vals[0], Groups: []*regexp.Regexp{policy.Pattern(vals[0])}}
	for _, v := range vals[1:] {
		key, text, _ := strings.Cut(v, "=")
		switch key {
		case "consolidation":
			kind, _ := policy.ConsolidationNamed(text)
			own.Moves.Consolidation = &kind
		case "priority":
			own.Priority = new(int)
			_, err = fmt.Sscan(text, own.Priority)
		case "returns":
			own.Moves.Return = new(bool)
			*own.Moves.Return = text == "true"
		case "share":
			own.Moves.MinSavingsShare = new(float64)
			_, err = fmt.Sscan(text, own.Moves.MinSavingsShare)
		case "after":
			after, wrong := time.ParseDuration(text)
			own.Moves.ExpireAfter, err = &after, wrong
		case "interrupted":
			signals := strings.FieldsFunc(text, func(r rune) bool { return r == '+' })
			own.Moves.Interrupted = &signals
		default:
			return fmt.Errorf("%q is nothing that a policy says here", key)
		}
	}
	p.Groups.Policies = append(p.Groups.Policies, own)
	return err
}

// addBudget adds a budget of one kind, for a reason (or all) and the groups of a pattern: budget=(all,*,1),
// budget=(all,g,10%), rate=(Empty,g,2,1h), allow=(all,*,22,1h), which is from 22 o'clock, or deny, when none may.
func addBudget(p *model.Policy, kind string, vals []string) error {
	if len(vals) < 3 {
		return fmt.Errorf("%s has %d values", kind, len(vals))
	}
	b := budget.Budget{Name: strings.Join(vals, ",")}
	if vals[0] != "all" {
		b.Reasons = []budget.Reason{budget.Reason(vals[0])}
	}
	if vals[1] != "*" {
		b.Of = &policy.Policy{Groups: []*regexp.Regexp{policy.Pattern(vals[1])}}
	}
	text, share := strings.CutSuffix(vals[2], "%")
	n, err := strconv.Atoi(text)
	switch kind {
	case "budget":
		if b.Nodes = (&budget.Amount{Count: n}); share {
			b.Nodes = &budget.Amount{Percent: n, Share: true}
		}
	case "rate":
		over, wrong := time.ParseDuration(vals[3])
		b.Rate, err = &budget.Rate{Count: n, Over: over}, errors.Join(err, wrong)
		p.Rules.RateSpan = max(p.Rules.RateSpan, over)
	case "allow", "deny":
		w, wrong := window.Parse(window.Spec{Schedule: fmt.Sprintf("0 %d * * *", n), Duration: vals[3]})
		if b.Allow, err = []window.Window{w}, errors.Join(err, wrong); kind == "deny" {
			b.Nodes, b.Windows, b.Allow = &budget.Amount{}, b.Allow, nil
		}
	}
	p.Budgets = append(p.Budgets, b)
	return err
}
