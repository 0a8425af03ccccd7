package reserve

import (
	"fmt"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// short is a controller with pods that have no node, whatever they wait for.
type short struct {
	waits   *model.Pod // the oldest of them
	serving int        // how many others are on ready nodes, if they are not more than can leave together
}

// LastServing says which of the pods that would leave a ready node are the last of their controller on any, while
// another of it has no node: nothing would serve, and the one that waits might take the place that is meant for the
// one that left. Nil if there is none; else with the words. Where a budget covers a pod, its word is enough.
func (r *Room) LastServing(leaving []*model.Pod) (last *model.Pod, words string) {
	p, x := r.lastServing(leaving)
	if p == nil {
		return nil, ""
	}
	return p, fmt.Sprintf("pod %s: no other of its controller serves, and pod %s has no node", nameOf(r.snap, p),
		nameOf(r.snap, x.waits))
}

// LastForLong reports whether pods are such, and the other one has had no node for longer than a drain waits for one.
func (r *Room) LastForLong(leaving []*model.Pod) bool {
	p, x := r.lastServing(leaving)
	if p == nil {
		return false
	}
	long := time.Unix(x.waits.Created, 0).Add(model.Patience)
	if r.snap.Now.Before(long) {
		r.wakeAt(long)
		return false
	}
	return true
}

func (r *Room) lastServing(leaving []*model.Pod) (last *model.Pod, x *short) {
	if r.shorts == nil {
		r.shorts = shortOf(r.snap)
		r.fewest = fewestServing(r.shorts)
	}
	if len(leaving) < r.fewest {
		return nil, nil // each has others that serve
	}
	for _, p := range leaving {
		x := r.shorts[p.Owner]
		if x == nil || len(leaving) < x.serving {
			continue
		}
		here := 0
		for _, q := range leaving {
			if q.Owner == p.Owner {
				here++
			}
		}
		if here >= x.serving && len(r.Rules.Covering(p)) == 0 {
			return p, x
		}
	}
	return nil, nil
}

func shortOf(s *model.Snapshot) map[types.UID]*short {
	all := map[types.UID]*short{}
	add := func(p *model.Pod) {
		if x := all[p.Owner]; p.Owner != "" && (x == nil || p.Created < x.waits.Created) {
			all[p.Owner] = &short{waits: p}
		}
	}
	for i := range s.Pending {
		for _, p := range s.Pending[i].Pods {
			add(p)
		}
	}
	for _, p := range s.Gated {
		add(p)
	}
	if len(all) == 0 {
		return all
	}
	// No more pods leave together than a node has, or a group that goes as a whole. So a controller with more that serve
	// has others, however many.
	most, open, whole := 0, len(all), map[int]int{}
	for i := range s.Nodes {
		n := s.Nodes[i]
		most = max(most, len(n.Bound))
		if n.Group >= 0 && s.Groups[n.Group].GoesWhole() {
			whole[n.Group] += len(n.Bound)
			most = max(most, whole[n.Group])
		}
	}
	for i := 0; i < len(s.Nodes) && open > 0; i++ {
		n := s.Nodes[i]
		if n.Kind != model.Ready {
			continue
		}
		for j := range n.Bound {
			if p := &n.Bound[j]; p.Flags&model.Terminating == 0 && all[p.Owner] != nil {
				if all[p.Owner].serving++; all[p.Owner].serving == most+1 {
					open--
				}
			}
		}
	}
	return all
}

// fewestServing is the least number of pods on ready nodes that any of these has.
func fewestServing(shorts map[types.UID]*short) int {
	fewest := math.MaxInt
	for _, x := range shorts {
		fewest = min(fewest, x.serving)
	}
	return fewest
}
