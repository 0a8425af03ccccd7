package sim

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestRoomForTheImportant: a pod that fits nowhere drives out the least important
// that it takes, waits for their end, and then gets the room, even if other pods wait for some.
func TestRoomForTheImportant(t *testing.T) {
	w := still(t, "workload low count=9 cpu=1 memory=1Gi priority=-20 stop=20s\nworkload plain count=3 cpu=1 memory=1Gi\n"+
		"at 6m workload high count=1 cpu=2 memory=1Gi priority=100")
	count := func(workload string) (bound, ending int) {
		for _, s := range w.truth.seats {
			switch {
			case s.of != workload || s.node == "":
			case s.pod.Flags&model.Terminating != 0:
				ending++
			default:
				bound++
			}
		}
		return bound, ending
	}
	run(t, w, time.Minute+2*time.Second)
	if bound, ending := count("low"); bound != 7 || ending != 2 {
		t.Errorf("%d of low priority run and %d are ending, want 7 and 2", bound, ending)
	}
	if at := w.truth.seats[podName{"default", "high-00001"}]; at.node != "" || at.pod.Nominated == "" {
		t.Errorf("the important pod is bound to %q and nominated to %q", at.node, at.pod.Nominated)
	}
	run(t, w, 30*time.Second)
	for workload, want := range map[string]int{"low": 7, "plain": 3, "high": 1} {
		if bound, ending := count(workload); bound != want || ending != 0 {
			t.Errorf("of %s %d run and %d are ending, want %d and none", workload, bound, ending, want)
		}
	}
}

// TestTaintsAndCordons: the scheduler puts pods onto a node that goes, if they
// tolerate its taint, and onto none that is cordoned.
func TestTaintsAndCordons(t *testing.T) {
	w := still(t, "workload web count=1 cpu=1 memory=1Gi\nat 6m workload brave count=1 cpu=1 memory=1Gi tolerate="+
		model.TaintToBeDeleted+
		"\nat 6m workload shy count=1 cpu=1 memory=1Gi\nat 8m workload brave count=2")
	first := w.sortedMachines("g")[0].node
	w.editNode(first, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints,
			corev1.Taint{Key: model.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule})
	})
	run(t, w, 2*time.Minute)
	node := func(pod string) string { return w.truth.seats[podName{"default", pod}].node }
	if node("brave-00001") != first || node("shy-00001") == first || node("shy-00001") == "" {
		t.Errorf("%s is tainted; the pod that tolerates it is on %q, the other one on %q", first,
			node("brave-00001"), node("shy-00001"))
	}
	w.editNode(first, func(n *corev1.Node) { n.Spec.Unschedulable = true })
	run(t, w, 2*time.Minute)
	if node("brave-00002") == first || node("brave-00002") == "" {
		t.Errorf("%s is cordoned; the pod is on %q", first, node("brave-00002"))
	}
}
