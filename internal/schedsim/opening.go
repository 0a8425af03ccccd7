package schedsim

import "slices"

// This file is how a spreading opens nodes: new ones, or undecided ones that become
// what is wanted.

// openedNode is a node of a head. One that was decided existed before as undecided, and becomes
// undecided again if it is given up; lead is the first of the nodes that were opened together.
type openedNode struct {
	node, head int
	decided    bool
	was        Template // of one that was decided
	lead       int
}

// open has one more node of a head, and before it those that the cloud makes first;
// all of them, or none. It returns the node of the head.
func (s *spreader) open(h int) (node int, ok bool) {
	from := len(s.opened)
	for _, k := range s.first(h) {
		do := anyNode // on the way to the one that is wanted
		if k == h {
			do = s.roomAs(h)
		}
		if s.add(k, from, do) {
			continue
		}
		s.out.Refused[h] = s.out.Refused[h] || !s.found
		if len(s.opened) > from {
			s.close()
		}
		return 0, false
	}
	return s.opened[len(s.opened)-1].node, true
}

// dropUnused gives up nodes that nothing was put on, as far as the cloud could have
// put the others where they are without them.
func (s *spreader) dropUnused() bool {
	dropped := false
	for again := true; again; {
		again = false
		s.opened = slices.DeleteFunc(s.opened, func(o openedNode) bool {
			if s.used[o.node] || !s.lands(o.head, -1) {
				return false
			}
			s.forgo(o)
			again, dropped = true, true
			return true
		})
	}
	return dropped
}

// first lists the heads of which a node is opened, in order, so that the last is one
// of this head.
func (s *spreader) first(h int) []int {
	l := s.heads[h].Landing
	if l == nil {
		return []int{h}
	}
	variants, ok := l.First(s.landedOf(l), s.heads[h].Variant)
	if !ok {
		if s.heads[h].Hoped && s.maySurprise(h) {
			return []int{h}
		}
		return []int{-1}
	}
	var heads []int
	for _, v := range variants {
		heads = append(heads, slices.IndexFunc(s.heads, func(x Head) bool { return x.Landing == l && x.Variant == v }))
	}
	return append(heads, h)
}

// maySurprise reports whether one node may be opened in the hope that it lands elsewhere than the
// cloud's rule says: none has been opened so far, and of those on their way whose place is not
// observed yet, if there are any, one has room.
func (s *spreader) maySurprise(h int) bool {
	for _, n := range s.landedOf(s.heads[h].Landing) {
		if n > 0 {
			return false
		}
	}
	t := s.heads[h].Template
	return s.w.Undecided(t.Group) == 0 || s.w.undecided(t.Group, t.Shape, s.roomAs(h)) >= 0
}

func (s *spreader) landedOf(l *Landing) []int {
	if s.landed == nil {
		s.landed = map[*Landing][]int{}
	}
	if _, ok := s.landed[l]; !ok {
		s.landed[l] = s.w.Landed(l.Variants[0].Group)
	}
	return s.landed[l]
}

// roomAs reports whether a node could take a pod of the class if it became one of a head, as far as
// the pods on it allow.
func (s *spreader) roomAs(h int) func(*node) bool {
	return func(n *node) bool {
		as := *n
		as.batches, as.free = s.w.as(n, s.heads[h].Template)
		return s.w.classes[s.class].fits(&as.free) && !s.w.blocked(s.class, &as)
	}
}

// add gets a node of a head: a suitable undecided one, else a new one if that is allowed.
func (s *spreader) add(h, lead int, do func(*node) bool) bool {
	if h < 0 {
		return false
	}
	o := openedNode{head: h, lead: lead}
	head := &s.heads[h]
	if head.Landing != nil {
		o.node = s.w.undecided(head.Template.Group, head.Template.Shape, do)
		o.decided = o.node >= 0
	}
	switch {
	case o.decided:
		n := &s.w.nodes[o.node]
		o.was = Template{Group: head.Template.Group, Shape: n.shape, Pods: n.starts, May: n.may}
		s.w.become(o.node, head.Template)
	case s.found || s.allow == nil || !s.allow(h, s.out.Opened):
		return false
	default:
		o.node = int(s.w.AddNodes(head.Template, 1))
		s.out.Opened[h]++
	}
	if head.Landing != nil {
		s.landedOf(head.Landing)[head.Variant]++
	}
	s.opened = append(s.opened, o)
	return true
}

// close takes back the nodes that were opened last, together.
func (s *spreader) close() {
	lead := s.opened[len(s.opened)-1].lead
	for len(s.opened) > lead {
		o := s.opened[len(s.opened)-1]
		s.opened = s.opened[:len(s.opened)-1]
		if o.decided {
			s.forgo(o)
			continue
		}
		if head := &s.heads[o.head]; head.Landing != nil {
			s.landedOf(head.Landing)[head.Variant]--
		}
		s.out.Opened[o.head]--
		s.w.pop()
	}
}

// forgo gives a node up: a new one is not bought; one that was decided is undecided again.
func (s *spreader) forgo(o openedNode) {
	head := &s.heads[o.head]
	if head.Landing != nil {
		s.landedOf(head.Landing)[head.Variant]--
	}
	if o.decided {
		s.w.become(o.node, o.was)
		return
	}
	s.w.Drop(Node(o.node))
	s.out.Opened[o.head]--
}

// lands reports whether the cloud may put nodes so with so many more of the head.
func (s *spreader) lands(h, more int) bool {
	head := &s.heads[h]
	if head.Landing == nil {
		return true
	}
	landed := slices.Clone(s.landedOf(head.Landing))
	landed[head.Variant] += more
	return head.Landing.Possible(landed)
}
