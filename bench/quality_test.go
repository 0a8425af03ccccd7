package bench

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/pack"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// qualityWorld is a world in which plans differ in what they cost.
type qualityWorld struct {
	name     string
	c        func() *testkit.Cluster
	expander model.Expander
}

// qualityWorlds show how near its bound a whole decision comes. In Q1 and Q2 the cluster is empty, and pods of
// random sizes wait: in Q1 for one group, in Q2 for seven that have prices. Q3 is A4 with prices.
func qualityWorlds() (worlds []qualityWorld) {
	add := func(name string, expander model.Expander, p func() pack.Problem) {
		worlds = append(worlds, qualityWorld{name, func() *testkit.Cluster { return ofProblem(p()) }, expander})
	}
	drawn := func(size string, seed int64, items, classes, types int) func() pack.Problem {
		return func() pack.Problem {
			p := drawnItems(size, seed, items, classes, 0)
			p.Types = packTypes(types)
			return p
		}
	}
	for _, size := range []string{"big", "mixed", "small"} {
		for _, seed := range []int64{1, 2, 3, 11, 12} {
			add(fmt.Sprintf("Q1-%s-%d", size, seed), model.ByLeastWaste, drawn(size, seed, 20000, 30, 1))
			add(fmt.Sprintf("Q2-%s-%d", size, seed), model.ByPrice, drawn(size, seed, 20000, 30, 7))
		}
	}
	add("Q2-classes-100", model.ByPrice, drawn("mixed", 1, 20000, 100, 7))
	add("Q2-classes-300", model.ByPrice, drawn("mixed", 1, 20000, 300, 7))
	add("Q2-types-40", model.ByPrice, drawn("mixed", 1, 20000, 30, 40))
	add("Q2-pods-1000", model.ByPrice, drawn("mixed", 1, 1000, 30, 7))
	return append(worlds, qualityWorld{"Q3", func() *testkit.Cluster { return diverse(1000) }, model.ByPrice})
}

// ofProblem is a problem for the packer as a cluster: types are groups, classes are apps.
func ofProblem(p pack.Problem) *testkit.Cluster {
	c := testkit.New()
	for i, t := range p.Types {
		n := testkit.Node("", fmt.Sprintf("%dm", t.Capacity[0]), fmt.Sprintf("%dMi", t.Capacity[1]), nil)
		n.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(t.Capacity[2], resource.DecimalSI)
		n.Status.Capacity = n.Status.Allocatable
		price := float64(t.Price) / 100
		c.Group(fmt.Sprintf("g%02d", i), 0, 100000, n).PricePerHour = &price
	}
	for i, class := range p.Classes {
		pod := appPod(fmt.Sprintf("app%03d", i), fmt.Sprintf("%dm", class.Request[0]), fmt.Sprintf("%dMi", class.Request[1]))
		if class.PerNode == 1 {
			testkit.Apart(pod, host, pod.Labels)
		}
		c.Pending(pod, class.Count)
	}
	return c
}
