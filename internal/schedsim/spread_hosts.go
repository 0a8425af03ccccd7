package schedsim

import (
	"encoding/binary"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// byHost spreads over nodes each of which is a domain of its own. Open nodes are filled as far as
// the plugins allow before another one is opened: one more node lowers the minimum that all others
// are measured by.
type byHost struct {
	spreader
	pens  []pen
	penOf map[string]int // by what one answer holds for
	order []int
	sizes []int
	key   []byte
}

// pen is a number of nodes with room that one answer holds for: those of one region with the same
// counts of the pods that matter, on the host and in all.
type pen struct {
	nodes  []int // first in, first out
	region int32
}

func (s *byHost) run(on NodeSet) {
	first := len(s.w.nodes)
	s.openEmptyDomains()
	for again := true; again; again = s.dropUnused() {
		s.pens, s.penOf = nil, map[string]int{}
		for i := range s.w.nodes {
			if s.may(i, on) || i >= first {
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
		if s.o.opens(s.w, s.heads[h].Template.Shape) {
			s.open(h)
		}
	}
}

// keep puts a node into its pen, if it may have room.
func (s *byHost) keep(i int) {
	if !s.w.usable(s.class, i) {
		return
	}
	region := s.o.regions.of(s.w, s.w.nodes[i].shape)
	s.key = binary.AppendVarint(s.key[:0], int64(region))
	d := s.w.hostOf(i)
	for _, c := range s.o.hosts {
		count := int32(-1)
		if d >= 0 {
			count = c.at(d)
		}
		s.key = binary.AppendVarint(s.key, int64(count))
	}
	if !s.o.ownHosts || !s.o.class.plain || s.o.class.asks {
		s.key = binary.AppendVarint(s.key, int64(i))
	}
	p, ok := s.penOf[string(s.key)]
	if !ok {
		p = len(s.pens)
		s.penOf[string(s.key)] = p
		s.pens = append(s.pens, pen{region: region})
	}
	s.pens[p].nodes = append(s.pens[p].nodes, i)
}

// onOpen places one pod on a node that is there: in the region with the fewest pods that
// count, and there on the node with the fewest. Where affinity draws them together, the
// most in place of the fewest.
func (s *byHost) onOpen() bool {
	s.order, s.sizes = s.order[:0], s.sizes[:0]
	for p := range s.pens {
		weight := 0
		if list := s.pens[p].nodes; len(list) > 0 {
			s.order = append(s.order, p)
			weight = s.o.hostWeight(s.w, list[0])
		}
		s.sizes = append(s.sizes, weight)
	}
	if len(s.order) == 0 {
		return false
	}
	s.w.Looked(len(s.pens))
	s.w.prefer(s.class, s.order, s.sizes)
	if len(s.o.class.keys) > 0 {
		for p := range s.pens {
			s.sizes[p] = s.o.regionWeight(s.pens[p].region)
		}
		s.w.prefer(s.class, s.order, s.sizes)
	}
	for _, p := range s.order {
		i := s.pens[p].nodes[0]
		if s.w.reach(s.class, i) == nil {
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
func (s *byHost) onNew() bool { return s.onOpened(true) || s.onOpened(false) }

func (s *byHost) onOpened(found bool) bool {
	s.found = found
	order := s.fit
	if len(s.o.class.keys) > 0 {
		order = slices.Clone(order)
		weight := make([]int, len(s.heads))
		for _, h := range order {
			weight[h] = s.o.regionWeight(s.regionOf(h))
		}
		s.w.prefer(s.class, order, weight)
	}
	refused := map[int32]bool{} // regions in which one new node is as good as another
	for _, h := range order {
		region := s.regionOf(h)
		if refused[region] {
			continue
		}
		from := len(s.opened)
		i, ok := s.open(h)
		if !ok {
			continue
		}
		if s.w.usable(s.class, i) {
			if s.w.reach(s.class, i) == nil {
				s.put(i)
				for _, o := range s.opened[from:] {
					s.keep(o.node)
				}
				return true
			}
			refused[region] = s.o.class.plain && s.o.hostWeight(s.w, i) == 0
		}
		s.close()
	}
	return false
}

func (s *byHost) regionOf(h int) int32 { return s.o.regions.of(s.w, s.heads[h].Template.Shape) }

// MostPerHost estimates how many pods of a class its spread constraints over hostnames let onto a
// node that is opened now: as many more than on the node that will end with the fewest as the skew
// allows. It is for comparing groups; the plugins decide what a node takes.
func (w *World) MostPerHost(c model.ClassID) int {
	most := math.MaxInt
	class := w.class(c)
	if class.coupling != single {
		return most
	}
	if class.broken {
		return most
	}
	o := w.outlook(c)
	for k := range o.spread {
		s := &o.spread[k]
		if s.scope.topology.key != corev1.LabelHostname || s.self == 0 {
			continue
		}
		if level, ok := w.level(c, s); ok {
			most = min(most, level+s.most)
		}
	}
	return most
}

// level is the least that a node will have of the pods that a spread constraint
// over hostnames counts, when all nodes that are there are full; not ok where
// there are none that it counts.
func (w *World) level(c model.ClassID, s *skew) (level int, ok bool) {
	least := s.least(w)
	for i := range w.nodes {
		if ok && level <= least {
			break // no node has less
		}
		if w.nodes[i].gone || !s.scope.counts(w, i) {
			continue
		}
		count := int(s.at(w.hostOf(i)))
		if w.usable(c, i) {
			count += w.classes[c].count(&w.nodes[i].free)
		}
		if !ok || count < level {
			level = count
		}
		ok = true
	}
	if s.scope.domains < s.minDomains && s.minDomains > 1 {
		return 0, true
	}
	return level, ok
}
