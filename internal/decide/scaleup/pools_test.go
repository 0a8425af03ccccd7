package scaleup_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestWhatFillsAPoolIsThereFromTheStart: one node takes both pods of a spread over
// hostnames, and a second one fills the pool, past its group's share. The scheduler
// counts it from the start, so that the plan must place one pod on each.
func TestWhatFillsAPoolIsThereFromTheStart(t *testing.T) {
	c := testkit.New()
	c.Pools = []provider.Pool{{ID: "pool", Min: 2, Max: 2, Sizing: "Backward-Compatible"}}
	for id, limit := range map[string]int{"a": 0, "b": 2} {
		c.Group(id, 0, limit, testkit.Node("", "2", "16Gi", nil)).Pool = "pool"
	}
	p := testkit.Pod("default", "web", "300m", "1Gi", map[string]string{"app": "web"})
	testkit.SpreadOver(p, corev1.LabelHostname, 1, p.Labels)
	c.Pending(p, 2)
	s, w, r := planOf(c, testkit.Policy())
	defer w.Close()
	if r.Nodes != 2 {
		t.Errorf("%d nodes are bought, want 2\n%s", r.Nodes, text(s, r))
	}
	if err := schedsim.Referee(w); err != nil {
		t.Errorf("%v\n%s", err, text(s, r))
	}
}
