package infrastructure

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

var created = time.Unix(1_000_000, 0)

const testVersion = "v1.36.2"

func testMachine() *kwokapi.KwokMachine {
	return &kwokapi.KwokMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", CreationTimestamp: metav1.NewTime(created), Generation: 7},
		Spec: kwokapi.KwokMachineSpec{Node: kwokapi.NodeSpec{
			Labels:   map[string]string{"a": "b"},
			Taints:   []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}},
			Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		}},
	}
}

func TestNodeIsWhatItsSpecSays(t *testing.T) {
	machine := testMachine()
	node := newNode(machine, testVersion)
	if node.Name != "m.ns" || node.Spec.ProviderID != "kwok://ns/m" || node.Annotations["kwok.x-k8s.io/node"] != "fake" {
		t.Errorf("the node is %+v", node)
	}
	if node.Labels["a"] != "b" || node.Labels[corev1.LabelArchStable] != "amd64" ||
		node.Labels[corev1.LabelOSStable] != "linux" || node.Labels[corev1.LabelHostname] != "m.ns" {
		t.Errorf("its labels are %v", node.Labels)
	}
	if len(node.Spec.Taints) != 2 || node.Spec.Taints[0].Key != "t" ||
		node.Spec.Taints[1] != clusterv1.NodeUninitializedTaint {
		t.Errorf("its taints are %v", node.Spec.Taints)
	}
	if node.Status.NodeInfo.KubeletVersion != testVersion {
		t.Errorf("its kubelet is of the version %q, want the Machine's", node.Status.NodeInfo.KubeletVersion)
	}
	if node.Status.Allocatable.Cpu().Value() != 4 {
		t.Errorf("without allocatable resources it offers %v, want its capacity", node.Status.Allocatable)
	}
	machine.Spec.Node.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	machine.Spec.Node.Architecture = "arm64"
	machine.Spec.Node.Labels[corev1.LabelArchStable] = "odd"
	node = newNode(machine, testVersion)
	if node.Status.Allocatable.Cpu().Value() != 3 || node.Status.Capacity.Cpu().Value() != 4 {
		t.Errorf("it offers %v of %v", node.Status.Allocatable, node.Status.Capacity)
	}
	if node.Status.NodeInfo.Architecture != "arm64" || node.Labels[corev1.LabelArchStable] != "odd" {
		t.Errorf("a label of the spec must win: %v, %v", node.Status.NodeInfo, node.Labels)
	}
}

func TestStartupDelayCountsFromTheCreation(t *testing.T) {
	machine := testMachine()
	if left := untilStarted(machine, created); left != 0 {
		t.Errorf("without a delay %s is left", left)
	}
	machine.Spec.StartupDelay = &metav1.Duration{Duration: time.Minute}
	for after, want := range map[time.Duration]time.Duration{
		0: time.Minute, 59 * time.Second: time.Second, time.Minute: 0, time.Hour: 0,
	} {
		if left := untilStarted(machine, created.Add(after)); left != want {
			t.Errorf("after %s, %s is left, want %s", after, left, want)
		}
	}
}

func TestStageOfAMachine(t *testing.T) {
	failure := &kwokapi.Failure{Reason: "R", Message: "m"}
	for _, test := range []struct {
		name                 string
		failure              *kwokapi.Failure
		provisioned, started bool
		want                 stage
	}{
		{"starts", nil, false, false, stageProvisioned},
		{"started", nil, false, true, stageProvisioned},
		{"will fail", failure, false, false, stageStarting},
		{"fails", failure, false, true, stageFailed},
		{"can fail no more", failure, true, true, stageProvisioned},
	} {
		machine := testMachine()
		machine.Spec.Failure = test.failure
		if test.provisioned {
			machine.Status.Initialization = &kwokapi.MachineInitialization{Provisioned: true}
		}
		if got := stageOf(machine, test.started); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestStatusOfAMachine(t *testing.T) {
	machine := testMachine()
	machine.Spec.Failure = &kwokapi.Failure{Reason: "R", Message: "m"}
	machine.Status = machineStatus(machine, stageFailed, "")
	ready := meta.FindStatusCondition(machine.Status.Conditions, clusterv1.ReadyCondition)
	if machine.Status.FailureReason != "R" || machine.Status.FailureMessage != "m" || machine.Provisioned() ||
		ready.Status != metav1.ConditionFalse || ready.Reason != "R" || ready.Message != "m" ||
		ready.ObservedGeneration != 7 {
		t.Errorf("failed: %+v", machine.Status)
	}
	machine.Spec.Failure = nil
	failed := machine.DeepCopy()
	machine.Status = machineStatus(machine, stageProvisioned, "n")
	ready = meta.FindStatusCondition(machine.Status.Conditions, clusterv1.ReadyCondition)
	if machine.Status.FailureReason != "" || machine.Status.FailureMessage != "" || !machine.Provisioned() ||
		machine.Status.NodeName != "n" ||
		ready.Status != metav1.ConditionTrue || ready.Message != "" {
		t.Errorf("healed: %+v", machine.Status)
	}
	if was := meta.FindStatusCondition(
		failed.Status.Conditions, clusterv1.ReadyCondition,
	); was.Status != metav1.ConditionFalse {
		t.Error("the status of before was changed")
	}
	if status := machineStatus(machine, stageProvisioned, ""); status.NodeName != "n" {
		t.Error("the node's name was taken back")
	}
}

func TestJoinTakesOverNoOtherNode(t *testing.T) {
	machine := testMachine()
	foreign := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "m.ns"}, Spec: corev1.NodeSpec{ProviderID: "kwok://elsewhere"},
	}
	for _, test := range []struct {
		name      string
		there     *corev1.Node
		wantError string
	}{
		{"new", nil, ""},
		{"its own, of an earlier try", newNode(machine, testVersion), ""},
		{"another machine's", foreign, `provider id "kwok://elsewhere"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			workload := clientWith(test.there)
			name, err := join(t.Context(), workload, machine, testVersion)
			if test.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), test.wantError) {
					t.Errorf("got %q, %v", name, err)
				}
				return
			}
			if err != nil || name != "m.ns" {
				t.Errorf("got %q, %v", name, err)
			}
			node := &corev1.Node{}
			if err := workload.Get(context.Background(), client.ObjectKey{Name: "m.ns"}, node); err != nil ||
				node.Spec.ProviderID != "kwok://ns/m" {
				t.Errorf("the node is %+v, %v", node.Spec, err)
			}
		})
	}
}

func TestLeaveDeletesNoOtherNode(t *testing.T) {
	machine := testMachine()
	foreign := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "m.ns"}, Spec: corev1.NodeSpec{ProviderID: "kwok://elsewhere"},
	}
	for _, test := range []struct {
		name  string
		there *corev1.Node
		want  int
	}{
		{"none", nil, 0},
		{"its own", newNode(machine, testVersion), 0},
		{"another machine's", foreign, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			workload := clientWith(test.there)
			if err := leave(t.Context(), workload, machine); err != nil {
				t.Fatal(err)
			}
			var nodes corev1.NodeList
			if err := workload.List(t.Context(), &nodes); err != nil || len(nodes.Items) != test.want {
				t.Errorf("%d nodes are left (%v), want %d", len(nodes.Items), err, test.want)
			}
		})
	}
}

func clientWith(node *corev1.Node) client.Client {
	builder := fake.NewClientBuilder()
	if node != nil {
		builder = builder.WithObjects(node.DeepCopy())
	}
	return builder.Build()
}

func TestTemplateTellsItsCapacityAndPlatform(t *testing.T) {
	status := templateStatus(testMachine().Spec.Node)
	if status.Capacity.Cpu().Value() != 4 || status.NodeInfo.Architecture != "amd64" ||
		status.NodeInfo.OperatingSystem != "linux" {
		t.Errorf("got %+v", status)
	}
}
