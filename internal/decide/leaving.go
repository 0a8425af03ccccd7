package decide

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/scaledown"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal/rules"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// shelter keeps room for the pods of nodes that somebody else is ending: a person, or a
// cloud that replaces a machine which it holds for broken. They will need it in a
// moment, and the node that came to replace theirs may be the emptiest of all. Guests
// gets the nodes on which that room is, so that those stay.
//
// Nothing is bought for them before they wait: pods that do have had what there is. They
// take nothing from the budgets: whoever evicts them does.
func shelter(s *model.Snapshot, p model.Policy, world *schedsim.World, cluster *rules.Cluster, guests map[model.NodeID]bool) {
	var mover *schedsim.Mover
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Kind != model.Leaving || n.Standing.Drain != nil || n.Group < 0 || len(n.Bound) == 0 {
			continue
		}
		// A taint of ours that is seen for a little longer than it is there is no end.
		if in := s.Groups[n.Group].InstanceNamed(n.Instance); in == nil || in.State != provider.Deleting {
			continue
		}
		leaving := moving(podsOf(s, cluster, n), cluster.Budgets(), cluster)
		if len(leaving) == 0 {
			continue
		}
		if mover == nil {
			mover = world.Mover(scaledown.Rooms(s), p.ScaleDown.StepLimit)
		}
		for _, put := range sheltered(mover, model.NodeID(i), scaledown.Batches(s, leaving)) {
			guests[put.Node] = true
		}
	}
}

// sheltered places as many of the pods as have a place. The others will wait, and are
// bought for then; so are those for which the steps of this cycle do not last.
func sheltered(mover *schedsim.Mover, node model.NodeID, pods []model.Batch) []schedsim.Put {
	puts, stuck, _ := mover.Move(node, pods)
	if stuck == nil {
		return puts
	}
	for _, b := range pods {
		for range b.Count {
			put, stuck, enough := mover.Move(node, []model.Batch{{Class: b.Class, Count: 1}})
			if stuck != nil || !enough {
				break // the next one of its class fares no better
			}
			puts = append(puts, put...)
		}
	}
	return puts
}
