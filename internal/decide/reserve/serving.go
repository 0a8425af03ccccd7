package reserve

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// short is a controller with pods that have no node, whatever they wait for.
type short struct {
	waits   *model.Pod // one of them
	serving int        // how many others are on ready nodes
}

// LastServing says which of the pods that would leave a ready node are the last of their controller on any, while
// another of it has no node: nothing would serve, and the one that waits might take the place that is meant for the
// one that left. Empty if there is none. Where a budget covers a pod, its word is enough.
func (r *Room) LastServing(leaving []*model.Pod) string {
	if r.shorts == nil {
		r.shorts = shortOf(r.snap)
	}
	if len(r.shorts) == 0 {
		return ""
	}
	here := map[types.UID]int{}
	for _, p := range leaving {
		here[p.Owner]++
	}
	for _, p := range leaving {
		if x := r.shorts[p.Owner]; x != nil && here[p.Owner] >= x.serving && len(r.Rules.Covering(p)) == 0 {
			return fmt.Sprintf("pod %s: no other of its controller serves, and pod %s has no node", nameOf(r.snap, p),
				nameOf(r.snap, x.waits))
		}
	}
	return ""
}

func shortOf(s *model.Snapshot) map[types.UID]*short {
	all := map[types.UID]*short{}
	add := func(p *model.Pod) {
		if p.Owner != "" && all[p.Owner] == nil {
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
	for i := range s.Nodes {
		if n := s.Nodes[i]; n.Kind == model.Ready {
			for j := range n.Bound {
				if p := &n.Bound[j]; p.Flags&model.Terminating == 0 && all[p.Owner] != nil {
					all[p.Owner].serving++
				}
			}
		}
	}
	return all
}
