package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// recast gives the pods of a class another content, as if they had been made so: those that wait, or, where
// wide, those that run as well. The snapshot must be a copy; its slices are not written to. It returns the
// class of the pods that wait.
//
// Plans depend on the order of classes, and that on their content, so that the new content is named and
// placed as observing it would.
func recast(s *model.Snapshot, class model.ClassID, pod *corev1.Pod, wide bool) model.ClassID {
	c := catalog.New()
	content := c.Pod(pod)
	made := s.Classes[class]
	key := strings.TrimPrefix(made.Key, made.Spec.Key)
	made.Spec = c.Contents().Specs[content.Spec]
	made.Key = made.Spec.Key + key
	// 1. The classes as they are then: the old one is replaced where no pod of it is left.
	list := slices.Clone(s.Classes)
	changed := class
	if wide || !runs(s, class) {
		list[class] = made
	} else {
		changed = model.ClassID(len(list))
		list = append(list, made)
	}
	// 2. In order of content; what has become equal is one class.
	order := make([]model.ClassID, len(list))
	for i := range order {
		order[i] = model.ClassID(i)
	}
	slices.SortStableFunc(order, func(a, b model.ClassID) int { return cmp.Compare(list[a].Key, list[b].Key) })
	final := make([]model.ClassID, len(list))
	s.Classes = nil
	for i, old := range order {
		if i == 0 || list[old].Key != s.Classes[len(s.Classes)-1].Key {
			s.Classes = append(s.Classes, list[old])
		}
		final[old] = model.ClassID(len(s.Classes) - 1)
	}
	// 3. Their numbers, everywhere.
	renumber(s, final)
	s.Pending = pendingAs(s.Pending, class, changed, final)
	return final[changed]
}

// runs reports whether pods of a class are on nodes, or come with them.
func runs(s *model.Snapshot, class model.ClassID) bool {
	has := func(batches []model.Batch) bool {
		return slices.ContainsFunc(batches, func(b model.Batch) bool { return b.Class == class })
	}
	return slices.ContainsFunc(s.Nodes, func(n *model.Node) bool { return has(n.Batches) || has(n.Expendable) }) ||
		slices.ContainsFunc(s.Groups, func(g model.Group) bool { return has(g.Static) }) ||
		slices.ContainsFunc(s.DaemonSets, func(d model.DaemonSetClass) bool { return d.Class == class })
}

// renumber replaces the numbers of classes, but for those of pods that wait.
func renumber(s *model.Snapshot, final []model.ClassID) {
	if kept(final) {
		return // a cluster whose nodes are as they were is loaded at less cost
	}
	fix := func(batches []model.Batch) []model.Batch {
		out := slices.Clone(batches)
		for i := range out {
			out[i].Class = final[out[i].Class]
		}
		slices.SortFunc(out, func(x, y model.Batch) int { return cmp.Compare(x.Class, y.Class) })
		for i := len(out) - 1; i > 0; i-- {
			if out[i].Class == out[i-1].Class {
				out[i-1].Count += out[i].Count
				out = slices.Delete(out, i, i+1)
			}
		}
		return out
	}
	s.Nodes = slices.Clone(s.Nodes)
	for i := range s.Nodes {
		n := *s.Nodes[i]
		n.Batches, n.Residents, n.Expendable = fix(n.Batches), fix(n.Residents), fix(n.Expendable)
		s.Nodes[i] = &n
	}
	for i := range s.Groups {
		s.Groups[i].Static = fix(s.Groups[i].Static)
	}
	s.DaemonSets = slices.Clone(s.DaemonSets)
	for i := range s.DaemonSets {
		s.DaemonSets[i].Class = final[s.DaemonSets[i].Class]
	}
	s.Numbers = maps.Clone(s.Numbers)
	for k, id := range s.Numbers {
		s.Numbers[k] = final[id]
	}
}

// kept reports whether each class keeps its number.
func kept(final []model.ClassID) bool {
	for i, id := range final {
		if id != model.ClassID(i) {
			return false
		}
	}
	return true
}

// pendingAs are the pods that wait, those of one class as those of another.
func pendingAs(list []model.Pending, class, changed model.ClassID, final []model.ClassID) []model.Pending {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Class == class {
			out[i].Class = changed
		}
		out[i].Class = final[out[i].Class]
	}
	slices.SortStableFunc(out, func(a, b model.Pending) int { return cmp.Compare(a.Class, b.Class) })
	for i := len(out) - 1; i > 0; i-- {
		a, b := &out[i-1], &out[i]
		if a.Class != b.Class {
			continue
		}
		a.Pods = slices.Concat(a.Pods, b.Pods)
		slices.SortStableFunc(a.Pods, func(x, y *model.Pod) int { return cmp.Compare(x.Name, y.Name) })
		a.Refused = a.Refused || b.Refused
		if b.Oldest.Before(a.Oldest) {
			a.Oldest = b.Oldest
		}
		out = slices.Delete(out, i, i+1)
	}
	return out
}
