package snapshot

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// project brings a projection up to date with the contents. The projection of
// an older snapshot is never changed: it is copied when it must grow. One of
// other tables (a catalog was restarted) is of no use.
func project(prev *model.Projection, c model.Contents) *model.Projection {
	if prev != nil && !isOf(prev, c) {
		prev = nil
	}
	if prev != nil && prev.Specs == len(c.Specs) && len(prev.Of) == len(c.Labels) {
		return prev
	}
	keys := selectorKeys(prev, c.Specs)
	p := &model.Projection{First: firstSpec(c), Specs: len(c.Specs), Keys: keys, Index: map[string]int32{}}
	if prev != nil && slices.Equal(prev.Keys, keys) {
		p.Of = slices.Clone(prev.Of)
		p.Sets = slices.Clone(prev.Sets)
		for i, s := range p.Sets {
			p.Index[s.Key] = int32(i)
		}
	}
	var b strings.Builder
	for _, set := range c.Labels[len(p.Of):] {
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
		id, ok := p.Index[b.String()]
		if !ok {
			id = int32(len(p.Sets))
			p.Index[b.String()] = id
			p.Sets = append(p.Sets, model.ProjectedLabels{Key: b.String(), Labels: kept})
		}
		p.Of = append(p.Of, id)
	}
	return p
}

// isOf reports whether the projection was made from an earlier view of the same
// tables: they only grow, and entries are never replaced.
func isOf(p *model.Projection, c model.Contents) bool {
	return p.First == firstSpec(c) && p.Specs <= len(c.Specs) && len(p.Of) <= len(c.Labels)
}

func firstSpec(c model.Contents) *model.Spec {
	if len(c.Specs) == 0 {
		return nil
	}
	return c.Specs[0]
}

// selectorKeys are the label keys that any spec's scheduling selectors read,
// sorted. A spec that no pod has any more still counts: that can only split a
// class in two, which costs time and no exactness.
func selectorKeys(prev *model.Projection, specs []*model.Spec) []string {
	var keys []string
	from := 0
	if prev != nil && prev.Specs <= len(specs) {
		keys = slices.Clone(prev.Keys)
		from = prev.Specs
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
	contents model.Contents
	proj     *model.Projection
	seen     map[model.ClassKey]model.ClassID
	list     []model.Class
}

func (c *classes) key(p model.Content, terminating bool) model.ClassKey {
	return model.ClassKey{Spec: p.Spec, Labels: c.proj.Of[p.Labels], Terminating: terminating}
}

func (c *classes) add(k model.ClassKey) model.ClassID {
	if id, ok := c.seen[k]; ok {
		return id
	}
	id := model.ClassID(len(c.list))
	c.seen[k] = id
	spec := c.contents.Specs[k.Spec]
	key := spec.Key + "/" + c.proj.Sets[k.Labels].Key
	if k.Terminating {
		key += "/terminating"
	}
	c.list = append(c.list, model.Class{
		Key: key, Spec: spec, Labels: c.proj.Sets[k.Labels].Labels, Terminating: k.Terminating,
	})
	return id
}

// sorted puts the classes in order of content and returns how the ids given
// before map to the final ones.
func (c *classes) sorted() ([]model.Class, []model.ClassID) {
	order := make([]model.ClassID, len(c.list))
	for i := range order {
		order[i] = model.ClassID(i)
	}
	slices.SortFunc(order, func(a, b model.ClassID) int { return cmp.Compare(c.list[a].Key, c.list[b].Key) })
	final := make([]model.ClassID, len(order))
	list := make([]model.Class, len(order))
	for i, old := range order {
		final[old] = model.ClassID(i)
		list[i] = c.list[old]
	}
	return list, final
}
