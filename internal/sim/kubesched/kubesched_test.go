package kubesched

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func node(name string, cpu int64, taints ...corev1.Taint) *corev1.Node {
	has := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(cpu<<32, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(110, resource.DecimalSI)}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Spec:       corev1.NodeSpec{Taints: taints},
		Status:     corev1.NodeStatus{Allocatable: has, Capacity: has},
	}
}

func pod(name, on string, cpu int64, priority int32) *corev1.Pod {
	wants := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(cpu, resource.DecimalSI)}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name),
			Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{NodeName: on, Priority: &priority,
			Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: wants}}}},
		Status: corev1.PodStatus{StartTime: &metav1.Time{}},
	}
}

// cluster is a scheduler that knows nodes and bound pods.
func cluster(t *testing.T, nodes []*corev1.Node, bound ...*corev1.Pod) *Scheduler {
	t.Helper()
	s, err := New(rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for _, n := range nodes {
		s.PutNode(nil, n)
	}
	for _, p := range bound {
		if err := s.PutPod(nil, p); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func schedule(t *testing.T, s *Scheduler, p *corev1.Pod) Result {
	t.Helper()
	r, err := s.Schedule(p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestScoresDecide: of the nodes that fit, the pod goes to that with the most room, and to one with
// a soft taint only if there is no other.
func TestScoresDecide(t *testing.T) {
	soft := corev1.Taint{Key: "mark", Effect: corev1.TaintEffectPreferNoSchedule}
	s := cluster(t, []*corev1.Node{node("a", 4), node("b", 4), node("c", 4, soft), node("d", 1)},
		pod("on-a", "a", 2, 0), pod("on-b", "b", 1, 0), pod("on-d", "d", 1, 0))
	if r := schedule(t, s, pod("p", "", 1, 0)); r.Node != "b" {
		t.Errorf("the pod goes to %q, want b: a is fuller, c is marked, d is full", r.Node)
	}
	s.Mind = Mind{Contrary: true}
	if r := schedule(t, s, pod("p", "", 1, 0)); r.Node != "c" {
		t.Errorf("a contrary scheduler puts the pod on %q, want c", r.Node)
	}
	s.Mind = Mind{Avoids: func(node string) bool { return node != "a" }}
	if r := schedule(t, s, pod("p", "", 1, 0)); r.Node != "a" {
		t.Errorf("a scheduler that avoids all others puts the pod on %q, want a", r.Node)
	}
}

// TestEqualNodesAreDrawn: between nodes of equal score the dice decide, and among many nodes only some
// are looked at, from where the last search ended.
func TestEqualNodesAreDrawn(t *testing.T) {
	var nodes []*corev1.Node
	for i := range 300 {
		nodes = append(nodes, node(fmt.Sprintf("n%03d", i), 4))
	}
	s := cluster(t, nodes)
	seen := map[string]bool{}
	for range 20 {
		seen[schedule(t, s, pod("p", "", 1, 0)).Node] = true
	}
	if len(seen) < 10 {
		t.Errorf("20 pods were offered the same %d nodes", len(seen))
	}
	if s.next != 20*enough(300)%300 || enough(300) != 144 || enough(80) != 80 || enough(10_000) != 500 {
		t.Errorf("it looked for %d of 300 nodes, %d of 80, %d of 10000, and goes on at %d", enough(300), enough(80),
			enough(10_000), s.next)
	}
}

// TestTheLeastImportantEnd: a pod that fits nowhere has those pods end that are the least important,
// and on its node no room is left for pods that are no more important.
func TestTheLeastImportantEnd(t *testing.T) {
	s := cluster(t, []*corev1.Node{node("a", 4), node("b", 4)},
		pod("a1", "a", 2, 5), pod("a2", "a", 2, 50), pod("b1", "b", 2, 1), pod("b2", "b", 2, 50))
	high := pod("high", "", 2, 10)
	r := schedule(t, s, high)
	if r.Node != "" || r.Nominated != "b" || !slices.Equal(r.Victims, []types.UID{"b1"}) {
		t.Fatalf("the pod goes to %q, is nominated to %q for the end of %q; want b and b1", r.Node, r.Nominated, r.Victims)
	}
	high.Status.NominatedNodeName = "b"
	if err := s.Nominate([]*corev1.Pod{high}); err != nil {
		t.Fatal(err)
	}
	if err := s.DropPod(pod("b1", "b", 2, 1)); err != nil {
		t.Fatal(err)
	}
	if r := schedule(t, s, pod("low", "", 2, 10)); r.Node != "" {
		t.Errorf("a pod that is no more important takes the room on %q", r.Node)
	}
	if r := schedule(t, s, high); r.Node != "b" {
		t.Errorf("the nominated pod goes to %q, want b", r.Node)
	}
	never := corev1.PreemptNever
	calm := pod("calm", "", 4, 100)
	calm.Spec.PreemptionPolicy = &never
	if r := schedule(t, s, calm); r.Node != "" || r.Nominated != "" {
		t.Errorf("a pod that preempts none goes to %q or is nominated to %q", r.Node, r.Nominated)
	}
}

// TestBudgetsAreSparedFirst: pods end whose budget allows it, though they are more important than those
// of a budget that does not; where there are no others, these end all the same.
func TestBudgetsAreSparedFirst(t *testing.T) {
	s := cluster(t, []*corev1.Node{node("a", 4), node("b", 4)}, pod("a1", "a", 4, 1), pod("b1", "b", 4, 5))
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a1"},
		Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a1"}}}}
	s.Budgets = []*policyv1.PodDisruptionBudget{budget}
	if r := schedule(t, s, pod("high", "", 4, 10)); r.Nominated != "b" {
		t.Errorf("the pod is nominated to %q, want b: a budget forbids the end of a1", r.Nominated)
	}
	if r := schedule(t, s, pod("low", "", 4, 3)); r.Nominated != "a" {
		t.Errorf("the pod is nominated to %q, want a: no other pod may end for it", r.Nominated)
	}
	budget.Status.DisruptionsAllowed = 1
	if r := schedule(t, s, pod("high", "", 4, 10)); r.Nominated != "a" {
		t.Errorf("the pod is nominated to %q, want a: its pod is less important, and its budget allows it", r.Nominated)
	}
}

// TestControllersAreSpread: the pods of a ReplicaSet are spread though none of them says so.
func TestControllersAreSpread(t *testing.T) {
	yes := true
	owned := func(p *corev1.Pod) *corev1.Pod {
		p.Labels = map[string]string{"app": "web"}
		p.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: &yes}}
		return p
	}
	on := []*corev1.Pod{pod("other", "b", 1, 0)}
	for i := range 4 {
		on = append(on, owned(pod(fmt.Sprint("web", i), "a", 0, 0)))
	}
	s := cluster(t, []*corev1.Node{node("a", 64), node("b", 64)}, on...)
	if err := s.PutReplicaSet("default", "web", map[string]string{"app": "web"}); err != nil {
		t.Fatal(err)
	}
	if r := schedule(t, s, owned(pod("next", "", 0, 0))); r.Node != "b" {
		t.Errorf("the pod goes to %q, want b, which has none of its ReplicaSet", r.Node)
	}
	if r := schedule(t, s, pod("alone", "", 0, 0)); r.Node != "a" {
		t.Errorf("a pod of no ReplicaSet goes to %q, want a, which has more room", r.Node)
	}
}
