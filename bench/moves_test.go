package bench

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// dearFleet is nodes of three dear types, whose pods request 45 % of them, and twenty cheaper groups that have none.
func dearFleet(nodes int) *testkit.Cluster {
	c := testkit.New()
	price := func(id string, perHour float64, template *corev1.Node) {
		c.Group(id, 0, 100_000, template).PricePerHour = &perHour
	}
	for i, cores := range []int{8, 16, 32} {
		price(fmt.Sprintf("dear%d", i), 0.08*float64(cores),
			testkit.Node("", fmt.Sprint(cores), fmt.Sprintf("%dGi", 4*cores), nil))
	}
	for i := range 20 {
		cores, memory := 4<<(i%4), []int{2, 4, 8}[i%3]
		price(fmt.Sprintf("cheap%02d", i), float64(cores)*(0.02+0.005*float64(memory))*(1+0.01*float64(i)),
			testkit.Node("", fmt.Sprint(cores), fmt.Sprintf("%dGi", memory*cores), nil))
	}
	for i := range nodes {
		name, cores := fmt.Sprintf("n%05d", i), 8<<(i%3)
		c.AddNode(testkit.Node(name, fmt.Sprint(cores), fmt.Sprintf("%dGi", 4*cores), nil), fmt.Sprintf("dear%d", i%3))
		for j := range 6 {
			k := (i*7 + j*37) % 60
			app := fmt.Sprintf("app%03d", k)
			// Six times two, four or eight pods, each of some 0.3 cores.
			c.Bound(testkit.Pod("default", app, fmt.Sprintf("%dm", 250+10*(k%11)), fmt.Sprintf("%dMi", 600+200*(k%7)),
				map[string]string{"app": app}), cores/4, name)
		}
	}
	return c
}

// oneType is D2 with prices: of each zone's group a node costs the same, so that nothing is worth a move.
func oneType() *testkit.Cluster {
	c := d2(15000, 0)
	for i := range c.Groups {
		price := 0.5
		c.Groups[i].PricePerHour = &price
	}
	return c
}

// BenchmarkMoves takes the time from an observation to the plan where nodes may go for cheaper ones. In M1 and M2 as
// many as are worth it may go in one plan; over_bound is by how much the nodes then cost more than any fleet has to.
// In M3 nothing is worth a move: its time is to be compared with that of D2.
func BenchmarkMoves(b *testing.B) {
	for _, s := range []struct {
		name     string
		make     func() *testkit.Cluster
		parallel int
		moves    bool
	}{
		{"M1", func() *testkit.Cluster { return dearFleet(2000) }, 2000, true},
		{"M1-ten-at-a-time", func() *testkit.Cluster { return dearFleet(2000) }, 10, true},
		{"M2", func() *testkit.Cluster { return dearFleet(15000) }, 15000, true},
		{"M3", oneType, 10, false},
		{"M3-without-moves", oneType, 10, false},
	} {
		b.Run(s.name, func(b *testing.B) {
			p := testkit.Policy()
			p.ScaleDown.MaxParallelism, p.Moves.MinSavingsShare = s.parallel, 0.1
			if s.moves {
				p.ScaleDown.Threshold = 0.4 // all of them are used more, so that none goes without a move
			}
			if s.name != "M3-without-moves" {
				p.Moves.Consolidation = policy.WhenCheaper
			}
			c := s.make()
			plan := decideBy(b, c, p, false)
			nodes, saves := 0, 0.0
			for _, m := range append(plan.Worth, waiting(plan.Moves)...) {
				nodes, saves = nodes+len(m.Goes), saves+m.Savings()
			}
			if nodes > 0 != s.moves {
				b.Errorf("%d nodes are worth a move", nodes)
			}
			b.ReportMetric(float64(nodes), "moved")
			if s.moves {
				overBound(b, c, p, saves)
			}
		})
	}
}

func waiting(list []model.Move) (out []model.WaitingMove) {
	for _, m := range list {
		out = append(out, model.WaitingMove{Move: m})
	}
	return out
}

// overBound compares what the nodes cost that are left with what no fleet is below.
func overBound(b *testing.B, c *testkit.Cluster, p model.Policy, saves float64) {
	s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
	w := schedsim.Load(nil, s)
	defer w.Close()
	least, ok := scaleup.FleetBound(w, s, nil, 8_000_000)
	if !ok {
		b.Fatal("there is no bound")
	}
	cost := 0.0
	for _, group := range s.CostByGroup() {
		cost += group.PerHour
	}
	b.ReportMetric(100*((cost-saves)/least-1), "over_bound_%")
	b.ReportMetric(100*saves/cost, "saved_%")
}
