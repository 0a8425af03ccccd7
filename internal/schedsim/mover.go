package schedsim

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Mover moves the pods of one node after another onto others. What it accepts is
// committed to the world, so that all that was accepted is feasible together:
// the node stays as a ghost, a topology domain still, and what is left on it is
// what did not have to move. What it refuses leaves the world as it was.
//
// Pods go to the first host, in the order that was given, that takes them; those that are coupled
// over zone-like domains to the first in the domain that suits their constraints best, as Spread
// chooses it. Hosts only fill up as moves go on. So a host that a class does not fit is struck off
// for good, and all moves together look at each host about once for each size of pod. Pods that
// leave a domain change the domain's verdict, so no host is struck off for a domain.
//
// Others may place pods in the same world, which only takes room. They must not restore a state of
// the world from before a move; see Undo.
type Mover struct {
	w     *World
	hosts []Node  // in the order of preference
	place []int32 // by node: its place among hosts, -1 for others
	space []space // by place
	// closed are the hosts, by place, that take no pods any more; order is the one
	// in which they were closed, and open counts the others.
	closed []bool
	order  []int32
	open   int

	sights  []*sight // by class
	shared  map[room]*roster
	rosters []*roster
	splits  map[string]*split
	shapes  []model.ShapeID // of the hosts, each once
	total   amounts         // of all hosts, to compare sizes with

	// left are the steps that are left at the beginning of a move; looks and
	// scanned count those of this move.
	left, looks, scanned int
	// used counts the steps of all moves, and explained the hosts that were looked at to explain
	// refusals in numbers.
	used, explained int
	// passed are the hosts that were passed over in an attempt to place a pod, and
	// not struck off; passes counts them.
	passed  tally
	passes  int
	moving  Node
	version int // changes whenever a host may be another than it was

	wants   []want
	regions []int
	weights []int
}

// Stuck is why a node's pods cannot be moved: a class of them that does not fit
// beside the others, and what the hosts have against it. The verdict's reason is
// the commonest one.
type Stuck struct {
	Class   model.ClassID
	Verdict model.Verdict
}

// want is a number of pods of one class that need a place.
type want struct {
	class model.ClassID
	left  int
	rank  int
	picky bool
	size  float64
}

// Mover prepares to move pods onto hosts: nodes of the snapshot, the preferred first. Hosts that
// are neither ready nor on their way take none.
//
// Steps bounds the work of all moves together. A step is one node shown to the
// plugins (model.Work.NodesScanned), or one host looked at for a class without
// asking them; hosts that were struck off for it before cost nothing.
func (w *World) Mover(hosts []Node, steps int) *Mover {
	m := &Mover{
		w: w, place: make([]int32, len(w.nodes)), left: steps, sights: make([]*sight, len(w.classes)),
		shared: map[room]*roster{}, splits: map[string]*split{},
	}
	m.hosts, m.space = make([]Node, 0, len(hosts)), w.spaces.list(len(hosts))
	for i := range m.place {
		m.place[i] = -1
	}
	seen := make([]bool, len(w.shapes))
	for _, id := range hosts {
		n := &w.nodes[id]
		if n.gone || n.kind&(OnReady|OnComing) == 0 || m.place[id] >= 0 {
			continue
		}
		m.place[id] = int32(len(m.hosts))
		m.hosts = append(m.hosts, id)
		m.space = append(m.space, spaceOf(n))
		total := &w.shapes[n.shape].total
		m.total.cpu += total.cpu
		m.total.memory += total.memory
		if !seen[n.shape] {
			seen[n.shape] = true
			m.shapes = append(m.shapes, n.shape)
		}
	}
	m.closed, m.open = make([]bool, len(m.hosts)), len(m.hosts)
	return m
}

// Move takes pods off a node of the snapshot and places them on hosts: all of them, or none. The
// node takes no pods from then on. It may be one that is leaving already. Pods that are not found
// on it are placed all the same: we err to reserving too much.
//
// Put tells where they went, sorted by node, until the next move. Stuck is nil if all are placed.
// Enough is false where the steps ran out before there was an answer. Unless all
// are placed, the world is as it was.
func (m *Mover) Move(id Node, pods []model.Batch) (put []Put, stuck *Stuck, enough bool) {
	w := m.w
	m.moving, m.looks, m.scanned = id, 0, w.work.NodesScanned
	wants := m.arrange(pods)
	mark := w.Mark()
	// 1. Is there a host for each class at all?
	no, enough := m.hopeless(wants)
	// 2. Then for all pods together.
	if no == nil && enough {
		w.vacate(int(id), pods)
		no, enough = m.settle(wants)
		// Pods that may go elsewhere may have had the room of those that may not.
		if no != nil && enough && m.mayHelp(no.class, pods) {
			w.Undo(mark)
			wants = m.pickyFirst(pods, no.class)
			w.vacate(int(id), pods)
			no, enough = m.settle(wants)
		}
	}
	// 3. And for those that stay and follow them.
	var behind *Stuck
	if no == nil && enough {
		behind = m.leftBehind(id, wants)
	}
	spent := m.spent()
	m.left -= spent
	m.used += spent
	m.moving = -1
	if no != nil || !enough || behind != nil {
		w.Undo(mark)
		if behind != nil {
			return nil, behind, true
		}
		if !enough {
			return nil, nil, false
		}
		return nil, &Stuck{no.class, m.verdict(id, no)}, true
	}
	m.close(id)
	put = w.settled(mark)
	for i := range put {
		if h := m.placeOf(put[i].Node); h >= 0 {
			m.space[h] = spaceOf(&w.nodes[put[i].Node])
		}
	}
	w.keep(mark)
	return put, nil, true
}

// Left is how many steps are left for further moves.
func (m *Mover) Left() int { return m.left }

// Exclude closes a host that is to go itself: it takes no more pods. Moving a node's pods closes
// the node, too.
func (m *Mover) Exclude(id Node) { m.close(id) }

// MoverMark is a state that a Mover and its world can go back to.
type MoverMark struct {
	world  Mark
	closed int
}

// Mark remembers the world and which hosts are closed.
func (m *Mover) Mark() MoverMark { return MoverMark{m.w.Mark(), len(m.order)} }

// Undo takes back all moves and exclusions since the mark, and what else was done
// to the world. The steps are spent.
func (m *Mover) Undo(mark MoverMark) {
	again := slices.Clone(m.order[mark.closed:])
	for _, h := range again {
		m.closed[h] = false
		m.open++
	}
	for _, c := range m.w.log[mark.world.log:] {
		if h := m.placeOf(Node(c.node)); h >= 0 {
			again = append(again, h)
		}
	}
	m.order = m.order[:mark.closed]
	m.w.Undo(mark.world)
	for _, h := range again {
		m.space[h] = spaceOf(&m.w.nodes[m.hosts[h]])
		if m.closed[h] {
			continue
		}
		for _, r := range m.rosters {
			r.restore(h)
		}
	}
	m.version++
}

func (m *Mover) close(id Node) {
	m.version++
	h := m.placeOf(id)
	if h < 0 || m.closed[h] {
		return
	}
	m.closed[h] = true
	m.order = append(m.order, h)
	m.open--
	for _, r := range m.rosters {
		r.close(h)
	}
}

// placeOf is a node's place among the hosts, -1 if it is none.
func (m *Mover) placeOf(id Node) int32 {
	if int(id) >= len(m.place) {
		return -1
	}
	return m.place[id]
}

// spent counts the steps of the move under way.
func (m *Mover) spent() int { return m.looks + m.w.work.NodesScanned - m.scanned }

// exhausted reports whether there is no step left.
func (m *Mover) exhausted() bool { return m.spent() >= m.left }

// arrange puts pods into the order in which they are placed: those that only some domains take,
// then those that only some hosts take, the largest first; last those that need a look at every
// node.
func (m *Mover) arrange(pods []model.Batch) []want {
	m.wants = m.wants[:0]
	for _, b := range pods {
		if b.Count > 0 {
			s := m.sight(b.Class)
			m.wants = append(m.wants, want{class: b.Class, left: b.Count, rank: s.rank, picky: s.picky, size: s.size})
		}
	}
	slices.SortFunc(m.wants, func(a, b want) int {
		if a.rank != b.rank {
			return cmp.Compare(a.rank, b.rank)
		}
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.class, b.class))
	})
	out := m.wants[:0]
	for _, x := range m.wants {
		if n := len(out); n > 0 && out[n-1].class == x.class {
			out[n-1].left += x.left
		} else {
			out = append(out, x)
		}
	}
	return out
}

// mayHelp reports whether others of a node's pods, of those that only labels and amounts matter to, may go where a
// refused one may not: it selects its nodes and they do not, or they tolerate what it does not.
func (m *Mover) mayHelp(refused model.ClassID, pods []model.Batch) bool {
	first, few := m.sight(refused), m.w.class(refused).spec.Tolerations
	more := func(t corev1.Toleration) bool {
		return !slices.ContainsFunc(few, func(u corev1.Toleration) bool { return t.MatchToleration(&u) })
	}
	return first.rank == rankFree && slices.ContainsFunc(pods, func(b model.Batch) bool {
		s := m.sight(b.Class)
		return b.Count > 0 && s.rank == rankFree && (first.picky && !s.picky ||
			slices.ContainsFunc(m.w.class(b.Class).spec.Tolerations, more))
	})
}

// pickyFirst is another order: of pods that only their labels and amounts matter to, those that select their nodes go
// first, and those that were refused.
func (m *Mover) pickyFirst(pods []model.Batch, refused model.ClassID) []want {
	wants := m.arrange(pods)
	first := func(x want) bool { return x.picky || x.class == refused }
	slices.SortStableFunc(wants, func(a, b want) int {
		if a.rank != rankFree || b.rank != rankFree || first(a) == first(b) {
			return cmp.Compare(a.rank, b.rank)
		}
		if first(a) {
			return -1
		}
		return 1
	})
	return wants
}

// vacate takes pods off a node, which is a ghost from then on.
func (w *World) vacate(i int, pods []model.Batch) {
	n := w.save(i)
	n.kind = ghost
	for _, b := range pods {
		count := min(b.Count, int(countOf(n.batches, b.Class)))
		if count <= 0 {
			continue
		}
		n.free.take(&w.classes[b.Class], int64(-count))
		w.use(b.Class, -count)
		w.counters.put(w, i, b.Class, -count)
		w.moves = append(w.moves, w.placement(i, b.Class, -count))
	}
	n.info, n.batches, n.own = nil, without(n.batches, pods), false
	w.roomier(i)
}

// Vacate takes pods off a node of the snapshot and leaves them without a place. The node takes no pods from then
// on, and stays as a topology domain.
func (w *World) Vacate(id Node, pods []model.Batch) { w.vacate(int(id), pods) }

// Shut keeps pods off a node, and Reopen lets them onto one that is ready again.
func (w *World) Shut(id Node) {
	w.save(int(id)).kind = ghost
	w.made++
}

// ShutReturning keeps pods off the nodes that could be had back.
func (w *World) ShutReturning() {
	for i := range w.nodes {
		if w.nodes[i].kind == OnReturning {
			w.Shut(Node(i))
		}
	}
}

// Size is how many nodes there are, planned ones included. Those that are added later have numbers from there on.
func (w *World) Size() int { return len(w.nodes) }

// Reopen takes Shut back.
func (w *World) Reopen(id Node) {
	w.save(int(id)).kind = OnReady
	w.roomier(int(id))
}

// Return has a node back whose pods were moved although none of them is still to be evicted: a
// rollback costs less than another node.
func (w *World) Return(id Node) {
	if w.nodes[id].returns {
		w.save(int(id)).kind = OnReturning
		w.roomier(int(id))
	}
}

// settled marks the placements since the mark as moves, not as pods that were pending. It sums them
// up by node.
func (w *World) settled(m Mark) []Put {
	made := w.journal[m.journal:]
	w.moves = append(w.moves, made...)
	w.journal = w.journal[:m.journal]
	puts := w.puts[:0]
	for _, p := range made {
		puts = append(puts, Put{Node(p.node), p.count})
	}
	w.puts = puts
	slices.SortFunc(puts, func(a, b Put) int { return cmp.Compare(a.Node, b.Node) })
	out := puts[:0]
	for _, p := range puts {
		if n := len(out); n > 0 && out[n-1].Node == p.Node {
			out[n-1].Count += p.Count
		} else {
			out = append(out, p)
		}
	}
	return out
}
