package scaleup

import (
	"fmt"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// bulkOf is a planner that is about to buy for the pods that are packed, all others left out.
func bulkOf(w *schedsim.World, s *model.Snapshot, p model.Policy) (*planner, []*waiting) {
	pl := newPlanner(w, s, p, gate.New(s, p))
	pl.candidates()
	pl.limits = newLimits(s, pl.p, pl.gate)
	pl.opening = pl.limits.clone()
	var bulk []*waiting
	for _, q := range pl.waiting(p.Rules) {
		if pl.packed(q) {
			bulk = append(bulk, q)
		}
	}
	return pl, bulk
}

// TestRoughOffersChangeNoChoice: the option that is chosen, and what is said of it, are those that would be if all of
// them had been packed; and none turns out better than it was roughly.
func TestRoughOffersChangeNoChoice(t *testing.T) {
	rough := 0
	rapid.Check(t, func(t *rapid.T) {
		c, p := drawTypes(t)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		defer w.Close()
		pl, bulk := bulkOf(w, s, p)
		apart := pl.apart(lotsOf(batchesOf(bulk)))
		some := pl.offers(make([]*option, len(pl.heads)), bulk, apart)
		var all []option
		for _, h := range pl.heads {
			o := pl.offer(h, bulk, nil, apart)
			if o.rough {
				was := *o
				pl.packUp(o, nil)
				if o.nodes < was.nodes || !reflect.DeepEqual(o.placed, was.placed) {
					t.Fatalf("%d nodes with %v, at least %d with %v", o.nodes, o.placed, was.nodes, was.placed)
				}
			}
			if o.nodes > 0 {
				all = append(all, *o)
			}
		}
		if len(some) != len(all) {
			t.Fatalf("%d options, %d if all are packed", len(some), len(all))
		} else if len(all) == 0 {
			return
		}
		i, why := pl.choose(some)
		j, because := pl.choose(all)
		if i != j || why != because || !reflect.DeepEqual(some[i].packing, all[j].packing) {
			t.Fatalf("%q buys %d nodes of group %d; if all are packed, %q %d of group %d", why, some[i].nodes,
				some[i].group, because, all[j].nodes, all[j].group)
		}
		for _, o := range some {
			if o.rough {
				rough++
			}
		}
	})
	if rough == 0 {
		t.Error("all options have been packed")
	}
}

// TestFewOptionsArePacked: of many sizes of nodes only those are packed that may be the best.
func TestFewOptionsArePacked(t *testing.T) {
	c, p := testkit.New(), testkit.Policy()
	for i := range 100 {
		node := testkit.Node("", fmt.Sprintf("%dm", 1000*i+900), fmt.Sprintf("%dGi", 2*i+2), nil)
		c.Group(fmt.Sprintf("g%02d", i), 0, 1000, node)
	}
	for i := range 20 {
		pod := testkit.Pod("default", fmt.Sprint("p", i), fmt.Sprintf("%dm", 100+70*i), fmt.Sprintf("%dMi", 128+300*(i%7)),
			map[string]string{"app": fmt.Sprint("lone", i%2)})
		if i%2 == 0 {
			testkit.Apart(pod, corev1.LabelHostname, pod.Labels)
		}
		c.Pending(pod, 10)
	}
	s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
	w := schedsim.Load(nil, s)
	defer w.Close()
	pl, bulk := bulkOf(w, s, p)
	known := make([]*option, len(pl.heads))
	pl.offers(known, bulk, pl.apart(lotsOf(batchesOf(bulk))))
	packed := 0
	for _, o := range known {
		if !o.rough {
			packed++
		}
	}
	if packed > 10 {
		t.Errorf("%d of %d options are packed", packed, len(known))
	}
}

// TestGrowAgain: what was bought for one group after the other is the same when it is done again.
func TestGrowAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, p := drawTypes(t)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		w := schedsim.Load(nil, s)
		defer w.Close()
		pl, bulk := bulkOf(w, s, p)
		before := pl.stage(bulk)
		deeds := pl.growByGroups(bulk)
		first, was := w.Since(before.mark), pl.stage(bulk)
		pl.back(before, bulk)
		pl.growAgain(bulk, deeds)
		now := pl.stage(bulk)
		if !reflect.DeepEqual(first, w.Since(before.mark)) || !reflect.DeepEqual(was.grown, now.grown) ||
			!reflect.DeepEqual(was.bulk, now.bulk) || !reflect.DeepEqual(was.limits, now.limits) {
			t.Fatalf("%+v, again %+v", was, now)
		}
	})
}
