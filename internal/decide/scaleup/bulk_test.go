package scaleup_test

import (
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestGroupsAlikeArePackedOnce: groups whose nodes differ in labels that no pod
// reads are one question to the plugins, however many they are, and so are classes that
// differ in their requests; and each group grows as far as its own maximum.
func TestGroupsAlikeArePackedOnce(t *testing.T) {
	c := testkit.New()
	for g := range 40 {
		c.Group(fmt.Sprintf("g%02d", g), 0, 1+g%2, testkit.Node("", "4", "16Gi", map[string]string{"group": fmt.Sprint(g)}))
	}
	for _, cpu := range []string{"500m", "1", "2"} {
		c.Pending(testkit.Pod("default", "p"+cpu, cpu, "1Gi", map[string]string{"app": cpu}), 16)
	}
	s, w, r := planOf(c, testkit.Policy())
	defer w.Close()
	if got := w.Work().Filters; got != 1 {
		t.Errorf("the plugins were asked %d times, want once", got)
	}
	if r.Nodes != 14 || r.LowerBound != 14 {
		t.Errorf("%d nodes are bought, want 14\n%s", r.Nodes, text(s, r))
	}
}

// TestGroupsThatPodsTellApartAreNot: a label that some pod reads, a taint and the
// amounts make a difference.
func TestGroupsThatPodsTellApartAreNot(t *testing.T) {
	c := testkit.New()
	c.Group("a", 0, 9, testkit.Node("", "4", "16Gi", map[string]string{"disk": "slow"}))
	c.Group("b", 0, 9, testkit.Node("", "4", "16Gi", map[string]string{"disk": "fast"}))
	picky := testkit.Pod("default", "picky", "1", "1Gi", nil)
	picky.Spec.NodeSelector = map[string]string{"disk": "fast"}
	c.Pending(picky, 8)
	c.Pending(testkit.Pod("default", "any", "1", "1Gi", nil), 4)
	s, w, r := planOf(c, testkit.Policy())
	defer w.Close()
	if len(r.Grow) == 0 || r.Nodes != 3 {
		t.Fatalf("want 3 nodes\n%s", text(s, r))
	}
	for _, v := range r.Pending {
		if v.Left > 0 {
			t.Errorf("%d pods are left\n%s", v.Left, text(s, r))
		}
	}
}
