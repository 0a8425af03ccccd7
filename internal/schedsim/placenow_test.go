package schedsim_test

import (
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestBoundAtOnce: pods that are bound at once are spread over the zones that there are, and the plugins agree. Those
// that wait for a node on its way are spread over its zone, too, whatever was asked in between.
func TestBoundAtOnce(t *testing.T) {
	c := testkit.NewScenario()
	if err := c.Add(`
group a max=1 cpu=8 memory=32Gi zone=a
group b max=5 cpu=4 memory=16Gi zone=b
asked b count=1 age=10s
node a1 group=a age=1h
pods web count=1 cpu=100m node=a1 spread=zone
pods web count=3 cpu=100m spread=zone
pods late count=1 cpu=100m node=a1 spread=zone
pods late count=2 cpu=100m spread=zone
`); err != nil {
		t.Fatal(err)
	}
	s := c.Snapshot(c.Policy)
	w := schedsim.Load(nil, s)
	defer w.Close()
	of := map[string]model.ClassID{}
	for i := range s.Pending {
		of[s.Pending[i].Pods[0].Name[:3]] = s.Pending[i].Class
	}
	const steps = 1000
	place := func(name string, count int, on schedsim.NodeSet) {
		if _, left, _ := w.Place(of[name], count, on, steps); left > 0 {
			t.Errorf("%d of %s have no place", left, name)
		}
	}
	place("lat", 1, schedsim.OnReady|schedsim.OnComing)
	if put, left, _ := w.PlaceNow(of["web"], 3, steps); left > 0 || len(put) != 1 || s.Nodes[put[0].Node].Name != "a1" {
		t.Errorf("web is put on %v, and %d have no place", put, left)
	}
	if _, left, _ := w.PlaceNow(of["lat"], 1, steps); left > 0 {
		t.Error("another one of late has no place, though only one zone is there")
	}
	if err := schedsim.Referee(w); err != nil {
		t.Error(err)
	}
}

// TestMovedPodsAreWhereTheyRun: a pod that is to move to a node on its way counts for the scheduler in the zone where
// it runs. Without it there, another one would have a place that it does not get. Found as seed 5100160378.
func TestMovedPodsAreWhereTheyRun(t *testing.T) {
	c := testkit.NewScenario()
	if err := c.Add(`
group a max=1 cpu=4 memory=16Gi zone=a
group b max=5 cpu=4 memory=16Gi zone=b
group c max=1 cpu=1 memory=16Gi zone=c
asked b count=1 age=10s
node a1 group=a age=1h
node b1 group=b age=1h
node b2 group=b age=1h
node c1 group=c age=1h
pods web count=2 cpu=800m node=a1 spread=zone
pods web count=1 cpu=800m node=b1 spread=zone
pods web count=1 cpu=800m node=b2 spread=zone
pods web count=1 cpu=800m node=c1 spread=zone
pods web count=1 cpu=800m spread=zone
`); err != nil {
		t.Fatal(err)
	}
	s := c.Snapshot(c.Policy)
	w := schedsim.Load(nil, s)
	defer w.Close()
	web := s.Pending[0].Class
	id := func(name string) model.NodeID {
		return model.NodeID(slices.IndexFunc(s.Nodes, func(n *model.Node) bool { return n.Name == name }))
	}
	coming := model.NodeID(slices.IndexFunc(s.Nodes, func(n *model.Node) bool { return n.Kind == model.Coming }))
	mover := w.Mover([]model.NodeID{coming}, 1000)
	if _, stuck, _ := mover.Move(id("b1"), []model.Batch{{Class: web, Count: 1}}); stuck != nil {
		t.Fatalf("the pod of b1 has no place: %v", stuck)
	}
	if put, left, _ := w.PlaceNow(web, 1, 1000); left == 0 {
		t.Errorf("a pod is put on %v, where zone b has as many as zone a and zone c one less", put)
	}
	if err := schedsim.Referee(w); err != nil {
		t.Error(err)
	}
}
