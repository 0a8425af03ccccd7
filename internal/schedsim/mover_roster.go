package schedsim

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file is about what a Mover remembers of hosts, so that it need not look at
// them again for every pod.

// split is the hosts by region: those that agree in the topology keys that some classes read, or all
// of them. Classes that read the same keys share it.
type split struct {
	order  []int32 // hosts, region after region, each in the order of preference
	start  []int   // by region, and the end: where its hosts begin in order
	domain []int32 // by region: its number in the classes' regions, -1 for none
	at     []int32 // by host: its place in order
	region []int32 // by place in order
}

// roster is the hosts that may still have room, as some classes see them: all those with the same
// requests share one, in which hosts are struck off for want of room only. A class gets a roster of
// its own once it has looked in vain, for other reasons, at as many hosts as there are: a class of
// few pods costs no memory then, and one of many no time.
type roster struct {
	split *split
	own   bool
	out   []byte // by place in the split's order: open, closed, or why it is struck off
	first []int  // by region: before it, all are out
	tally tally  // how many are struck off, by why
}

// The states of a host in a roster; further ones are indexes of whys.
const (
	open byte = iota
	closed
)

// whys are the reasons that a host may be struck off for, or a class be refused, by code.
var whys = func() []model.Reason {
	list := []model.Reason{open: model.Fits, closed: model.CurrentlyBeingDeleted}
	for _, section := range model.ReasonSections {
		for _, row := range section.Rows {
			if row.Reason.RefusesPod() && row.Reason != model.CurrentlyBeingDeleted {
				list = append(list, row.Reason)
			}
		}
	}
	return list
}()

// mostWhys is how many there can be: a test says when it must be raised.
const mostWhys = 20

// tally counts hosts by what they have against a class.
type tally [mostWhys]int

// codeOf is a reason's code. A reason that refuses no host counts as another filter's.
func codeOf(r model.Reason) byte {
	if i := slices.Index(whys[closed+1:], r); i >= 0 {
		return closed + 1 + byte(i)
	}
	return codeOf(model.OtherFilter)
}

// noRoom is the code of hosts that have no room.
var noRoom = codeOf(model.InsufficientResources)

// space is what a host had free after the last move onto it, or more: others that come to it only take from that. Most
// looks are at hosts that have too little, each once for each size of pod, and this says so without a look at the node.
type space struct{ cpu, memory int64 }

// spaceOf is the space of a node. On one that is not decided yet, others than resources are asked first.
func spaceOf(n *node) space {
	if n.may != nil {
		return space{math.MaxInt64, math.MaxInt64}
	}
	return space{max(0, n.free.cpu), max(0, n.free.memory)}
}

// less reports whether a request is not covered. One of nothing always is.
func (s space) less(request *amounts) bool { return s.cpu < request.cpu || s.memory < request.memory }

// room names what classes have in common that share a roster.
type room struct {
	split                  *split
	cpu, memory, ephemeral int64
	ext                    string
}

// sight is how the pods of one class see the hosts.
type sight struct {
	class  model.ClassID
	roster *roster
	vain   int // looks in vain, but for want of room, while the roster is shared
	rank   int
	picky  bool
	size   float64
	// best is the host with the most room for the class, and next the one after it,
	// as of a version of the Mover; -1 for none.
	best, next int32
	version    int
}

// The ranks of classes: in which order a node's pods are placed.
const (
	rankDomain = iota
	rankHost
	rankFree
	rankSingle
)

// picky reports whether pods select nodes by label, so that only some hosts may take them.
func picky(spec *corev1.PodSpec) bool {
	a := spec.Affinity
	return len(spec.NodeSelector) > 0 ||
		a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

func (m *Mover) sight(c model.ClassID) *sight {
	if s := m.sights[c]; s != nil {
		return s
	}
	class := m.w.class(c)
	s := &sight{class: c, version: -1, rank: rankFree, picky: picky(class.spec)}
	whole := true
	switch class.coupling {
	case host:
		s.rank = rankHost
	case domain:
		s.rank, whole = rankDomain, false
	case single:
		s.rank, whole = rankSingle, false
	}
	s.size = max(fraction(class.request.cpu, m.total.cpu), fraction(class.request.memory, m.total.memory))
	key := room{cpu: class.request.cpu, memory: class.request.memory, ephemeral: class.request.ephemeral}
	if whole {
		key.split = m.split("", nil)
	} else {
		key.split = m.split(strings.Join(class.keys, "\x00"), m.w.regions(class.keys))
	}
	var ext []byte
	for _, x := range class.request.ext {
		ext = append(append(ext, x.Name...), 0)
		ext = binary.AppendVarint(ext, x.Value)
	}
	key.ext = string(ext)
	if s.roster = m.shared[key]; s.roster == nil {
		s.roster = m.roster(key.split)
		m.shared[key] = s.roster
	}
	m.sights[c] = s
	return s
}

func fraction(part, total int64) float64 {
	if total == 0 {
		return 0
	}
	return float64(part) / float64(total)
}

// split parts the hosts by region, if there are any.
func (m *Mover) split(name string, by *regions) *split {
	if s, ok := m.splits[name]; ok {
		return s
	}
	s := &split{order: make([]int32, 0, len(m.hosts)), at: make([]int32, len(m.hosts)),
		region: make([]int32, len(m.hosts))}
	m.splits[name] = s
	var members [][]int32
	regionOf := map[int32]int{}
	for h, id := range m.hosts {
		d := int32(-1)
		if by != nil {
			d = by.of(m.w, m.w.nodes[id].shape)
		}
		r, ok := regionOf[d]
		if !ok {
			r = len(members)
			regionOf[d] = r
			members = append(members, nil)
			s.domain = append(s.domain, d)
		}
		members[r] = append(members[r], int32(h))
	}
	for r, list := range members {
		s.start = append(s.start, len(s.order))
		for _, h := range list {
			s.at[h] = int32(len(s.order))
			s.region[len(s.order)] = int32(r)
			s.order = append(s.order, h)
		}
	}
	s.start = append(s.start, len(s.order))
	return s
}

// roster makes one in which all open hosts may have room.
func (m *Mover) roster(s *split) *roster {
	out := m.w.marks.list(len(s.order))[:len(s.order)]
	clear(out)
	r := &roster{split: s, out: out, first: append([]int(nil), s.start[:len(s.domain)]...)}
	for h, no := range m.closed {
		if no {
			r.out[s.at[h]] = closed
		}
	}
	m.rosters = append(m.rosters, r)
	return r
}

// find gives the first place of a region, from a place on, that is not out; -1 if
// there is none.
func (r *roster) find(region, from int) int {
	first, end := r.first[region], r.split.start[region+1]
	from = max(from, first)
	if from >= end {
		return -1
	}
	i := bytes.IndexByte(r.out[from:end], open)
	if i < 0 {
		if from == first {
			r.first[region] = end
		}
		return -1
	}
	if from == first {
		r.first[region] = from + i
	}
	return from + i
}

// left counts the hosts of a region that are not out.
func (r *roster) left(region int) int {
	return bytes.Count(r.out[r.first[region]:r.split.start[region+1]], []byte{open})
}

func (r *roster) strike(place int, why byte) {
	r.out[place] = why
	r.tally[why]++
}

// close takes a host out for a reason that is not a class's.
func (r *roster) close(h int32) {
	p := r.split.at[h]
	if why := r.out[p]; why > closed {
		r.tally[why]--
	}
	r.out[p] = closed
}

// restore lets a host take pods again: it is in an earlier state again.
func (r *roster) restore(h int32) {
	p := r.split.at[h]
	if why := r.out[p]; why > closed {
		r.tally[why]--
	}
	r.out[p] = open
	region := r.split.region[p]
	r.first[region] = min(r.first[region], int(p))
}

// next finds the next host of a region, from a place on, that takes a pod of the
// class as far as labels, taints, amounts and known conflicts tell; -1 if there
// is none, or no step left.
func (m *Mover) next(s *sight, region, from int) int {
	for {
		p := s.roster.find(region, from)
		if p < 0 || m.exhausted() {
			return -1
		}
		from = p + 1
		id := m.host(s, p)
		if id == m.moving {
			continue
		}
		m.looks++
		if m.space[s.roster.split.order[p]].less(&m.w.classes[s.class].request) {
			m.w.Looked(1)
			s.roster.strike(p, noRoom)
			continue
		}
		why := m.w.obstacle(s.class, int(id))
		if why == "" {
			return p
		}
		m.pass(s, p, why)
	}
}

func (m *Mover) host(s *sight, place int) Node { return m.hosts[s.roster.split.order[place]] }

// pass strikes off a host that does not take the class, or else counts it among
// those that were passed over in this attempt.
func (m *Mover) pass(s *sight, place int, why model.Reason) {
	if !m.strike(s, place, why) {
		m.passed[codeOf(why)]++
		m.passes++
	}
}

// strike takes a host out for good, unless this move has put something there,
// which may be taken back.
func (m *Mover) strike(s *sight, place int, why model.Reason) bool {
	if m.w.nodes[m.host(s, place)].epoch == m.w.epoch {
		return false
	}
	if why == model.InsufficientResources || s.roster.own {
		s.roster.strike(place, codeOf(why))
		return true
	}
	if s.vain++; s.vain > len(m.hosts) {
		own := m.roster(s.roster.split)
		own.own, own.tally = true, s.roster.tally
		copy(own.out, s.roster.out)
		copy(own.first, s.roster.first)
		s.roster = own
	}
	return false
}
