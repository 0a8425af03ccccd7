package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

const host = corev1.LabelHostname

// hosts is an app that is spread over hostnames, on nodes with room for two of
// its pods each.
func hosts(nodes, pods int, keys ...string) *testkit.Cluster {
	c := testkit.New()
	for z := range 3 {
		c.Group(fmt.Sprintf("g%d", z), 0, 10000,
			testkit.Node("", "16", "64Gi", map[string]string{zone: string(rune('a' + z))}))
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + i%3))}), fmt.Sprintf("g%d", i%3))
		c.Bound(testkit.Pod("default", "old", "530m", "2Gi", map[string]string{"app": "old"}), 28, name)
	}
	p := testkit.Pod("default", "web", "500m", "1Gi", map[string]string{"app": "web"})
	for _, key := range keys {
		testkit.SpreadOver(p, key, 1, p.Labels)
	}
	c.Pending(p, pods)
	return c
}

// kinds is an app that is spread over hostnames, and six kinds of machine.
func kinds(pods int) *testkit.Cluster {
	c := testkit.New()
	for i, cores := range []int{1, 2, 3, 4, 8, 16} {
		c.Group(fmt.Sprintf("g%d", i), 0, 10000, testkit.Node("", fmt.Sprint(cores), fmt.Sprintf("%dGi", 4*cores), nil))
	}
	p := testkit.Pod("default", "web", "500m", "256Mi", map[string]string{"app": "web"})
	testkit.SpreadOver(p, corev1.LabelHostname, 1, p.Labels)
	c.Pending(p, pods)
	return c
}

func BenchmarkHostSpread(b *testing.B) {
	for _, bm := range []struct {
		name string
		c    func() *testkit.Cluster
	}{
		{"6kinds/400", func() *testkit.Cluster { return kinds(400) }},
		{"200nodes/500", func() *testkit.Cluster { return hosts(200, 500, host) }},
		{"zones/300nodes/100", func() *testkit.Cluster { return hosts(300, 100, zone, host) }},
		{"zones/300nodes/400", func() *testkit.Cluster { return hosts(300, 400, zone, host) }},
	} {
		b.Run(bm.name, func(b *testing.B) { benchmark(b, bm.c(), false) })
	}
}
