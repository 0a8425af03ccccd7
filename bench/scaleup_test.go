package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

const zone = corev1.LabelTopologyZone

func u1() *testkit.Cluster {
	c := testkit.New()
	c.Group("g", 0, 10000, testkit.Node("", "16", "64Gi", nil))
	c.Pending(testkit.Pod("default", "p", "320m", "1Gi", map[string]string{"app": "p"}), 50000)
	return c
}

func u2() *testkit.Cluster {
	c := testkit.New()
	n := testkit.Node("", "1", "64Gi", nil)
	n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("100")
	n.Status.Capacity = n.Status.Allocatable
	c.Group("g", 0, 10000, n)
	c.Pending(testkit.Pod("default", "a", "50m", "", nil), 50000)
	c.Pending(testkit.Pod("default", "b", "95m", "", nil), 1000)
	return c
}

func filled(nodes int) *testkit.Cluster {
	c := testkit.New()
	for g := range 20 {
		c.Group(fmt.Sprintf("g%02d", g), 0, 10000,
			testkit.Node("", "16", "64Gi", map[string]string{zone: string(rune('a' + g%3)), "group": fmt.Sprint(g)}))
	}
	for i := range nodes {
		g := i % 20
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + g%3)), "group": fmt.Sprint(g)}),
			fmt.Sprintf("g%02d", g))
		app := fmt.Sprintf("app%02d", i%30)
		c.Bound(testkit.Pod("default", app, "530m", "2Gi", map[string]string{"app": app}), 30, name)
	}
	return c
}

func u3() *testkit.Cluster {
	c := testkit.New()
	c.Group("g", 0, 10000, testkit.Node("", "16", "64Gi", nil))
	for i := range 1000 {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", nil), "g")
		c.Bound(testkit.Pod("default", "old", "500m", "2Gi", map[string]string{"app": "old"}), 30, name)
	}
	c.Pending(testkit.Pod("default", "new", "500m", "2Gi", map[string]string{"app": "new"}), 10000)
	return c
}

func u4(spread, anti int) *testkit.Cluster {
	c := filled(5000)
	left := 10000
	for k := range 30 {
		n := left / (30 - k)
		left -= n
		app := fmt.Sprintf("app%02d", k)
		p := testkit.Pod("default", app, fmt.Sprintf("%dm", 200+50*k), fmt.Sprintf("%dMi", 256+128*(k%7)),
			map[string]string{"app": app})
		switch {
		case k < spread:
			testkit.SpreadOver(p, zone, 1, p.Labels)
		case k < spread+anti:
			testkit.Apart(p, corev1.LabelHostname, p.Labels)
		}
		c.Pending(p, n)
	}
	return c
}

// benchmark times from an Observation of interned pods to the Plan, snapshot
// included. Cold: nothing is kept from a cycle before, but for the scheduler's
// plugins, which are built once in a process. Warm: the next cycle, with one
// pod changed.
func benchmark(b *testing.B, c *testkit.Cluster, warm bool) model.Plan {
	return decideBy(b, c, testkit.Policy(), warm)
}

func decideBy(b *testing.B, c *testkit.Cluster, p model.Policy, warm bool) model.Plan {
	seen := c.Observation()
	decide.Decide(snapshot.New(nil, testkit.New().Observation(), model.Standing{}, p.Rules), p)
	var decider decide.Decider
	var prev *model.Snapshot
	if warm {
		prev = snapshot.New(nil, seen, model.Standing{}, p.Rules)
		decider.Decide(prev, p)
		c.Pending(testkit.Pod("default", "one", "100m", "128Mi", nil), 1)
		seen = c.Observation()
	}
	var plan model.Plan
	b.ReportAllocs()
	for b.Loop() {
		s := snapshot.New(prev, seen, model.Standing{}, p.Rules)
		if warm {
			plan = decider.Decide(s, p)
		} else {
			plan = decide.Decide(s, p)
		}
	}
	b.ReportMetric(float64(plan.Nodes), "nodes")
	b.ReportMetric(float64(plan.LowerBound), "lower_bound")
	if plan.Price > 0 {
		b.ReportMetric(plan.Price, "price")
		b.ReportMetric(plan.PriceBound, "price_bound")
	}
	b.ReportMetric(float64(plan.Work.Filters), "filters")
	b.ReportMetric(float64(plan.Work.NodesScanned), "scanned")
	b.ReportMetric(float64(plan.Work.Steps), "steps")
	return plan
}

func BenchmarkScaleUp(b *testing.B) {
	for _, bm := range []struct {
		name string
		c    func() *testkit.Cluster
		warm bool
	}{
		{"U1", u1, false}, {"U2", u2, false}, {"U3", u3, false},
		{"U4", func() *testkit.Cluster { return u4(0, 0) }, false},
		{"U4warm", func() *testkit.Cluster { return u4(0, 0) }, true},
		{"U4s", func() *testkit.Cluster { return u4(5, 3) }, false},
		{"U5", func() *testkit.Cluster { return u5(20, 0, 0) }, false},
		{"U5s", func() *testkit.Cluster { return u5(20, 15, 10) }, false},
		{"U6", func() *testkit.Cluster { return u5(200, 0, 0) }, false},
		{"A4-1000", func() *testkit.Cluster { return diverse(1000) }, false},
		{"A4-5000", func() *testkit.Cluster { return diverse(5000) }, false},
		{"A4-20000", func() *testkit.Cluster { return diverse(20000) }, false},
		{"A1-500", func() *testkit.Cluster { return surge(500) }, false},
		{"A1-5000", func() *testkit.Cluster { return surge(5000) }, false},
		{"C1", func() *testkit.Cluster { return hosts(200, 1000, host) }, false},
		{"C2-300", func() *testkit.Cluster { return hosts(300, 800, zone, host) }, false},
		{"C2-3000", func() *testkit.Cluster { return hosts(3000, 100, zone, host) }, false},
		{"C3-unbound", func() *testkit.Cluster { return sets(4000, false, false) }, false},
		{"C3-zoned", func() *testkit.Cluster { return sets(4000, true, false) }, false},
		{"C3-spread", func() *testkit.Cluster { return sets(4000, false, true) }, false},
		{"C3-limited", func() *testkit.Cluster { return limitedSets(4000, 25) }, false},
		{"C4", func() *testkit.Cluster { return distinct(10000) }, false},
		{"C5", func() *testkit.Cluster { return unplaceable(5000, 200) }, false},
		{"C6-groups", func() *testkit.Cluster { return manyGroups(1600) }, false},
		{"C6-zones", func() *testkit.Cluster { return manyZones(200) }, false},
	} {
		b.Run(bm.name, func(b *testing.B) { benchmark(b, bm.c(), bm.warm) })
	}
	for _, q := range qualityWorlds() {
		b.Run(q.name, func(b *testing.B) {
			c, p := q.c(), testkit.Policy()
			p.ScaleUp.Expanders = []model.Expander{q.expander}
			decideBy(b, c, p, false)
		})
	}
}

// BenchmarkIngest takes pods as the API server has them to interned contents:
// what an informer does once for each pod that it learns of. All pods of an app
// are alike but for a label of their own, as those of a StatefulSet are.
func BenchmarkIngest(b *testing.B) {
	const count = 10000
	pods := make([]*corev1.Pod, count)
	for i := range pods {
		app := fmt.Sprintf("app%02d", i%30)
		pods[i] = testkit.Pod("default", fmt.Sprintf("%s-%d", app, i), fmt.Sprintf("%dm", 200+50*(i%30)), "1Gi",
			map[string]string{"app": app, "statefulset.kubernetes.io/pod-name": fmt.Sprintf("%s-%d", app, i)})
		if i%30 < 5 {
			testkit.SpreadOver(pods[i], zone, 1, map[string]string{"app": app})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		c := catalog.New()
		for _, p := range pods {
			c.Pod(p)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/pod")
}
