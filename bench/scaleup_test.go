package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

const zone = corev1.LabelTopologyZone

// spreadOver wants the pods even over the values of a topology key.
func spreadOver(p *corev1.Pod, key string) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
	}}
}

// apart wants no two of the pods in one value of a topology key.
func apart(p *corev1.Pod, key string) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
		}},
	}}
}

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
		c.Group(fmt.Sprintf("g%02d", g), 0, 10000, testkit.Node("", "16", "64Gi", map[string]string{zone: string(rune('a' + g%3)), "group": fmt.Sprint(g)}))
	}
	for i := range nodes {
		g := i % 20
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, "16", "64Gi", map[string]string{zone: string(rune('a' + g%3)), "group": fmt.Sprint(g)}), fmt.Sprintf("g%02d", g))
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
		p := testkit.Pod("default", app, fmt.Sprintf("%dm", 200+50*k), fmt.Sprintf("%dMi", 256+128*(k%7)), map[string]string{"app": app})
		switch {
		case k < spread:
			spreadOver(p, zone)
		case k < spread+anti:
			apart(p, corev1.LabelHostname)
		}
		c.Pending(p, n)
	}
	return c
}

func benchmark(b *testing.B, c *testkit.Cluster, warm bool) {
	seen := c.Observation()
	p := testkit.Policy()
	var prev *model.Snapshot
	var world *schedsim.World
	var r scaleup.Result
	if warm {
		prev = model.NewSnapshot(nil, seen, model.Standing{}, p.Rules)
		world = schedsim.Load(nil, prev)
		scaleup.Plan(world, prev, p)
		c.Pending(testkit.Pod("default", "one", "100m", "128Mi", nil), 1)
		seen = c.Observation()
	} else {
		schedsim.Load(nil, model.NewSnapshot(nil, testkit.New().Observation(), model.Standing{}, p.Rules)).Close()
	}
	b.ReportAllocs()
	for b.Loop() {
		s := model.NewSnapshot(prev, seen, model.Standing{}, p.Rules)
		w := schedsim.Load(world, s)
		r = scaleup.Plan(w, s, p)
		if warm {
			world = w
		} else {
			w.Close()
		}
	}
	b.ReportMetric(float64(r.Nodes), "nodes")
	b.ReportMetric(float64(r.LowerBound), "lower_bound")
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
	} {
		b.Run(bm.name, func(b *testing.B) { benchmark(b, bm.c(), bm.warm) })
	}
}
