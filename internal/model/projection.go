package model

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// projection is how label sets are seen while the set of label keys that
// scheduling selectors read stays the same: an epoch. It is carried from
// snapshot to snapshot and only grows.
type projection struct {
	first *Spec // of the tables it was made from
	specs int   // how many specs the keys were gathered from
	keys  []string
	// of maps a label set to its projection; sets holds the projections.
	of    []int32
	sets  []projected
	index map[string]int32
}

type projected struct {
	key    string
	labels map[string]string
}

// project brings a projection up to date with the contents. The projection of
// an older snapshot is never changed: it is copied when it must grow. One of
// other tables (a catalog was started anew) is of no use.
func project(prev *projection, c Contents) *projection {
	if prev != nil && !prev.isOf(c) {
		prev = nil
	}
	if prev != nil && prev.specs == len(c.Specs) && len(prev.of) == len(c.Labels) {
		return prev
	}
	keys := selectorKeys(prev, c.Specs)
	p := &projection{first: firstSpec(c), specs: len(c.Specs), keys: keys, index: map[string]int32{}}
	if prev != nil && slices.Equal(prev.keys, keys) {
		p.of = slices.Clone(prev.of)
		p.sets = slices.Clone(prev.sets)
		for i, s := range p.sets {
			p.index[s.key] = int32(i)
		}
	}
	var b strings.Builder
	for _, set := range c.Labels[len(p.of):] {
		b.Reset()
		var kept map[string]string
		for _, k := range keys {
			v, ok := set.Labels[k]
			if !ok {
				continue
			}
			if kept == nil {
				kept = map[string]string{}
			}
			kept[k] = v
			b.WriteString(k)
			b.WriteByte(0)
			b.WriteString(v)
			b.WriteByte(0)
		}
		id, ok := p.index[b.String()]
		if !ok {
			id = int32(len(p.sets))
			p.index[b.String()] = id
			p.sets = append(p.sets, projected{b.String(), kept})
		}
		p.of = append(p.of, id)
	}
	return p
}

// isOf tells whether the projection was made from an earlier view of the same
// tables: they only grow, and entries are never replaced.
func (p *projection) isOf(c Contents) bool {
	return p.first == firstSpec(c) && p.specs <= len(c.Specs) && len(p.of) <= len(c.Labels)
}

func firstSpec(c Contents) *Spec {
	if len(c.Specs) == 0 {
		return nil
	}
	return c.Specs[0]
}

// selectorKeys are the label keys that any spec's scheduling selectors read,
// sorted. A spec that no pod has any more still counts: that can only split a
// class in two, which costs time and no exactness.
func selectorKeys(prev *projection, specs []*Spec) []string {
	var keys []string
	from := 0
	if prev != nil && prev.specs <= len(specs) {
		keys = slices.Clone(prev.keys)
		from = prev.specs
	}
	for _, s := range specs[from:] {
		keys = appendSelectorKeys(keys, &s.Pod.Spec)
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

func appendSelectorKeys(keys []string, spec *corev1.PodSpec) []string {
	for i := range spec.TopologySpreadConstraints {
		c := &spec.TopologySpreadConstraints[i]
		keys = appendLabelSelectorKeys(keys, c.LabelSelector)
		keys = append(keys, c.MatchLabelKeys...)
	}
	for _, terms := range affinityTerms(spec) {
		for i := range terms {
			keys = appendLabelSelectorKeys(keys, terms[i].LabelSelector)
			keys = append(keys, terms[i].MatchLabelKeys...)
			keys = append(keys, terms[i].MismatchLabelKeys...)
		}
	}
	return keys
}

func affinityTerms(spec *corev1.PodSpec) [][]corev1.PodAffinityTerm {
	if spec.Affinity == nil {
		return nil
	}
	var terms [][]corev1.PodAffinityTerm
	if a := spec.Affinity.PodAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	if a := spec.Affinity.PodAntiAffinity; a != nil {
		terms = append(terms, a.RequiredDuringSchedulingIgnoredDuringExecution)
	}
	return terms
}

func appendLabelSelectorKeys(keys []string, s *metav1.LabelSelector) []string {
	if s == nil {
		return keys
	}
	for k := range s.MatchLabels {
		keys = append(keys, k)
	}
	for i := range s.MatchExpressions {
		keys = append(keys, s.MatchExpressions[i].Key)
	}
	return keys
}

// classes numbers the classes of one snapshot. Contents are looked up by
// number; ids are given in order of content once all are known.
type classes struct {
	contents Contents
	proj     *projection
	seen     map[classKey]ClassID
	list     []Class
	keys     []classKey
}

type classKey struct {
	spec        SpecID
	labels      int32
	terminating bool
}

func (c *classes) key(p Content, terminating bool) classKey {
	return classKey{p.Spec, c.proj.of[p.Labels], terminating}
}

func (c *classes) add(k classKey) ClassID {
	if id, ok := c.seen[k]; ok {
		return id
	}
	id := ClassID(len(c.list))
	c.seen[k] = id
	spec := c.contents.Specs[k.spec]
	key := spec.Key + "/" + c.proj.sets[k.labels].key
	if k.terminating {
		key += "/terminating"
	}
	c.list = append(c.list, Class{Key: key, Spec: spec, Labels: c.proj.sets[k.labels].labels, Terminating: k.terminating})
	return id
}

// sorted puts the classes in order of content and returns how the ids given
// before map to the final ones.
func (c *classes) sorted() ([]Class, []ClassID) {
	order := make([]ClassID, len(c.list))
	for i := range order {
		order[i] = ClassID(i)
	}
	slices.SortFunc(order, func(a, b ClassID) int { return cmp.Compare(c.list[a].Key, c.list[b].Key) })
	final := make([]ClassID, len(order))
	list := make([]Class, len(order))
	for i, old := range order {
		final[old] = ClassID(i)
		list[i] = c.list[old]
	}
	return list, final
}
