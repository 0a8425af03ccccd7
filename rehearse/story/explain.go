package story

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

const (
	refusedLimit = 3 * time.Minute
	fixedLimit   = 4 * time.Minute
	rackLabel    = "rehearse.plimsoll.dev/rack"
)

// explainGroups are a general group and one behind a taint, both in one zone.
func explainGroups() []stage.Group {
	batch := []corev1.Taint{{Key: batchTaint, Value: "only", Effect: corev1.TaintEffectNoSchedule}}
	return []stage.Group{
		{Name: "general", Zone: "zone-a", CPU: "4", Memory: "16Gi", Max: 20},
		{Name: "batch", Zone: "zone-a", CPU: "8", Memory: "32Gi", Max: 20, Taints: batch},
	}
}

// puzzle is a workload that fits nowhere, and why.
type puzzle struct {
	workload stage.Workload
	reason   string
	change   func(*appsv1.Deployment) // nil: the workload is it as it is
}

func puzzles() []puzzle {
	of := func(name string) stage.Workload {
		return stage.Workload{Name: name, Replicas: 2, CPU: "3", Memory: "1Gi"}
	}
	huge, picky, tainted, racked := of("huge"), of("picky"), of("tainted"), of("racked")
	huge.CPU = "12"
	picky.Selector = map[string]string{"disk": "ssd"}
	tainted.Selector = map[string]string{stage.GroupLabel: "batch"}
	racked.SpreadOver = rackLabel
	return []puzzle{
		{huge, "InsufficientResources", nil},
		{picky, "NodeAffinity", nil},
		{tainted, "TaintNotTolerated", nil},
		{racked, "TopologySpread", nil},
		{of("apart"), "PodAffinity", func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: corev1.LabelTopologyZone, LabelSelector: d.Spec.Selector,
				}},
			}}
		}},
	}
}

// answers is what Plimsoll's commands said in the story.
type answers struct {
	before, after string // what plan said
	rows          [][]string
}

// explainStory is the story of pods that fit nowhere for five reasons: each is explained, the fix that is named is
// applied, and all run.
func explainStory(s *scene) *act {
	a := &answers{rows: [][]string{{"workload", "reason", "fix that was named"}}}
	riddles := puzzles()
	var all []stage.Workload
	for _, p := range riddles {
		all = append(all, p.workload)
	}
	return &act{
		say: fmt.Sprintf("\nPlimsoll starts with two node groups. Then %d Deployments arrive, each with pods that fit "+
			"nowhere, for a reason of its own.", len(riddles)),
		open: func(ctx context.Context) error {
			return s.Autoscale(ctx, s.plimsoll, explainGroups(), "--scan-interval=2s", "--scale-down-enabled=false")
		},
		columns: groupsOf(explainGroups()),
		steps: []step{{
			title: "all but one pod wait", limit: refusedLimit, workloads: all,
			begin: func(ctx context.Context) error { return s.pose(ctx, riddles) },
			what:  "the scheduler refuses all pods, then places the one that may run",
			done:  func(t stage.Tally) bool { return t.Pods().Waited == wanted(all) && onlyOneRuns(t, all) },
			after: func(ctx context.Context, _ time.Duration) (err error) {
				if a.before, err = s.ask(ctx, "plan"); err != nil {
					return err
				}
				s.screen.Say("\n$ plimsoll plan\n" + a.before)
				for _, p := range riddles {
					if err := s.solve(ctx, p, a); err != nil {
						return err
					}
				}
				return nil
			},
		}, {
			say:   "\nEach fix is applied as it was named.",
			title: "nodes come", limit: fixedLimit, workloads: all,
			what: "all pods run", done: allRun(all...),
			after: func(ctx context.Context, _ time.Duration) (err error) {
				a.after, err = s.ask(ctx, "plan")
				return err
			},
		}},
		result: func() string {
			return table(a.rows) + "\n\n  $ plimsoll plan\n  " + strings.ReplaceAll(strings.TrimSpace(a.after), "\n", "\n  ")
		},
	}
}

// onlyOneRuns says that every pod that still waits does so for good: of the Deployment whose pods must be apart,
// one has the node that was bought for it. A question asked before could be answered after that pod is placed.
func onlyOneRuns(t stage.Tally, all []stage.Workload) bool {
	return t.Pods().Running == 1 && t.Pods().All == wanted(all)
}

// pose makes the Deployments. Their pods are replaced at once when they change, since old ones would wait beside
// the new.
func (s *scene) pose(ctx context.Context, riddles []puzzle) error {
	for _, p := range riddles {
		d, err := p.workload.Deployment()
		if err != nil {
			return err
		}
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		if p.change != nil {
			p.change(d)
		}
		if _, err := s.Client.AppsV1().Deployments(d.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create the Deployment %s: %w", d.Name, err)
		}
	}
	return nil
}

// solve asks why a workload's pods wait, and does what the answer says.
func (s *scene) solve(ctx context.Context, p puzzle, a *answers) error {
	pods, err := s.Client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("find the pods of %s: %w", p.workload.Name, err)
	}
	at := slices.IndexFunc(pods.Items, func(pod corev1.Pod) bool {
		return stage.WorkloadOf(&pod) == p.workload.Name && pod.Spec.NodeName == ""
	})
	if at < 0 {
		return fmt.Errorf("find the pods of %s: none waits", p.workload.Name)
	}
	name := metav1.NamespaceDefault + "/" + pods.Items[at].Name
	text, err := s.ask(ctx, "explain", "pod", name)
	if err != nil {
		return err
	}
	s.screen.Say("\n$ plimsoll explain pod " + name + "\n" + text)
	raw, err := s.ask(ctx, "explain", "pod", name, "-o", "json")
	if err != nil {
		return err
	}
	var answer explain.Pod
	if err := json.Unmarshal([]byte(raw), &answer); err != nil {
		return fmt.Errorf("read the answer on %s: %w", name, err)
	}
	q := answer.Pending
	if q == nil || q.Fix == nil || q.Verdict == nil || string(q.Verdict.Reason) != p.reason {
		return fmt.Errorf("%s waits for %s, and the answer is\n%s", name, p.reason, text)
	}
	a.rows = append(a.rows, []string{p.workload.Name, p.reason, q.Fix.Text})
	d, err := s.Client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, p.workload.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("fix %s: %w", p.workload.Name, err)
	}
	for _, change := range q.Fix.Changes {
		if err := apply(&d.Spec.Template.Spec, change); err != nil {
			return fmt.Errorf("fix %s: %w", p.workload.Name, err)
		}
	}
	if _, err := s.Client.AppsV1().Deployments(d.Namespace).Update(ctx, d, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("fix %s: %w", p.workload.Name, err)
	}
	return nil
}

// apply does to pods what a fix says.
func apply(spec *corev1.PodSpec, c explain.Change) error {
	field, _, _ := strings.Cut(c.Field, "/")
	switch {
	case c.Of != explain.OfPods && c.Of != explain.OfWorkload:
		return fmt.Errorf("it is no change of pods: %+v", c)
	case strings.HasPrefix(field, "requests."):
		amount, err := resource.ParseQuantity(c.To)
		if err != nil {
			return fmt.Errorf("%s %q: %w", field, c.To, err)
		}
		spec.Containers[0].Resources.Requests[corev1.ResourceName(strings.TrimPrefix(field, "requests."))] = amount
	case field == "tolerations":
		taint, effect, _ := strings.Cut(c.To, ":")
		key, value, _ := strings.Cut(taint, "=")
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpEqual, Value: value, Effect: corev1.TaintEffect(effect),
		})
	case field == "nodeSelector":
		key, _, _ := strings.Cut(c.From, "=")
		delete(spec.NodeSelector, key)
	case field == "podAntiAffinity":
		spec.Affinity.PodAntiAffinity = nil
	case strings.HasSuffix(c.Field, "/whenUnsatisfiable"):
		spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
	default:
		return fmt.Errorf("apply %+v: the story does not know this kind of change", c)
	}
	return nil
}

// ask runs a command of Plimsoll's that only reads, as Plimsoll sees the cluster. To say that something would
// change is no failure.
func (s *scene) ask(ctx context.Context, words ...string) (string, error) {
	cloud := autoscaler.Kwok(filepath.Join(s.Cluster.DataDir(), "templates.yaml"))
	args := slices.Concat(words, cloud.Flags, []string{"--kubeconfig=" + s.Cluster.PlimsollKubeconfig()})
	cmd := exec.CommandContext(ctx, s.plimsoll, args...)
	cmd.Env = append(os.Environ(), slices.Concat(cloud.Env, []string{"POD_NAMESPACE=kube-system"})...)
	var said, told bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &told
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) {
		return "", fmt.Errorf("plimsoll %s: %w: %s", strings.Join(words, " "), err, told.String())
	}
	return said.String(), nil
}
