package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

var (
	churnRounds = flag.Int("churn.rounds", 3, "how many rounds of random workloads to play")
	churnSeed   = flag.Uint64("churn.seed", 1, "the first round's seed")
)

const (
	churnSteps = 4
	// ownRestart is how long a pod that came for one that ran may have no node: the
	// scheduler leaves one that it has refused alone for ten seconds, and a new node takes
	// a second or two.
	ownRestart = 25 * time.Second
	// grows is the same of pods that are wanted again, and settles how long nothing must
	// happen before a step is over.
	grows   = 50 * time.Second
	settles = 7 * time.Second
	// roundWithin is how long a round may take.
	roundWithin = 8 * time.Minute
)

// churned is one application of a round.
type churned struct {
	name     string
	want     int32
	followed bool // others are to be beside it: it never goes altogether
	grown    bool // in this step
}

// cmdChurn plays rounds of random applications, which grow and shrink while nodes are
// bought and drained around them. A pod that ran before never waits for a node longer than its own restart takes.
func (w *world) cmdChurn(c *call) error {
	for round := range *churnRounds {
		seed := *churnSeed + uint64(round)
		ctx, cancel := context.WithTimeout(context.Background(), roundWithin)
		c.ctx = ctx
		err := w.churn(c, rand.New(rand.NewPCG(seed, 21)))
		cancel()
		if err != nil {
			return fmt.Errorf("the round of -churn.seed=%d: %w", seed, err)
		}
	}
	return nil
}

func (w *world) churn(c *call, dice *rand.Rand) error {
	var apps []churned
	for i := range 5 + dice.IntN(11) {
		app := churned{name: fmt.Sprintf("app-%d", i), want: 1 + dice.Int32N(6), grown: true}
		deployment := drawDeployment(dice, app, apps)
		if _, err := w.plane.Client().AppsV1().Deployments(w.namespace).
			Create(c.ctx, deployment, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", app.name, err)
		}
		if dice.IntN(3) == 0 {
			if err := w.limitDisruption(c.ctx, app.name); err != nil {
				return err
			}
		}
		apps = append(apps, app)
	}
	for step := range churnSteps {
		if err := w.calm(c, apps); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		for i := range apps {
			if err := w.resize(c.ctx, dice, &apps[i], step%2 == 0); err != nil {
				return err
			}
		}
	}
	if err := w.calm(c, apps); err != nil {
		return fmt.Errorf("at the end: %w", err)
	}
	everything, last := metav1.ListOptions{}, metav1.DeleteOptions{
		PropagationPolicy: ptr.To(metav1.DeletePropagationBackground),
	}
	if err := w.plane.Client().AppsV1().Deployments(w.namespace).DeleteCollection(c.ctx, last, everything); err != nil {
		return fmt.Errorf("delete the applications: %w", err)
	}
	if err := w.plane.Client().PolicyV1().PodDisruptionBudgets(w.namespace).DeleteCollection(
		c.ctx, last, everything,
	); err != nil {
		return fmt.Errorf("delete their budgets: %w", err)
	}
	return poll(c.ctx, func() (bool, string) {
		n := len(w.podsIn(w.namespace, labels.Everything()))
		return n == 0, fmt.Sprintf("%d pods are left", n)
	})
}

// drawDeployment draws what the pods of an application want.
func drawDeployment(dice *rand.Rand, app churned, others []churned) *appsv1.Deployment {
	own := map[string]string{"app": app.name}
	spec := corev1.PodSpec{
		TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{
			Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse([]string{"250m", "500m", "1", "1500m"}[dice.IntN(4)]),
			}},
		}},
	}
	beside := func(key string, labels map[string]string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}
	}
	switch wish := dice.IntN(6); {
	case wish == 0:
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: own},
		}}
	case wish == 1:
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: beside(corev1.LabelHostname, own),
		}}
	case wish <= 3 && len(others) > 0:
		leader := &others[dice.IntN(len(others))]
		leader.followed = true
		spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: beside(corev1.LabelTopologyZone,
				map[string]string{"app": leader.name}),
		}}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: app.name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(app.want), Selector: &metav1.LabelSelector{MatchLabels: own},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: own}, Spec: spec},
		},
	}
}

func (w *world) limitDisruption(ctx context.Context, app string) error {
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)),
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
	if _, err := w.plane.Client().PolicyV1().PodDisruptionBudgets(w.namespace).
		Create(ctx, budget, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a budget for %s: %w", app, err)
	}
	return nil
}

// resize gives an application another size: in most of a step's, a smaller or a larger
// one. One that others follow keeps a pod.
func (w *world) resize(ctx context.Context, dice *rand.Rand, app *churned, shrinks bool) error {
	least := int32(0)
	if app.followed {
		least = 1
	}
	want := least + dice.Int32N(9-least)
	if shrinks != (want < app.want) && dice.IntN(4) > 0 {
		want = app.want
	}
	app.grown, app.want = want > app.want, want
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want)
	if _, err := w.plane.Client().AppsV1().Deployments(w.namespace).
		Patch(ctx, app.name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("scale %s: %w", app.name, err)
	}
	return nil
}

// calm waits until every pod has a node and nothing is on its way out, for a while; and
// holds every pod to how long it may wait.
func (w *world) calm(c *call, apps []churned) error {
	most := map[string]time.Duration{}
	wanted := 0
	for i := range apps {
		most[apps[i].name] = ownRestart
		if apps[i].grown {
			most[apps[i].name] = grows
		}
		wanted += int(apps[i].want)
	}
	var late error
	since := time.Now()
	err := poll(c.ctx, func() (bool, string) {
		pods := w.podsIn(w.namespace, labels.Everything())
		waiting, going := 0, 0
		for _, p := range pods {
			if p.Spec.NodeName != "" {
				continue
			}
			waiting++
			if waits := time.Since(p.CreationTimestamp.Time); waits > most[p.Labels["app"]] {
				late = fmt.Errorf("%s has had no node for %s, want at most %s",
					p.Name, waits.Round(time.Second), most[p.Labels["app"]])
				return true, ""
			}
		}
		for _, n := range w.nodesOf("") {
			for i := range n.Spec.Taints {
				if n.Spec.Taints[i].Key == taintToBeDeleted {
					going++
				}
			}
		}
		if waiting > 0 || going > 0 || len(pods) != wanted {
			since = time.Now()
		}
		return time.Since(since) > settles, fmt.Sprintf("%d of %d pods are there, %d wait, %d nodes are on their way out",
			len(pods), wanted, waiting, going)
	})
	if late != nil {
		return late
	}
	return err
}
