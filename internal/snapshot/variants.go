package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// mostVariants bounds the forms of one group. A label with more values than that
// allows is left out of them: pods that select by it get no node of the group. Labels
// that pods select by come first, so that no pod that spreads over a label takes them
// from those that select.
const mostVariants = 64

// variants finds the forms that new nodes of the group may have, and adds their
// shapes to the snapshot's own. Groups whose nodes are all alike have none.
func (b *builder) variants(g *model.Group, read map[string]reading) []model.Variant {
	t := g.Template
	if t == nil || len(t.Places) == 0 && len(t.Varies) == 0 {
		return nil
	}
	list := []model.Variant{{}}
	if len(t.Places) > 0 {
		list = list[:0]
		for _, p := range t.Places {
			list = append(list, model.Variant{Zone: p.Zone, Labels: p.Labels})
		}
	}
	keys := slices.SortedFunc(maps.Keys(t.Varies), func(x, y string) int {
		return cmp.Or(cmp.Compare(read[y], read[x]), cmp.Compare(x, y))
	})
	for _, key := range keys {
		values := t.Varies[key]
		if _, placed := list[0].Labels[key]; placed || len(values) == 0 || read[key] == notRead ||
			len(list)*len(values) > mostVariants {
			continue
		}
		var more []model.Variant
		for _, v := range list {
			for _, value := range values {
				labels := maps.Clone(v.Labels)
				if labels == nil {
					labels = map[string]string{}
				}
				labels[key] = value
				more = append(more, model.Variant{Zone: v.Zone, Labels: labels})
			}
		}
		list = more
	}
	if len(list) == 1 {
		return nil
	}
	base := b.snap.Contents.Shapes[g.Shape]
	for i := range list {
		list[i].Shape = b.shapeWith(base, list[i].Labels)
	}
	return list
}

// shapeWith is a shape with more labels. It is the snapshot's alone: the tables
// that the snapshot was made from do not have it.
func (b *builder) shapeWith(base *model.Shape, labels map[string]string) model.ShapeID {
	var key strings.Builder
	key.WriteString(base.Key)
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString("\x00" + k + "=" + labels[k])
	}
	if id, ok := b.varied[key.String()]; ok {
		return id
	}
	node := *base.Node
	node.Labels = maps.Clone(base.Node.Labels)
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	maps.Copy(node.Labels, labels)
	shape := *base
	shape.Key, shape.Node = key.String(), &node
	id := model.ShapeID(len(b.snap.Contents.Shapes))
	shape.Kept, shape.Back = id, id // no node of the cluster has it, and no taint of a removal
	b.snap.Contents.Shapes = append(slices.Clip(b.snap.Contents.Shapes), &shape)
	b.varied[key.String()] = id
	return id
}

// reading is what pods without a node read a label for; more of it counts for more.
type reading int

const (
	notRead reading = iota
	asTopology
	asSelector
)

// labelsRead are the keys of labels by which pods without a node tell nodes apart: those
// that they select by, and those of the topologies that their constraints are about.
func labelsRead(seen *model.Observation) map[string]reading {
	read, looked := map[string]reading{}, map[model.SpecID]bool{}
	for i := range seen.Unbound {
		id := seen.Unbound[i].Spec
		if looked[id] {
			continue
		}
		looked[id] = true
		spec := &seen.Contents.Specs[id].Pod.Spec
		for key := range spec.NodeSelector {
			read[key] = asSelector
		}
		for _, c := range spec.TopologySpreadConstraints {
			read[c.TopologyKey] = max(read[c.TopologyKey], asTopology)
		}
		if spec.Affinity == nil {
			continue
		}
		if a := spec.Affinity.PodAffinity; a != nil {
			for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution {
				read[t.TopologyKey] = max(read[t.TopologyKey], asTopology)
			}
		}
		if a := spec.Affinity.PodAntiAffinity; a != nil {
			for _, t := range a.RequiredDuringSchedulingIgnoredDuringExecution {
				read[t.TopologyKey] = max(read[t.TopologyKey], asTopology)
			}
		}
		if spec.Affinity.NodeAffinity == nil ||
			spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
			continue
		}
		for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				read[e.Key] = asSelector
			}
		}
	}
	return read
}

// become is the shape that a node of the group has once it is all that its template
// says, and the shapes that it may have while what is known of it leaves several:
// by its own labels, and by the zone that its instance is in.
func (b *builder) become(
	g *model.Group, node *corev1.Node, in *provider.Instance,
) (certain model.ShapeID, may []model.ShapeID) {
	for _, v := range g.Variants {
		if in != nil && in.Zone != "" && v.Zone != "" && in.Zone != v.Zone ||
			node != nil && contradicts(node.Labels, v.Labels) {
			continue
		}
		may = append(may, v.Shape)
	}
	switch len(may) {
	case 0: // nothing varies, or it is none of what the template allows
		return g.Shape, nil
	case 1:
		return may[0], nil
	}
	return g.Shape, may
}

func contradicts(has, said map[string]string) bool {
	for key, value := range said {
		if v, ok := has[key]; ok && v != value {
			return true
		}
	}
	return false
}
