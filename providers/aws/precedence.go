package aws

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var nodeType = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}

// conflict is a label, taint or resource for which a tag and EKS have different
// values.
type conflict struct {
	what     string // "label/<key>" and so on
	tag, eks string
	winner   Precedence
}

func (c conflict) String() string {
	return fmt.Sprintf("%s: the ASG tag says %q, the EKS node group %q; by --aws-template-precedence=%s the %s holds",
		c.what, c.tag, c.eks, c.winner,
		map[Precedence]string{ASGTags: "tag", EKSAPI: "node group"}[c.winner])
}

// builder lays what EKS and the tags say over what the machine has, and notes
// where each value is from.
type builder struct {
	precedence Precedence
	sources    map[string]string
	conflicts  []conflict
}

// pick is the value that holds for something that a tag, EKS or both speak of.
// same reports whether two values mean the same, text gives one for a person.
func pick[V any](b *builder, what string, tag, eks *V, same func(a, b V) bool, text func(V) string) (V, string) {
	switch {
	case eks == nil:
		return *tag, sourceTag
	case tag == nil:
		return *eks, sourceEKS
	}
	if !same(*tag, *eks) {
		b.conflicts = append(b.conflicts, conflict{what, text(*tag), text(*eks), b.precedence})
	}
	if b.precedence == EKSAPI {
		return *eks, sourceEKS
	}
	return *tag, sourceTag
}

func (b *builder) labels(into map[string]string, n nodegroup, tags tagFacts) {
	all := maps.Clone(tags.labels)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, n.labels)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		var source string
		into[key], source = pick(b, "label/"+key, at(tags.labels, key), at(n.labels, key), equal, verbatim)
		if source == sourceEKS && slices.Contains(n.unreal, key) {
			source += " (the real nodes do not carry it)"
		}
		b.sources["label/"+key] = source
	}
}

// taints has no key and effect twice.
func (b *builder) taints(n nodegroup, tags tagFacts) []corev1.Taint {
	type slot struct {
		key    string
		effect corev1.TaintEffect
	}
	index := func(list []corev1.Taint) map[slot]string {
		out := map[slot]string{}
		for _, t := range list {
			out[slot{t.Key, t.Effect}] = t.Value
		}
		return out
	}
	fromTags, fromEKS := index(tags.taints), index(n.taints)
	all := maps.Clone(fromTags)
	maps.Copy(all, fromEKS)
	var out []corev1.Taint
	for s := range all {
		out = append(out, corev1.Taint{Key: s.key, Effect: s.effect})
	}
	slices.SortFunc(out, byKey)
	for i := range out {
		t := &out[i]
		s, what := slot{t.Key, t.Effect}, "taint/"+t.Key
		var source string
		t.Value, source = pick(b, what+":"+string(t.Effect), at(fromTags, s), at(fromEKS, s), equal, verbatim)
		if other := b.sources[what]; other != "" && other != source {
			source = other + "; " + string(t.Effect) + ": " + source // one key, two effects
		}
		b.sources[what] = source
	}
	return out
}

func (b *builder) resources(capacity, allocatable corev1.ResourceList, n nodegroup, tags tagFacts) {
	for _, name := range sortedNames(tags.resources, n.resources) {
		what := "resource/" + string(name)
		chosen, source := pick(b, what, at(tags.resources, name), at(n.resources, name),
			func(a, b amount) bool { return a.Cmp(b.Quantity) == 0 }, // 1Gi and 1024Mi are the same
			func(a amount) string { return a.text })
		if source == sourceEKS {
			source += " tag"
		}
		capacity[name], allocatable[name] = chosen.Quantity, chosen.Quantity
		b.sources[what] = source
	}
}

func at[K comparable, V any](m map[K]V, key K) *V {
	if v, ok := m[key]; ok {
		return &v
	}
	return nil
}

func equal(a, b string) bool   { return a == b }
func verbatim(s string) string { return s }
