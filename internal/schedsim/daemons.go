package schedsim

import (
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// daemons finds which DaemonSets put a pod onto a node, by shape.
type daemons struct {
	world   *World
	byShape map[model.ShapeID][]int // indexes of Snapshot.DaemonSets
}

func (w *World) daemons() daemons {
	return daemons{w, map[model.ShapeID][]int{}}
}

// of lists the DaemonSets whose pods go to nodes of the shape: those whose
// affinity and tolerations fit it. Room is not asked for, since the DaemonSet
// controller does not ask either.
func (d daemons) of(shape model.ShapeID) []int {
	if list, ok := d.byShape[shape]; ok {
		return list
	}
	list := []int{}
	for i := range d.world.snap.DaemonSets {
		if d.world.staticVerdict(d.world.snap.DaemonSets[i].Class, shape) == nil {
			list = append(list, i)
		}
	}
	d.byShape[shape] = list
	return list
}

// lacking is what DaemonSets still have to put onto a node of the snapshot, as one
// of this shape.
func (w *World) lacking(d daemons, n *model.Node, shape model.ShapeID) []model.Batch {
	var out []model.Batch
	for _, i := range d.of(shape) {
		ds := &w.snap.DaemonSets[i]
		there := false
		for p := range n.Bound {
			if n.Bound[p].Owner == ds.UID && n.Bound[p].Flags&model.Finished == 0 {
				there = true
				break
			}
		}
		if !there {
			out = merge(out, []model.Batch{{Class: ds.Class, Count: 1}})
		}
	}
	return out
}

// GroupTemplate is what a new node of a group brings, its static and DaemonSet
// pods included. The second result is false where the group has no template.
func (w *World) GroupTemplate(group int) (Template, bool) {
	g := &w.snap.Groups[group]
	if !g.HasTemplate {
		return Template{}, false
	}
	t := Template{Group: group, Shape: g.Shape, Pods: g.Static}
	for _, i := range w.daemons().of(g.Shape) {
		t.Pods = merge(t.Pods, []model.Batch{{Class: w.snap.DaemonSets[i].Class, Count: 1}})
	}
	return t, true
}
