package schedsim

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	operator "k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file finds how classes affect each other's verdicts. Nothing here compares all pairs: a
// selector finds the classes that it can match by one of its requirements, equal selectors are
// evaluated once, and a class is coupled at the first question about it.

// class is a class's traits, and how the classes around it couple it.
type class struct {
	*traits
	id       model.ClassID
	coupled  bool
	coupling coupling
	// asks: the plugins alone say where it may go, before all nodes (AskPlugins).
	asks bool
	// keys are the topology keys, other than the hostname, that the class's
	// verdict depends on; sorted.
	keys []string
	// conflicts are the classes that it cannot share a host with, itself perhaps included; by
	// anti-affinity, which is asked of each pair of classes as the plugin asks it, or by ports. For
	// ports it only refuses: the plugins alone accept.
	conflicts *classSet
	parted    bool // conflicts are known
	alone     bool // it is one of them itself
	// against are the anti-affinity terms, of any class, that match it.
	against []*term
}

// selection is a term of affinity or anti-affinity, or a selector of a spread
// constraint. Equal ones have the same name.
type selection struct {
	fwk.AffinityTerm
	name string
}

func selectionOf(t fwk.AffinityTerm) selection {
	var b strings.Builder
	b.WriteString(t.TopologyKey)
	for _, ns := range sets.List(t.Namespaces) {
		b.WriteByte(0)
		b.WriteString(ns)
	}
	for _, s := range []labels.Selector{t.NamespaceSelector, t.Selector} {
		// What matches nothing and what matches everything are written alike.
		_, selects := s.Requirements()
		fmt.Fprintf(&b, "\x00\x00%t %s", selects, s)
	}
	return selection{t, b.String()}
}

// term is a selection as a set of classes knows it.
type term struct {
	*selection
	id      int
	holders []model.ClassID // those that have it as an anti-affinity term
	found   bool
	matches []model.ClassID // those that it matches, once found
	staying []model.ClassID // those of them that a spread constraint counts; nil before it was asked
}

// bonds is how the classes of a world affect each other's verdicts. It depends on the classes, the
// namespaces and whether nodes share hostnames, and is kept from world to world while those stay
// the same.
type bonds struct {
	classes []class
	spaces  spaces
	apart   coupling // of anti-affinity over hostnames
	terms   map[string]*term
	ports   map[hostPort][]model.ClassID
	sets    map[string]*classSet // by the terms that bind classes, which share them
	kin     map[string]*kin      // by a namespace and the keys of labels
	steps   int                  // selectors compared with labels
}

// label is a label's key and value, or a key alone.
type label struct {
	key, value string
	any        bool // whatever the value
}

type hostPort struct {
	port     int32
	protocol corev1.Protocol
}

// bind finds the traits of the snapshot's classes and their bonds. It takes over what it can from
// an earlier world.
func (w *World) bind(prev *World) {
	s := w.snap
	w.known = make(map[string]*traits, len(s.Classes))
	w.classes = make([]class, len(s.Classes))
	f := families{first: map[string]*traits{}}
	for i := range s.Classes {
		var t *traits
		if prev != nil {
			t = prev.known[s.Classes[i].Key]
		}
		if t == nil {
			t = f.traits(&s.Classes[i])
		} else if name := t.family.name; name != "" && f.first[name] == nil {
			f.first[name] = t
		}
		if t.refused == model.FilterPanicked {
			w.panicked = append(w.panicked, Panicked{model.ClassID(i), t.unsupported})
		}
		w.known[s.Classes[i].Key] = t
		w.classes[i].traits, w.classes[i].id = t, model.ClassID(i)
	}
	apart := host
	w.ownNames = ownHostnames(prev, s)
	if !w.ownNames && sharedHostname(s) {
		apart = single
	}
	if prev != nil && prev.bonds.apart == apart && sameNamespaces(prev.bonds.spaces.labels, s.Namespaces) &&
		slices.EqualFunc(prev.classes, w.classes, func(a, b class) bool { return a.traits == b.traits }) {
		w.bonds, w.classes = prev.bonds, prev.classes
		return
	}
	w.bonds = newBonds(w.classes, s.Namespaces, apart)
}

func newBonds(classes []class, namespaces map[string]map[string]string, apart coupling) *bonds {
	b := &bonds{
		classes: classes, spaces: newSpaces(namespaces), apart: apart, terms: map[string]*term{},
		ports: map[hostPort][]model.ClassID{}, sets: map[string]*classSet{}, kin: map[string]*kin{},
	}
	for i := range classes {
		id := model.ClassID(i)
		for j := range classes[i].anti {
			t := b.term(&classes[i].anti[j])
			if len(t.holders) == 0 {
				b.spaces.register(t)
			}
			if n := len(t.holders); n == 0 || t.holders[n-1] != id {
				t.holders = append(t.holders, id)
			}
		}
		for _, p := range classes[i].spec.Containers[0].Ports {
			key := hostPort{p.HostPort, protocol(p)}
			b.ports[key] = append(b.ports[key], id)
		}
	}
	return b
}

func (b *bonds) term(s *selection) *term {
	t, ok := b.terms[s.name]
	if !ok {
		t = &term{selection: s, id: len(b.terms)}
		b.terms[s.name] = t
	}
	return t
}

// needed are labels of which a pod must have one for the selector to match; an empty list stands
// for every pod. A selector that matches nothing needs none that there is.
func needed(s labels.Selector) []label {
	requirements, selects := s.Requirements()
	if !selects {
		return nil
	}
	best := []label{{}}
	for _, r := range requirements {
		switch r.Operator() {
		case operator.In, operator.Equals, operator.DoubleEquals:
			var out []label
			for _, v := range r.Values().List() {
				out = append(out, label{key: r.Key(), value: v})
			}
			return out
		case operator.Exists, operator.GreaterThan, operator.LessThan:
			best = []label{{key: r.Key(), any: true}}
		}
	}
	return best
}

// matchesClass reports whether a term matches pods of a class.
func (b *bonds) matchesClass(t *selection, c *class) bool {
	b.steps++
	if t.Namespaces.Has(c.pod.Namespace) || t.NamespaceSelector.Matches(labels.Set(b.spaces.labels[c.pod.Namespace])) {
		return t.Selector.Matches(labels.Set(c.labels))
	}
	return false
}

// against lists the anti-affinity terms that match a class, in order of their
// numbers.
func (b *bonds) against(c *class) []*term {
	var out []*term
	for _, p := range b.places(c.pod.Namespace) {
		look := func(l label) {
			for _, t := range p.antis[l] {
				if b.matchesClass(t.selection, c) {
					out = append(out, t)
				}
			}
		}
		look(label{})
		for k, v := range c.labels {
			look(label{key: k, value: v})
			look(label{key: k, any: true})
		}
	}
	slices.SortFunc(out, func(x, y *term) int { return x.id - y.id })
	return slices.Compact(out) // a term that is about a namespace by its name and by its labels is found twice
}

// matches lists the classes that a term matches, in order.
func (b *bonds) matches(t *term) []model.ClassID {
	if t.found {
		return t.matches
	}
	t.found = true
	spaces := b.namespacesOf(t)
	if len(spaces) == 1 {
		if k := b.kinFor(spaces[0], t.Selector); k != nil {
			t.matches = b.matchKin(k, t.selection)
			return t.matches
		}
	}
	for _, space := range spaces {
		for _, l := range needed(t.Selector) {
			b.steps++
			for _, id := range b.having(space, l) {
				if b.matchesClass(t.selection, &b.classes[id]) {
					t.matches = append(t.matches, id)
				}
			}
		}
	}
	slices.Sort(t.matches)
	return t.matches
}

// class gives a class with all that couples it.
func (w *World) class(id model.ClassID) *class {
	c := &w.classes[id]
	if !c.coupled {
		before := w.bonds.steps
		w.bonds.couple(c)
		w.Looked(w.bonds.steps - before)
	}
	return c
}

// AskPlugins has the plugins alone say where pods of some classes may go, by the classes' keys: before all nodes, for
// each pod. What is divided and known of classes may still refuse a node, and lets no pod in.
func (w *World) AskPlugins(keys map[string]string) {
	for i := range w.classes {
		if _, ok := keys[w.snap.Classes[i].Key]; ok {
			c := w.class(model.ClassID(i))
			c.asks, c.coupling = true, single
		}
	}
}

// couple works out one class's coupling, from the terms of all classes, since
// anti-affinity is symmetric.
func (b *bonds) couple(c *class) {
	c.coupled, c.coupling, c.keys = true, c.reach, slices.Clone(c.topology)
	c.against = b.against(c)
	hosts := false
	note := func(key string) {
		if key == corev1.LabelHostname {
			hosts = true
			return
		}
		c.coupling = max(c.coupling, domain)
		c.keys = append(c.keys, key)
	}
	c.alone = portsConflict(c.spec, c.spec)
	for i := range c.anti {
		note(c.anti[i].TopologyKey)
		if c.anti[i].TopologyKey == corev1.LabelHostname && !c.alone {
			c.alone = b.matchesClass(&c.anti[i], c)
		}
	}
	for _, t := range c.against {
		note(t.TopologyKey)
	}
	if hosts {
		c.coupling = max(c.coupling, b.apart)
	}
	slices.Sort(c.keys)
	c.keys = slices.Compact(c.keys)
}

// conflicts gives the classes that a class cannot share a host with. They are found when they are first asked for,
// which takes a look at each class that its terms match: as a rule nothing else takes so many.
func (w *World) conflicts(c *class) *classSet {
	if !c.parted {
		before := w.bonds.steps
		c.parted, c.conflicts = true, w.bonds.conflicts(c)
		w.Looked(w.bonds.steps - before)
	}
	return c.conflicts
}

func (b *bonds) conflicts(c *class) *classSet {
	var name []byte
	var lists [][]model.ClassID
	for i := range c.anti {
		if c.anti[i].TopologyKey == corev1.LabelHostname {
			t := b.term(&c.anti[i])
			name = binary.AppendVarint(name, int64(t.id))
			lists = append(lists, b.matches(t))
		}
	}
	name = append(name, '/')
	for _, t := range c.against {
		if t.TopologyKey == corev1.LabelHostname {
			name = binary.AppendVarint(name, int64(t.id))
			lists = append(lists, t.holders)
		}
	}
	ports := c.spec.Containers[0].Ports
	if len(ports) > 0 {
		name = fmt.Appendf(name, "/%d", c.id)
	}
	for _, p := range ports {
		var same []model.ClassID
		for _, other := range b.ports[hostPort{p.HostPort, protocol(p)}] {
			b.steps++
			if portsConflict(c.spec, b.classes[other].spec) {
				same = append(same, other)
			}
		}
		lists = append(lists, same)
	}
	set, ok := b.sets[string(name)]
	if !ok {
		for _, list := range lists {
			b.steps += len(list) / 16 // each takes less than a look
		}
		set = newClassSet(lists, len(b.classes))
		b.sets[string(name)] = set
	}
	return set
}

// classSet is a set of classes: a list of few, or a bit for each class there is.
// The empty one is nil.
type classSet struct {
	few  []model.ClassID
	bits []uint64
}

const fewClasses = 16

func newClassSet(lists [][]model.ClassID, classes int) *classSet {
	var s classSet
	for _, list := range lists {
		for _, id := range list {
			s.add(id, classes)
		}
	}
	if s.few == nil && s.bits == nil {
		return nil
	}
	return &s
}

func (s *classSet) add(id model.ClassID, classes int) {
	if s.has(id) {
		return
	}
	if s.bits == nil {
		if s.few = append(s.few, id); len(s.few) <= fewClasses {
			return
		}
		s.bits = make([]uint64, (classes+63)/64)
		for _, x := range s.few {
			s.bits[x/64] |= 1 << (x % 64)
		}
		return
	}
	s.bits[id/64] |= 1 << (id % 64)
}

func (s *classSet) has(id model.ClassID) bool {
	switch {
	case s == nil:
		return false
	case s.bits != nil:
		return s.bits[id/64]&(1<<(id%64)) != 0
	}
	return slices.Contains(s.few, id)
}

// among are the members that are in a sorted list.
func (s *classSet) among(list []model.ClassID) (ids []model.ClassID) {
	switch {
	case s == nil:
		return nil
	case s.bits == nil:
		for _, id := range s.few {
			if _, found := slices.BinarySearch(list, id); found {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		return ids
	}
	for _, id := range list {
		if s.has(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ownHostnames reports whether the hostname label of each node is the node's name, as it is as a rule: names are
// unique. A node that the world before has found to be so is not looked at again: what is observed is never changed.
func ownHostnames(prev *World, s *model.Snapshot) bool {
	var known []*model.Node
	if prev != nil && prev.ownNames {
		known = prev.snap.Nodes
	}
	for i := range s.Nodes {
		o := s.Nodes[i].Object
		if o != nil && (i >= len(known) || known[i].Object != o) && o.Labels[corev1.LabelHostname] != o.Name {
			return false
		}
	}
	return true
}

// sharedHostname reports whether two nodes carry the same hostname label: a verdict on a hostname
// is then one on several nodes.
func sharedHostname(s *model.Snapshot) bool {
	seen := make(map[string]bool, len(s.Nodes))
	for i := range s.Nodes {
		if s.Nodes[i].Object == nil {
			continue
		}
		name, ok := s.Nodes[i].Object.Labels[corev1.LabelHostname]
		if ok && seen[name] {
			return true
		}
		seen[name] = ok
	}
	return false
}
