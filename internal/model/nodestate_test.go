package model

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestStateOf: the first class that matches counts.
func TestStateOf(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	node := func(age time.Duration, mend ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age))}}
		for _, f := range mend {
			f(n)
		}
		return n
	}
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, ago time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: kind, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-ago)),
			})
		}
	}
	ready := condition(corev1.NodeReady, corev1.ConditionTrue, time.Minute)
	taint := func(key string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key}) }
	}
	day, minute := 24*time.Hour, time.Minute
	for name, c := range map[string]struct {
		node  *corev1.Node
		in    *provider.Instance
		drain *Drain
		want  NodeState
	}{
		"ready":                     {node: node(day, ready), want: StateReady},
		"no word yet":               {node: node(minute), want: StateYoung},
		"never a word":              {node: node(day), want: StateNeverStarted},
		"not ready since it came":   {node: node(day, condition(corev1.NodeReady, corev1.ConditionFalse, day)), want: StateNeverStarted},
		"young and not ready":       {node: node(minute, condition(corev1.NodeReady, corev1.ConditionFalse, minute)), want: StateYoung},
		"was ready once":            {node: node(day, condition(corev1.NodeReady, corev1.ConditionUnknown, minute)), want: StateUnready},
		"full disk":                 {node: node(day, ready, condition(corev1.NodeDiskPressure, corev1.ConditionTrue, minute)), want: StateUnready},
		"full disk, young":          {node: node(minute, ready, condition(corev1.NodeDiskPressure, corev1.ConditionTrue, minute)), want: StateUnready},
		"network lost":              {node: node(day, ready, condition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, minute)), want: StateUnready},
		"network not there yet":     {node: node(minute, ready, condition(corev1.NodeNetworkUnavailable, corev1.ConditionTrue, minute)), want: StateYoung},
		"the start's taint lingers": {node: node(minute, ready, taint(corev1.TaintNodeNotReady)), want: StateYoung},
		"a taint says not ready":    {node: node(day, ready, taint(corev1.TaintNodeNotReady)), want: StateUnready},
		"suspended":                 {node: node(day, condition("Suspended", corev1.ConditionTrue, minute)), want: StateSuspended},
		"tainted":                   {node: node(day, ready, taint(TaintToBeDeleted)), want: StateBeingDeleted},
		"the cloud ends it":         {node: node(day, ready), in: &provider.Instance{State: provider.Deleting}, want: StateBeingDeleted},
		"our removal is open":       {node: node(day, ready), drain: &Drain{Stage: Tainting}, want: StateBeingDeleted},
		"our removal is taken back": {node: node(day, ready), drain: &Drain{Stage: RollingBack}, want: StateReady},
		"suspended, and on its way out all the same": {node: node(day, condition("Suspended", corev1.ConditionTrue, minute), taint(TaintToBeDeleted)), want: StateBeingDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			got, until := StateOf(c.node, c.in, NodeStanding{Drain: c.drain}, now, 15*time.Minute)
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if young := got == StateYoung; young != until.After(now) {
				t.Errorf("until %v", until)
			}
			var counts Counts
			counts.Add(got, c.node)
			if lacks := c.want == StateUnready && name != "was ready once"; (counts.ResourceUnready == 1) != lacks {
				t.Errorf("%+v", counts)
			}
		})
	}
}

// TestAClockThatIsFarAhead: a node whose clock is far ahead of ours has never been ready, as far as it tells, until our
// clock is near: then it was ready once. Time alone changes that, whether its time to start is over before or not.
func TestAClockThatIsFarAhead(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Minute))},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady,
			Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(now.Add(8 * time.Minute))}}},
	}
	near, zero := now.Add(8*time.Minute-farAhead), time.Time{}
	for _, c := range []struct {
		at      time.Time
		startup time.Duration
		want    NodeState
		until   time.Time
	}{
		{now, 15 * time.Minute, StateYoung, near},
		{now, 2 * time.Minute, StateYoung, now.Add(time.Minute)},
		{now, time.Minute, StateNeverStarted, near},
		{near, 15 * time.Minute, StateUnready, zero},
		{near, time.Minute, StateUnready, zero},
	} {
		if got, until := StateOf(n, nil, NodeStanding{}, c.at, c.startup); got != c.want || !until.Equal(c.until) {
			t.Errorf("at %v, with %v to start: %s until %v, want %s until %v", c.at, c.startup, got, until, c.want, c.until)
		}
	}
}
