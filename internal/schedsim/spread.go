package schedsim

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Head is a template that a spreading may open nodes of.
type Head struct {
	Template Template
	// Landing, if set, is that of the template's group, and Variant which of its variants this is.
	// All variants of a group are heads, also those of no use to the class (Passing): the cloud may
	// have to make them first. Where the cloud's rule reaches none of those that are of use, one
	// node is opened in the hope that the cloud departs from the rule (Hoped).
	Landing *Landing
	Variant int
	Passing bool
	Hoped   bool
}

// Spreading is the result of Spread.
type Spreading struct {
	Put []Put
	// Opened counts the new nodes by head; Refused tells for which heads a
	// node was wanted and not allowed.
	Opened  []int
	Refused []bool
	Left    int
	// Enough is false where the steps ran out before the pods.
	Enough bool
}

// Spread places pods of a class one by one, where verdicts depend on whole
// topology domains: onto nodes of the given sets, and onto new nodes opened
// from heads, the earlier head of a domain first. Allow is asked before each
// new node, with the counts opened so far; nil forbids all.
//
// For a spread constraint, domains that have no node yet take part from the
// start (rule C4): one node is opened in each, and dropped at the end if
// nothing was put there; what is left is then tried again without it. A
// hostname is no such domain: there is always one more to open, and one that
// is not needed would only hold back the others.
func (w *World) Spread(c model.ClassID, count int, on NodeSet, heads []Head, allow func(head int, opened []int) bool,
	steps int) Spreading {
	s := w.spreader(c, count, heads, allow, steps)
	s.run(on)
	return *s.out
}

func (w *World) spreader(c model.ClassID, count int, heads []Head, allow func(head int, opened []int) bool,
	steps int) *spreader {
	return &spreader{w: w, class: c, heads: heads, allow: allow, limit: w.work.Steps + steps, used: map[int]bool{},
		out: &Spreading{Opened: make([]int, len(heads)), Refused: make([]bool, len(heads)), Left: count, Enough: true}}
}

func (s *spreader) run(on NodeSet) {
	c, w := s.class, s.w
	if w.classes[c].unsupported != "" || s.out.Left == 0 || w.class(c).broken {
		return
	}
	s.o = w.outlook(c)
	for h := range s.heads {
		if !s.heads[h].Passing && w.Suits(c, s.heads[h].Template) {
			s.fit = append(s.fit, h)
		}
	}
	if w.class(c).coupling == single {
		(&byHost{spreader: *s}).run(on)
	} else {
		(&byDomain{spreader: *s, vain: map[int]bool{}}).run(on)
	}
}

// Settle is Spread for a class to which every node is a domain of its own: a
// node that is opened late would hold back those before it, whose counts it
// lowers the minimum for. So the nodes that a first run opens are there from
// the start of the next, until one run needs no more.
func (w *World) Settle(c model.ClassID, count int, on NodeSet, heads []Head, allow func(head int, opened []int) bool,
	steps int) Spreading {
	if w.class(c).coupling != single {
		return w.Spread(c, count, on, heads, allow, steps)
	}
	before := make([]int, len(heads))
	for {
		m := w.Mark()
		for h, n := range before {
			w.AddNodes(heads[h].Template, n)
		}
		from := w.work.Steps
		more := func(h int, opened []int) bool {
			return allow != nil && allow(h, sum(opened, before))
		}
		out := w.Spread(c, count, on, heads, more, steps)
		steps -= w.work.Steps - from
		if slices.Max(append(out.Opened, 0)) == 0 || !out.Enough {
			w.dropEmpty(m, c, before)
			out.Opened = sum(out.Opened, before)
			return out
		}
		w.Undo(m)
		before = sum(before, out.Opened)
	}
}

func sum(a, b []int) []int {
	out := slices.Clone(a)
	for i, n := range b {
		out[i] += n
	}
	return out
}

// dropEmpty drops the nodes added since the mark that no pod of the class is
// on, and counts them off.
func (w *World) dropEmpty(m Mark, c model.ClassID, counts []int) {
	i := m.nodes
	for h := range counts {
		for range counts[h] {
			if countOf(w.nodes[i].batches, c) == 0 && w.Spares(Node(i)) {
				w.Drop(Node(i))
				counts[h]--
			}
			i++
		}
	}
}

// spreader is what spreading over domains and over hosts have in common: the
// nodes that are opened, and the pods that are placed.
type spreader struct {
	w      *World
	class  model.ClassID
	o      *outlook
	heads  []Head
	fit    []int // the heads that suit the class
	owns   bool  // nodes that were bought for others are left alone
	allow  func(int, []int) bool
	out    *Spreading
	opened []openedNode
	used   map[int]bool // nodes that something was put on
	landed map[*Landing][]int
	limit  int
	found  bool // undecided nodes alone are opened: what is on its way comes before what would be bought
}

// exhausted reports whether the steps are used up, and notes it.
func (s *spreader) exhausted() bool {
	if s.w.work.Steps < s.limit && !s.w.Exhausted() {
		return false
	}
	s.out.Enough = false
	return true
}

// may reports whether a node that is there may be used.
func (s *spreader) may(i int, on NodeSet) bool {
	return s.w.nodes[i].kind&on != 0 && !(s.owns && s.w.forOthers(s.class, i))
}

func (s *spreader) put(i int) {
	s.w.put(i, s.class, 1)
	s.out.Left--
	if n := len(s.out.Put); n > 0 && s.out.Put[n-1].Node == Node(i) {
		s.out.Put[n-1].Count++
	} else {
		s.out.Put = append(s.out.Put, Put{Node(i), 1})
	}
	s.used[i] = true
}

// byDomain spreads over domains of many nodes each.
type byDomain struct {
	spreader
	regions       []region
	order, weight []int
	// vain are the heads whose new nodes have something of their own against the class, which no pod placed here changes.
	vain map[int]bool
}

// region is a part of the world that is one domain to the class: nodes in it
// that may have room, and the heads that open more.
type region struct {
	number int32
	nodes  []int
	heads  []int
}

func (s *byDomain) run(on NodeSet) {
	// 1. Where pods could go.
	s.findRegions(on)
	// 2. Domains without a node join in.
	for i := range s.regions {
		if r := &s.regions[i]; len(r.heads) > 0 && s.o.opens(s.w, s.heads[r.heads[0]].Template.Shape) {
			s.grow(r, 0)
		}
	}
	// 3. One pod at a time. Nodes that nothing was put on go again, and what is
	// left is tried without them.
	for again := true; again; again = s.dropUnused() {
		for s.out.Left > 0 && !s.exhausted() && s.one() {
		}
	}
	s.leaveRegions(on)
}

func (s *byDomain) findRegions(on NodeSet) {
	if s.takeRegions(on) {
		return
	}
	at := map[int32]int{}
	find := func(d int32) *region {
		i, ok := at[d]
		if !ok {
			i = len(s.regions)
			at[d] = i
			s.regions = append(s.regions, region{number: d})
		}
		return &s.regions[i]
	}
	for b := 0; b*blockSize < len(s.w.nodes); b++ {
		if !s.w.mayTake(b, s.o.class, on) {
			continue
		}
		none := true
		for i := b * blockSize; i < min(len(s.w.nodes), (b+1)*blockSize); i++ {
			if !s.may(i, on) || !s.w.usable(s.class, i) {
				continue
			}
			r := find(s.o.regions.of(s.w, s.w.nodes[i].shape))
			r.nodes, none = append(r.nodes, i), false
		}
		if none {
			s.w.tighten(b)
		}
	}
	for _, h := range s.fit {
		r := find(s.o.regions.of(s.w, s.heads[h].Template.Shape))
		r.heads = append(r.heads, h)
	}
}

// grow adds a node to a region: an undecided one of the first of its heads that has one, else a new one
// of the first that is allowed. None of its first tries is made; it returns which try it was, and -1 if
// there is none.
func (s *byDomain) grow(r *region, first int) int {
	for try := first; try < 2*len(r.heads); try++ {
		from, head := len(s.opened), r.heads[try%len(r.heads)]
		if s.vain[head] {
			continue
		}
		s.found = try < len(r.heads)
		if _, ok := s.open(head); !ok {
			continue
		}
		for _, o := range s.opened[from:] {
			if at := s.regionOf(o.head); at != nil {
				at.nodes = append(at.nodes, o.node)
			}
		}
		return try
	}
	return -1
}

// shrink takes back what grow has just done.
func (s *byDomain) shrink() {
	for _, o := range s.opened[s.opened[len(s.opened)-1].lead:] {
		if at := s.regionOf(o.head); at != nil {
			at.nodes = slices.DeleteFunc(at.nodes, func(i int) bool { return i == o.node })
		}
	}
	s.close()
}

func (s *byDomain) regionOf(head int) *region {
	for i := range s.regions {
		if slices.Contains(s.regions[i].heads, head) {
			return &s.regions[i]
		}
	}
	return nil
}

// one places one pod: in the domain with the fewest pods that count where a
// spread is wanted, in the fullest where affinity draws them together.
func (s *byDomain) one() bool {
	s.order, s.weight = s.order[:0], s.weight[:0]
	for i := range s.regions {
		s.order = append(s.order, i)
		s.weight = append(s.weight, s.o.regionWeight(s.regions[i].number))
	}
	s.w.prefer(s.class, s.order, s.weight)
	s.w.Looked(len(s.order))
	for _, i := range s.order {
		if s.tryRegion(&s.regions[i]) {
			return true
		}
	}
	return false
}

// tryRegion puts one pod onto a node of the region, an open one or a new one.
func (s *byDomain) tryRegion(r *region) bool {
	for k := 0; k < len(r.nodes); {
		i := r.nodes[k]
		if !s.w.usable(s.class, i) {
			r.nodes = slices.Delete(r.nodes, k, k+1) // it fills up, and never empties
			continue
		}
		no := s.w.reach(s.class, i)
		if no == nil {
			s.put(i)
			return true
		}
		if no.region {
			return false // new nodes included
		}
		k++
	}
	for try := s.grow(r, 0); try >= 0; try = s.grow(r, try+1) {
		last := s.opened[len(s.opened)-1]
		no := s.w.check(s.class, last.node)
		if no == nil {
			s.put(last.node)
			return true
		}
		alone := last.lead == len(s.opened)-1
		s.shrink()
		switch {
		case !alone || s.found: // pods on it may be what is in the way, or nodes that the cloud makes first elsewhere
		case no.region:
			return false // pods elsewhere have as much against the other heads' nodes
		default:
			s.vain[last.head] = true
		}
	}
	return false
}

// Domains counts the topology domains that the class's spread constraints
// count, as the world is now; zero for a class without any. A node that is
// added later in a domain of its own changes what the class was told.
func (w *World) Domains(c model.ClassID) int {
	n := 0
	if !w.class(c).broken && w.class(c).coupling >= domain {
		for _, s := range w.outlook(c).spread {
			n += s.scope.domains
		}
	}
	return n
}

// Idle lists the planned nodes on which nothing was placed but the pods that they start with.
func (w *World) Idle() []Node {
	busy := map[int]bool{}
	for _, p := range w.journal {
		busy[p.node] = true
	}
	var idle []Node
	for i := len(w.snap.Nodes); i < len(w.nodes); i++ {
		if !w.nodes[i].gone && !busy[i] {
			idle = append(idle, Node(i))
		}
	}
	return idle
}
