package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// d1 is 2,000 nodes of 40 pods, about two fifths full: 1,200 of them can go.
func d1() *testkit.Cluster {
	c := testkit.New()
	c.Group("g", 0, 10000, testkit.Node("", "16", "64Gi", nil))
	for i := range 2000 {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", nil), "g")
		app := fmt.Sprintf("app%02d", i%20)
		c.Bound(testkit.Pod("default", app, "150m", "500Mi", map[string]string{"app": app}), 40, name)
	}
	return c
}

// d2 is nodes of 30 pods at 40%, 200 classes, a tenth of the pods under budgets;
// some classes are spread over the given keys: one pod more than another zone at
// most, or eight more than another node.
func d2(nodes, spread int, keys ...string) *testkit.Cluster {
	c := testkit.New()
	for z := range 3 {
		c.Group(fmt.Sprintf("g%d", z), 0, 10000,
			testkit.Node("", "16", "64Gi", map[string]string{zone: string(rune('a' + z))}))
	}
	for k := range 20 {
		app := fmt.Sprintf("app%03d", 10*k+5)
		c.Budgets = append(c.Budgets, model.Budget{
			Namespace: "default", Name: app, Selector: labels.SelectorFromSet(labels.Set{"app": app}), Allowed: 500,
		})
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		z := string(rune('a' + i%3))
		c.AddNode(testkit.Node(name, "16", "64Gi", map[string]string{zone: z}), fmt.Sprintf("g%d", i%3))
		for j := range 6 {
			k := (i*7 + j*37) % 200
			app := fmt.Sprintf("app%03d", k)
			p := testkit.Pod("default", app, fmt.Sprintf("%dm", 164+10*(k%11)), fmt.Sprintf("%dMi", 600+50*(k%7)),
				map[string]string{"app": app})
			for _, key := range keys {
				if k < spread {
					testkit.SpreadOver(p, key, map[string]int32{zone: 1, host: 8}[key], p.Labels)
				}
			}
			c.Bound(p, 5, name)
		}
	}
	return c
}

// d2d is nodes at 40% on which no two pods request the same.
func d2d(nodes int) *testkit.Cluster {
	c := testkit.New()
	for z := range 3 {
		c.Group(fmt.Sprintf("g%d", z), 0, 10000,
			testkit.Node("", "16", "64Gi", map[string]string{zone: string(rune('a' + z))}))
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + i%3))}), fmt.Sprintf("g%d", i%3))
		for j := range 30 {
			app := fmt.Sprintf("own%06d", i*30+j)
			p := testkit.Pod("default", app, fmt.Sprintf("%dm", 164+(i*30+j)%997), "",
				map[string]string{"app": fmt.Sprintf("app%03d", j)})
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] =
				*resource.NewQuantity(int64(600<<20+(i*30+j)*4096), resource.BinarySI)
			c.Bound(p, 1, name)
		}
	}
	return c
}

// BenchmarkScaleDown takes the time from an observation to the plan, for
// clusters with much to give back. unneeded is how many nodes can go together.
func BenchmarkScaleDown(b *testing.B) {
	for _, s := range []struct {
		name  string
		make  func() *testkit.Cluster
		least int
		cut   bool // the step budget ends the search; it goes on in the next cycle
	}{
		{"D1", d1, 1200, false},
		{"D2", func() *testkit.Cluster { return d2(15000, 0) }, 1, false},
		{"D2s", func() *testkit.Cluster { return d2(15000, 20, zone) }, 1, false},
		{"D2zh-1000", func() *testkit.Cluster { return d2(1000, 20, zone, host) }, 1, false},
		{"D2zh-15000", func() *testkit.Cluster { return d2(15000, 20, zone, host) }, 1, false},
		{"D2d", func() *testkit.Cluster { return d2d(5000) }, 1, true},
	} {
		b.Run(s.name, func(b *testing.B) {
			plan := benchmark(b, s.make(), false)
			if len(plan.Unneeded) < s.least {
				b.Errorf("%d nodes are unneeded, at least %d can go", len(plan.Unneeded), s.least)
			}
			if (plan.Resume != "") != s.cut {
				b.Errorf("the search stopped at %q", plan.Resume)
			}
			b.ReportMetric(float64(len(plan.Unneeded)), "unneeded")
		})
	}
}
