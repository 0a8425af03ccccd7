package schedsim_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestPlaceEvenly: nodes are filled by the share of them that is free, as the scheduler's scores have it, and each has
// a pod before one has a second that fills it.
func TestPlaceEvenly(t *testing.T) {
	for _, row := range []struct {
		name, nodes string
		want        map[string]int
	}{
		{
			"an empty small node before a large one that is half full", `
group large max=5 cpu=8 memory=32Gi
group small max=5 cpu=2 memory=8Gi
node l group=large
node s group=small
pods old count=4 cpu=1 memory=4Gi node=l
pods web count=1 cpu=500m memory=2Gi
`, map[string]int{"s": 1},
		},
		{
			"each has one before one is full", `
group g max=5 cpu=4 memory=16Gi
node a group=g
node b group=g
node c group=g
pods web count=4 cpu=1500m memory=6Gi
`, map[string]int{"a": 1, "b": 1, "c": 2},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := testkit.NewScenario()
			if err := c.Add(row.nodes); err != nil {
				t.Fatal(err)
			}
			s := c.Snapshot(c.Policy)
			w := schedsim.Load(nil, s)
			defer w.Close()
			web := s.Pending[0].Class
			if left := w.PlaceEvenly(web, len(s.Pending[0].Pods), schedsim.OnReady); left > 0 {
				t.Errorf("%d have no place", left)
			}
			got := map[string]int{}
			for i, n := range s.Nodes {
				for _, b := range w.PlacedOn(model.NodeID(i)) {
					got[n.Name] += b.Count
				}
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
