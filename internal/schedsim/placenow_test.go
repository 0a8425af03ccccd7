package schedsim_test

import (
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
