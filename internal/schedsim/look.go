package schedsim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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

// PacksAlike names what Pack sees of a template's nodes: templates of one name take
// the same packing of classes that are plain. It holds until Avoid is called.
func (w *World) PacksAlike(t Template) string {
	group := -1
	for a := range w.avoid {
		if a.group == t.Group {
			group = t.Group
		}
	}
	return fmt.Sprint(w.look(t.Shape), w.shapes[t.Shape].total, t.Pods, group)
}

// Plain reports whether nothing of a node counts for the class but its labels,
// taints, amounts and the pods on it: no ports, no volumes, no name.
func (w *World) Plain(c model.ClassID) bool { return w.classes[c].plain }
