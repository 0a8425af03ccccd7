package schedsim

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// The clusters are like D1 and D2 of bench/, without anything that keeps pods from
// being evicted. Sizes are such that about 1,200 nodes of D1 can go, and 9,000 of
// D2.

// park is a cluster of nodes in three zones, each with pods of apps in mixed
// sizes: those of one node follow each other, so that all apps are on many.
type park struct {
	nodes, pods, apps int
	cpu, memory       string
	least, step       int // thousandths of a core: app k requests least + step*(k%7)
	// How many apps are spread over zones, kept apart on hosts, and spread over hosts.
	spread, apart, even int
}

func (p park) build() *testkit.Cluster {
	c := testkit.New()
	zones := []string{"a", "b", "c"}
	for _, z := range zones {
		c.Group(z, 0, p.nodes, testkit.Node("", p.cpu, p.memory, map[string]string{corev1.LabelTopologyZone: z}))
	}
	apps := make([]*corev1.Pod, p.apps)
	for k := range apps {
		name := fmt.Sprintf("app%03d", k)
		apps[k] = testkit.Pod("default", name, fmt.Sprintf("%dm", p.least+p.step*(k%7)),
			fmt.Sprintf("%dMi", 100*(1+k%5)), map[string]string{"app": name})
		switch {
		case k < p.spread:
			testkit.SpreadOver(apps[k], corev1.LabelTopologyZone, 1, apps[k].Labels)
		case k < p.spread+p.apart:
			testkit.Apart(apps[k], corev1.LabelHostname, apps[k].Labels)
		case k < p.spread+p.apart+p.even:
			testkit.SpreadOver(apps[k], corev1.LabelHostname, 2, apps[k].Labels)
		}
	}
	next := 0
	for i := range p.nodes {
		z := zones[i%3]
		name := fmt.Sprintf("n%05d", i)
		c.AddNode(testkit.Node(name, p.cpu, p.memory, map[string]string{corev1.LabelTopologyZone: z}), z)
		for range p.pods - i%5 { // not all nodes are equally full
			c.Bound(apps[next%p.apps], 1, name)
			next += 7 // no divisor of the number of apps
		}
	}
	return c
}

// byUse lists all nodes, the least used first.
func byUse(s *model.Snapshot) []Node {
	use := make([]int64, len(s.Nodes))
	order := make([]Node, len(s.Nodes))
	for i := range s.Nodes {
		order[i] = Node(i)
		for _, b := range s.Nodes[i].Batches {
			use[i] += s.Classes[b.Class].Spec.Requests.MilliCPU * int64(b.Count)
		}
	}
	slices.SortStableFunc(order, func(a, b Node) int { return cmp.Compare(use[a], use[b]) })
	return order
}

// moveAll tries to move the pods of every node, the least used first, onto the
// most used, and counts what came of it.
func moveAll(w *World, s *model.Snapshot) (moved, refused, steps int) {
	order := byUse(s)
	hosts := slices.Clone(order)
	slices.Reverse(hosts)
	m := w.Mover(hosts, plenty)
	guests := make([]bool, len(s.Nodes))
	for _, id := range order {
		if guests[id] {
			continue
		}
		puts, stuck, enough := m.Move(id, s.Nodes[id].Batches)
		switch {
		case !enough:
			panic("plenty of steps are not enough")
		case stuck != nil:
			refused++
		default:
			moved++
		}
		for _, p := range puts {
			guests[p.Node] = true
		}
	}
	return moved, refused, m.used
}

func BenchmarkMover(b *testing.B) {
	d2 := park{nodes: 15000, pods: 32, apps: 200, cpu: "16", memory: "64Gi", least: 130, step: 25}
	d2s, d2h, full := d2, d2, d2
	d2s.spread, d2h.apart = 20, 20
	full.least, full.step = 400, 25
	d1 := park{nodes: 2000, pods: 42, apps: 50, cpu: "8", memory: "32Gi", least: 40, step: 12}
	d1e, d2e := d1, d2
	d1e.even, d2e.even = 5, 20
	for _, bm := range []struct {
		name string
		park
	}{
		{"D1", d1},
		{"D2", d2}, {"D2s", d2s}, {"D2h", d2h},
		{"D2full", full}, // nearly no room: most nodes are refused
		{"D1even", d1e}, {"D2even", d2e},
	} {
		b.Run(bm.name, func(b *testing.B) {
			s := snapshot.New(nil, bm.build().Observation(), model.Standing{}, testkit.Policy().Rules)
			var moved, refused, steps int
			var w *World
			for b.Loop() {
				b.StopTimer()
				w = Load(w, s)
				b.StartTimer()
				moved, refused, steps = moveAll(w, s)
			}
			b.ReportMetric(float64(moved), "moved")
			b.ReportMetric(float64(refused), "refused")
			b.ReportMetric(float64(steps), "steps")
			b.ReportMetric(float64(w.Work().PreFilters), "prefilters")
		})
	}
}

// BenchmarkLoad is what a world costs before anything is moved.
func BenchmarkLoad(b *testing.B) {
	s := snapshot.New(nil, park{nodes: 15000, pods: 32, apps: 200, cpu: "16", memory: "64Gi", least: 130,
		step: 25}.build().Observation(), model.Standing{}, testkit.Policy().Rules)
	var w *World
	b.ReportAllocs()
	for b.Loop() {
		w = Load(w, s)
	}
}
