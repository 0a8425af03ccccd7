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

// eksAnywhereResult is what the EKS Anywhere story recorded.
type eksAnywhereResult struct {
	Steps []eksAnywhereStep
}

// eksAnywhereStep is one thing that was done to the Cluster or in it, and what
// became of its workers meanwhile, by a watch.
type eksAnywhereStep struct {
	What       string
	Took       time.Duration
	Replicas   []int                // of the second group
	Conditions []v1alpha1.Condition // WorkersReady
}

// anywhere is the EKS Anywhere story while it is played.
type anywhere struct {
	*scene
	*workerRecord
	result eksAnywhereResult
}

// anywhereStory is the EKS Anywhere story.
func anywhereStory(s *scene) *act {
	a := &anywhere{scene: s}
	a.workerRecord = newWorkerRecord(anywhereCluster, func(c v1alpha1.Condition) {
		s.screen.Tell("   ▸ WorkersReady is " + conditionText(c))
	})
	web := anywhereWorkload()
	var before workerState // the upgrade
	return &act{
		say: `A worker group of EKS Anywhere that the autoscaler sizes: what becomes of its count, and of
the Cluster's condition WorkersReady? Cluster API starts, the real controllers, whose machines
are simulated nodes; and beside it Plimsoll twice, each time with a kubeconfig and rights of
its own: as the autoscaler, and as the controller that carries out the Cluster's worker groups.`,
		open:    a.open,
		columns: func(t stage.Tally) columns { return newWorkersRows(anywhereCluster, a.now(), t) },
		record:  a.record,
		tell:    []func(context.Context) error{s.tellController},
		steps: []step{a.judged(step{
			say: fmt.Sprintf(`
A Cluster %s is created, with Kubernetes %s and two worker groups:
  - {name: %s, count: %d}
  - {name: %s, count: 1, autoscalingConfiguration: {minCount: %d, maxCount: %d}}
That the control plane is initialized, the story says in the place of EKS Anywhere.`,
				anywhereCluster, anywhereOld, anywhereFixed, anywhereFixedCount, anywhereAuto, anywhereMin, anywhereMax),
			title: "the Cluster is created", workloads: []stage.Workload{{Name: "web"}},
			begin: a.createCluster,
			what:  "both groups are there, and WorkersReady is True",
			done:  func(stage.Tally) bool { return asWanted(a.now(), anywhereOld, anywhereMin) },
		}, func(p passage) error {
			return errors.Join(wantReplicas(p, anywhereFixed, anywhereFixedCount), wantReplicas(p, anywhereAuto, anywhereMin))
		}), a.judged(step{
			say: fmt.Sprintf(`
A Deployment arrives with %d pods for the nodes of %s, each of which takes one. WorkersReady
must stay True, however many nodes there are: the count of 1 is ignored.`, web.Replicas, anywhereAuto),
			title: fmt.Sprintf("%d pods arrive", web.Replicas), workloads: []stage.Workload{web},
			begin: s.create(web),
			what:  fmt.Sprintf("all %d pods run, on as many nodes", web.Replicas),
			done:  func(t stage.Tally) bool { return allRun(web)(t) && asWanted(a.now(), anywhereOld, anywhereMax) },
		}, func(p passage) error {
			return errors.Join(
				wantReplicas(p, anywhereFixed, anywhereFixedCount),
				wantGrowth(p.replicas[deploymentOf(anywhereAuto)]),
				wantReady(p, func(c v1alpha1.Condition) bool { return c.Status == v1alpha1.True }),
			)
		}), a.judged(step{
			say: fmt.Sprintf(`
The Cluster is upgraded to Kubernetes %s, with another machine template: every machine is
replaced. Not one of the %d may be lost, though the spec still says count: 1.`, anywhereNew, anywhereMax),
			title: "upgrade to " + anywhereNew, workloads: []stage.Workload{web},
			begin: func(ctx context.Context) error {
				before = a.now()
				return a.write(ctx, anywhereSpec(anywhereNew, true, 1))
			},
			what: "every machine is replaced, every pod runs, and WorkersReady is True",
			done: func(t stage.Tally) bool {
				w := a.now()
				for uid := range before.machines {
					if _, still := w.machines[uid]; still {
						return false
					}
				}
				return allRun(web)(t) && asWanted(w, anywhereNew, anywhereMax)
			},
			after: func(ctx context.Context, _ time.Duration) error { return a.kubelets(ctx, machineVersion(anywhereNew)) },
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
		}), a.judged(step{
			say: fmt.Sprintf(`
Autoscaling of %s is switched off, and its count set to %d in the same update. Now the count
applies: pods that lose their nodes wait, and the autoscaler may not help them.`, anywhereAuto, anywhereLastCount),
			title: fmt.Sprintf("autoscaling off, count %d", anywhereLastCount), workloads: []stage.Workload{web},
			begin: func(ctx context.Context) error {
				return a.write(ctx, anywhereSpec(anywhereNew, false, anywhereLastCount))
			},
			what: fmt.Sprintf("%s has %d machines, and WorkersReady is True", anywhereAuto, anywhereLastCount),
			done: func(t stage.Tally) bool {
				w := a.now()
				return asWanted(w, anywhereNew, anywhereLastCount) && !w.deployments[deploymentOf(anywhereAuto)].bounded &&
					t.Workloads[web.Name].Running == anywhereLastCount
			},
		}, func(p passage) error {
			return errors.Join(
				wantReplicas(p, anywhereFixed, anywhereFixedCount),
				wantReplicas(p, anywhereAuto, anywhereMax, anywhereLastCount),
			)
		})},
		result: func() string { return a.result.String() },
	}
}

// judged is a step that is judged by what the record has of its time.
func (a *anywhere) judged(one step, judge func(passage) error) step {
	var from mark
	begin, after := one.begin, one.after
	one.limit = anywhereLimit
	one.begin = func(ctx context.Context) error {
		from = a.here()
		return begin(ctx)
	}
	one.after = func(ctx context.Context, took time.Duration) error {
		p, err := a.since(ctx, from)
		if err != nil {
			return err
		}
		a.result.Steps = append(a.result.Steps, eksAnywhereStep{
			one.title, took, p.replicas[deploymentOf(anywhereAuto)], p.conditions,
		})
		if err := judge(p); err != nil {
			return fmt.Errorf("%s: %w", one.title, err)
		}
		if after == nil {
			return nil
		}
		return after(ctx, took)
	}
	return one
}

// open starts the autoscaler and the controller, and begins to watch.
func (a *anywhere) open(ctx context.Context) error {
	where, err := eksanywhere.World(a.Cluster, anywhereCluster, anywhereTemplates())
	if err != nil {
		return err
	}
	if err := a.AutoscaleIn(ctx, a.plimsoll, where); err != nil {
		return err
	}
	if err := startController(ctx, a.Stage, a.plimsoll); err != nil {
		return err
	}
	if a.admin, err = client.NewWithWatch(a.Cluster.AdminConfig(), client.Options{Scheme: objects.Scheme()}); err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	return a.watch(ctx, workerLists()...)
}

func (a *anywhere) createCluster(ctx context.Context) error {
	cluster := eksanywhere.Cluster(eksanywhere.Namespace, anywhereCluster)
	cluster.Object["spec"] = anywhereSpec(anywhereOld, true, 1)
	if err := a.admin.Create(ctx, cluster, client.FieldOwner(user)); err != nil {
		return fmt.Errorf("create Cluster %s: %w", anywhereCluster, err)
	}
	patch := []byte(`{"status":{"conditions":[{"type":"` + v1alpha1.ControlPlaneInitialized + `","status":"True"}]}}`)
	if err := a.admin.Status().Patch(
		ctx, cluster, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("eks-a-controller"),
	); err != nil {
		return fmt.Errorf("say that the control plane of Cluster %s is initialized: %w", anywhereCluster, err)
	}
	return nil
}

// meanwhile is what WorkersReady was: by its reasons, the first and the last of many.
// That the controller did not know for a moment is told if there is nothing else.
func (s eksAnywhereStep) meanwhile() string {
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
func (r eksAnywhereResult) String() string {
	const ready = "WorkersReady"
	width := len(ready)
	for _, s := range r.Steps {
		width = max(width, len(s.meanwhile()))
	}
	rows := [][]string{{"what happened", "seconds", "replicas of " + anywhereAuto, pad(ready, width)}}
	for _, s := range r.Steps {
		rows = append(rows, []string{
			s.What, fmt.Sprintf("%.1f", s.Took.Seconds()), numbers(s.Replicas), pad(s.meanwhile(), width),
		})
	}
	return table(rows) + `

  The count of an autoscaled group is ignored: WorkersReady lets the autoscaler size it,
  an upgrade replaces every machine and keeps their number, and the count applies again
  once autoscaling is switched off. Replicas and WorkersReady are all that a watch saw.`
}
