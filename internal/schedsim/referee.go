package schedsim

import (
	"fmt"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Referee checks everything that was placed in a world since it was loaded, in the slowest and
// plainest way: all nodes before the plugins, one pod at a time, PreFilter state fresh for each,
// none of the shortcuts of this package. First the pods that found room before any node was
// planned, with only the nodes that were there; then all others, with the planned nodes. Pods go in
// any order that works: the check fails only when none of those left fits where the plan put it.
func Referee(w *World) error {
	r := &referee{w: w}
	r.build()
	var early, late []placement
	for _, p := range w.journal {
		if p.early {
			early = append(early, p)
		} else {
			late = append(late, p)
		}
	}
	r.show(len(w.snap.Nodes))
	if err := r.replay(early); err != nil {
		return fmt.Errorf("on the nodes that were there: %w", err)
	}
	r.show(len(w.nodes))
	if err := r.replay(late); err != nil {
		return fmt.Errorf("with the planned nodes: %w", err)
	}
	return nil
}

type referee struct {
	w     *World
	infos []*framework.NodeInfo // by node of the world, nil if gone
	stage []stageNode
}

// build makes the nodes as they were before anything was placed.
func (r *referee) build() {
	placed := map[int]map[model.ClassID]int{}
	for _, p := range r.w.journal {
		if placed[p.node] == nil {
			placed[p.node] = map[model.ClassID]int{}
		}
		placed[p.node][p.class] += p.count
	}
	r.infos = make([]*framework.NodeInfo, len(r.w.nodes))
	for i := range r.w.nodes {
		n := &r.w.nodes[i]
		if n.gone {
			continue
		}
		info := framework.NewNodeInfo()
		info.SetNode(r.w.object(i))
		for _, b := range n.batches {
			for range b.Count - placed[i][b.Class] {
				info.AddPodInfo(r.w.classes[b.Class].info())
			}
		}
		r.infos[i] = info
	}
}

// show puts the first n nodes of the world before the plugins.
func (r *referee) show(n int) {
	r.stage = nil
	for _, info := range r.infos[:n] {
		if info != nil {
			r.stage = append(r.stage, info)
		}
	}
}

func (r *referee) replay(left []placement) error {
	for len(left) > 0 {
		progress := false
		rest := left[:0]
		var why error
		for _, p := range left {
			for p.count > 0 {
				if no := r.w.ask(r.w.filters.full, p.class, r.infos[p.node], r.stage); no != nil {
					why = fmt.Errorf("class %d (%s) on %s: %s: %s", p.class, r.w.snap.Classes[p.class].Key,
						r.w.nodes[p.node].called(), no.reason, no.words())
					break
				}
				r.infos[p.node].AddPodInfo(r.w.classes[p.class].info())
				p.count--
				progress = true
			}
			if p.count > 0 {
				rest = append(rest, p)
			}
		}
		if len(rest) > 0 && !progress {
			return fmt.Errorf("%d placements cannot be carried out: %w", len(rest), why)
		}
		left = rest
	}
	return nil
}

// CanTake tells, in the referee's plain way, whether one more pod of the class
// would fit any of the nodes in the given sets, or a new node of the template
// if one is given.
func CanTake(w *World, c model.ClassID, on NodeSet, t *Template) bool {
	r := &referee{w: w}
	for i := range w.nodes {
		var info *framework.NodeInfo
		if !w.nodes[i].gone {
			info = w.info(i)
			r.stage = append(r.stage, info)
		}
		r.infos = append(r.infos, info)
	}
	if t != nil {
		info := framework.NewNodeInfo()
		info.SetNode(named(w.shapes[t.Shape].content.Node, "one-more"))
		for _, b := range t.Pods {
			for range b.Count {
				info.AddPodInfo(w.classes[b.Class].info())
			}
		}
		return w.ask(w.filters.full, c, info, append(r.stage, info)) == nil
	}
	for i, info := range r.infos {
		if w.nodes[i].may != nil && w.Choosy(c, w.groupOf(i)) {
			continue // its variant is unknown, and may not suit the class
		}
		if info != nil && w.nodes[i].kind&on != 0 && w.ask(w.filters.full, c, info, r.stage) == nil {
			return true
		}
	}
	return false
}
