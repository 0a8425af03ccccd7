package observe

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// cluster is what is known of nodes and pods, kept up to date event by event.
// Its caller holds the observer's lock around every method.
type cluster struct {
	catalog *catalog.Catalog
	nodes   map[string]*node
	// places maps each known pod to its node; nil means that it has none.
	places  map[cache.ObjectName]place
	unbound map[cache.ObjectName]*model.Pod
	// words makes equal strings share their bytes: names of namespaces and
	// nodes, ids of owners.
	words map[string]string

	// generation changes with every relevant change; news is called for those that should bring the
	// next turn forward.
	generation *uint64
	news       func()

	frozenNodes []model.ObservedNode
	nodesStale  bool
	// order are the nodes that have an object, by name; nil after one came or went. touched are those of which the
	// frozen list says what they were.
	order, touched []*node
	frozenUnbound  []model.Pod
	unboundStale   bool
	checkAt        int // catalog size at which it is next checked for stale content
}

// place is where a pod is, and its UID, since names are reused.
type place struct {
	node *node
	uid  types.UID
}

// node is a node and its pods. Pods may be known before their node is; object
// is nil until then.
type node struct {
	name       string
	object     *corev1.Node
	shape      model.ShapeID
	pods       []model.Pod
	generation uint64
	// shared: a caller has pods, which must not be written any more.
	shared bool
	// at is its place in the order, where there is one.
	at int
}

// maxWords bounds the table of shared strings. When it is full it is emptied, which only costs
// sharing.
const maxWords = 1 << 18

func newCluster(generation *uint64, news func()) *cluster {
	return &cluster{
		catalog:    catalog.New(),
		nodes:      map[string]*node{},
		places:     map[cache.ObjectName]place{},
		unbound:    map[cache.ObjectName]*model.Pod{},
		words:      map[string]string{},
		generation: generation,
		news:       news,
		nodesStale: true, unboundStale: true,
		checkAt: compactFrom,
	}
}

func (c *cluster) word(s string) string {
	if s == "" {
		return ""
	}
	if w, ok := c.words[s]; ok {
		return w
	}
	if len(c.words) >= maxWords {
		clear(c.words)
	}
	c.words[s] = s
	return s
}

func (c *cluster) bump() { *c.generation++ }

// node gives the entry of a name, a new one if need be.
func (c *cluster) node(name string) *node {
	n, ok := c.nodes[name]
	if !ok {
		n = &node{name: c.word(name)}
		c.nodes[n.name] = n
	}
	return n
}

func (c *cluster) touchNode(n *node) {
	c.bump()
	n.generation = *c.generation
	c.outdate(n)
}

// outdate notes that the frozen list does not say any more what a node is. A list of touched nodes that is as long as
// that of all nodes stands for all.
func (c *cluster) outdate(n *node) {
	c.nodesStale = true
	if len(c.touched) < len(c.order) {
		c.touched = append(c.touched, n)
	}
}

// forget drops an entry that nothing refers to any more.
func (c *cluster) forget(n *node) {
	if n.object == nil && len(n.pods) == 0 {
		delete(c.nodes, n.name)
	}
}

// 1. Pods.

func (c *cluster) putPod(r *podRow) {
	c.adopt(r)
	r.name.Namespace = c.word(r.name.Namespace)
	r.pod.Owner = types.UID(c.word(string(r.pod.Owner)))
	r.pod.Nominated = c.word(r.pod.Nominated)
	was, known := c.places[r.name]
	if known && was.uid != r.pod.UID {
		// Another pod by the same name: the old one is gone.
		c.dropPod(r.name)
		was, known = place{}, false
	}
	if known {
		r.pod.Ends = firstEnd(c.pod(r.name, was), &r.pod)
	}
	if r.node == "" {
		c.putUnbound(r, was, known)
		return
	}
	n := c.node(r.node)
	if known && was.node == n {
		i := n.find(r.pod.UID, r.pod.Name)
		if n.pods[i] == r.pod {
			return
		}
		n.own()
		n.pods[i] = r.pod
		c.touchNode(n)
		return
	}
	if known {
		c.leave(r.name, was)
	}
	n.own()
	n.pods = append(n.pods, r.pod)
	c.places[r.name] = place{n, r.pod.UID}
	c.touchNode(n)
	if known {
		c.news() // a pod that waited has its node
	}
}

func (c *cluster) putUnbound(r *podRow, was place, known bool) {
	old := c.unbound[r.name]
	if old != nil && *old == r.pod {
		return
	}
	if known && was.node != nil {
		c.leave(r.name, was)
	}
	refused := r.pod.Flags&model.Refused != 0
	if old == nil || refused && old.Flags&model.Refused == 0 {
		c.news()
	}
	c.unbound[r.name] = &r.pod
	c.places[r.name] = place{nil, r.pod.UID}
	c.unboundStale = true
	c.bump()
}

// pod is one that is known to be at a place.
func (c *cluster) pod(name cache.ObjectName, at place) *model.Pod {
	if at.node == nil {
		return c.unbound[name]
	}
	return &at.node.pods[at.node.find(at.uid, name.Name)]
}

// firstEnd is when a pod's time to end is over: of a deletion that was known before, not later than was
// known.
func firstEnd(was, is *model.Pod) int64 {
	if was.Flags&is.Flags&model.Terminating == 0 {
		return is.Ends
	}
	return min(was.Ends, is.Ends)
}

// leave removes a pod from its place.
func (c *cluster) leave(name cache.ObjectName, was place) {
	if was.node == nil {
		delete(c.unbound, name)
		c.unboundStale = true
		return
	}
	n := was.node
	n.own()
	i := n.find(was.uid, name.Name)
	n.pods = slices.Delete(n.pods, i, i+1)
	c.touchNode(n)
	c.forget(n)
}

func (c *cluster) dropPod(name cache.ObjectName) {
	was, known := c.places[name]
	if !known {
		return
	}
	c.leave(name, was)
	delete(c.places, name)
	c.bump()
}

func (c *cluster) replacePods(rows []*podRow) {
	keep := make(map[cache.ObjectName]bool, len(rows))
	for _, r := range rows {
		keep[r.name] = true
	}
	for name := range c.places {
		if !keep[name] {
			c.dropPod(name)
		}
	}
	for _, r := range rows {
		c.putPod(r)
	}
	c.news()
}

// own makes the pods writable by copying them if a caller has them.
func (n *node) own() {
	if n.shared {
		n.pods = slices.Clone(n.pods)
		n.shared = false
	}
}

// find gives the index of a pod that is known to be here.
func (n *node) find(uid types.UID, name string) int {
	return slices.IndexFunc(n.pods, func(p model.Pod) bool { return p.UID == uid && p.Name == name })
}

// 2. Nodes.

func (c *cluster) putNode(obj *corev1.Node) {
	n := c.node(obj.Name)
	old := n.object
	n.object = obj
	if old == nil {
		c.order = nil
	}
	if old != nil && sameNode(old, obj) {
		// Its version must be taken in, since a write of ours may be awaited, but no decision
		// depends on the change.
		c.outdate(n)
		return
	}
	n.shape = c.catalog.Shape(obj)
	c.touchNode(n)
	if old == nil || model.NodeReady(obj) != model.NodeReady(old) || old.UID != obj.UID {
		c.news()
	}
}

func (c *cluster) dropNode(name string) {
	n, ok := c.nodes[name]
	if !ok || n.object == nil {
		return
	}
	n.object, c.order = nil, nil
	c.touchNode(n)
	c.forget(n)
	c.news()
}

func (c *cluster) replaceNodes(all []*corev1.Node) {
	keep := make(map[string]bool, len(all))
	for _, obj := range all {
		keep[obj.Name] = true
	}
	for _, name := range slices.Collect(maps.Keys(c.nodes)) {
		if !keep[name] {
			c.dropNode(name)
		}
	}
	for _, obj := range all {
		c.putNode(obj)
	}
}

// 3. Results.

// observed is the frozen list of nodes, by name.
func (c *cluster) observed() []model.ObservedNode {
	if !c.nodesStale {
		return c.frozenNodes
	}
	c.nodesStale = false
	touched := c.touched
	c.touched = c.touched[:0]
	if len(touched) < len(c.order) {
		c.frozenNodes = slices.Clone(c.frozenNodes)
		for _, n := range touched {
			if n.object != nil { // else its pods are known before it is
				c.freeze(n)
			}
		}
		return c.frozenNodes
	}
	if c.order == nil {
		for _, n := range c.nodes {
			if n.object != nil {
				c.order = append(c.order, n)
			}
		}
		slices.SortFunc(c.order, func(a, b *node) int { return cmp.Compare(a.name, b.name) })
	}
	c.frozenNodes = make([]model.ObservedNode, len(c.order))
	for i, n := range c.order {
		n.at = i
		c.freeze(n)
	}
	return c.frozenNodes
}

// freeze puts a node into the list that is given out.
func (c *cluster) freeze(n *node) {
	n.shared = true
	c.frozenNodes[n.at] = model.ObservedNode{
		Object: n.object, Shape: n.shape, Pods: slices.Clip(n.pods), Generation: n.generation,
	}
}

// noNode are the pods that are bound to a node which has no object, by node.
func (c *cluster) noNode() (out []model.BoundPod) {
	if len(c.nodes) == len(c.frozenNodes) {
		return nil
	}
	for _, n := range c.nodes {
		for i := range n.pods {
			if n.object == nil {
				out = append(out, model.BoundPod{Node: n.name, Pod: n.pods[i]})
			}
		}
	}
	slices.SortFunc(out, func(a, b model.BoundPod) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Pod.UID, b.Pod.UID))
	})
	return out
}

// waiting is the frozen list of pods without a node, by namespace and name.
func (c *cluster) waiting() []model.Pod {
	if !c.unboundStale {
		return c.frozenUnbound
	}
	c.unboundStale = false
	names := slices.SortedFunc(maps.Keys(c.unbound), compareNames)
	out := make([]model.Pod, len(names))
	for i, name := range names {
		out[i] = *c.unbound[name]
	}
	c.frozenUnbound = out
	return out
}
