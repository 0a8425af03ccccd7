package clusterapi

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/clusterapi/clusterapitest"
	"github.com/plimsoll-dev/plimsoll/providers/kubetest"
)

func exampleNode(name string, labels map[string]string, memory string, taints ...corev1.Taint) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{ProviderID: "x:///z/i-" + name, Taints: taints},
	}
	n.Status.Allocatable = corev1.ResourceList{
		"cpu": resource.MustParse("3920m"), "memory": resource.MustParse(memory), "pods": resource.MustParse("58"),
	}
	n.Status.Capacity = corev1.ResourceList{
		"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("58"),
	}
	return n
}

func TestTemplateLike(t *testing.T) {
	own := corev1.Taint{Key: "dedicated", Value: "web", Effect: "NoSchedule"}
	a := exampleNode("a", map[string]string{
		"kubernetes.io/hostname": "a", "zone": "1", "type": "m", "node": "a", "machine": "i-a",
	}, "15Gi", own, corev1.Taint{Key: "node.kubernetes.io/unschedulable", Effect: "NoSchedule"})
	b := exampleNode("b", map[string]string{"kubernetes.io/hostname": "b", "zone": "2", "type": "m"}, "14Gi",
		corev1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Effect: "NoSchedule"}, own)
	b.Status.Allocatable["nvidia.com/gpu"] = resource.MustParse("2")

	one, err := templateLike([]*corev1.Node{a}, capacity{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"zone": "1", "type": "m"}, one.Node.Labels); diff != "" {
		t.Errorf("labels of one node: %s", diff)
	}
	two, err := templateLike([]*corev1.Node{a, b}, capacity{csi: []csiLimit{{"a.example.com", 7}}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"type": "m"}, two.Node.Labels); diff != "" {
		t.Errorf("labels of two: %s", diff)
	}
	if diff := cmp.Diff([]corev1.Taint{own}, two.Node.Spec.Taints); diff != "" {
		t.Error(diff)
	}
	if m, g := two.Node.Status.Allocatable["memory"],
		two.Node.Status.Allocatable["nvidia.com/gpu"]; m.String() != "14Gi" || g.String() != "2" {
		t.Errorf("allocatable %v", two.Node.Status.Allocatable)
	}
	if two.Node.Name != "" || two.Node.Spec.ProviderID != "" || len(two.Node.Status.Conditions) > 0 ||
		two.CSINode == nil || !strings.Contains(two.Sources["resource/cpu"], "node a") {
		t.Errorf("%+v", two)
	}
	delete(a.Status.Allocatable, "pods")
	if _, err := templateLike([]*corev1.Node{a}, capacity{}); err == nil {
		t.Error("a node without room for pods is an example")
	}
}

func TestExampleNames(t *testing.T) {
	at := func(minutes int) time.Time { return time.Date(2030, 1, 1, 0, minutes, 0, 0, time.UTC) }
	mark := "x"
	sets := []*scalable{
		{name: "old", annotations: map[string]string{revisionAnnotation: "9"}},
		{name: "new", annotations: map[string]string{revisionAnnotation: "10"}},
	}
	of := func(set, name, node string, minutes int) *machine {
		return &machine{owner: owner{machineSet, set}, name: name, nodeName: node, created: at(minutes)}
	}
	members := []*machine{of("old", "o1", "o1", 0), of("new", "n3", "n3", 3), of("new", "n1", "n1", 1),
		of("new", "n2", "", 2), of("new", "n0", "n0", 0), of("new", "n4", "n4", 4), of("new", "n5", "n5", 5)}
	members[4].deleting = true
	members[6].mark = &mark
	if got := exampleNames(&scalable{}, members, sets); !slices.Equal(got, []string{"n1", "n3", "n4"}) {
		t.Errorf("%v", got)
	}
	if got := exampleNames(&scalable{}, members[:1], sets); !slices.Equal(got, []string{"o1"}) {
		t.Errorf("of an old set alone: %v", got)
	}
	if got := exampleNames(
		&scalable{nodeNames: []string{"d", "c", "b", "a"}}, nil, nil,
	); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("of a pool: %v", got)
	}
}

// A group without a word about capacity, as EKS Anywhere makes them, is known
// by its nodes; at zero it is not.
func TestAGroupIsKnownByItsNodes(t *testing.T) {
	w := newWorld(t, deployment("workers", 2, clusterapitest.MinSize, "0", clusterapitest.MaxSize, "5"))
	w.Serve(clusterapitest.Nodes())
	p := connect(t, w, ofC1)
	if g := group(t, inventory(t, p), md("workers")); g.Template != nil ||
		!strings.Contains(g.TemplateErr.Message, "no ready node") {
		t.Errorf("without nodes: %+v, %v", g.Template, g.TemplateErr)
	}
	p = connect(t, w, ofC1)
	for i, in := range group(t, inventory(t, p), md("workers")).Instances {
		n := clusterapitest.NewNode(in.NodeName, in.ProviderID, kubetest.Object{"topology.kubernetes.io/zone": "z1"},
			kubetest.Object{"cpu": "3920m", "memory": "15Gi", "pods": "110"})
		if i > 0 { // one that is not ready is no example
			kubetest.Set(n, "1Gi", "status", "allocatable", "memory")
			kubetest.Set(n, []any{kubetest.Object{"type": "Ready", "status": "False"}}, "status", "conditions")
		}
		w.Apply(n)
	}
	p = connect(t, w, ofC1)
	g := group(t, inventory(t, p), md("workers"))
	if g.Template == nil || g.Template.Node.Status.Allocatable.Cpu().MilliValue() != 3920 ||
		g.Template.Node.Status.Allocatable.Memory().Value() != 15<<30 ||
		g.Template.Node.Labels["topology.kubernetes.io/zone"] != "z1" ||
		g.Template.Node.Labels["kubernetes.io/hostname"] != "" {
		t.Fatalf("%+v, %v", g.Template, g.TemplateErr)
	}
	// The next inventory asks no node again.
	w.ForgetRequests()
	inventory(t, p)
	if slices.ContainsFunc(w.Requests(), func(r string) bool { return strings.Contains(r, "nodes") }) {
		t.Errorf("requests %v", w.Requests())
	}
}

// A workload cluster that does not answer costs the examples, and a moment.
func TestAHangingWorkloadCluster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, deployment("workers", 2, annotated("0", "5")...))
	w.Serve(clusterapitest.Nodes())
	w.Arm(kubetest.Fault{Verb: "get", Resource: "nodes", Mishap: kubetest.Hang})
	p := impatient(connect(t, w, ofC1))
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	inv, err := p.Inventory(ctx)
	if err != nil || inv.Groups[0].Template == nil || inv.Groups[0].Template.Sources["resource/cpu"] != sourceAnnotation {
		t.Errorf("%+v, %v", inv, err)
	}
}

// Without a client of the workload cluster there is what annotations say.
func TestWithoutWorkloadClient(t *testing.T) {
	w := newWorld(t, deployment("workers", 1, annotated("0", "5")...))
	p := connect(t, w, ofC1)
	p.examples = newExamples(nil, time.Now)
	if g := group(t, inventory(t, p), md("workers")); g.Template == nil || g.Instances[0].State != provider.Running {
		t.Errorf("%+v", g)
	}
}
