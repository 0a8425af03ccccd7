package schedsim

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// byHost spreads over nodes each of which is a domain of its own. Open nodes are filled as far as
// the plugins allow before another one is opened: one more node lowers the minimum that all others
// are measured by.
type byHost struct {
	spreader
	pens  []pen
	penOf map[int32]int // by what one answer holds for
	order []int
	sizes []int
}

// pen is a number of nodes with room that one answer holds for: all of one kind
// where the view folds them, else a single one.
type pen struct {
	nodes  []int // first in, first out
	weight int   // pods that matter on each
	domain int32
}

func (s *byHost) run(on NodeSet) {
	first := len(s.w.nodes)
	if len(s.w.classes[s.class].spreadKeys) > 0 {
		s.openEmptyDomains()
	}
	for again := true; again; again = s.dropUnused() {
		s.pens, s.penOf = nil, map[int32]int{}
		for i := range s.w.nodes {
			if s.w.nodes[i].kind&on != 0 || i >= first {
				s.keep(i)
			}
		}
		for s.out.Left > 0 && !s.exhausted() && (s.onOpen() || s.onNew()) {
		}
	}
}

// openEmptyDomains opens a node in each domain of the class's other spread keys
// that has none.
func (s *byHost) openEmptyDomains() {
	for _, h := range s.fit {
		if s.v.domains[s.v.domain(s.w, s.heads[h].Template.Shape)].nodes == 0 {
			s.open(h)
		}
	}
}

// keep puts a node into its pen, if it may have room.
func (s *byHost) keep(i int) {
	if !s.w.usable(s.class, i) {
		return
	}
	kind := int32(i)
	if s.v.fold != nil {
		kind = s.v.fold.kindOf[i]
	}
	p, ok := s.penOf[kind]
	if !ok {
		p = len(s.pens)
		s.penOf[kind] = p
		s.pens = append(s.pens, pen{domain: s.v.domainOf[i]})
	}
	s.pens[p].weight = s.v.nodeWeight(&s.w.nodes[i])
	s.pens[p].nodes = append(s.pens[p].nodes, i)
}

// onOpen places one pod on a node that is there: in the domain of other keys with
// the fewest pods that count, and there on the node with the fewest. Where
// affinity draws them together, the most in place of the fewest.
func (s *byHost) onOpen() bool {
	s.order, s.sizes = s.order[:0], s.sizes[:0]
	for p := range s.pens {
		s.sizes = append(s.sizes, s.pens[p].weight)
		if len(s.pens[p].nodes) > 0 {
			s.order = append(s.order, p)
		}
	}
	if len(s.order) == 0 {
		return false
	}
	s.w.prefer(s.class, s.order, s.sizes)
	if len(s.v.keys) > 0 {
		for p := range s.pens {
			s.sizes[p] = s.v.weight(s.pens[p].domain)
		}
		s.w.prefer(s.class, s.order, s.sizes)
	}
	q := s.v.raise(s.w)
	for _, p := range s.order {
		i := s.pens[p].nodes[0]
		if s.w.answer(&q, s.v.target(s.w, i)) == nil {
			s.pens[p].nodes = s.pens[p].nodes[1:]
			s.put(i)
			s.keep(i)
			return true
		}
	}
	return false
}

// onNew places one pod on a node that is opened for it, of the first head whose
// node takes it.
func (s *byHost) onNew() bool {
	order := s.fit
	if len(s.v.keys) > 0 {
		order = slices.Clone(order)
		weight := make([]int, len(s.heads))
		for _, h := range order {
			weight[h] = s.v.weight(s.v.domain(s.w, s.heads[h].Template.Shape))
		}
		s.w.prefer(s.class, order, weight)
	}
	refused := map[int32]bool{} // domains in which one new node is as good as another
	for _, h := range order {
		d := s.v.domain(s.w, s.heads[h].Template.Shape)
		if refused[d] {
			continue
		}
		from := len(s.opened)
		i, ok := s.open(h)
		if !ok {
			continue
		}
		if s.w.usable(s.class, i) {
			q := s.v.raise(s.w)
			if s.w.answer(&q, s.v.target(s.w, i)) == nil {
				s.put(i)
				for _, o := range s.opened[from:] {
					s.keep(o.node)
				}
				return true
			}
			refused[d] = s.w.classes[s.class].plain && s.v.nodeWeight(&s.w.nodes[i]) == 0
		}
		s.close()
	}
	return false
}

// MostPerHost estimates how many pods of a class its spread constraints over hostnames let onto a
// node that is opened now: as many more than on the node that will end with the fewest as the skew
// allows. It is for comparing groups; the plugins decide what a node takes.
func (w *World) MostPerHost(c model.ClassID) int {
	most := math.MaxInt
	class := w.class(c)
	if class.coupling != single {
		return most
	}
	for i := range class.spec.TopologySpreadConstraints {
		s := &class.spec.TopologySpreadConstraints[i]
		if s.TopologyKey != corev1.LabelHostname {
			continue
		}
		selector, err := spreadSelector(class.labels, s)
		if err != nil || !selector.Matches(labels.Set(class.labels)) {
			continue
		}
		if level, ok := w.view(c).level(w, s, selector); ok {
			most = min(most, level+int(s.MaxSkew))
		}
	}
	return most
}

// level is the least that a node will have of the pods that a spread constraint
// over hostnames counts, when all nodes that are there are full; not ok where
// there are none that it counts.
func (v *view) level(w *World, s *corev1.TopologySpreadConstraint, selector labels.Selector) (level int, ok bool) {
	matches := make([]bool, len(v.relevant))
	for j, r := range v.relevant {
		matches[j] = r.counted && selector.Matches(labels.Set(w.classes[r.class].labels))
	}
	nodes := 0
	for i := range w.nodes {
		n := &w.nodes[i]
		if n.gone || !v.domains[v.domainOf[i]].counted {
			continue
		}
		count := 0
		for _, b := range n.batches {
			if slot := v.sorts.slot(b.Class); slot >= 0 && matches[slot] {
				count += b.Count
			}
		}
		if w.usable(v.class, i) {
			count += w.classes[v.class].count(&n.free)
		}
		if nodes == 0 || count < level {
			level = count
		}
		nodes++
	}
	if s.MinDomains != nil && nodes < int(*s.MinDomains) {
		return 0, true
	}
	return level, nodes > 0
}
