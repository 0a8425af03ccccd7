package snapshot

import (
	"reflect"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// kept is what the snapshot before saves: the pods of nodes that have not changed since are not counted again, and
// the instances of nodes are not looked up again while the cloud's picture is the same. The snapshot before stays as
// it was.
type kept struct {
	prev *model.Snapshot // nil: it saves nothing
	at   int             // the nodes of prev before it have been passed
	// counted: its counts of pods are still right where the pods are; homes: so are the homes of its nodes.
	counted, homes bool
	keys           []model.ClassKey // by class of prev
	now            []model.ClassID  // by class of prev: its number now; -1 until it is met
	// rows are, by node, those of prev whose counts were taken over; nil where none was.
	rows []*model.Node
}

func (b *builder) keep(prev *model.Snapshot, seen *model.Observation) {
	k := &b.kept
	k.rows = make([]*model.Node, 0, len(seen.Nodes))
	if prev == nil {
		return
	}
	was, is := prev.Projection, b.snap.Projection
	k.prev = prev
	k.counted = prev.Judged == b.snap.Judged && was == is ||
		prev.Judged == b.snap.Judged && isOf(was, seen.Contents) && slices.Equal(was.Keys, is.Keys)
	k.homes = sameInstances(prev.Groups, b.snap.Groups)
	k.keys = make([]model.ClassKey, len(prev.Classes))
	for key, id := range prev.Numbers {
		k.keys[id] = key
	}
	k.now = slices.Repeat([]model.ClassID{-1}, len(prev.Classes))
}

// sameInstances reports whether groups have the very instances that they had: a picture of the cloud is never changed.
func sameInstances(a, b []model.Group) bool {
	return slices.EqualFunc(a, b, func(x, y model.Group) bool {
		p, q := x.Instances, y.Instances
		return x.ID == y.ID && len(p) == len(q) && (len(p) == 0 || &p[0] == &q[0])
	})
}

// row is what prev has of a node, nil if it has nothing. Nodes are asked for in their order.
func (k *kept) row(o *model.ObservedNode) *model.Node {
	if k.prev == nil {
		return nil
	}
	for ; k.at < len(k.prev.Nodes); k.at++ {
		switch n := k.prev.Nodes[k.at]; {
		case n.Object == o.Object:
			k.at++
			return n
		case n.Object == nil || n.Name > o.Object.Name:
			return nil
		case n.Name == o.Object.Name:
			return n
		}
	}
	return nil
}

// takeOver takes the counts of a node's pods from its row, if they still hold.
func (b *builder) takeOver(row, n *model.Node) bool {
	k := &b.kept
	if row == nil || !k.counted || n.Generation == 0 || row.Generation != n.Generation ||
		row.Nominated > 0 || n.Nominated > 0 || dead(row) != dead(n) {
		return false
	}
	n.Batches, n.Expendable = row.Batches, row.Expendable
	n.MilliCPU, n.Memory = row.MilliCPU, row.Memory
	n.Occupants, n.FirstOccupant = row.Occupants, row.FirstOccupant
	b.meet(n)
	return true
}

// meet notes that classes of the pods of a node, which have the numbers of prev, are met again.
func (b *builder) meet(n *model.Node) {
	k := &b.kept
	for _, list := range [...][]model.Batch{n.Batches, n.Expendable} {
		for _, x := range list {
			if k.now[x.Class] < 0 {
				k.now[x.Class] = b.classes.add(k.keys[x.Class])
			}
		}
	}
}

// still reports whether the rows of ready nodes that have not changed hold as they are: beside a node itself, its kind
// depends on these, and on time only until it is ready.
func (b *builder) still() bool {
	prev, s := b.kept.prev, b.snap
	if prev == nil || !b.kept.counted || !b.kept.homes || len(b.arrived) > 0 || s.Now.Before(prev.Now) ||
		reflect.ValueOf(prev.Standings).UnsafePointer() != reflect.ValueOf(s.Standings).UnsafePointer() ||
		!reflect.DeepEqual(prev.Rules, s.Rules) {
		return false
	}
	for i := range s.Groups { // the same ones, as their homes are
		was, is := &prev.Groups[i], &s.Groups[i]
		if was.HasTemplate != is.HasTemplate || s.Rules.Startup(&was.Group) != s.Rules.Startup(&is.Group) {
			return false
		}
	}
	return true
}

// asItWas reports whether a row is that of a node now, where still holds.
func asItWas(row *model.Node, o *model.ObservedNode) bool {
	return row != nil && row.Object == o.Object && row.Generation == o.Generation && o.Generation > 0 &&
		row.Kind == model.Ready && row.Group >= 0 && row.Nominated == 0 && len(row.Residents) == 0
}

// rowOf is a node's row in the snapshot: the one before, whose counts it has, where nothing else differs either. Row is
// nil where there is none. A row is never changed.
func rowOf(row, n *model.Node) *model.Node {
	if row != nil && sameRow(row, n) {
		return row
	}
	own := *n
	return &own
}

// sameRow reports whether two rows of a node that have the same counts of pods are the same.
func sameRow(a, b *model.Node) bool {
	return a.Object == b.Object && a.Generation == b.Generation && a.Shape == b.Shape &&
		len(a.Bound) == len(b.Bound) && (len(a.Bound) == 0 || &a.Bound[0] == &b.Bound[0]) &&
		a.Kind == b.Kind && a.State == b.State && a.BootsUntil.Equal(b.BootsUntil) && a.Nominated == b.Nominated &&
		a.Group == b.Group && a.Instance == b.Instance && a.InstanceAt == b.InstanceAt &&
		a.InstanceHold == b.InstanceHold && a.Drifted == b.Drifted && a.Interrupted == b.Interrupted &&
		a.Unknown == b.Unknown &&
		a.Standing == b.Standing && // and what lists of a snapshot's own are in:
		len(a.May) == 0 && len(b.May) == 0 && len(a.Residents) == 0 && len(b.Residents) == 0
}

// renumber gives the classes of what was taken over their final numbers. They are in the same order as before: both
// are that of their content. Where no number has changed, the lists are shared.
func (k *kept) renumber(nodes []*model.Node, final []model.ClassID) {
	moved := false
	for was, now := range k.now {
		if now >= 0 {
			k.now[was] = final[now]
			moved = moved || k.now[was] != model.ClassID(was)
		}
	}
	if !moved {
		return
	}
	again := func(list []model.Batch) []model.Batch {
		out := slices.Clone(list)
		for i := range out {
			out[i].Class = k.now[out[i].Class]
		}
		return out
	}
	for i, row := range k.rows {
		if row == nil {
			continue
		}
		if nodes[i] == row {
			own := *row
			nodes[i] = &own
		}
		nodes[i].Batches, nodes[i].Expendable = again(row.Batches), again(row.Expendable)
	}
}

// homes finds whose instances nodes are.
type homes struct {
	groups []model.Group
	index  *model.Homes // nil until it is needed
}

// of is the home of a node. Its row, nil if there is none, saves a look where it holds.
func (h *homes) of(o *model.ObservedNode, row *model.Node) (home model.Home, ok bool) {
	if row != nil && row.Object.Spec.ProviderID == o.Object.Spec.ProviderID {
		return model.Home{Group: row.Group, Instance: row.InstanceAt}, row.Group >= 0
	}
	if h.index == nil {
		index := model.NewHomes(len(h.groups), func(i int) *provider.Group { return &h.groups[i].Group })
		h.index = &index
	}
	return h.index.Of(o.Object)
}
