package explain

import (
	"cmp"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Reserved are equal pods that a node is kept for.
type Reserved struct {
	// For is what made them, or the only one of them.
	For   string `json:"for"`
	Count int    `json:"count"`
	// Waiting is how many such pods wait in all, and Pod one of them: they are interchangeable. Without any, the
	// pods are those of nodes that leave.
	Waiting int    `json:"waiting,omitempty"`
	Pod     string `json:"pod,omitempty"`
}

// NodePod is a pod on a node.
type NodePod struct {
	Pod      string `json:"pod"`
	Workload string `json:"workload,omitempty"`
	Requests string `json:"requests,omitempty"`
	// Share is the largest share that its requests have of what the node can hold.
	Share float64 `json:"share,omitempty"`
}

// atNode are the reasons for which a node that is there may take the pods all the same, and the steps to that.
var atNode = map[model.Reason]func(*relaxer, model.NodeID) []step{
	model.InsufficientResources: func(r *relaxer, id model.NodeID) []step {
		short := r.world.Short(r.class, id)
		if short.Pods > 0 {
			return nil
		}
		return r.within(r.snap.Classes[r.class].Spec.Requests.Plus(short, -1))
	},
	model.TaintNotTolerated: func(r *relaxer, id model.NodeID) []step { return r.tolerating(r.snap.Nodes[id].Object) },
	model.NodeAffinity:      func(r *relaxer, id model.NodeID) []step { return r.unselective(r.snap.Nodes[id].Object) },
	model.PortConflict:      func(r *relaxer, _ model.NodeID) []step { return r.portless() },
	model.PodAffinity:       func(r *relaxer, _ model.NodeID) []step { return r.unaffine() },
	model.TopologySpread:    func(r *relaxer, _ model.NodeID) []step { return r.unspread() },
}

// onNodes is the nearest fix by which nodes that are there take the pods, by the closest node for each reason; nil if
// none was found.
func (r *relaxer) onNodes(existing Existing) *Fix {
	var found []*Fix
	for _, x := range existing.Reasons {
		id := slices.IndexFunc(r.snap.Nodes, func(n *model.Node) bool { return n.Name == x.Closest })
		of := atNode[x.Reason]
		if of == nil || id < 0 {
			continue
		}
		for _, st := range of(r, model.NodeID(id)) {
			if r.exhausted() {
				break
			}
			if t := r.try(st); t.serves && t.verdict.Planned == 0 {
				found = append(found, r.narrow(t, st))
			}
		}
	}
	return nearest(found)
}

// reservedFor are the pods that have a place on a node in the plan.
func (a *asked) reservedFor(id model.NodeID) (out []Reserved) {
	for _, b := range decide.ReservedFor(a.snap, a.policy, id) {
		r := Reserved{Count: b.Count}
		if i := slices.IndexFunc(a.snap.Pending, func(q model.Pending) bool { return q.Class == b.Class }); i >= 0 {
			pods := a.snap.Pending[i].Pods
			r.Waiting, r.Pod = len(pods), a.nameOf(pods[0])
			r.For = spelling.Some(a.snap.Contents.Workloads(pods))
		} else {
			r.For = a.workloadOf(b.Class)
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Reserved) int {
		return cmp.Or(-cmp.Compare(a.Count, b.Count), cmp.Compare(a.For, b.For))
	})
	return out
}

// workloadOf is what made the pods of a class that run.
func (a *asked) workloadOf(class model.ClassID) string {
	for i := range a.snap.Nodes {
		for j := range a.snap.Nodes[i].Bound {
			p := &a.snap.Nodes[i].Bound[j]
			if c, ok := a.snap.ClassOf(p); ok && c == class {
				return cmp.Or(a.snap.Contents.Workload(p), a.nameOf(p))
			}
		}
	}
	return "pods of nodes that leave"
}

func (a *asked) nameOf(p *model.Pod) string {
	return a.snap.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name
}

// runs are the pods on a node that have not ended.
func (a *asked) runs(n *model.Node) (out []NodePod) {
	has := a.snap.Contents.Shapes[n.Shape].Allocatable
	for i := range n.Bound {
		p := &n.Bound[i]
		if p.Flags&model.Finished != 0 {
			continue
		}
		requests := a.snap.Contents.Specs[p.Spec].Requests
		out = append(out, NodePod{a.nameOf(p), a.snap.Contents.Workload(p), requests.String(), share(requests, has)})
	}
	slices.SortFunc(out, func(a, b NodePod) int {
		return cmp.Or(-cmp.Compare(a.Share, b.Share), cmp.Compare(a.Pod, b.Pod))
	})
	return out
}

// share is the largest share that requests have of what a node can hold.
func share(want, has model.Resources) (most float64) {
	of := func(want, has int64) {
		if has > 0 {
			most = max(most, float64(want)/float64(has))
		}
	}
	of(want.MilliCPU, has.MilliCPU)
	of(want.Memory, has.Memory)
	of(want.Ephemeral, has.Ephemeral)
	for _, x := range want.Extended {
		of(x.Value, has.Value(x.Name))
	}
	return most
}
