package schedsim

import (
	"cmp"
	"maps"
	"slices"
	"sort"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Put is a number of pods placed on one node.
type Put struct {
	Node  Node
	Count int
}

// obstacle tells, without asking a plugin that looks at other pods, what keeps a
// pod of the class from the node; empty if nothing does as far as that goes.
// Each of its reasons lasts for as long as no pod leaves the node.
func (w *World) obstacle(c model.ClassID, i int) model.Reason {
	w.Looked(1)
	if w.nodes[i].may != nil && w.Choosy(c, w.groupOf(i)) {
		return model.NodeAffinity // its variant is unknown, and may not suit the class
	}
	n := &w.nodes[i]
	class := w.class(c)
	if class.unsupported != "" {
		return class.refused
	}
	if !w.hasRoom(class, i) {
		return model.InsufficientResources
	}
	if class.readsHost {
		if !w.named(class, i) {
			return model.NodeAffinity
		}
	} else if r := w.staticVerdict(c, n.shape); r != nil {
		return r.reason
	}
	if why := w.blocker(c, n); why != "" {
		return why
	}
	if why := w.conflict(class, w.inTheWay(class, i)); why != "" {
		return why
	}
	if w.avoids(c, i) {
		return model.TemplateMismatch
	}
	return ""
}

// named reports whether the node, with its own name and hostname, is one that the
// class's node selector and affinity allow.
func (w *World) named(class *class, i int) bool {
	// A term that cannot be parsed matches nothing, as for the plugin.
	match, _ := class.required.Match(w.object(i))
	return match
}

// usable tells, without asking a plugin that looks at other pods, whether the
// node may have room for the class.
func (w *World) usable(c model.ClassID, i int) bool {
	return !w.nodes[i].gone && w.obstacle(c, i) == ""
}

// Bought are nodes that were bought for a class: those of groups that are on their way, and such as have
// just come.
type Bought struct {
	Groups map[int]bool
	Nodes  map[Node]bool
}

// Mean says which nodes were bought for classes that wait.
func (w *World) Mean(meant map[model.ClassID]Bought) {
	w.meant, w.claimed = meant, Bought{Groups: map[int]bool{}, Nodes: map[Node]bool{}}
	for _, b := range meant {
		maps.Copy(w.claimed.Groups, b.Groups)
		maps.Copy(w.claimed.Nodes, b.Nodes)
	}
}

func (w *World) has(b Bought, i int) bool {
	return w.nodes[i].kind == OnComing && b.Groups[w.groupOf(i)] || b.Nodes[Node(i)]
}

// forOthers reports whether a node was bought for other classes, while this one has nodes of its own to
// come.
func (w *World) forOthers(c model.ClassID, i int) bool {
	own, ok := w.meant[c]
	return ok && w.has(w.claimed, i) && !w.has(own, i)
}

// Place puts up to count pods of a class onto nodes of the given sets, in the
// order of their numbers, and tells where, and how many are left. A class that nodes
// were bought for leaves those alone that were bought for others, which may be all that
// another class can use: it takes its own first, and one whose verdicts depend on whole
// domains takes no others, since what its own will be may not be decided yet. Steps
// bounds how many nodes the plugins may be shown in doing so; enough is false where that
// ended it.
func (w *World) Place(c model.ClassID, count int, on NodeSet, steps int) (put []Put, left int, enough bool) {
	if w.class(c).coupling >= domain {
		s := w.spreader(c, count, nil, nil, steps)
		s.owns = true
		s.run(on)
		return s.out.Put, s.out.Left, s.out.Enough
	}
	put, left, enough = w.placeOn(c, count, on, func(i int) bool { return !w.forOthers(c, i) })
	if _, owns := w.meant[c]; !owns || on == OnReady || left == 0 || !enough {
		return put, left, enough
	}
	more, left, enough := w.placeOn(c, left, on, func(int) bool { return true })
	return append(put, more...), left, enough
}

// PlaceNow is Place on ready nodes for pods that are bound at once: they are spread over the domains that the cluster
// has. One that a node on its way will open the scheduler does not know yet, and waits for none; and pods that are to
// move it finds where they run.
func (w *World) PlaceNow(c model.ClassID, count, steps int) (put []Put, left int, enough bool) {
	if w.class(c).coupling < domain || len(w.classes[c].spec.TopologySpreadConstraints) == 0 {
		return w.Place(c, count, OnReady, steps)
	}
	w.outlook(c) // its counters are there before anything is hidden
	w.hide(-1)
	w.hides = true
	defer func() {
		w.hides = false
		w.hide(+1)
	}()
	return w.Place(c, count, OnReady, steps)
}

// hide takes the nodes on their way that have not registered out of the counters, or back in; and pods that were moved
// count where they run for as long.
func (w *World) hide(sign int) {
	for _, i := range w.coming {
		if !w.nodes[i].gone {
			w.counters.account(w, i, sign)
		}
	}
	for _, p := range w.moves {
		on := &w.nodes[p.node]
		if !on.gone && p.node < len(w.snap.Nodes) && w.snap.Nodes[p.node].Kind == model.Coming {
			continue // it went with its node
		}
		w.counters.put(w, p.node, p.class, sign*p.count)
	}
}

// placeOn puts pods of a free or host class onto nodes of the given sets that may be used.
func (w *World) placeOn(c model.ClassID, left int, on NodeSet, may func(i int) bool) (put []Put, _ int, enough bool) {
	barred := w.barred(c)
	for b := 0; b*blockSize < len(w.nodes) && left > 0; b++ {
		if !w.mayTake(b, w.class(c), on) {
			continue
		}
		before := left
		for i := b * blockSize; i < min(len(w.nodes), (b+1)*blockSize) && left > 0; i++ {
			if w.Exhausted() {
				return put, left, false
			}
			if w.nodes[i].kind&on == 0 || !may(i) || !w.usable(c, i) ||
				barred != nil && barred[w.site(w.nodes[i].shape)] {
				continue
			}
			n, no := w.fill(c, i, left)
			if n > 0 {
				put = append(put, Put{Node(i), n})
				left -= n
			} else if barred != nil && no != nil && unbindable(no.reason) {
				barred[w.site(w.nodes[i].shape)] = true
			}
		}
		if left == before {
			w.tighten(b)
		}
	}
	return put, left, true
}

// Hosts are the nodes of the given sets that have room for a pod of a class, as far as each alone tells.
func (w *World) Hosts(c model.ClassID, on NodeSet) (hosts []Node) {
	for b := 0; b*blockSize < len(w.nodes); b++ {
		if !w.mayTake(b, w.class(c), on) {
			continue
		}
		before := len(hosts)
		for i := b * blockSize; i < min(len(w.nodes), (b+1)*blockSize); i++ {
			if w.nodes[i].kind&on != 0 && !w.forOthers(c, i) && w.usable(c, i) {
				hosts = append(hosts, Node(i))
			}
		}
		if len(hosts) == before {
			w.tighten(b)
		}
	}
	return hosts
}

// PlaceEvenly is Place for a class whose pods have verdicts of their nodes alone (Bulk). It leaves each node with about
// as large a share of it free as the others, as the scheduler's scores do, and no node that was bought for others is
// taken. What is left, Place may still have room for.
func (w *World) PlaceEvenly(c model.ClassID, count int, on NodeSet) (left int) {
	type host struct {
		id          int
		most, took  int     // that it takes, and took
		free, takes float64 // the share of it that is free, and the one that a pod takes
	}
	var hosts []host
	class := w.class(c)
	for _, id := range w.Hosts(c, on) {
		i := int(id)
		room, total := w.roomFor(class, i), &w.shapes[w.nodes[i].shape].total
		hosts = append(hosts, host{i, class.count(&room), 0, room.shareOf(total), class.request.shareOf(total)})
	}
	// Each is filled until this many thousandths of it are free: the most with which all pods have a place.
	level := func(h *host, keep int) int {
		n := (h.free - float64(keep)/levels) / max(h.takes, 1.0/(1<<40)) // it may request nothing
		return int(max(0, min(n, float64(h.most))))
	}
	keep := levels - sort.Search(levels, func(below int) bool {
		takes := 0
		for i := range hosts {
			takes += level(&hosts[i], levels-below)
		}
		return takes >= count
	})
	left = count
	// First down to one level more than that, so that none takes its last one before others have theirs.
	for _, keep := range []int{keep + 1, keep} {
		for i := range slices.Backward(hosts) { // of equals, the newest first
			h := &hosts[i]
			if want := min(left, level(h, keep)-h.took); want > 0 && !w.Exhausted() {
				n, _ := w.fill(c, h.id, want)
				left, h.took = left-n, h.took+n
			}
		}
	}
	return left
}

// levels are how many shares of a node PlaceEvenly can tell apart.
const levels = 1000

// shareOf is how much of another amount this is, by CPU and memory.
func (f *amounts) shareOf(of *amounts) float64 {
	return (float64(f.cpu)/float64(max(1, of.cpu)) + float64(f.memory)/float64(max(1, of.memory))) / 2
}

// BindEvenly places pods on nodes of the given sets as the scheduler may bind them, in the order in which they are
// given and each where most is free, and returns those that have no place then. They may have one in another order.
// Steps bounds how many nodes the plugins may be shown.
func (w *World) BindEvenly(pods []model.Batch, on NodeSet, steps int) (left []model.Batch) {
	end := w.work.NodesScanned + steps
	for _, b := range pods {
		if w.Bulk(b.Class) {
			b.Count = w.PlaceEvenly(b.Class, b.Count, on)
		}
		for b.Count > 0 && w.work.NodesScanned < end && w.bindRoomiest(b.Class, on) {
			b.Count--
		}
		if b.Count > 0 {
			left = append(left, b)
		}
	}
	return left
}

// bindRoomiest puts one pod onto the node of the given sets with most room of those that take it, and reports whether
// there is one.
func (w *World) bindRoomiest(c model.ClassID, on NodeSet) bool {
	best := -1
	for _, id := range w.Hosts(c, on) {
		i := int(id)
		free := &w.nodes[i].free
		if best >= 0 && cmp.Or(cmp.Compare(free.cpu, w.nodes[best].free.cpu),
			cmp.Compare(free.memory, w.nodes[best].free.memory)) <= 0 || !w.hasRoom(w.class(c), i) {
			continue
		}
		if w.check(c, i) == nil {
			best = i
		}
	}
	if best >= 0 {
		w.put(best, c, 1)
	}
	return best >= 0
}

// fill puts as many pods of a free or host class onto one node as fit, up to want, if the node is one that obstacle has
// nothing against, which is all that there is to ask for a free class. Where not one does, it says why.
func (w *World) fill(c model.ClassID, i, want int) (int, *rejection) {
	class := w.class(c)
	room := w.roomFor(class, i)
	n := min(want, class.count(&room))
	switch {
	case n < 1:
		return 0, w.check(c, i)
	case class.coupling == free:
		w.put(i, c, n)
		return n, nil
	}
	// The plugins are asked for the first pod and for the last. Between them
	// only amounts change, which were counted; if the last is refused all the
	// same, the pods go one by one.
	if no := w.check(c, i); no != nil {
		return 0, no
	}
	if class.alone {
		w.put(i, c, 1)
		return 1, nil
	}
	if n > 1 {
		w.nodes[i].own = false // the copy refers to the same list
		before := w.nodes[i]
		w.put(i, c, n-1)
		if w.check(c, i) == nil {
			w.put(i, c, 1)
			return n, nil
		}
		w.account(i, -1)
		epoch := w.nodes[i].epoch
		w.nodes[i] = before
		w.nodes[i].epoch = epoch
		w.account(i, +1)
		w.journal = w.journal[:len(w.journal)-1]
	}
	done := 0
	for done == 0 || done < n && w.check(c, i) == nil { // the first has been asked about
		w.put(i, c, 1)
		done++
	}
	return done, nil
}

// Pattern is a node's load, repeated on a number of nodes.
type Pattern struct {
	Pods  []model.Batch
	Times int
}

// Packing is a way to put pods onto new nodes of one template.
type Packing struct {
	Template Template
	Patterns []Pattern
	Nodes    int
	Placed   []model.Batch // in the order of what was wanted
}

// Pack finds how up to max new nodes of a template take the wanted pods, in the order in which they
// are wanted: a node at a time, each pattern repeated while the pods last. It skips classes whose
// coupling reaches beyond a node. When the steps are used up it returns what it has found, at least
// one pattern. The world is left as it was.
func (w *World) Pack(want []model.Batch, t Template, max int) Packing {
	// No verdict on such classes reads a counter, so none need see what is tried.
	counters := w.counters
	w.counters = nil
	defer func() { w.counters = counters }()
	p := (&packer{w: w, want: want, t: t}).pack(max)
	if p.Nodes < worthwhile || p.Nodes == max {
		return p
	}
	fuller := (&packer{w: w, want: want, t: t, fuller: true}).pack(p.Nodes - 1)
	if podsIn(fuller.Placed) == podsIn(p.Placed) {
		return fuller
	}
	return p
}

// PacksAll reports whether it is certain that Pack puts all of these pods, which suit the template, onto new nodes of
// it, if there are enough: no plugin has a say in it, and nothing that a node starts with keeps any of them away.
func (w *World) PacksAll(pods []model.Batch, t Template) bool {
	w.Looked(len(pods))
	return !slices.ContainsFunc(pods, func(b model.Batch) bool {
		class := w.class(b.Class)
		return class.coupling > host || !class.plain || len(t.Pods) > 0 && w.conflict(class, t.Pods) != ""
	})
}

// worthwhile is how many nodes a packing must have before one by fuller patterns is
// tried as well: that saves a node or two of a few hundred.
const worthwhile = 100

func podsIn(list []model.Batch) int {
	n := 0
	for _, b := range list {
		n += b.Count
	}
	return n
}

// packer is the state of one packing.
type packer struct {
	w      *World
	want   []model.Batch
	t      Template
	fuller bool // look for loads that leave less over
	rest   []int
	blocks []least // of what is wanted
	last   load    // whose lists the next one takes
	// bare: no plugin has a say in what is wanted, so that loads need no node of the world; empty is a new node, and
	// node the one that is filled.
	bare        bool
	empty, node node
	// cpu and memory are what all that is left requests.
	cpu, memory float64
}

// load is what one new node takes.
type load struct {
	pods []model.Batch
	of   []int   // which of those wanted
	used float64 // the share of what is scarcer, CPU or memory
}

func (l load) clone() load {
	l.pods, l.of = slices.Clone(l.pods), slices.Clone(l.of)
	return l
}

func (k *packer) pack(max int) Packing {
	p := Packing{Template: k.t}
	k.rest = make([]int, len(k.want))
	placed := make([]int, len(k.want))
	k.empty.free, k.bare = k.w.shapes[k.t.Shape].total, true
	for _, b := range k.t.Pods {
		k.empty.free.take(&k.w.classes[b.Class], int64(b.Count))
	}
	for i, b := range k.want {
		if k.w.Bulk(b.Class) && k.w.fitsShape(b.Class, k.t.Shape) && !k.w.unmounted(b.Class, k.t.Shape) {
			k.keep(i, b.Count)
			k.bare = k.bare && k.w.classes[b.Class].plain
		}
	}
	k.blocks = k.smallest()
	for p.Nodes < max && (len(p.Patterns) == 0 || !k.w.Exhausted()) {
		l := k.load(nil).clone()
		if k.fuller {
			l = k.improve(l)
		}
		if len(l.pods) == 0 {
			break
		}
		times := max - p.Nodes
		for j, i := range l.of {
			times = min(times, k.rest[i]/l.pods[j].Count)
		}
		p.Patterns = append(p.Patterns, Pattern{l.pods, times})
		p.Nodes += times
		for j, i := range l.of {
			k.keep(i, -l.pods[j].Count*times)
			placed[i] += l.pods[j].Count * times
			if k.rest[i] == 0 {
				k.shrunk(k.blocks, i/blockSize)
			}
		}
	}
	for i, b := range k.want {
		if placed[i] > 0 {
			p.Placed = append(p.Placed, model.Batch{Class: b.Class, Count: placed[i]})
		}
	}
	return p
}

// keep counts pods among those that are left.
func (k *packer) keep(i, count int) {
	k.rest[i] += count
	r := &k.w.classes[k.want[i].Class].request
	k.cpu += float64(count) * float64(r.cpu)
	k.memory += float64(count) * float64(r.memory)
}

// load fills a new node, each class in turn with as many as fit, less some of each. The next call takes its lists.
func (k *packer) load(fewer map[int]int) load {
	w, n, id := k.w, &k.node, -1
	if k.bare {
		n.free, n.batches = k.empty.free, append(n.batches[:0], k.t.Pods...)
	} else {
		m := w.Mark()
		defer w.Undo(m)
		id = int(w.AddNodes(k.t, 1))
		n = &w.nodes[id]
	}
	l := load{pods: k.last.pods[:0], of: k.last.of[:0]}
	for i := 0; i < len(k.want); i++ {
		if i%blockSize == 0 && !k.blocks[i/blockSize].mayFit(&n.free) {
			i += blockSize - 1
			w.Looked(1)
			continue
		}
		b, most := k.want[i], k.rest[i]
		if most == 0 || !w.classes[b.Class].fits(&n.free) || w.blocked(b.Class, n) {
			continue
		}
		if less := fewer[i]; less > 0 {
			if most = min(most, w.classes[b.Class].count(&n.free)) - less; most < 1 {
				continue
			}
		}
		count, no := 0, yes
		if k.bare {
			count = k.fill(b.Class, most)
		} else {
			count, no = w.fill(b.Class, id, most)
		}
		switch {
		case count > 0:
			l.pods, l.of = append(l.pods, model.Batch{Class: b.Class, Count: count}), append(l.of, i)
		case no != nil && unbindable(no.reason):
			w.mounts[mount{b.Class, w.site(k.t.Shape)}] = false
			k.keep(i, -k.rest[i])
		}
	}
	if k.fuller {
		l.used = k.used(&k.empty.free, &n.free)
	}
	k.last = l
	return l
}

// fill is World.fill for a class that amounts and the pods beside it let in, whatever the plugins.
func (k *packer) fill(c model.ClassID, most int) int {
	class := k.w.class(c)
	count := min(most, class.count(&k.node.free))
	if class.alone {
		count = 1
	}
	k.node.free.take(class, int64(count))
	k.node.batches = append(k.node.batches, model.Batch{Class: c, Count: count})
	return count
}

// used is the share taken of CPU or memory, of that which all that is left wants
// more nodes for.
func (k *packer) used(before, after *amounts) float64 {
	ofCPU, ofMemory := float64(max(1, before.cpu)), float64(max(1, before.memory))
	if k.cpu/ofCPU >= k.memory/ofMemory {
		return float64(before.cpu-after.cpu) / ofCPU
	}
	return float64(before.memory-after.memory) / ofMemory
}

// improve looks for a load that leaves less over: a pod less of some class, and
// what follows in its place, as often as that helps. What a node takes one of stays,
// and so does a pod of the first class of others, or the largest would be left for
// the end.
func (k *packer) improve(best load) load {
	first := slices.IndexFunc(best.pods, func(b model.Batch) bool { return !k.w.OnePerNode(b.Class) })
	if first < 0 {
		return best
	}
	largest := best.of[first]
	fewer := map[int]int{}
	for {
		at, from := -1, best
		for j, i := range from.of {
			if k.w.OnePerNode(from.pods[j].Class) || i == largest && from.pods[j].Count == 1 {
				continue
			}
			fewer[i]++
			if l := k.load(fewer); l.used > best.used {
				best, at = l.clone(), i
			}
			fewer[i]--
		}
		if at < 0 {
			return best
		}
		fewer[at]++
	}
}

// Bulk reports whether the class's verdict on a node depends on nothing beyond
// that node, so that its pods may be packed by patterns.
func (w *World) Bulk(c model.ClassID) bool {
	class := w.class(c)
	return class.coupling <= host && class.unsupported == ""
}

// OnePerNode reports whether no node takes two pods of the class, by its own ports
// or anti-affinity.
func (w *World) OnePerNode(c model.ClassID) bool {
	return w.class(c).alone
}

// Unsupported says why no verdict can be given for the class's pods; empty if one
// can.
func (w *World) Unsupported(c model.ClassID) string { return w.classes[c].unsupported }

// LacksTopology names a topology key of the class's spread constraints that the
// template's nodes have no label for; empty if there is none.
func (w *World) LacksTopology(c model.ClassID, t Template) string {
	for _, s := range w.classes[c].spec.TopologySpreadConstraints {
		if _, ok := w.shapes[t.Shape].content.Node.Labels[s.TopologyKey]; !ok && s.TopologyKey != corev1.LabelHostname {
			return s.TopologyKey
		}
	}
	return ""
}

// fitsShape reports whether the shape's labels and taints let the class in.
func (w *World) fitsShape(c model.ClassID, s model.ShapeID) bool {
	return w.classes[c].readsHost || w.staticVerdict(c, s) == nil
}

// Suits reports whether pods of the class could be on a node of the template at
// all, were there no other pods but its own: labels, taints and amounts. One that
// the class is to avoid does not suit it.
func (w *World) Suits(c model.ClassID, t Template) bool {
	class := w.class(c)
	if class.unsupported != "" || !w.fitsShape(c, t.Shape) || w.Avoids(c, t.Group) {
		return false
	}
	f := w.shapes[t.Shape].total
	for _, b := range t.Pods {
		f.take(&w.classes[b.Class], int64(b.Count))
	}
	return class.fits(&f)
}

// Commit carries out a packing: its nodes and their pods become part of the
// world.
func (w *World) Commit(p Packing) []Put {
	var puts []Put
	for _, pattern := range p.Patterns {
		if pattern.Times == 0 {
			continue
		}
		first := int(w.AddNodes(p.Template, pattern.Times))
		load := slices.Clone(w.nodes[first].batches)
		free := w.nodes[first].free
		total := 0
		for _, b := range pattern.Pods {
			load = merge(load, []model.Batch{b})
			free.take(&w.classes[b.Class], int64(b.Count))
			total += b.Count
		}
		for i := first; i < first+pattern.Times; i++ {
			w.account(i, -1)
			w.nodes[i].batches, w.nodes[i].own, w.nodes[i].free, w.nodes[i].info = load, false, free, nil
			w.account(i, +1)
			for _, b := range pattern.Pods {
				w.journal = append(w.journal, w.placement(i, b.Class, b.Count))
			}
			puts = append(puts, Put{Node(i), total})
		}
	}
	return puts
}

// placement is one entry of the journal: what was placed where, in order.
type placement struct {
	class model.ClassID
	node  int
	count int
	// early: it was placed before any node was planned. Such pods are bound
	// while the planned nodes are not there yet.
	early bool
	// now: it was placed while nodes that have not registered did not count. It is bound before they are there.
	now bool
	// serial grows from each to the next, whether it is in the journal or a move, and nodes is how many there were.
	serial, nodes int
}

func (w *World) placement(i int, c model.ClassID, count int) placement {
	w.serial++
	return placement{class: c, node: i, count: count, early: len(w.nodes) == len(w.snap.Nodes), now: w.hides,
		serial: w.serial, nodes: len(w.nodes)}
}

// CountByKind sums up where pods were put: on nodes that are ready, on their
// way, or planned. Nodes that are rolled back are on their way.
func (w *World) CountByKind(puts []Put) (ready, coming, planned int) {
	for _, p := range puts {
		switch w.nodes[p.Node].kind {
		case OnReady:
			ready += p.Count
		case OnComing, OnReturning:
			coming += p.Count
		case OnPlanned:
			planned += p.Count
		}
	}
	return ready, coming, planned
}
