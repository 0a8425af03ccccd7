package gardener

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

var epoch = time.Unix(1_700_000_000, 0).UTC()

// machine is one of an age rank, 0 the oldest.
func machine(name string, rank int, phase machinev1.MachinePhase, edits ...func(*machinev1.Machine)) machinev1.Machine {
	m := machinev1.Machine{ObjectMeta: metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(epoch.Add(time.Duration(rank) * time.Hour)),
		Annotations: map[string]string{},
	}}
	m.Status.CurrentStatus.Phase = phase
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

const (
	running  = machinev1.MachineRunning
	pending  = machinev1.MachinePending
	unknown  = machinev1.MachineUnknown
	failed   = machinev1.MachineFailed
	crashing = machinev1.MachineCrashLoopBackOff
)

func TestSafety(t *testing.T) {
	for _, test := range []struct {
		name                      string
		frozen                    bool
		machines, replicas, surge int
		ordered, want             bool
	}{
		{"within", false, 5, 3, 1, false, false},
		{"at the bound", false, 6, 3, 1, false, true},
		{"stays at the bound", true, 6, 3, 1, false, true},
		{"thaws one below", true, 5, 3, 1, false, false},
		{"thaws by order", true, 9, 3, 1, true, false},
		{"of nothing", false, 2, 0, 0, false, true},
	} {
		freeze, message := safety(test.frozen, test.machines, test.replicas, test.surge, test.ordered)
		if freeze != test.want || freeze != (message != "") {
			t.Errorf("%s: got %t %q", test.name, freeze, message)
		}
	}
}

func TestHealth(t *testing.T) {
	node := func(ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	critical := corev1.Taint{Key: machinev1.CriticalComponentsNotReadyTaint, Effect: corev1.TaintEffectNoSchedule}
	for _, test := range []struct {
		name      string
		phase     machinev1.MachinePhase
		since     time.Duration // since the phase began, which is also the machine's age
		node      *corev1.Node
		replacing bool
		want      machinev1.MachinePhase
		again     time.Duration
	}{
		{"boots", pending, time.Minute, nil, false, pending, 19 * time.Minute},
		{"joined and not ready", pending, time.Minute, node("False"), false, pending, 19 * time.Minute},
		{"joined and without network", pending, time.Minute, node("True", critical), false, pending, 19 * time.Minute},
		{"up", pending, time.Minute, node("True"), false, running, 0},
		{"never came", pending, 20 * time.Minute, nil, false, failed, 0},
		{"well", running, time.Hour, node("True", critical), false, running, 0},
		{"lost", running, time.Hour, node("Unknown"), false, unknown, 10 * time.Minute},
		{"its node is gone", running, time.Hour, nil, false, unknown, 10 * time.Minute},
		{"lost for a while", unknown, 4 * time.Minute, node("False"), false, unknown, 6 * time.Minute},
		{"back", unknown, 4 * time.Minute, node("True"), false, running, 0},
		{"lost for good", unknown, 10 * time.Minute, nil, false, failed, 0},
		{"lost for good, and not the only one", unknown, 10 * time.Minute, nil, true, unknown, lookAgain},
		{"failed", failed, time.Hour, node("True"), false, failed, 0},
	} {
		now := epoch.Add(test.since)
		m := machine("m", 0, test.phase)
		m.Status.CurrentStatus.LastUpdateTime = metav1.NewTime(epoch)
		status, again := health(m, view{now: now, node: test.node, replacing: test.replacing})
		if status.CurrentStatus.Phase != test.want || again != test.again {
			t.Errorf("%s: got %s, again in %s", test.name, status.CurrentStatus.Phase, again)
		}
		if moved := status.CurrentStatus.Phase != test.phase; moved != (status.LastOperation.Type != "") {
			t.Errorf("%s: the operation is %+v", test.name, status.LastOperation)
		}
	}
}

func TestRefusedFailsWhenItsTimeIsOver(t *testing.T) {
	m := machine("m", 0, "")
	m.Spec.CreationTimeout = &metav1.Duration{Duration: time.Minute}
	for after, want := range map[time.Duration]machinev1.MachinePhase{
		time.Minute: crashing, time.Minute + time.Second: failed,
	} {
		status := refused(m, epoch.Add(after), machinev1.CodeResourceExhausted, "none left")
		op := status.LastOperation
		if status.CurrentStatus.Phase != want || op.ErrorCode != "ResourceExhausted" || op.State != "Failed" ||
			op.Type != "Create" || op.Description != "Cloud provider message - none left" {
			t.Errorf("after %s: %+v", after, status)
		}
	}
}

func TestBehaviour(t *testing.T) {
	b, err := behaviourOf(map[string]string{
		JoinDelayAnnotation:      "2s",
		DeleteDelayAnnotation:    "1m",
		QuotaAnnotation:          "0",
		NeverRegistersAnnotation: "true",
		CreateErrorAnnotation:    "Unavailable:2",
	})
	if err != nil || b.createError != "Unavailable" || b.createErrors != 2 || b.joinDelay != 2*time.Second ||
		b.deleteDelay != time.Minute || b.quota == nil || *b.quota != 0 || !b.neverRegisters {
		t.Errorf("got %+v, %v", b, err)
	}
	if b, err := behaviourOf(nil); err != nil || b != (behaviour{}) {
		t.Errorf("of nothing: %+v, %v", b, err)
	}
	if b, err := behaviourOf(map[string]string{CreateErrorAnnotation: "Internal"}); err != nil ||
		b.createError != "Internal" || b.createErrors != 0 {
		t.Errorf("for good: %+v, %v", b, err)
	}
	for key, value := range map[string]string{
		CreateErrorAnnotation:    "Internal:0",
		JoinDelayAnnotation:      "2",
		DeleteDelayAnnotation:    "-1s",
		QuotaAnnotation:          "-1",
		NeverRegistersAnnotation: "perhaps",
	} {
		if _, err := behaviourOf(map[string]string{key: value}); err == nil {
			t.Errorf("%s=%s is right", key, value)
		}
	}
}

func TestDeploymentOf(t *testing.T) {
	for machine, want := range map[string]string{"shoot--a--b-w-z1-7c5f9-x2x4k": "shoot--a--b-w-z1", "odd": "", "": ""} {
		if got := DeploymentOf(machine); got != want {
			t.Errorf("%q: got %q", machine, got)
		}
	}
}

func TestNodeOf(t *testing.T) {
	class := machinev1.MachineClass{NodeTemplate: &machinev1.NodeTemplate{
		Capacity:        corev1.ResourceList{"cpu": resource.MustParse("4"), "gpu": resource.MustParse("2")},
		VirtualCapacity: corev1.ResourceList{"example.com/x": resource.MustParse("7")},
		InstanceType:    "big", Region: "r", Zone: "r-1",
	}}
	m := machine("m", 0, "")
	m.Spec.ProviderID = providerID("r-1", "m")
	m.Spec.NodeTemplate.Labels = map[string]string{"a": "b"}
	m.Spec.NodeTemplate.Spec.Taints = []corev1.Taint{{Key: "t", Effect: corev1.TaintEffectNoSchedule}}
	n := nodeOf(m, class)
	if n.Name != "m" || n.Spec.ProviderID != "fake:///r-1/m" || n.Labels["a"] != "b" ||
		n.Labels[corev1.LabelTopologyZone] != "r-1" ||
		n.Labels[machinev1.MachineNameLabel] != "" || n.Labels[corev1.LabelArchStable] != "amd64" ||
		n.Annotations[fakeAnnotation] != fakeValue || n.Spec.Taints[0].Key != "t" {
		t.Errorf("got %+v", n)
	}
	amount := func(name corev1.ResourceName) int64 { q := n.Status.Allocatable[name]; return q.Value() }
	if _, gpu := n.Status.Capacity["gpu"]; gpu || amount("nvidia.com/gpu") != 2 || amount("example.com/x") != 7 ||
		amount("pods") != 110 || amount("cpu") != 4 {
		t.Errorf("it has %v", n.Status.Allocatable)
	}
}

func TestMark(t *testing.T) {
	n := &corev1.Node{}
	if !mark(n, true, true) || n.Annotations[scaleDownDisabled] == "" || len(n.Spec.Taints) != 1 || mark(n, true, true) {
		t.Errorf("old, rolling: %+v", n)
	}
	if !mark(n, false, false) || len(n.Annotations) != 0 || len(n.Spec.Taints) != 0 || mark(n, false, false) {
		t.Errorf("done: %+v", n)
	}
	n.Annotations = map[string]string{scaleDownDisabled: "true"} // a person's
	if mark(n, true, false) || mark(n, false, false) || n.Annotations[scaleDownDisabled] != "true" {
		t.Errorf("a person's: %+v", n)
	}
}
