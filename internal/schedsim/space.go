package schedsim

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file finds terms and classes by namespace. Where each tenant calls its app the same, a label alone
// finds all tenants for each of them.

// place is what terms say of namespaces in the same words: a name, or a selector of namespaces.
type place struct {
	selector labels.Selector // nil for a name
	// antis are the anti-affinity terms by one label that pods must have for them
	// to match; those that no label is needed for are under no label.
	antis map[label][]*term
}

// spaces are the namespaces of bonds, with the terms and the classes that are about each.
type spaces struct {
	labels    map[string]map[string]string // by namespace
	named     map[string]*place
	selecting map[string]*place  // by the selector in words
	wanting   map[label][]*place // those that select, by a label that a namespace must have
	around    map[string][]*place
	labelled  map[label][]string // namespaces; made when first asked for
	members   map[string][]model.ClassID
	keyed     map[string]map[label][]model.ClassID // by namespace: the classes that have a key
	valued    map[string]map[label][]model.ClassID // those that have a value of it
}

// everySpace is no namespace's name: what is known of all of them.
const everySpace = ""

func newSpaces(namespaces map[string]map[string]string) spaces {
	return spaces{
		labels: namespaces, named: map[string]*place{}, selecting: map[string]*place{}, wanting: map[label][]*place{},
		around: map[string][]*place{}, keyed: map[string]map[label][]model.ClassID{},
		valued: map[string]map[label][]model.ClassID{},
	}
}

// register takes in an anti-affinity term.
func (s *spaces) register(t *term) {
	add := func(p *place) {
		for _, l := range needed(t.Selector) {
			p.antis[l] = append(p.antis[l], t)
		}
	}
	for name := range t.Namespaces {
		p, ok := s.named[name]
		if !ok {
			p = &place{antis: map[label][]*term{}}
			s.named[name] = p
		}
		add(p)
	}
	if _, selects := t.NamespaceSelector.Requirements(); !selects {
		return
	}
	words := t.NamespaceSelector.String()
	p, ok := s.selecting[words]
	if !ok {
		p = &place{selector: t.NamespaceSelector, antis: map[label][]*term{}}
		s.selecting[words] = p
		for _, l := range needed(t.NamespaceSelector) {
			s.wanting[l] = append(s.wanting[l], p)
		}
	}
	add(p)
}

// places are those with terms that are about a namespace.
func (b *bonds) places(namespace string) []*place {
	s := &b.spaces
	found, ok := s.around[namespace]
	if ok {
		return found
	}
	own := s.labels[namespace]
	look := func(l label) {
		for _, p := range s.wanting[l] {
			b.steps++
			if p.selector.Matches(labels.Set(own)) {
				found = append(found, p)
			}
		}
	}
	if p := s.named[namespace]; p != nil {
		found = append(found, p)
	}
	look(label{})
	for k, v := range own {
		look(label{key: k, value: v})
		look(label{key: k, any: true})
	}
	s.around[namespace] = found
	return found
}

// namespacesOf lists those that a term may be about, each once; everySpace alone where it is about all.
func (b *bonds) namespacesOf(t *term) []string {
	names := t.Namespaces.UnsortedList()
	if _, selects := t.NamespaceSelector.Requirements(); selects {
		s := &b.spaces
		if s.labelled == nil {
			s.labelled = map[label][]string{}
			for name, own := range s.labels {
				for k, v := range own {
					s.labelled[label{key: k, value: v}] = append(s.labelled[label{key: k, value: v}], name)
					s.labelled[label{key: k, any: true}] = append(s.labelled[label{key: k, any: true}], name)
				}
			}
		}
		for _, l := range needed(t.NamespaceSelector) {
			if l == (label{}) {
				return []string{everySpace}
			}
			names = append(names, s.labelled[l]...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// membersOf are the classes of a namespace, or of all.
func (b *bonds) membersOf(namespace string) []model.ClassID {
	s := &b.spaces
	if s.members == nil {
		s.members = map[string][]model.ClassID{}
		for i := range b.classes {
			own := b.classes[i].pod.Namespace
			s.members[own] = append(s.members[own], model.ClassID(i))
			s.members[everySpace] = append(s.members[everySpace], model.ClassID(i))
		}
		b.steps += len(b.classes)
	}
	return s.members[namespace]
}

// having are the classes of a namespace, or of all, that have a label. The lists by value cost most where each class
// has one of its own, and few selectors ask for them there: they are made when the first one does.
func (b *bonds) having(namespace string, l label) []model.ClassID {
	if l == (label{}) {
		return b.membersOf(namespace)
	}
	lists, looks := b.spaces.keyed, 1
	if !l.any {
		lists, looks = b.spaces.valued, looksPerValue
	}
	found, ok := lists[namespace]
	if ok {
		return found[l]
	}
	found = map[label][]model.ClassID{}
	for _, id := range b.membersOf(namespace) {
		for k, v := range b.classes[id].labels {
			at := label{key: k, any: true}
			if !l.any {
				at = label{key: k, value: v}
			}
			found[at] = append(found[at], id)
		}
		b.steps += len(b.classes[id].labels) * looks
	}
	lists[namespace] = found
	return found[l]
}

// looksPerValue is how many looks it takes to put a class onto a list of those with the same values.
const looksPerValue = 4
