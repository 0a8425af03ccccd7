package scaleup_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestLateNodeCountsForEarlierPods: web's pods spread over hosts, and loner's pod, which keeps away from them, opens a
// host of its own that counts from then on. A plan whose pods had their places before that node was there promises
// places that the scheduler refuses.
func TestLateNodeCountsForEarlierPods(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 3, testkit.Node("", "2", "16Gi", map[string]string{corev1.LabelTopologyZone: "a"}))
	web := testkit.Pod("default", "web", "300m", "1Gi", map[string]string{"app": "web"})
	testkit.SpreadOver(web, corev1.LabelHostname, 1, web.Labels)
	loner := testkit.Pod("default", "loner", "300m", "1Gi", map[string]string{"app": "loner"})
	testkit.Apart(loner, corev1.LabelHostname, web.Labels)
	c.Pending(loner, 1)
	c.Pending(web, 3)
	s, w, r := planOf(c, testkit.Policy())
	defer w.Close()
	if err := schedsim.Referee(w); err != nil {
		t.Errorf("%v\n%s", err, text(s, r))
	}
}
