package stage

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

func emptyWatch() *Watch {
	return &Watch{
		changed: make(chan struct{}),
		pods:    map[types.UID]podRow{},
		nodes:   map[types.UID]nodeRow{},
		tally:   Tally{Workloads: map[string]Pods{}, Groups: map[string]Nodes{}},
	}
}

func testPod(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Labels: map[string]string{workloadLabel: "web"}}}
}

func refuse(pod *corev1.Pod) *corev1.Pod {
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return pod
}

func TestWatchCountsPods(t *testing.T) {
	w := emptyWatch()
	check := func(when string, want Pods) {
		t.Helper()
		if got := w.Tally().Workloads["web"]; got != want {
			t.Errorf("%s: got %+v, want %+v", when, got, want)
		}
	}
	w.setPod(testPod("1"))
	w.setPod(refuse(testPod("2")))
	w.setPod(refuse(testPod("2")))
	check("one refused", Pods{All: 2, Refused: 1, Waited: 1, Ever: 2})
	running := testPod("2")
	running.Spec.NodeName, running.Status.Phase = "a", corev1.PodRunning
	w.setPod(running)
	check("it runs", Pods{All: 2, Bound: 1, Running: 1, Waited: 1, Ever: 2})
	ending := running.DeepCopy()
	ending.DeletionTimestamp = &metav1.Time{}
	w.setPod(ending)
	check("it ends", Pods{All: 2, Bound: 1, Waited: 1, Ever: 2})
	w.dropPod("2")
	w.dropPod("1")
	check("all gone", Pods{Waited: 1, Ever: 2})
}

func TestWatchCountsNodes(t *testing.T) {
	w := emptyWatch()
	node := func(uid string, ready, leaving bool) *corev1.Node {
		n := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid), Annotations: map[string]string{groupAnnotation: "g"}},
		}
		if ready {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		}
		if leaving {
			n.Spec.Taints = []corev1.Taint{{Key: leavingTaint}}
		}
		return n
	}
	w.setNode(node("1", false, false))
	w.setNode(node("2", false, false))
	w.setNode(node("1", true, false))
	w.dropNode("2")
	w.setNode(node("1", true, true))
	if got, want := w.Tally().Groups["g"], (Nodes{All: 1, Ready: 1, Leaving: 1, Ever: 2, Peak: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Cluster API says whose a node is after the node has joined, and cordons it before
// it goes.
func TestWatchCountsNodesWhoseGroupIsToldLater(t *testing.T) {
	w := emptyWatch()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	w.setNode(node)
	node = node.DeepCopy()
	node.Annotations = map[string]string{
		"cluster.x-k8s.io/owner-kind": "MachineSet", "cluster.x-k8s.io/owner-name": "g-x7k2p",
	}
	node.Spec.Unschedulable = true
	w.setNode(node)
	if got, want := w.Tally().Groups["g"], (Nodes{All: 1, Leaving: 1, Ever: 1, Peak: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got, want := w.Tally().Groups[""], (Nodes{Peak: 1}); got != want {
		t.Errorf("of no group: got %+v, want %+v", got, want)
	}
	w.dropNode("1")
	if got, want := w.Tally().Nodes(), (Nodes{Ever: 1, Peak: 2}); got != want {
		t.Errorf("gone: got %+v, want %+v", got, want)
	}
}

func TestWaitReturnsAtTheChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := emptyWatch()
		ended := make(chan error, 1)
		go func() {
			ended <- w.Wait(t.Context(), "two pods", func(t Tally) bool { return t.Pods().All == 2 })
		}()
		w.setPod(testPod("1"))
		synctest.Wait()
		select {
		case err := <-ended:
			t.Fatalf("it ended early: %v", err)
		default:
		}
		w.setPod(testPod("2"))
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestWaitTellsWhatDidNotHappen(t *testing.T) {
	w := emptyWatch()
	w.setPod(refuse(testPod("1")))
	over := errors.New("the limit is over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(over)
	err := w.Wait(ctx, "all pods run", func(Tally) bool { return false })
	if !errors.Is(err, over) || !strings.Contains(err.Error(), "did not happen: all pods run") ||
		!strings.Contains(err.Error(), "web: 1 pods, 0 bound, 0 running, 1 refused") {
		t.Errorf("got %v", err)
	}
}

func TestTemplates(t *testing.T) {
	taint := corev1.Taint{Key: "k", Effect: corev1.TaintEffectNoSchedule}
	data, err := templates([]Group{
		{Name: "g", Zone: "z", CPU: "8", Memory: "32Gi", Min: 2, Max: 5, Taints: []corev1.Taint{taint}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var list corev1.NodeList
	if err := yaml.UnmarshalStrict(data, &list); err != nil {
		t.Fatal(err)
	}
	node := list.Items[0]
	if GroupOf(&node) != "g" || node.Annotations[minAnnotation] != "2" || node.Annotations[maxAnnotation] != "5" ||
		node.Annotations[desiredAnnotation] != "2" ||
		node.Labels[corev1.LabelTopologyZone] != "z" || node.Labels[GroupLabel] != "g" ||
		node.Status.Allocatable.Cpu().Value() != 8 || len(node.Spec.Taints) != 1 || node.Spec.Taints[0] != taint {
		t.Errorf("got %+v", node)
	}
	if _, err := templates([]Group{{Name: "g", CPU: "eight", Memory: "1Gi"}}); err == nil || !strings.Contains(err.Error(), `group g: cpu "eight"`) {
		t.Errorf("got %v", err)
	}
}

func TestDeployment(t *testing.T) {
	d, err := Workload{Name: "web", Replicas: 3, CPU: "1", Memory: "7Gi", Required: map[string]string{"k": "v"},
		Tolerates: "t", SpreadOver: "zone"}.Deployment()
	if err != nil {
		t.Fatal(err)
	}
	spec := d.Spec.Template.Spec
	terms := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	required := terms[0].MatchExpressions[0]
	if required.Key != "k" || required.Values[0] != "v" || spec.Tolerations[0].Key != "t" ||
		spec.TopologySpreadConstraints[0].TopologyKey != "zone" || *d.Spec.Replicas != 3 {
		t.Errorf("got %+v", spec)
	}
	if plain, err := (Workload{Name: "w", CPU: "1", Memory: "1Gi"}).Deployment(); err != nil ||
		plain.Spec.Template.Spec.Affinity != nil {
		t.Errorf("without an affinity: %v, %v", plain, err)
	}
	if _, err := (Workload{Name: "w", CPU: "1", Memory: "much"}).Deployment(); err == nil {
		t.Error("a memory of \"much\" is taken")
	}
}

func TestMetricsAreSummed(t *testing.T) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader("# TYPE n counter\nn{a=\"1\"} 2\nn{a=\"2\"} 3\n" +
		"# TYPE h histogram\nh_bucket{le=\"+Inf\"} 4\nh_sum 1\nh_count 4\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := Metrics(families)
	for _, c := range []struct {
		name   string
		labels []string
		want   float64
		found  bool
	}{
		{"n", nil, 5, true}, {"n", []string{"a", "2"}, 3, true}, {"n", []string{"a", "3"}, 0, false},
		{"h", nil, 4, true}, {"none", nil, 0, false},
	} {
		if got, found := m.Sum(c.name, c.labels...); got != c.want || found != c.found {
			t.Errorf("%s %v: got %v, %t", c.name, c.labels, got, found)
		}
	}
}
