package scaleup_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/scaleup"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestNoFleetIsBelowItsBound: the nodes that are there hold their pods, so that they cost at least what any fleet does.
// Drawn pods may also be where the scheduler would not put them: of those worlds nothing is said.
func TestNoFleetIsBelowItsBound(t *testing.T) {
	above := 0
	rapid.Check(t, func(t *rapid.T) {
		w := testkit.DrawOccupied(t)
		c := w.Build(testkit.InOrder)
		prices := &model.Prices{}
		for _, g := range c.Inventory().Groups {
			prices = prices.WithGroup(g.ID, float64(rapid.IntRange(1, 40).Draw(t, "price"))/10)
		}
		if rapid.Bool().Draw(t, "committed") {
			prices.Commitments = []model.Commitment{{Name: "c", Unit: model.CommittedCores,
				Amount: float64(rapid.IntRange(1, 40).Draw(t, "amount")), PerHour: rapid.Float64Range(0, 0.2).Draw(t, "each")}}
		}
		seen := c.Observation()
		seen.Prices = prices
		s := snapshot.New(nil, seen, model.Standing{}, w.Policy.Rules)
		world := schedsim.Load(nil, s)
		defer world.Close()
		if !allSuit(s, world) {
			return
		}
		least, ok := scaleup.FleetBound(world, s, nil, 100_000)
		cost := s.Fleet().Cost()
		for i := range s.Nodes {
			_, known := s.PriceOf(s.Nodes[i].Group, s.Nodes[i].Shape)
			ok = ok && (known || s.Nodes[i].Group < 0)
		}
		if ok && least > cost+1e-6 {
			t.Fatalf("the nodes cost %v an hour, and no fleet is to cost less than %v", cost, least)
		}
		if ok && least > cost/2 {
			above++
		}
	})
	if above == 0 {
		t.Error("no bound was above half of what the nodes cost: it says nothing")
	}
}

// allSuit reports whether each pod may be on its node, and the pods of no node request more than it has.
func allSuit(s *model.Snapshot, w *schedsim.World) bool {
	for i := range s.Nodes {
		n := s.Nodes[i]
		left := s.Contents.Shapes[n.Shape].Allocatable
		for _, b := range n.Batches {
			left = left.Plus(s.Classes[b.Class].Spec.Requests, -int64(b.Count))
			if n.Group >= 0 && !w.Suits(b.Class, schedsim.Template{Group: n.Group, Shape: n.Shape}) {
				return false
			}
		}
		if left.MilliCPU < 0 || left.Memory < 0 || left.Pods < 0 {
			return false
		}
	}
	return true
}

// TestTheFleetBound of a known fleet: dear nodes whose pods fill two cheap ones.
func TestTheFleetBound(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group dear max=10 cpu=8 memory=32Gi price=1
group small max=10 cpu=8 memory=32Gi price=0.5
node d1 group=dear
node d2 group=dear
daemonset agent cpu=500m memory=1Gi
pods a count=7 cpu=1 memory=1Gi node=d1
pods b count=7 cpu=1 memory=1Gi node=d2
`); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	w := schedsim.Load(nil, snap)
	defer w.Close()
	// Seven pods are on each new node beside its agent.
	if least, ok := scaleup.FleetBound(w, snap, nil, 1_000_000); !ok || math.Abs(least-1) > 1e-4 {
		t.Errorf("%v, %v", least, ok)
	}
	if least, ok := scaleup.FleetBound(w, snap, []model.Batch{{Class: 0, Count: 7}}, 1_000_000); !ok ||
		math.Abs(least-1.5) > 1e-4 {
		t.Errorf("with pods that wait: %v, %v", least, ok)
	}
}

// TestTheFleetBoundOfPodsThatWouldNotComeAgain: a pod runs on a node that it would not be placed on today. It need not
// move, so that the node's price is enough.
func TestTheFleetBoundOfPodsThatWouldNotComeAgain(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group small max=10 cpu=8 memory=32Gi price=0.1
group dear max=10 cpu=8 memory=32Gi price=0.2 labels=disk:ssd
node s1 group=small
pods a count=2 cpu=1 memory=1Gi node=s1 select=disk:ssd
`); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	w := schedsim.Load(nil, snap)
	defer w.Close()
	if least, ok := scaleup.FleetBound(w, snap, nil, 1_000_000); !ok || least > 0.1+1e-4 {
		t.Errorf("%v, %v", least, ok)
	}
}

// TestTheFleetBoundCountsStrangers: nodes of no group stay, and may take what they have room for.
func TestTheFleetBoundCountsStrangers(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group small max=10 cpu=8 memory=32Gi price=0.5
node own cpu=8 memory=32Gi
node s1 group=small
pods a count=7 cpu=1 memory=1Gi node=s1
`); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	w := schedsim.Load(nil, snap)
	defer w.Close()
	if least, ok := scaleup.FleetBound(w, snap, nil, 1_000_000); !ok || least > 1e-4 {
		t.Errorf("%v, %v", least, ok)
	}
}
