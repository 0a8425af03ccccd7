package schedsim

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// looks are the shapes that no class tells apart by labels, taints and features.
// Most labels of a node are read by no pod.
type looks struct {
	keys  []string // the label keys that node selectors and affinities read
	first []int    // by shape: the first that looks like it; -1 if not known yet
	known map[string]model.ShapeID
}

// look finds the shape that stands for all that look like it.
func (w *World) look(s model.ShapeID) model.ShapeID {
	l := &w.looks
	if l.known == nil {
		l.known = map[string]model.ShapeID{}
		l.keys = w.readLabels()
		l.first = slices.Repeat([]int{-1}, len(w.shapes))
	}
	if first := l.first[s]; first >= 0 {
		return model.ShapeID(first)
	}
	n := w.shapes[s].content.Node
	var b strings.Builder
	for _, k := range l.keys {
		if v, ok := n.Labels[k]; ok {
			fmt.Fprintf(&b, "%s=%s\x00", k, v)
		}
	}
	for _, t := range n.Spec.Taints {
		fmt.Fprintf(&b, "taint %s=%s:%s\x00", t.Key, t.Value, t.Effect)
	}
	fmt.Fprintf(&b, "%t %q", n.Spec.Unschedulable, n.Status.DeclaredFeatures)
	first, ok := l.known[b.String()]
	if !ok {
		first = s
		l.known[b.String()] = s
	}
	l.first[s] = int(first)
	return first
}

// readLabels are the keys that the node selector or the required node affinity of
// any class reads, sorted.
func (w *World) readLabels() []string {
	keys := map[string]bool{}
	for i := range w.classes {
		spec := &w.classes[i].pod.Spec
		for k := range spec.NodeSelector {
			keys[k] = true
		}
		if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
			continue
		}
		required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		if required == nil {
			continue
		}
		for _, term := range required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				keys[e.Key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// mountLook is look for what claims and volumes read of a node: two shapes with the same values of these
// labels can have the same volumes.
func (w *World) mountLook(s model.ShapeID) string {
	if w.mountKeys == nil {
		w.mountKeys = readByVolumes(&w.snap.Volumes)
	}
	var b strings.Builder
	for _, k := range w.mountKeys {
		if v, ok := w.shapes[s].content.Node.Labels[k]; ok {
			fmt.Fprintf(&b, "%s=%s\x00", k, v)
		}
	}
	return b.String()
}

// readByVolumes are the label keys that volumes, storage classes and capacities read of nodes, sorted;
// never nil. Zones and regions are read of labels of the volume, whatever it says itself.
func readByVolumes(v *model.Volumes) []string {
	keys := map[string]bool{}
	for _, p := range v.Persistent {
		for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelTopologyRegion,
			corev1.LabelFailureDomainBetaZone, corev1.LabelFailureDomainBetaRegion} {
			keys[key] = true
		}
		if p.Spec.NodeAffinity == nil || p.Spec.NodeAffinity.Required == nil {
			continue
		}
		for _, term := range p.Spec.NodeAffinity.Required.NodeSelectorTerms {
			for _, e := range term.MatchExpressions {
				keys[e.Key] = true
			}
		}
	}
	for _, class := range v.Classes {
		for _, term := range class.AllowedTopologies {
			for _, e := range term.MatchLabelExpressions {
				keys[e.Key] = true
			}
		}
	}
	for _, c := range v.Capacities {
		if c.NodeTopology == nil {
			continue
		}
		for k := range c.NodeTopology.MatchLabels {
			keys[k] = true
		}
		for _, e := range c.NodeTopology.MatchExpressions {
			keys[e.Key] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(keys))...)
}

// PacksAlike names what Pack sees of a template's nodes: templates of one name take
// the same packing of classes that read no hostname. It holds until Avoid is called.
func (w *World) PacksAlike(t Template) string {
	group := -1
	for a := range w.avoid {
		if a.group == t.Group {
			group = t.Group
		}
	}
	volumes := ""
	if template := w.snap.Groups[t.Group].Template; template != nil && template.CSINode != nil {
		volumes = template.CSINode.Spec.String()
	}
	return fmt.Sprint(w.look(t.Shape), w.mountLook(t.Shape), w.shapes[t.Shape].total, t.Pods, group, volumes)
}

// Seeks names what a class asks of new nodes. Those of one name suit the same templates, each of which has room for as
// many of their pods, and the same templates are of one region to them (RegionOf). It is not ok where more is asked: of
// ports, volumes or names of nodes, of pods that nodes start with, or by a brake.
func (w *World) Seeks(c model.ClassID, starts [][]model.Batch) (name string, ok bool) {
	class := w.class(c)
	if !class.plain || class.asks || class.broken || class.unsupported != "" || len(w.avoid) > 0 {
		return "", false
	}
	for _, pods := range starts {
		if w.conflict(class, pods) != "" || w.outlook(c).heeds(w, pods) {
			return "", false
		}
	}
	r := &class.request
	key := binary.AppendVarint(nil, r.cpu)
	key = binary.AppendVarint(key, r.memory)
	key = binary.AppendVarint(key, r.ephemeral)
	for _, x := range r.ext {
		key = binary.AppendVarint(append(append(key, x.Name...), 0), x.Value)
	}
	for _, k := range class.keys {
		key = append(append(key, 0), k...)
	}
	return string(append(append(key, 0), class.statics()...)), true
}

// heeds reports whether it matters to the class that one of these pods is on the same host, beside conflicts.
func (o *outlook) heeds(w *World, pods []model.Batch) bool {
	for _, b := range pods {
		for _, c := range w.counters.fed[b.Class] {
			if c.scope.topology.key == corev1.LabelHostname &&
				(slices.Contains(o.hosts, c) || slices.Contains(o.anti, c) || slices.Contains(o.against, c)) {
				return true
			}
		}
	}
	return false
}

// RegionOf is the number of the region, as the class knows them, that nodes of a template are in.
func (w *World) RegionOf(c model.ClassID, t Template) int32 {
	return w.outlook(c).regions.of(w, t.Shape)
}

// ReadsHost reports whether the class's node affinity reads the node's own name or hostname.
func (w *World) ReadsHost(c model.ClassID) bool { return w.classes[c].readsHost }

// Apart lists those of some classes, which are sorted, whose pods share no host with one of the class, by ports or
// anti-affinity; the class itself may be one of them.
func (w *World) Apart(c model.ClassID, of []model.ClassID) []model.ClassID {
	conflicts := w.conflicts(w.class(c))
	found := conflicts.among(of)
	w.Looked(len(found))
	if conflicts != nil && conflicts.bits != nil {
		w.Looked(len(of) / 64)
	}
	return found
}

// Takes is how many of these pods a new, otherwise empty node of the template takes, each class in turn.
// The world is left as it was.
func (w *World) Takes(t Template, pods []model.Batch) (taken []model.Batch) {
	counters := w.counters
	w.counters = nil // no class of host coupling reads one
	defer func() { w.counters = counters }()
	m := w.Mark()
	defer w.Undo(m)
	id := int(w.AddNodes(t, 1))
	for _, b := range pods {
		if !w.Bulk(b.Class) || !w.usable(b.Class, id) {
			continue
		}
		if n, _ := w.fill(b.Class, id, b.Count); n > 0 {
			taken = append(taken, model.Batch{Class: b.Class, Count: n})
		}
	}
	return taken
}
