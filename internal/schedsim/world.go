package schedsim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// World is a cluster in memory that pods can be placed in. It serves one
// goroutine.
type World struct {
	snap    *model.Snapshot
	filters *filters
	classes []class
	bonds   *bonds
	known   map[string]*traits // by the classes' keys
	shapes  []shape
	nodes   []node
	blocks  []block // of nodes
	made    int     // how often room was made, or a node became another
	varied  bool    // some group has variants
	// searches are those of byDomain.
	searches map[searched]search
	// ownNames: the hostname label of each node of the snapshot is the node's name.
	ownNames bool
	log      []change
	epoch    uint32 // of the mark that changes are saved under
	epochs   uint32 // how many there were
	// counters follow every change; outlooks are by class, nil where nothing has asked yet, and shared
	// by families; regionsBy are by their keys.
	counters  *counters
	hides     bool  // nodes on their way that have not registered do not count for now
	coming    []int // those nodes
	outlooks  []*outlook
	outlookOf map[*family]*outlook
	regionsBy map[string]*regions
	// static holds the verdict of the plugins that look at a shape alone, [class][shape]; nil where
	// nothing has asked yet. Classes that are the same to them share a row, by traits.statics.
	static   [][]*rejection
	staticBy map[string][]*rejection
	looks    looks
	// mountKeys are those that readByVolumes found, once asked for. sites are by shape, 0 where nothing has asked yet,
	// and siteOf by what volumes read.
	mountKeys []string
	sites     []int32
	siteOf    map[string]int32
	// offered are the extended resources that there are, and lacks the answers to classes that want
	// others, once asked for.
	offered  map[corev1.ResourceName]bool
	lacks    map[model.ClassID]*rejection
	claims   map[string]int
	work     model.Work
	journal  []placement
	serial   int // of the last placement
	panicked []Panicked
	looked   int           // looks since the last step that was made of them
	limit    int           // of steps; zero: none
	wake     time.Time     // when time alone changes what is on a node
	counter  *atomic.Int64 // how many steps were taken, for CountSteps
	moves    []placement   // by Movers: pods that left a node have a negative count
	puts     []Put         // the answer of the last move
	// lists is memory for what is on nodes, marks for rosters, and spaces for Movers.
	lists    slab[model.Batch]
	marks    slab[byte]
	spaces   slab[space]
	nextName int
	avoid    map[avoided]bool
	meant    map[model.ClassID]Bought
	claimed  Bought // all of those
	// choosy are the classes with a required affinity, and followers those of them that follow a
	// class; nil where nothing has asked yet.
	choosy    []model.ClassID
	followers map[model.ClassID][]model.ClassID
	doubted   map[model.ClassID]bool
	// daemons remembers daemonsOf, alike daemonsAlike, daemonsMay daemonsAny by the shapes
	// that it is about, and mounts mountable.
	daemons    map[model.ShapeID][]int
	alike      map[daemonsKey]model.ShapeID
	daemonsMay map[string][]int
	mounts     map[mount]bool
	// mountings are by class, once asked for; onSites is what was answered about kinds of volumes.
	mountings     []mounting
	mountingKnown []bool
	onSites       map[kindOnSite]*rejection
	attached      []int32 // memory for overAttaching
	landings      map[int]*Landing
	loose         []int // nodes of the snapshot that were undecided when it was loaded
	apart         map[avoided]bool
}

// shape is a node's content, its amounts ready to count with.
type shape struct {
	content *model.Shape
	total   amounts
}

// node is one node of the world. Its NodeInfo is built only when a plugin must
// see it.
type node struct {
	name    string // of the snapshot's nodes; planned ones are named by serial
	serial  int
	group   int          // of a planned node
	object  *corev1.Node // nil: made from the shape
	shape   model.ShapeID
	may     []model.ShapeID // of an undecided node: the shapes that it may have
	starts  []model.Batch   // the pods that it comes with; nil of one that is there
	kind    NodeSet
	free    amounts
	batches []model.Batch
	own     bool // nothing else refers to batches: they may be changed in place
	info    *framework.NodeInfo
	epoch   uint32 // the mark under which it was last saved to the log
	gone    bool   // undone, or dropped unused
	returns bool   // its removal can be rolled back
}

// called is the node's name: unique in the world.
func (n *node) called() string {
	if n.name != "" {
		return n.name
	}
	return fmt.Sprintf("plan-%d", n.serial)
}

// NodeSet says which nodes a question is about.
type NodeSet uint8

// The sets of nodes. Ghosts are never asked: they are there as topology
// domains only.
const (
	OnReady NodeSet = 1 << iota
	OnComing
	OnPlanned
	// OnReturning are nodes whose removal has not been asked of the cloud yet, and
	// whose pods need no room elsewhere or find none: they can be had back.
	OnReturning
	ghost
)

// Node is a node of the world, by number; the numbers of the snapshot's nodes
// are those of the snapshot.
type Node = model.NodeID

// Template is what a group's new node brings: its shape, and the pods that are
// on it from the start. Group indexes the snapshot's groups.
type Template struct {
	Group int
	Shape model.ShapeID
	Pods  []model.Batch
	// May are the shapes of which the node will have one, if it is unknown which; Shape has then
	// only what all of them have.
	May []model.ShapeID
}

// Load makes a world of a snapshot. The previous world, which may be nil and
// must not be used afterwards, only saves work.
func Load(prev *World, s *model.Snapshot) *World {
	var f *filters
	if prev != nil {
		f, prev.filters = prev.filters, nil
	}
	if f == nil {
		var err error
		if f, err = newFilters(); err != nil {
			// The plugins are compiled in: they can be built, or never.
			panic("schedsim: " + err.Error())
		}
	}
	if err := f.feed(s); err != nil {
		panic("schedsim: " + err.Error())
	}
	w := &World{
		snap: s, filters: f, regionsBy: map[string]*regions{}, lacks: map[model.ClassID]*rejection{},
		claims: map[string]int{}, searches: map[searched]search{}, outlookOf: map[*family]*outlook{},
		daemons: map[model.ShapeID][]int{}, alike: map[daemonsKey]model.ShapeID{}, daemonsMay: map[string][]int{},
		mounts: map[mount]bool{}, onSites: map[kindOnSite]*rejection{},
		landings: map[int]*Landing{}, apart: map[avoided]bool{},
	}
	w.varied = slices.ContainsFunc(s.Groups, func(g model.Group) bool { return len(g.Variants) > 0 })
	f.stage.claims = w.claims
	f.stage.promised = nil
	w.bind(prev)
	w.static, w.staticBy = make([][]*rejection, len(w.classes)), map[string][]*rejection{}
	w.counters, w.outlooks = newCounters(len(w.classes)), make([]*outlook, len(w.classes))
	w.shapes = make([]shape, len(s.Contents.Shapes))
	for i, sh := range s.Contents.Shapes {
		w.shapes[i] = shape{sh, amountsOf(sh.Allocatable)}
	}
	w.takeOver(prev)
	for i := range s.Nodes {
		w.loadNode(i)
		w.roomier(i)
		if s.Nodes[i].Kind == model.Coming {
			w.coming = append(w.coming, i)
		}
	}
	return w
}

// takeOver makes room for the nodes and for what is noted of changes, in the memory that a world before had for
// them if it suffices.
func (w *World) takeOver(prev *World) {
	n := len(w.snap.Nodes)
	if prev != nil {
		clear(prev.log[:cap(prev.log)]) // what was undone is still there
		clear(prev.nodes[:cap(prev.nodes)])
		w.log, w.journal, w.moves = prev.log[:0], prev.journal[:0], prev.moves[:0]
		w.nodes, w.blocks, w.puts = prev.nodes[:0], prev.blocks[:0], prev.puts
		w.lists, w.marks, w.spaces = prev.lists.again(), prev.marks.again(), prev.spaces.again()
		prev.log, prev.journal, prev.moves, prev.nodes, prev.blocks, prev.puts = nil, nil, nil, nil, nil, nil
		prev.lists, prev.marks, prev.spaces = slab[model.Batch]{}, slab[byte]{}, slab[space]{}
	}
	if cap(w.nodes) < n {
		w.nodes = make([]node, 0, n+64)
	}
	w.nodes = w.nodes[:n]
}

// Close releases what the world holds of shared things.
func (w *World) Close() {
	if w.filters != nil {
		w.filters.release()
		w.filters = nil
	}
}

// CountSteps also adds the steps taken from now on to a counter, so that another goroutine can see
// that a decision makes progress.
func (w *World) CountSteps(counter *atomic.Int64) { w.counter = counter }

// step counts steps.
func (w *World) step(n int) {
	w.work.Steps += n
	if w.counter != nil {
		w.counter.Add(int64(n))
	}
}

// Looked counts cheap looks: at free amounts, a selector, an option.
func (w *World) Looked(n int) {
	if w.looked += n; w.looked >= model.LooksPerStep {
		w.step(w.looked / model.LooksPerStep)
		w.looked %= model.LooksPerStep
	}
}

// Allow sets how many steps may be taken from now on, at least one, before the world is exhausted.
// Callers check Exhausted and end then.
func (w *World) Allow(steps int) { w.limit = w.work.Steps + max(1, steps) }

// Exhausted reports whether the steps that were allowed are used up. Without a
// call of Allow they never are.
func (w *World) Exhausted() bool { return w.limit > 0 && w.work.Steps >= w.limit }

// Remaining is how many of the steps that were allowed are left.
func (w *World) Remaining() int {
	if w.limit == 0 {
		return math.MaxInt
	}
	return max(0, w.limit-w.work.Steps)
}

// AllowAll takes a limit away.
func (w *World) AllowAll() { w.limit = 0 }

// Work is what was done so far.
func (w *World) Work() model.Work { return w.work }

// loadNode sets up one node of the snapshot. A node that is booting or coming
// is its group's template under its own name, with the pods that such a node
// starts with; a ready one also gets the DaemonSet pods that it still lacks, as
// far as they fit. One that can be rolled back is what it is, but for the taint: what
// is asked about it has the same answer before the taint and after it.
func (w *World) loadNode(i int) {
	sn := w.snap.Nodes[i]
	n := &w.nodes[i]
	n.name, n.shape, n.object, n.batches, n.kind = sn.Name, sn.Shape, sn.Object, sn.Batches, ghost
	if n.may = sn.May; len(n.may) > 0 {
		w.loose = append(w.loose, i)
	}
	switch {
	case sn.Kind == model.Ready && !w.isBack(sn):
		n.kind = OnReady
	case sn.Kind == model.Ready:
		n.kind = OnReturning
		n.batches = without(n.batches, w.endSoon(sn))
	case sn.Kind == model.Booting || sn.Kind == model.Coming:
		n.kind, n.object = OnComing, nil
		if sn.Group >= 0 {
			if g := &w.snap.Groups[sn.Group]; g.HasTemplate {
				n.batches = merge(n.batches, missing(g.Static, n.batches))
			}
		}
	case emptying(sn):
		n.shape, n.object = w.shapes[sn.Shape].content.Back, model.RolledBack(sn.Object)
		n.batches = without(n.batches, w.endSoon(sn))
		if sn.Standing.Busy == nil && sn.Group >= 0 && model.NodeReady(sn.Object) {
			n.kind = OnReturning
		}
	case w.comesBack(sn):
		n.shape, n.object = w.shapes[sn.Shape].content.Back, model.RolledBack(sn.Object)
		n.batches = without(n.batches, w.endSoon(sn))
		n.kind = OnReturning
	case sn.Standing.Drain.IsDraft():
		n.shape, n.object = w.shapes[sn.Shape].content.Kept, model.WithoutTaint(sn.Object, model.TaintToBeDeleted)
		if sn.Standing.Busy == nil && sn.Group >= 0 && model.NodeReady(sn.Object) {
			n.kind = OnReturning
		}
	}
	n.returns = n.kind == OnReturning
	w.passes(sn)
	n.free = w.shapes[n.shape].total
	for _, b := range n.batches {
		n.free.take(&w.classes[b.Class], int64(b.Count))
	}
	if n.kind == OnComing || (n.kind != ghost && sn.Group >= 0) {
		w.bring(n, w.lacking(sn, n.shape))
		if sn.Kind == model.Coming {
			n.starts = started(n.batches)
		}
	}
	for _, b := range n.batches {
		w.use(b.Class, b.Count)
	}
}

// emptying reports whether pods of the node are being evicted, and nothing but our taint and our
// cordon keeps others away. If its pods have no room elsewhere after all, a rollback costs less
// than another node.
func emptying(n *model.Node) bool {
	d := n.Standing.Drain
	return d != nil && d.Stage == model.Evicting && schedulable(n.Object)
}

// schedulable reports whether a node is not cordoned, or cordoned by us.
func schedulable(n *corev1.Node) bool {
	return !n.Spec.Unschedulable || n.Annotations[model.AnnotationRemoval] == model.RemovalCordoned
}

// rollbackTime is how long a rollback is taken to succeed. One that takes longer may be refused for
// ever, and pods must not wait for it.
const rollbackTime = time.Minute

// comesBack reports whether a removal of the node is being rolled back, or was and its object as
// seen is older. Nothing is bought for pods that have their room there in a moment.
func (w *World) comesBack(n *model.Node) bool {
	if n.Kind != model.Leaving || n.Group < 0 || n.Object.DeletionTimestamp != nil || !model.NodeReady(n.Object) ||
		!schedulable(n.Object) {
		return false
	}
	if in := w.snap.Groups[n.Group].InstanceNamed(n.Instance); in != nil && in.State == provider.Deleting {
		return false
	}
	d := n.Standing.Drain
	if d == nil {
		return n.Standing.AwaitVersion != ""
	}
	return d.Stage == model.RollingBack && w.snap.Now.Sub(d.Since) < rollbackTime
}

// isBack reports whether a removal of the node was rolled back a short while ago, and pods that were
// evicted for it still end. What came for them may wait for that.
func (w *World) isBack(n *model.Node) bool {
	at := n.Standing.Failed.At
	return !at.IsZero() && w.snap.Now.Sub(at) < rollbackTime && len(w.endSoon(n)) > 0
}

// passes notes when time alone changes what is on a node that was given back a short while ago; or, where pods wait,
// that could be: the room of a pod that is about to end counts before it has ended.
func (w *World) passes(n *model.Node) {
	d, at := n.Standing.Drain, n.Standing.Failed.At
	if d != nil && d.Stage == model.RollingBack {
		at = d.Since
	}
	back := !at.IsZero() && w.snap.Now.Sub(at) < rollbackTime
	switch {
	case back:
		w.changes(at.Add(rollbackTime))
	case !emptying(n) || len(w.snap.Pending) == 0:
		return
	}
	for i := range n.Bound {
		if p := &n.Bound[i]; p.Flags&model.Terminating != 0 {
			from, until := p.Soon()
			w.changes(from)
			w.changes(until)
		}
	}
}

// changes notes a time at which the world is another without any event.
func (w *World) changes(at time.Time) {
	if at.After(w.snap.Now) && (w.wake.IsZero() || at.Before(w.wake)) {
		w.wake = at
	}
}

// Wake is when time alone changes what is on a node, zero if it does not.
func (w *World) Wake() time.Time { return w.wake }

// endSoon are the pods of a node that end soon, by class. They leave their room before another
// node could have come for those that were made in their place.
func (w *World) endSoon(n *model.Node) []model.Batch {
	ending := map[model.ClassID]int{}
	for i := range n.Bound {
		if p := &n.Bound[i]; p.EndsSoon(w.snap.Now) {
			if c, ok := w.snap.ClassOf(p); ok {
				ending[c]++
			}
		}
	}
	out := make([]model.Batch, 0, len(ending))
	for _, c := range slices.Sorted(maps.Keys(ending)) {
		out = append(out, model.Batch{Class: c, Count: ending[c]})
	}
	return out
}

// use counts the pods that use each persistent volume claim.
func (w *World) use(c model.ClassID, n int) {
	for _, claim := range w.snap.Classes[c].Spec.Claims {
		w.claims[w.snap.Classes[c].Namespace()+"/"+claim] += n
	}
}

// merge adds batches; neither argument is changed.
func merge(a, b []model.Batch) []model.Batch {
	if len(b) == 0 {
		return a
	}
	out := slices.Clone(a)
	for _, x := range b {
		i, found := slices.BinarySearchFunc(out, x.Class, func(y model.Batch, c model.ClassID) int {
			return int(y.Class) - int(c)
		})
		if !found {
			out = slices.Insert(out, i, model.Batch{Class: x.Class})
		}
		out[i].Count += x.Count
	}
	return out
}

// without is what of all is not in some.
func without(all, some []model.Batch) []model.Batch {
	if len(some) == 0 {
		return all
	}
	return missing(all, some)
}

// missing is what of want is not in have.
func missing(want, have []model.Batch) []model.Batch {
	var out []model.Batch
	for _, x := range want {
		left := x.Count
		for _, y := range have {
			if y.Class == x.Class {
				left -= y.Count
			}
		}
		if left > 0 {
			out = append(out, model.Batch{Class: x.Class, Count: left})
		}
	}
	return out
}

// put places n pods of a class onto a node. It does not ask whether they fit.
func (w *World) put(i int, c model.ClassID, count int) {
	n := w.save(i)
	w.count(n, c, count)
	n.free.take(&w.classes[c], int64(count))
	n.info = nil
	w.journal = append(w.journal, w.placement(i, c, count))
	w.use(c, count)
	w.counters.put(w, i, c, count)
}

// count counts pods of a class among those on a node. A batch list that others
// refer to, too, is copied first.
func (w *World) count(n *node, c model.ClassID, count int) {
	at, end := 0, len(n.batches)
	for at < end {
		if mid := (at + end) / 2; n.batches[mid].Class < c {
			at = mid + 1
		} else {
			end = mid
		}
	}
	found := at < len(n.batches) && n.batches[at].Class == c
	if !n.own {
		n.batches = append(w.lists.list(len(n.batches)+spare), n.batches...)
		n.own = true
	}
	if !found {
		n.batches = slices.Insert(n.batches, at, model.Batch{Class: c})
	}
	n.batches[at].Count += count
}

func countOf(batches []model.Batch, c model.ClassID) int32 {
	for _, b := range batches {
		if b.Class == c {
			return int32(b.Count)
		}
	}
	return 0
}

// spare is how many classes may join a node before its list is copied again.
const spare = 8

// AddNodes adds nodes of a template, with unique names and hostnames.
func (w *World) AddNodes(t Template, n int) (first Node) {
	first = Node(len(w.nodes))
	total := w.shapes[t.Shape].total
	for _, b := range t.Pods {
		total.take(&w.classes[b.Class], int64(b.Count))
	}
	for range n {
		w.nextName++
		w.nodes = append(w.nodes, node{
			serial: w.nextName, group: t.Group, shape: t.Shape, may: t.May, kind: OnPlanned,
			free: total, batches: t.Pods, starts: started(t.Pods), epoch: w.epoch,
		})
		i := len(w.nodes) - 1
		for _, b := range t.Pods {
			w.use(b.Class, b.Count)
		}
		w.counters.account(w, i, +1)
		w.roomier(i)
	}
	return first
}

// Drop takes a planned node out of the world again.
func (w *World) Drop(id Node) {
	i := int(id)
	w.save(i)
	w.forget(i)
}

// pop takes back the node that was added last. Nothing may have been marked or
// placed on it since.
func (w *World) pop() {
	i := len(w.nodes) - 1
	w.forget(i)
	w.nodes = w.nodes[:i]
	w.nextName--
}

// GroupLoad is what a group's planned nodes carry.
type GroupLoad struct {
	Nodes int
	Pods  []model.Batch // sorted by class; without those that a node starts with
}

// Planned is what was planned, by group.
func (w *World) Planned() map[int]GroupLoad {
	loads := map[int]GroupLoad{}
	for i := len(w.snap.Nodes); i < len(w.nodes); i++ {
		if n := &w.nodes[i]; !n.gone {
			l := loads[n.group]
			l.Nodes++
			loads[n.group] = l
		}
	}
	pods := map[int]map[model.ClassID]int{}
	for _, p := range w.journal {
		if p.node < len(w.snap.Nodes) {
			continue
		}
		g := w.nodes[p.node].group
		if pods[g] == nil {
			pods[g] = map[model.ClassID]int{}
		}
		pods[g][p.class] += p.count
	}
	for g, counts := range pods {
		l := loads[g]
		for _, c := range slices.Sorted(maps.Keys(counts)) {
			l.Pods = append(l.Pods, model.Batch{Class: c, Count: counts[c]})
		}
		loads[g] = l
	}
	return loads
}

// Reserved tells which nodes of the snapshot had pods placed on them since the
// world was loaded.
func (w *World) Reserved() map[Node]bool {
	r := map[Node]bool{}
	for _, p := range w.journal {
		if p.node < len(w.snap.Nodes) {
			r[Node(p.node)] = true
		}
	}
	return r
}

// PlacedOn are the pods that were placed on a node of the snapshot since the world was loaded, sorted by class.
func (w *World) PlacedOn(id Node) (out []model.Batch) {
	counts := map[model.ClassID]int{}
	for _, p := range w.journal {
		if p.node == int(id) {
			counts[p.class] += p.count
		}
	}
	for _, c := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, model.Batch{Class: c, Count: counts[c]})
	}
	return out
}

// Allocatable is what a node of the template has for pods beyond those that it
// starts with.
func (w *World) Allocatable(t Template) model.Resources {
	r := w.shapes[t.Shape].content.Allocatable
	for _, b := range t.Pods {
		r = r.Plus(w.snap.Classes[b.Class].Spec.Requests, -int64(b.Count))
	}
	return r
}

// Capacity is how many pods of one class an otherwise empty node of the
// template has room for, by amounts alone.
func (w *World) Capacity(c model.ClassID, t Template) int {
	f := w.shapes[t.Shape].total
	for _, b := range t.Pods {
		f.take(&w.classes[b.Class], int64(b.Count))
	}
	return w.classes[c].count(&f)
}

// info builds what the plugins see of a node.
func (w *World) info(i int) *framework.NodeInfo {
	n := &w.nodes[i]
	if n.info != nil {
		return n.info
	}
	n.info = w.nodeInfo(w.object(i), n.batches)
	return n.info
}

// object is the node as an API object; for one that is not there yet, as its
// group's template promises it.
func (w *World) object(i int) *corev1.Node {
	n := &w.nodes[i]
	if n.object != nil {
		return n.object
	}
	object := named(w.shapes[n.shape].content.Node, n.called())
	w.filters.stage.promise(object.Name, w.csiNode(i))
	return object
}

// csiNode is what the group's template says of volumes on a node that is not
// there yet, nil if it says nothing.
func (w *World) csiNode(i int) *storagev1.CSINode {
	group := w.groupOf(i)
	if group < 0 || w.snap.Groups[group].Template == nil {
		return nil
	}
	return w.snap.Groups[group].Template.CSINode
}

func (w *World) nodeInfo(object *corev1.Node, batches []model.Batch) *framework.NodeInfo {
	info := framework.NewNodeInfo()
	info.SetNode(object)
	for _, b := range batches {
		for range b.Count {
			info.AddPodInfo(w.classes[b.Class].info())
		}
	}
	return info
}

// named gives a shape's node a name and its own hostname label.
func named(content *corev1.Node, name string) *corev1.Node {
	labels := make(map[string]string, len(content.Labels)+1)
	maps.Copy(labels, content.Labels)
	labels[corev1.LabelHostname] = name
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       content.Spec,
		Status:     content.Status,
	}
}
