package schedsim

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file has what was done to a world since a mark as a value, which can be done again after it was undone.

// Layout is the nodes that were added since a mark and stayed, and what was placed, in order.
type Layout struct {
	Nodes []Template
	Pods  []Placed
}

// Placed is a number of pods on one node: Node, which was there, or the Added-th of the layout's nodes.
type Placed struct {
	Class model.ClassID
	Node  Node
	Added int // -1 for a node that was there
	Count int
	Early bool // it was placed before any node was planned
}

// Since is what was done since a mark, as far as growth does it. What undecided nodes have become that are on their way
// is not in it.
func (w *World) Since(m Mark) Layout {
	var l Layout
	added := make([]int, len(w.nodes)-m.nodes)
	for i := m.nodes; i < len(w.nodes); i++ {
		if n := &w.nodes[i]; !n.gone {
			added[i-m.nodes] = len(l.Nodes)
			l.Nodes = append(l.Nodes, Template{Group: n.group, Shape: n.shape, Pods: n.starts, May: n.may})
		}
	}
	for _, p := range w.journal[m.journal:] {
		put := Placed{Class: p.class, Node: Node(p.node), Added: -1, Count: p.count, Early: p.early}
		if p.node >= m.nodes {
			put.Node, put.Added = 0, added[p.node-m.nodes]
		}
		l.Pods = append(l.Pods, put)
	}
	return l
}

// Lay does again what a layout has, in a world as it was before. First is the first node that it adds.
func (w *World) Lay(l Layout) (first Node) {
	for _, p := range l.Pods {
		if p.Early {
			w.put(int(p.Node), p.Class, p.Count)
		}
	}
	first = Node(len(w.nodes))
	for _, t := range l.Nodes {
		w.AddNodes(t, 1)
	}
	for _, p := range l.Pods {
		switch {
		case p.Early:
		case p.Added >= 0:
			w.put(int(first)+p.Added, p.Class, p.Count)
		default:
			w.put(int(p.Node), p.Class, p.Count)
		}
	}
	return first
}

// PutOn puts up to count pods of a class onto one node, as many as fit, and returns how many these are. Nowhere is true
// if no node in the same topology domains takes another one.
func (w *World) PutOn(c model.ClassID, id Node, count int) (n int, nowhere bool) {
	i := int(id)
	if !w.usable(c, i) {
		return 0, false
	}
	if w.class(c).coupling < domain {
		n, _ = w.fill(c, i, count)
		return n, false
	}
	for ; n < count; n++ {
		if no := w.check(c, i); no != nil {
			return n, no.region
		}
		w.put(i, c, 1)
	}
	return n, false
}

// RegionKeys are the label keys of the topology domains, other than hosts, that the verdict on a pod of the class
// reads, and of those in which others count it; none for one that is a matter of nodes alone. They are known of
// classes that have been asked about.
func (w *World) RegionKeys(c model.ClassID) string {
	var keys []string
	if class := w.class(c); class.coupling >= domain {
		keys = slices.Clone(class.keys)
	}
	for _, counter := range w.counters.fed[c] {
		if key := counter.scope.topology.key; key != corev1.LabelHostname {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return strings.Join(slices.Compact(keys), keySeparator)
}

const keySeparator = "\x00"

// Region is a number for the topology domains of RegionKeys that nodes of a shape are in.
func (w *World) Region(keys string, s model.ShapeID) int32 {
	return w.regions(strings.Split(keys, keySeparator)).of(w, s)
}

// Open reports whether it is undecided what some nodes on their way are.
func (w *World) Open() bool { return len(w.loose) > 0 }

// CountsHosts reports whether the class's verdict on a node depends on pods on other hosts.
func (w *World) CountsHosts(c model.ClassID) bool { return w.class(c).coupling == single }
