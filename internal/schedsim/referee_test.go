package schedsim

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// refereeMoves checks everything that was moved in a world since it was loaded,
// as plainly as Referee does and in the order in which it was done: the pods of a
// node leave it, and each is placed only where the plugins let it, before all
// nodes as they are at that moment. Pods that were placed but not moved count as
// there from the start.
func refereeMoves(w *World) error {
	claims := w.filters.stage.claims
	defer func() { w.filters.stage.claims = claims }()
	r := &referee{w: w}
	pods := r.before()
	for _, p := range w.moves {
		if p.count < 0 {
			r.take(pods, p.node, p.class, p.count)
			r.infos[p.node] = r.infoOf(p.node, pods[p.node])
			r.show(len(w.nodes))
			continue
		}
		for range p.count {
			if no := w.ask(w.filters.full, p.class, r.infos[p.node], r.stage); no != nil {
				return fmt.Errorf("class %d (%s) was moved to %s: %s: %s", p.class, w.snap.Classes[p.class].Key,
					w.nodes[p.node].called(), no.reason, no.words())
			}
			r.infos[p.node].AddPodInfo(w.classes[p.class].info())
			r.take(pods, p.node, p.class, 1)
		}
	}
	return nil
}

// before makes the nodes as they were before anything was moved, and counts their
// pods.
func (r *referee) before() []map[model.ClassID]int {
	w := r.w
	pods := make([]map[model.ClassID]int, len(w.nodes))
	for i := range w.nodes {
		pods[i] = map[model.ClassID]int{}
		for _, b := range w.nodes[i].batches {
			pods[i][b.Class] += b.Count
		}
	}
	for _, p := range w.moves {
		pods[p.node][p.class] -= p.count
	}
	w.filters.stage.claims = map[string]int{}
	r.infos = make([]*framework.NodeInfo, len(w.nodes))
	for i := range w.nodes {
		if w.nodes[i].gone {
			continue
		}
		r.infos[i] = r.infoOf(i, pods[i])
		for c, n := range pods[i] {
			r.use(c, n)
		}
	}
	r.show(len(w.nodes))
	return pods
}

func (r *referee) take(pods []map[model.ClassID]int, i int, c model.ClassID, n int) {
	pods[i][c] += n
	r.use(c, n)
}

func (r *referee) use(c model.ClassID, n int) {
	for _, claim := range r.w.snap.Classes[c].Spec.Claims {
		r.w.filters.stage.claims[r.w.snap.Classes[c].Namespace()+"/"+claim] += n
	}
}

// infoOf builds what the plugins see of a node with the given pods.
func (r *referee) infoOf(i int, pods map[model.ClassID]int) *framework.NodeInfo {
	var batches []model.Batch
	for _, c := range slices.Sorted(maps.Keys(pods)) {
		batches = append(batches, model.Batch{Class: c, Count: pods[c]})
	}
	return r.w.nodeInfo(r.w.object(i), batches)
}
