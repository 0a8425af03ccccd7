package story

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	peakNodes = 8  // of the dear group
	peakPods  = 24 // of one core each: three nodes are enough for them
	leastPods = 8  // that the budget for disruptions keeps running: a node of eight pods may go
	atOnce    = 5  // nodes on their way out, by Plimsoll's own budget
	moveLimit = 5 * time.Minute
	moneyPods = "shop"
)

// moneyGroups are nodes of one size at three prices. The fleet was bought when there was none but the dearest.
func moneyGroups() []stage.Group {
	return []stage.Group{
		{Name: "dear", CPU: "8", Memory: "32Gi", Max: 20, Desired: peakNodes, Price: "0.80"},
		{Name: "cheap", CPU: "8", Memory: "32Gi", Max: 20, Price: "0.30"},
		{Name: "small", CPU: "4", Memory: "16Gi", Max: 20, Price: "0.18"},
	}
}

// moneyRun is what one run of the money story counted.
type moneyRun struct {
	Cheaper    bool // with --consolidation=WhenCheaper
	Start, End stage.Tally
	Bound      float64 // what no fleet for the pods costs less than
	Going      int     // the most nodes that were on their way out at a time
	Least      int     // pods that were available at the worst time
	Took       time.Duration
}

func (r *moneyRun) name() string {
	if r.Cheaper {
		return "WhenCheaper"
	}
	return "as it is"
}

// money is the story of a fleet that was bought for a peak: twice the same, and in the second run nodes also go for
// cheaper ones.
func money() []func(*scene) *act {
	runs := []*moneyRun{{}, {Cheaper: true}}
	var acts []func(*scene) *act
	for i, r := range runs {
		acts = append(acts, func(s *scene) *act {
			a := r.act(s)
			a.result = func() string {
				if i < len(runs)-1 {
					return ""
				}
				return compareMoney(runs)
			}
			return a
		})
	}
	return acts
}

func (r *moneyRun) act(s *scene) *act {
	groups := moneyGroups()
	shop := stage.Workload{Name: moneyPods, Replicas: peakPods, CPU: "1", Memory: "2Gi"}
	// However much a node is used, its pods may have room on others.
	flags := append(growthFlags(), "--scale-down-unneeded-time=6s", "--scale-down-utilization-threshold=1",
		"--max-drain-parallelism="+strconv.Itoa(atOnce))
	how := "By default nodes go whose pods have room on others."
	done := func(t stage.Tally) bool { return t.Groups["dear"].All == peakPods/8 && t.Nodes().Leaving == 0 }
	if r.Cheaper {
		flags = append(flags, "--consolidation=WhenCheaper", "--move-stay=5s")
		how = "With --consolidation=WhenCheaper, nodes also go whose pods have room on cheaper ones, which are bought first."
		done = func(t stage.Tally) bool { return t.Groups["dear"].All == 0 && t.Nodes().Leaving == 0 }
	}
	return &act{
		say: fmt.Sprintf(`
Run "%s": %d dear nodes were bought for a peak, and %d pods are left, three eighths of what they hold.
%s A budget lets %d nodes go at a time, and a PodDisruptionBudget keeps %d pods running.`,
			r.name(), peakNodes, peakPods, how, atOnce, leastPods),
		open: func(ctx context.Context) error {
			file, err := s.budget()
			if err != nil {
				return err
			}
			return s.Autoscale(ctx, s.plimsoll, groups, append(flags, "--config="+file)...)
		},
		columns: groupsOf(groups),
		tell:    []func(context.Context) error{func(ctx context.Context) error { return r.watch(ctx, s) }},
		steps: []step{{
			limit: startLimit, what: "pods run on the dear nodes", workloads: []stage.Workload{shop},
			begin: func(ctx context.Context) error { return s.fillPeak(ctx, shop) },
			done:  allRun(shop),
			after: func(context.Context, time.Duration) error {
				r.Start = s.Watch.Tally()
				return nil
			},
		}, {
			title: "nodes go", limit: moveLimit, workloads: []stage.Workload{shop},
			what: "the fleet is as small, or as cheap, as it is to be",
			done: func(t stage.Tally) bool { return done(t) && allRun(shop)(t) },
			after: func(ctx context.Context, took time.Duration) error {
				r.End, r.Took = s.Watch.Tally(), took
				return r.judge(ctx, s)
			},
		}},
	}
}

// budget writes the configuration file with Plimsoll's own budget.
func (s *scene) budget() (string, error) {
	file := filepath.Join(s.Cluster.DataDir(), "plimsoll.yaml")
	text := fmt.Sprintf(`apiVersion: plimsoll.dev/v1alpha1
kind: Configuration
budgets: [{name: slowly, nodes: "%d"}]
`, atOnce)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write the budget: %w", err)
	}
	return file, nil
}

// fillPeak waits for the nodes, and makes the pods and the budget for their disruptions.
func (s *scene) fillPeak(ctx context.Context, shop stage.Workload) error {
	if err := s.Watch.Wait(ctx, fmt.Sprintf("%d dear nodes are ready", peakNodes), func(t stage.Tally) bool {
		return t.Groups["dear"].Ready == peakNodes
	}); err != nil {
		return err
	}
	if err := s.Create(ctx, shop); err != nil {
		return err
	}
	d, err := shop.Deployment()
	if err != nil {
		return err
	}
	least := intstr.FromInt32(leastPods)
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: shop.Name, Namespace: d.Namespace},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &least, Selector: d.Spec.Selector},
	}
	if _, err := s.Client.PolicyV1().PodDisruptionBudgets(d.Namespace).Create(ctx, b, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create the PodDisruptionBudget %s: %w", b.Name, err)
	}
	return nil
}

// watch keeps the worst that it sees: the fewest pods available once all were, and the most nodes on their way out.
func (r *moneyRun) watch(ctx context.Context, s *scene) error {
	r.Least = -1
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
		r.Going = max(r.Going, s.Watch.Tally().Nodes().Leaving)
		d, err := s.Client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, moneyPods, metav1.GetOptions{})
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			return fmt.Errorf("watch the Deployment %s: %w", moneyPods, err)
		}
		if now := int(d.Status.AvailableReplicas); now == peakPods && r.Least < 0 || r.Least >= 0 && now < r.Least {
			r.Least = now
		}
	}
}

// judge asks what no fleet is below, and says what should not have happened.
func (r *moneyRun) judge(ctx context.Context, s *scene) error {
	text, err := s.ask(ctx, "plan", "-o", "json", "--consolidation=WhenCheaper")
	if err != nil {
		return err
	}
	var plan explain.Plan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	if plan.Costs == nil || plan.Costs.AtLeast == nil {
		return fmt.Errorf("the plan has no bound:\n%s", text)
	}
	r.Bound = *plan.Costs.AtLeast
	if r.Least < leastPods {
		return fmt.Errorf("%d pods were available at a time, and the PodDisruptionBudget keeps %d", r.Least, leastPods)
	}
	if r.Going > atOnce {
		return fmt.Errorf("%d nodes were on their way out at a time, and the budget lets %d", r.Going, atOnce)
	}
	return nil
}

// costOf is what nodes of the story cost by the hour.
func costOf(t stage.Tally) (sum float64) {
	for _, g := range moneyGroups() {
		price, err := strconv.ParseFloat(g.Price, 64)
		if err != nil {
			panic(err) // it is written above
		}
		sum += price * float64(t.Groups[g.Name].All)
	}
	return sum
}

// compareMoney renders the runs side by side.
func compareMoney(runs []*moneyRun) string {
	rows := [][]string{{"run", "nodes at start", "cost/h", "dear left", "cheap", "small", "cost/h", "no fleet is below",
		"evictions per pod", "most nodes at once", "fewest pods", "took"}}
	for _, r := range runs {
		end := r.End.Groups
		evicted := r.End.Workloads[moneyPods].Ever - r.Start.Workloads[moneyPods].Ever
		rows = append(rows, []string{r.name(), strconv.Itoa(r.Start.Nodes().All), money2(costOf(r.Start)),
			strconv.Itoa(end["dear"].All), strconv.Itoa(end["cheap"].All), strconv.Itoa(end["small"].All),
			money2(costOf(r.End)), money2(r.Bound), fmt.Sprintf("%.2f", float64(evicted)/peakPods), strconv.Itoa(r.Going),
			strconv.Itoa(r.Least), fmt.Sprintf("%.1f s", r.Took.Seconds())})
	}
	first, last := runs[0], runs[len(runs)-1]
	return table(rows) + fmt.Sprintf(`

  The fleet cost %s an hour at the start, %s after removals alone, and %s after moves as well.`,
		money2(costOf(first.Start)), money2(costOf(first.End)), money2(costOf(last.End)))
}

func money2(perHour float64) string { return strconv.FormatFloat(perHour, 'f', 2, 64) }
