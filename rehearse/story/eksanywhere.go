package story

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// EKSAnywhereResult is what the EKS Anywhere story recorded.
type EKSAnywhereResult struct {
	Steps []EKSAnywhereStep
}

// EKSAnywhereStep is one thing that was done to the Cluster or in it, and what
// became of its workers meanwhile, by a watch.
type EKSAnywhereStep struct {
	What       string
	Took       time.Duration
	Replicas   []int                // of the second group
	Conditions []v1alpha1.Condition // WorkersReady
}

// anywhere is the EKS Anywhere story while it is played.
type anywhere struct {
	stage  *stage.Stage
	screen *Screen
	admin  client.WithWatch
	record *record
}

// EKSAnywhere plays the EKS Anywhere story. Its error says what did not happen, or
// what happened and should not have.
func EKSAnywhere(ctx context.Context, s *stage.Stage, plimsoll string, screen *Screen) (EKSAnywhereResult, error) {
	var r EKSAnywhereResult
	where, err := eksanywhere.World(s.Cluster, anywhereCluster, anywhereTemplates())
	if err != nil {
		return r, err
	}
	screen.Say(`A worker group of EKS Anywhere that the autoscaler sizes: what becomes of its count, and of
the Cluster's condition WorkersReady? Cluster API starts, the real controllers, whose machines
are simulated nodes; and beside it Plimsoll twice, each time with a kubeconfig and rights of
its own: as the autoscaler, and as the controller that carries out the Cluster's worker groups.`)
	if err := s.AutoscaleIn(ctx, plimsoll, where); err != nil {
		return r, err
	}
	if err := startController(ctx, s, plimsoll); err != nil {
		return r, err
	}
	admin, err := client.NewWithWatch(s.Cluster.AdminConfig(), client.Options{Scheme: objects.Scheme()})
	if err != nil {
		return r, fmt.Errorf("make the administrator's client: %w", err)
	}
	a := anywhere{stage: s, screen: screen, admin: admin}
	a.record, err = newRecord(ctx, admin, anywhereCluster, func(c v1alpha1.Condition) {
		screen.Tell("   ▸ WorkersReady is " + conditionText(c))
	})
	if err != nil {
		return r, err
	}
	defer a.record.stop()
	err = narrate(ctx, s, screen, func() error {
		for _, step := range []func(context.Context) (EKSAnywhereStep, error){a.appear, a.grow, a.upgrade, a.switchOff} {
			done, err := step(ctx)
			r.Steps = append(r.Steps, done)
			if err != nil {
				return err
			}
		}
		return nil
	}, func(ctx context.Context) error { return tellController(ctx, s, screen) })
	return r, err
}

// 1. A Cluster, and its workers appear.
func (a anywhere) appear(ctx context.Context) (EKSAnywhereStep, error) {
	a.screen.Say(fmt.Sprintf(`
A Cluster %s is created, with Kubernetes %s and two worker groups:
  - {name: %s, count: %d}
  - {name: %s, count: 1, autoscalingConfiguration: {minCount: %d, maxCount: %d}}
That the control plane is initialized, the story says in the place of EKS Anywhere.`,
		anywhereCluster, anywhereOld, anywhereFixed, anywhereFixedCount, anywhereAuto, anywhereMin, anywhereMax))
	return a.play(ctx, "the Cluster is created", stage.Workload{Name: "web"}, func(ctx context.Context) error {
		cluster := eksanywhere.Cluster(eksanywhere.Namespace, anywhereCluster)
		cluster.Object["spec"] = anywhereSpec(anywhereOld, true, 1)
		if err := a.admin.Create(ctx, cluster, client.FieldOwner(user)); err != nil {
			return fmt.Errorf("create Cluster %s: %w", anywhereCluster, err)
		}
		patch := []byte(`{"status":{"conditions":[{"type":"` + v1alpha1.ControlPlaneInitialized + `","status":"True"}]}}`)
		if err := a.admin.Status().Patch(ctx, cluster, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("eks-a-controller")); err != nil {
			return fmt.Errorf("say that the control plane of Cluster %s is initialized: %w", anywhereCluster, err)
		}
		return nil
	}, "both groups are there, and WorkersReady is True", func(_ stage.Tally, w workerState) bool {
		return asWanted(w, anywhereOld, anywhereMin)
	}, func(p passage) error {
		return errors.Join(wantReplicas(p, anywhereFixed, anywhereFixedCount), wantReplicas(p, anywhereAuto, anywhereMin))
	})
}

// 2. Pods, and the autoscaler sizes its group.
func (a anywhere) grow(ctx context.Context) (EKSAnywhereStep, error) {
	web := anywhereWorkload()
	a.screen.Say(fmt.Sprintf(`
A Deployment arrives with %d pods for the nodes of %s, each of which takes one. WorkersReady
must stay True, however many nodes there are: the count of 1 is ignored.`, web.Replicas, anywhereAuto))
	return a.play(ctx, fmt.Sprintf("%d pods arrive", web.Replicas), web, func(ctx context.Context) error {
		return a.stage.Create(ctx, web)
	}, fmt.Sprintf("all %d pods run, on as many nodes", web.Replicas), func(t stage.Tally, w workerState) bool {
		return allRun([]stage.Workload{web})(t) && asWanted(w, anywhereOld, anywhereMax)
	}, func(p passage) error {
		return errors.Join(
			wantReplicas(p, anywhereFixed, anywhereFixedCount),
			wantGrowth(p.replicas[deploymentOf(anywhereAuto)]),
			wantReady(p, func(c v1alpha1.Condition) bool { return c.Status == v1alpha1.True }),
		)
	})
}

// 3. An upgrade of all machines, while the group is at its maximum.
func (a anywhere) upgrade(ctx context.Context) (EKSAnywhereStep, error) {
	web := anywhereWorkload()
	a.screen.Say(fmt.Sprintf(`
The Cluster is upgraded to Kubernetes %s, with another machine template: every machine is
replaced. Not one of the %d may be lost, though the spec still says count: 1.`, anywhereNew, anywhereMax))
	before, _, err := a.record.look()
	if err != nil {
		return EKSAnywhereStep{}, err
	}
	step, err := a.play(ctx, "upgrade to "+anywhereNew, web, func(ctx context.Context) error {
		return a.write(ctx, anywhereSpec(anywhereNew, true, 1))
	}, "every machine is replaced, every pod runs, and WorkersReady is True", func(t stage.Tally, w workerState) bool {
		for uid := range before.machines {
			if _, still := w.machines[uid]; still {
				return false
			}
		}
		return allRun([]stage.Workload{web})(t) && asWanted(w, anywhereNew, anywhereMax)
	}, func(p passage) error {
		rolling := func(c v1alpha1.Condition) bool { return c.Reason == workers.RollingUpgradeInProgress }
		var untold error
		if !slices.ContainsFunc(p.conditions, rolling) {
			untold = errors.New("the upgrade was never told by WorkersReady")
		}
		return errors.Join(
			untold,
			wantReplicas(p, anywhereFixed, anywhereFixedCount),
			wantReplicas(p, anywhereAuto, anywhereMax),
			wantReady(p, func(c v1alpha1.Condition) bool {
				return c.Reason != workers.AutoscalerConstraintNotMet && c.Reason != workers.MachineDeploymentNotReady
			}),
		)
	})
	if err != nil {
		return step, err
	}
	return step, a.kubelets(ctx, machineVersion(anywhereNew))
}

// 4. The count applies again.
func (a anywhere) switchOff(ctx context.Context) (EKSAnywhereStep, error) {
	web := anywhereWorkload()
	a.screen.Say(fmt.Sprintf(`
Autoscaling of %s is switched off, and its count set to %d in the same update. Now the count
applies: pods that lose their nodes wait, and the autoscaler may not help them.`, anywhereAuto, anywhereLastCount))
	return a.play(ctx, fmt.Sprintf("autoscaling off, count %d", anywhereLastCount), web, func(ctx context.Context) error {
		return a.write(ctx, anywhereSpec(anywhereNew, false, anywhereLastCount))
	}, fmt.Sprintf("%s has %d machines, and WorkersReady is True", anywhereAuto, anywhereLastCount), func(t stage.Tally, w workerState) bool {
		return asWanted(w, anywhereNew, anywhereLastCount) && !w.deployments[deploymentOf(anywhereAuto)].bounded &&
			t.Workloads[web.Name].Running == anywhereLastCount
	}, func(p passage) error {
		return errors.Join(
			wantReplicas(p, anywhereFixed, anywhereFixedCount),
			wantReplicas(p, anywhereAuto, anywhereMax, anywhereLastCount),
		)
	})
}

// meanwhile is what WorkersReady was: by its reasons, the first and the last of many.
// That the controller did not know for a moment is told if there is nothing else.
func (s EKSAnywhereStep) meanwhile() string {
	if len(s.Conditions) == 0 {
		return ""
	}
	end := s.Conditions[len(s.Conditions)-1].Status
	reasons, unknown := []string{}, false
	for _, c := range s.Conditions {
		switch {
		case c.Reason == workers.OutdatedInformation:
			unknown = true
		case c.Reason != "" && !slices.Contains(reasons, c.Reason):
			reasons = append(reasons, c.Reason)
		}
	}
	switch {
	case len(reasons) > 2:
		return reasons[0] + " ... " + reasons[len(reasons)-1] + ", then " + end
	case len(reasons) > 0:
		return strings.Join(reasons, ", ") + ", then " + end
	case unknown:
		return workers.OutdatedInformation + ", then " + end
	}
	return end + " throughout"
}

// String is the summary.
func (r EKSAnywhereResult) String() string {
	const ready = "WorkersReady"
	width := len(ready)
	for _, s := range r.Steps {
		width = max(width, len(s.meanwhile()))
	}
	rows := [][]string{{"what happened", "seconds", "replicas of " + anywhereAuto, pad(ready, width)}}
	for _, s := range r.Steps {
		rows = append(rows, []string{s.What, fmt.Sprintf("%.1f", s.Took.Seconds()), numbers(s.Replicas), pad(s.meanwhile(), width)})
	}
	return Table(rows) + `

  The count of an autoscaled group is ignored: WorkersReady lets the autoscaler size it,
  an upgrade replaces every machine and keeps their number, and the count applies again
  once autoscaling is switched off. Replicas and WorkersReady are all that a watch saw.`
}
