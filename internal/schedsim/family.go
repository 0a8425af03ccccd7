package schedsim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is about classes that differ in their volumes alone, as those of a StatefulSet's pods do: what does not
// depend on volumes is found once for all of them.

// family is such classes. One without volumes is a family of its own.
type family struct {
	name   string // empty for one without volumes
	static string // traits.statics, once asked for
}

// families are those of the classes of a world.
type families struct {
	first map[string]*traits // by the family's name: those of one class of it
	name  []byte
	keys  []string
}

// traits is what the simulation keeps of a class, taken over from its family if there is one.
func (f *families) traits(m *model.Class) *traits {
	if len(m.Spec.Pod.Spec.Volumes) == 0 {
		return newTraits(m, &family{})
	}
	f.find(m)
	like, ok := f.first[string(f.name)]
	if !ok {
		t := newTraits(m, &family{name: string(f.name)})
		f.first[t.family.name] = t
		return t
	}
	t := *like
	t.pod, t.labels, t.spec, t.shown = m.Spec.Pod, m.Labels, &m.Spec.Pod.Spec, nil
	t.readVolumes()
	return &t
}

// find makes the name of a class's family: all that the class is, but for its volumes.
func (f *families) find(m *model.Class) {
	spec := m.Spec.Pod.Spec
	spec.Volumes = nil
	f.name = marshalled(f.name[:0], &spec)
	f.name = append(append(append(f.name, 0), m.Namespace()...), 0)
	if m.Terminating {
		f.name = append(f.name, 1)
	}
	f.keys = f.keys[:0]
	for k := range m.Labels {
		f.keys = append(f.keys, k)
	}
	slices.Sort(f.keys)
	for _, k := range f.keys {
		f.name = append(append(append(append(f.name, 0), k...), 0), m.Labels[k]...)
	}
}

// marshalled appends a spec's content.
func marshalled(to []byte, spec *corev1.PodSpec) []byte {
	head, size := len(to), spec.Size()
	to = slices.Grow(to, size)[:head+size]
	if _, err := spec.MarshalToSizedBuffer(to[head:]); err != nil {
		panic("schedsim: marshal a pod spec: " + err.Error()) // the catalog has done so before
	}
	return to
}

// search is the nodes with room that were found for a class that is to be spread. While nothing makes room, what had
// none for it has none for the others of its family.
type search struct {
	made    int // as World.made was
	regions []region
}

type searched struct {
	*family
	on NodeSet
}

// searches names a search that others of the family may go on with. They may not where nodes are opened meanwhile,
// where a class has nodes of its own or is kept from some, or where it may matter to its volumes what becomes of nodes.
func (s *byDomain) searches(on NodeSet) (name searched, ok bool) {
	w := s.w
	if len(s.heads) > 0 || !s.o.class.carries || w.avoid != nil || w.doubted != nil || len(w.meant) > 0 || w.varied {
		return searched{}, false
	}
	return searched{s.o.class.family, on}, true
}

// takeRegions goes on with what was found for another of the family, less what has filled up since.
func (s *byDomain) takeRegions(on NodeSet) bool {
	name, ok := s.searches(on)
	found := s.w.searches[name]
	if !ok || found.regions == nil || found.made != s.w.made {
		return false
	}
	s.regions = found.regions[:0]
	for _, r := range found.regions {
		for len(r.nodes) > 0 && !s.w.usable(s.class, r.nodes[0]) {
			r.nodes = r.nodes[1:]
		}
		if len(r.nodes) > 0 {
			s.regions = append(s.regions, r)
		}
	}
	// A search would find them in this order.
	slices.SortFunc(s.regions, func(a, b region) int { return a.nodes[0] - b.nodes[0] })
	return true
}

// leaveRegions leaves what was found to others of the family.
func (s *byDomain) leaveRegions(on NodeSet) {
	if name, ok := s.searches(on); ok && s.regions != nil {
		s.w.searches[name] = search{s.w.made, s.regions}
	}
}
