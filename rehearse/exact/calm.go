package exact

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	mergePatch = types.MergePatchType
	background = metav1.DeletePropagationBackground

	lookEvery = 250 * time.Millisecond
	// wakeAfter is longer than the scheduler leaves a pod alone that it means to look at again.
	wakeAfter = 20 * time.Second
	mostWoken = 12
	// idleCycles is how often Plimsoll must have looked without anything to do.
	idleCycles  = 4
	cycleMetric = "cluster_autoscaler_function_duration_seconds"
)

// scene is what is there at one moment.
type scene struct {
	pods    []corev1.Pod
	nodes   []corev1.Node
	daemons []appsv1.DaemonSet
}

func (p *stand) look(ctx context.Context) (scene, error) {
	var pods corev1.PodList
	var nodes corev1.NodeList
	var daemons appsv1.DaemonSetList
	for _, list := range []client.ObjectList{&pods, &nodes, &daemons} {
		if err := p.client.List(ctx, list); err != nil {
			return scene{}, fmt.Errorf("look at the cluster: %w", err)
		}
	}
	return scene{pods.Items, nodes.Items, daemons.Items}, nil
}

// calm waits until each pod runs that can, the scheduler has refused each that cannot, no node is on its way in or out,
// and Plimsoll has looked some times since without anything to do.
func (p *stand) calm(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, calmLimit, fmt.Errorf("the limit of %s is over", calmLimit))
	defer cancel()
	idleSince := -1.0
	state := "nothing was seen yet"
	woken := map[string]int{}
	err := p.poll(ctx, func() (bool, error) {
		now, err := p.look(ctx)
		if err != nil { // the machine may be busy; what was seen last says more than a look that the limit cut short
			if ctx.Err() == nil {
				state = err.Error()
			}
			idleSince = -1
			return false, nil
		}
		if err := p.openSome(ctx, now); err != nil {
			return false, err
		}
		if err := p.holdToLimit(now); err != nil {
			return false, err
		}
		if err := p.wake(ctx, now, woken); err != nil {
			return false, err
		}
		cycles, busy := p.business(ctx)
		unrest := append(p.unrest(now), busy...)
		if len(unrest) > 0 || idleSince < 0 {
			idleSince = cycles
		}
		state = strings.Join(unrest, "; ")
		return len(unrest) == 0 && cycles >= idleSince+idleCycles, nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("it does not come to rest: %w: %s%s", context.Cause(ctx), state, p.words(state))
	}
	return err
}

// claimsAreBound waits until the claims have their volumes that are there by now.
func (p *stand) claimsAreBound(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, calmLimit, errors.New("claims are not bound"))
	defer cancel()
	return p.poll(ctx, func() (bool, error) {
		var claims corev1.PersistentVolumeClaimList
		if err := p.client.List(ctx, &claims); err != nil {
			return false, fmt.Errorf("look at the claims: %w", err)
		}
		return !slices.ContainsFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool {
			return c.Status.Phase != corev1.ClaimBound
		}), nil
	})
}

// poll asks again and again until the answer is yes.
func (p *stand) poll(ctx context.Context, done func() (bool, error)) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// unrest is all that is not as it will be in the end.
func (p *stand) unrest(now scene) []string {
	var out []string
	for _, w := range p.Workloads {
		stays := w.Stays
		if w.Gated && !p.open {
			stays = w.Pods
		}
		running, refused, all := 0, 0, 0
		for i := range now.pods {
			pod := &now.pods[i]
			if stage.WorkloadOf(pod) != w.Name {
				continue
			}
			all++
			if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
				running++
			} else if _, told := refusal(pod); told {
				refused++
			}
		}
		if running != w.Pods-stays || refused != stays || all != w.Pods {
			out = append(out, fmt.Sprintf("of %s %d pods are there, %d run and %d are refused, and %d must run and %d not",
				w, all, running, refused, w.Pods-stays, stays))
		}
	}
	for _, d := range now.daemons {
		if d.Status.ObservedGeneration != d.Generation || d.Status.NumberReady != d.Status.DesiredNumberScheduled ||
			d.Status.NumberMisscheduled > 0 {
			out = append(out, fmt.Sprintf("%s has %d pods ready of %d", d.Name, d.Status.NumberReady,
				d.Status.DesiredNumberScheduled))
		}
	}
	for i := range now.nodes {
		if n := &now.nodes[i]; !atRest(n) {
			out = append(out, n.Name+" is on its way in or out")
		}
	}
	return out
}

func atRest(n *corev1.Node) bool {
	return n.DeletionTimestamp == nil && !n.Spec.Unschedulable && isReady(n) &&
		!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == "ToBeDeletedByClusterAutoscaler" })
}

func isReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// refusal is what the scheduler said when it last found no node for a pod.
func refusal(pod *corev1.Pod) (message string, told bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && pod.Spec.NodeName == "" {
			return c.Message, true
		}
	}
	return "", false
}

// business is how often Plimsoll has looked, and what it has to do.
func (p *stand) business(ctx context.Context) (cycles float64, busy []string) {
	metrics, err := p.Metrics(ctx)
	if err != nil { // as above
		return 0, []string{err.Error()}
	}
	cycles, _ = metrics.Sum(cycleMetric, "function", "main")
	for _, name := range []string{"plimsoll_plan_nodes", "plimsoll_upcoming_nodes"} {
		if n, found := metrics.Sum(name); !found || n > 0 {
			busy = append(busy, fmt.Sprintf("%s is %v", name, n))
		}
	}
	return cycles, busy
}

// openSome opens the gates of the pods that are there.
func (p *stand) openSome(ctx context.Context, now scene) error {
	if !p.open {
		return nil
	}
	for i := range now.pods {
		pod := &now.pods[i]
		if len(pod.Spec.SchedulingGates) == 0 || pod.DeletionTimestamp != nil {
			continue
		}
		patch := client.RawPatch(mergePatch, []byte(`{"spec":{"schedulingGates":null}}`))
		if err := p.client.Patch(ctx, pod, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("open the gate of %s: %w", pod.Name, err)
		}
	}
	return nil
}

// holdToLimit says which pod of those that have run before waits for too long.
func (p *stand) holdToLimit(now scene) error {
	for i := range now.pods {
		pod := &now.pods[i]
		if pod.Spec.NodeName != "" || !p.ran[stage.WorkloadOf(pod)] {
			continue
		}
		waits := time.Since(pod.CreationTimestamp.Time)
		p.result.LongestWait = max(p.result.LongestWait, waits)
		if waits > waitLimit {
			message, _ := refusal(pod)
			return fmt.Errorf("%s has had no node for %s, want at most %s; the scheduler says: %s",
				pod.Name, waits.Round(time.Second), waitLimit, message)
		}
	}
	return nil
}

// wake replaces pods that the scheduler leaves alone, although they fit a node that is there. There are cases in which
// that of v1.37 looks at such a pod again only after five minutes: the pods that it was to be beside are gone
// (kubernetes/kubernetes#141354), those whose room it takes are gone (#141694), or the anti-affinity of others has
// refused it and a node comes, of which the plugin's hint knows the pod's own terms alone. It looks at a new pod at
// once. Where it refuses that one too, time and again, Plimsoll is wrong.
func (p *stand) wake(ctx context.Context, now scene, woken map[string]int) error {
	for i := range now.pods {
		pod := &now.pods[i]
		message, refused := refusal(pod)
		if !refused || time.Since(pod.CreationTimestamp.Time) < wakeAfter || !p.canRun(pod) || !p.fits(ctx, pod) {
			continue
		}
		maker := metav1.GetControllerOf(pod)
		if maker == nil {
			continue
		}
		if woken[maker.Name] == mostWoken {
			return fmt.Errorf("Plimsoll says that pods of %s fit a node that is there, and the scheduler refuses one after "+
				"the other: %s", maker.Name, message)
		}
		p.log.Info("a pod is replaced, which the scheduler leaves alone", "pod", pod.Name, "scheduler", message)
		woken[maker.Name]++
		p.result.Woken++
		if err := p.client.Delete(ctx, pod); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("replace %s: %w", pod.Name, err)
		}
	}
	return nil
}

// fits: the scheduler makes room for the pod on a node, or it is a daemon's, which has room on each; else Plimsoll says
// whether it fits a node that is there.
func (p *stand) fits(ctx context.Context, pod *corev1.Pod) bool {
	if pod.Status.NominatedNodeName != "" || pod.Labels[daemonLabel] != "" {
		return true
	}
	said, err := p.explain(ctx, pod.Name)
	if err != nil || said.Pending == nil {
		return false // it is bound or gone by now
	}
	return said.Pending.FitNow > 0 || disagrees(said)
}

func disagrees(said explain.Pod) bool {
	return said.Pending.Verdict != nil && said.Pending.Verdict.Reason == "SchedulerDisagrees"
}

// canRun: all pods of its workload can, now.
func (p *stand) canRun(pod *corev1.Pod) bool {
	return pod.Labels[daemonLabel] != "" || slices.ContainsFunc(p.Workloads, func(w *Workload) bool {
		return w.Name == stage.WorkloadOf(pod) && w.Stays == 0 && (p.open || !w.Gated)
	})
}

// words are what the scheduler says of one pod of each workload that is named in a text.
func (p *stand) words(of string) string {
	ctx, cancel := context.WithTimeout(context.Background(), lookEvery*20)
	defer cancel()
	now, err := p.look(ctx)
	if err != nil {
		return ""
	}
	var out strings.Builder
	told := map[string]bool{}
	for i := range now.pods {
		name := stage.WorkloadOf(&now.pods[i])
		if message, refused := refusal(&now.pods[i]); refused && !told[name] && strings.Contains(of, "of "+name+" ") {
			told[name] = true
			fmt.Fprintf(&out, "\n  the scheduler says of %s: %s", now.pods[i].Name, message)
		}
	}
	return out.String()
}
