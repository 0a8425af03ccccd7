package bench

import (
	"fmt"
	"math"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// steepest is how fast the steps of a decision may grow in one size alone: by a power a little above
// one, so that twice as much takes about twice as long.
const steepest = 1.15

// TestGrowth: in each size alone, the steps of a decision grow no faster than the size does. The slope
// is that of a line through the steps by size, both in logarithms. The sizes of a row are such that nodes
// are bought at all of them, or at none: packing takes tens of thousands of steps of its own where it
// begins, and has a limit.
func TestGrowth(t *testing.T) {
	for _, c := range []struct {
		of    string
		first int
		world func(n int) *testkit.Cluster
	}{
		{"nodes", 500, func(n int) *testkit.Cluster { return hosts(n, 500, zone, host) }},
		{"pods over zones", 1000, func(n int) *testkit.Cluster { return hosts(300, n, zone) }},
		{"pods over hostnames", 1000, func(n int) *testkit.Cluster { return hosts(300, n, host) }},
		{"pods over zones and hostnames", 8000, func(n int) *testkit.Cluster { return hosts(300, n, zone, host) }},
		{"pods packed again", 500, sharing},
		{"classes", 2500, distinct},
		{"groups", 50, manyGroups},
		{"zones", 25, manyZones},
		{"selectors", 250, selectors},
	} {
		t.Run(c.of, func(t *testing.T) {
			var sizes, steps []float64
			for n := c.first; n <= 8*c.first; n *= 2 {
				p := testkit.Policy()
				s := snapshot.New(nil, c.world(n).Observation(), model.Standing{}, p.Rules)
				sizes = append(sizes, float64(n))
				steps = append(steps, float64(decide.Decide(s, p).Work.Steps))
			}
			got := slope(sizes, steps)
			t.Logf("%.2f: %v steps at %v %s", got, steps, sizes, c.of)
			if got > steepest {
				t.Errorf("the steps grow with the power %.2f of the %s, at most %.2f is wanted: %v at %v", got, c.of,
					steepest, steps, sizes)
			}
		})
	}
}

// sharing is as many pods that repel each other, and as many that are spread over zones and hostnames, which are packed
// again: one class after the other, three of the latter fill a node, and leave no room for one of the former.
func sharing(n int) *testkit.Cluster {
	c := testkit.New()
	for z := range 3 {
		c.Group(fmt.Sprintf("g%d", z), 0, 10000,
			testkit.Node("", "900m", "64Gi", map[string]string{zone: string(rune('a' + z))}))
	}
	alone, spread := appPod("alone", "500m", "1Gi"), appPod("spread", "300m", "1Gi")
	testkit.Apart(alone, host, alone.Labels)
	testkit.SpreadOver(spread, zone, 1, spread.Labels)
	testkit.SpreadOver(spread, host, 1, spread.Labels)
	c.Pending(alone, n)
	c.Pending(spread, n)
	return c
}

// slope is that of the line that is nearest to the points, in logarithms.
func slope(xs, ys []float64) float64 {
	var mx, my, xy, xx float64
	n := float64(len(xs))
	for i := range xs {
		mx, my = mx+math.Log(xs[i])/n, my+math.Log(ys[i])/n
	}
	for i := range xs {
		dx, dy := math.Log(xs[i])-mx, math.Log(ys[i])-my
		xy, xx = xy+dx*dy, xx+dx*dx
	}
	return xy / xx
}

// selectors is as many apps, each of which is spread over zones, one a node, or drawn to its own kind, by
// selectors that no other has. One pod of each waits.
func selectors(n int) *testkit.Cluster {
	c := standard(500, 20)
	for i := range n {
		p := appPod(fmt.Sprintf("app%05d", i), "100m", "128Mi")
		switch i % 3 {
		case 0:
			testkit.SpreadOver(p, zone, 1, p.Labels)
		case 1:
			testkit.Apart(p, host, p.Labels)
		case 2:
			testkit.Together(p, zone, p.Labels)
		}
		c.Pending(p, 1)
	}
	return c
}
