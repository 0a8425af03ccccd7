package kube

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: ready},
		}},
	}
}

func TestNodes(t *testing.T) {
	n, now := NewNodes(), time.Unix(0, 0)
	later := now.Add(time.Minute)
	stale := func(at time.Time, want []string, names ...string) {
		t.Helper()
		if got := n.Stale(names, at); !slices.Equal(got, want) {
			t.Errorf("stale of %v: %v, want %v", names, got, want)
		}
	}
	of := func(want []string, names ...string) {
		t.Helper()
		var got []string
		for _, each := range n.Of(names) {
			got = append(got, each.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("of %v: %v, want %v", names, got, want)
		}
	}
	stale(now, []string{"b", "a", "none", "broken"}, "b", "a", "none", "b", "broken")
	n.Saw("a", node("a", corev1.ConditionTrue), later)
	n.Saw("b", node("b", corev1.ConditionTrue), later)
	n.Saw("none", nil, later)
	n.Missed("broken", later)
	of([]string{"a", "b"}, "none", "b", "broken", "a")
	stale(now, nil, "a", "b", "none", "broken")
	// At the time itself it is over; what could not be read again stays known.
	stale(later, []string{"a"}, "a")
	n.Missed("a", later.Add(time.Minute))
	of([]string{"a"}, "a")
	stale(later, nil, "a")
	// What was not among the names is forgotten, however long it was to be believed.
	of(nil, "b")
}

func TestReady(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{
		corev1.ConditionTrue: true, corev1.ConditionFalse: false, corev1.ConditionUnknown: false,
	} {
		if Ready(node("n", status)) != want {
			t.Errorf("%s: %v", status, !want)
		}
	}
	if Ready(&corev1.Node{}) {
		t.Error("a node that says nothing is ready")
	}
}
