package exact

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// waiting is a pod of a workload that the scheduler has refused.
func waiting(workload string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: ownLabels(workload)},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no"},
		}},
	}
}

func running(workload string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Labels: ownLabels(workload)},
		Spec:       corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func TestWhatIsNotAsItWillBe(t *testing.T) {
	ready := corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
	}}}
	leaving := *ready.DeepCopy()
	leaving.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	partly := &Workload{Name: "w", Pods: 2, Stays: 1}
	gated := &Workload{Name: "w", Pods: 1, Gated: true}
	for _, c := range []struct {
		name     string
		workload *Workload
		open     bool
		now      scene
		want     int
	}{
		{"one runs and one waits, as it will be", partly, false,
			scene{pods: []corev1.Pod{running("w"), waiting("w")}, nodes: []corev1.Node{ready}}, 0},
		{"two run, and one cannot", partly, false, scene{pods: []corev1.Pod{running("w"), running("w")}}, 1},
		{"none runs, and one can", partly, false, scene{pods: []corev1.Pod{waiting("w"), waiting("w")}}, 1},
		{"one is not there yet", partly, false, scene{pods: []corev1.Pod{running("w")}}, 1},
		{"behind a gate", gated, false, scene{pods: []corev1.Pod{waiting("w")}}, 0},
		{"the gate is open", gated, true, scene{pods: []corev1.Pod{waiting("w")}}, 1},
		{"a node comes", gated, false, scene{pods: []corev1.Pod{waiting("w")}, nodes: []corev1.Node{{}}}, 1},
		{"a node goes", gated, false, scene{pods: []corev1.Pod{waiting("w")}, nodes: []corev1.Node{leaving}}, 1},
	} {
		p := stand{Round: &Round{Workloads: []*Workload{c.workload}}, open: c.open}
		if got := p.unrest(c.now); len(got) != c.want {
			t.Errorf("%s: got %q, want %d", c.name, got, c.want)
		}
	}
}

// Of a pod that the scheduler makes room for, or that is a daemon's, Plimsoll is not asked.
func TestWhoCanRun(t *testing.T) {
	workloads := []*Workload{{Name: "all"}, {Name: "some", Stays: 1}, {Name: "gated", Gated: true}}
	p := stand{Round: &Round{Workloads: workloads}}
	daemon := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{daemonLabel: "d"}}}
	for _, c := range []struct {
		pod  corev1.Pod
		want bool
	}{{waiting("all"), true}, {waiting("some"), false}, {waiting("gated"), false}, {daemon, true}} {
		if got := p.canRun(&c.pod); got != c.want {
			t.Errorf("%v: got %t", c.pod.Labels, got)
		}
	}
	if p.open = true; !p.canRun(&[]corev1.Pod{waiting("gated")}[0]) {
		t.Error("a gate that is open")
	}
	nominated := waiting("all")
	nominated.Status.NominatedNodeName = "n"
	if !p.fits(t.Context(), &nominated) || !p.fits(t.Context(), &daemon) {
		t.Error("they fit, by the scheduler's own word")
	}
}
