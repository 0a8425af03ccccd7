package schedsim

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestHostSpreadOpensTheFewestNodes: of one group, a spread over hostnames opens
// as many nodes as the scheduler needs to place every pod, and not one more. The
// other side of the comparison knows the plugins only.
func TestHostSpreadOpensTheFewestNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawHosts(t)
		web := s.Pending[0].Class
		count := len(s.Pending[0].Pods)

		w := Load(nil, s)
		defer w.Close()
		tmpl, _ := w.GroupTemplate(0)
		_, left, _ := w.Place(web, count, OnReady, 1_000_000)
		const most = 30
		allow := func(_ int, opened []int) bool { return opened[0] < most }
		got := w.Settle(web, left, OnReady|OnPlanned, []Head{{Template: tmpl}}, allow, 10_000_000)

		plain := Load(nil, s)
		defer plain.Close()
		left = plainly(plain, web, count)
		want := 0
		for ; left > 0 && want <= most; want++ {
			m := plain.Mark()
			plain.AddNodes(tmpl, want+1)
			if plainly(plain, web, left) == 0 {
				break
			}
			plain.Undo(m)
		}
		if left > 0 {
			want++
		}
		if got.Left > 0 || got.Opened[0] != want {
			t.Fatalf("%d nodes opened and %d pods left, want %d nodes", got.Opened[0], got.Left, want)
		}
	})
}

// drawHosts makes nodes with some room and some pods of an app that is spread
// over hostnames, and more such pods that wait.
func drawHosts(t *rapid.T) *model.Snapshot {
	c := testkit.New()
	c.Group("g", 0, 100, testkit.Node("", rapid.SampledFrom([]string{"1", "2", "4"}).Draw(t, "cpu"), "64Gi", nil))
	web := testkit.Pod("default", "web", "500m", "64Mi", map[string]string{"app": "web"})
	testkit.SpreadOver(web, corev1.LabelHostname, int32(rapid.IntRange(1, 3).Draw(t, "skew")), web.Labels)
	if rapid.IntRange(0, 3).Draw(t, "min domains") == 0 {
		domains := int32(rapid.IntRange(1, 5).Draw(t, "domains"))
		web.Spec.TopologySpreadConstraints[0].MinDomains = &domains
	}
	for n := range rapid.IntRange(0, 4).Draw(t, "nodes") {
		name := fmt.Sprintf("n%d", n)
		c.AddNode(testkit.Node(name, "4", "64Gi", nil), "g")
		c.Bound(testkit.Pod("default", "old", "500m", "64Mi", nil), rapid.IntRange(0, 6).Draw(t, "old"), name)
		c.Bound(web, rapid.IntRange(0, 2).Draw(t, "web"), name)
	}
	c.Pending(web, rapid.IntRange(1, 20).Draw(t, "pending"))
	return snapshot.New(nil, c.Observation(), model.Standing{}, testkit.Policy().Rules)
}

// plainly places pods on the nodes with the fewest of them first, by the plugins
// before all nodes, and returns how many are left.
func plainly(w *World, c model.ClassID, count int) int {
	for ; count > 0; count-- {
		best := -1
		for i := range w.nodes {
			if (best < 0 || countOf(w.nodes[i].batches, c) < countOf(w.nodes[best].batches, c)) &&
				schedulerSays(w, c, i) {
				best = i
			}
		}
		if best < 0 {
			return count
		}
		w.put(best, c, 1)
	}
	return 0
}
