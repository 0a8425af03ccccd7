package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

const podIndex = "apps.kubernetes.io/pod-index"

// occupied is a cluster of twenty groups over three zones, with nodes that are
// two thirds full when they have twenty of the pods that the worlds below bind.
func occupied(nodes int) *testkit.Cluster {
	c := testkit.New()
	for g := range 20 {
		c.Group(fmt.Sprintf("g%02d", g), 0, 100000,
			testkit.Node("", "16", "64Gi", map[string]string{zone: string(rune('a' + g%3))}))
	}
	for i := range nodes {
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + i%3))}),
			fmt.Sprintf("g%02d", i%20))
	}
	return c
}

// indexed is running pods of StatefulSets, and one pod that will not share a
// zone with any pod that has an index, whatever its namespace. Its selector
// makes a class of each index.
func indexed(running int) *testkit.Cluster {
	c := occupied(running / 20)
	for i := range running {
		app := fmt.Sprintf("set%02d", i%20)
		c.Bound(testkit.Pod("default", app, fmt.Sprintf("%dm", 520+i%20), "2Gi", map[string]string{
			"app": app, podIndex: fmt.Sprint(i / 20),
		}), 1, fmt.Sprintf("n%05d", i/20))
	}
	p := testkit.Pod("tenant", "apart", "100m", "128Mi", map[string]string{"app": "apart"})
	testkit.Apart(p, zone, nil)
	term := &p.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0]
	term.NamespaceSelector = &metav1.LabelSelector{}
	term.LabelSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: podIndex, Operator: metav1.LabelSelectorOpExists}},
	}
	c.Pending(p, 1)
	return c
}

// invented is pods that each request resources of their own making, which no
// node has.
func invented(pods, resources int) *testkit.Cluster {
	c := occupied(100)
	for i := range pods {
		p := testkit.Pod("tenant", fmt.Sprintf("p%03d", i), "100m", "128Mi", nil)
		for r := range resources {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(fmt.Sprintf("example.com/r%03d-%04d",
				i, r))] = resource.MustParse("1")
		}
		c.Pending(p, 1)
	}
	return c
}

// claimed is pods of one StatefulSet, each with a claim of its own whose volume
// exists, no two on one node. Further ones wait, their volumes not yet made.
func claimed(running, waiting int) *testkit.Cluster {
	c := occupied(running)
	for i := range running {
		c.Bound(testkit.Pod("default", "other", "9", "40Gi", nil), 1, fmt.Sprintf("n%05d", i))
	}
	for i := range running + waiting {
		p := testkit.Pod("default", fmt.Sprintf("db-%05d", i), "500m", "1Gi", map[string]string{
			"app": "db", podIndex: fmt.Sprint(i),
		})
		testkit.Apart(p, corev1.LabelHostname, map[string]string{"app": "db"})
		c.Claim(p, "data-"+p.Name, i < running)
		if i < running {
			c.Bound(p, 1, fmt.Sprintf("n%05d", i))
		} else {
			c.Pending(p, 1)
		}
	}
	return c
}

// daemons is many DaemonSets, each for one zone, beside many groups that are over all
// zones.
func daemons(sets, groups int) *testkit.Cluster {
	c := testkit.New()
	zones := []string{"a", "b", "c"}
	for g := range groups {
		t := c.Group(fmt.Sprintf("g%03d", g), 0, 20, testkit.Node("", "64", "256Gi", nil)).Template
		for _, z := range zones {
			t.Places = append(t.Places, provider.Place{Zone: z, Labels: map[string]string{zone: z}})
		}
	}
	for i := range sets {
		name := fmt.Sprintf("ds%04d", i)
		p := testkit.Pod("kube-system", name, "1m", "1Mi", map[string]string{"app": name})
		p.Spec.NodeSelector = map[string]string{zone: zones[i%3]}
		c.DaemonSet(name, p)
	}
	c.Pending(testkit.Pod("default", "web", "1", "1Gi", map[string]string{"app": "web"}), 4)
	return c
}

// BenchmarkHostile takes the worlds in which one tenant, or a large StatefulSet,
// makes deciding expensive for everybody. Each is to take at most 0.5 s and
// 200 MB.
func BenchmarkHostile(b *testing.B) {
	for _, bm := range []struct {
		name string
		c    func() *testkit.Cluster
		warm bool
	}{
		{"Index20k", func() *testkit.Cluster { return indexed(20000) }, false},
		{"Index40k", func() *testkit.Cluster { return indexed(40000) }, false},
		{"Invented", func() *testkit.Cluster { return invented(200, 4000) }, false},
		{"Claims", func() *testkit.Cluster { return claimed(5000, 50) }, false},
		{"ClaimsIdle", func() *testkit.Cluster { return claimed(5000, 0) }, false},
		{"ClaimsWarm", func() *testkit.Cluster { return claimed(5000, 50) }, true},
		{"DaemonSets", func() *testkit.Cluster { return daemons(1000, 100) }, false},
	} {
		b.Run(bm.name, func(b *testing.B) { benchmark(b, bm.c(), bm.warm) })
	}
}
