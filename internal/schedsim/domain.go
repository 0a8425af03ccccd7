package schedsim

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// view is the world as one coupled class sees it. Nodes that agree in all that
// the class reads of a topology (the values of its keys, and whether its
// constraints count them) are one domain, with one stand-in that carries only
// the pods that matter. It is kept up to date by every placement, so that no
// question has to look at every node.
type view struct {
	class    model.ClassID
	perNode  bool // every node is a domain
	fold     *fold
	keys     []string
	domains  []domainState
	index    map[string]int32
	byShape  map[model.ShapeID]int32
	domainOf []int32 // by node of the world
	relevant []relevance
	sorts    *sorts // which of relevant each class is
	required nodeaffinity.RequiredNodeAffinity
	bare     map[model.ShapeID]*framework.NodeInfo // empty nodes
	stage    []stageNode
	low      []int32
}

// domainState is one domain of a view.
type domainState struct {
	content *corev1.Node // the first node's content, which stands for all
	value   string       // of the sole spread key
	counted bool         // spread constraints count its nodes
	nodes   int
	counts  []int32 // by relevant sort
	// standIn is what the plugins last saw of it, and shown the counts it had;
	// standIns are some that they saw before, by their counts.
	standIn  *framework.NodeInfo
	shown    []int32
	standIns map[string]*framework.NodeInfo
}

// on is how many pods of a relevant sort are on a node.
func (v *view) on(n *node, sort int32) int32 {
	count := int32(0)
	for _, b := range n.batches {
		if v.sorts.slot(b.Class) == sort {
			count += int32(b.Count)
		}
	}
	return count
}

// view returns the class's view, made at its first use.
func (w *World) view(c model.ClassID) *view {
	if v, ok := w.views[c]; ok {
		return v
	}
	class := w.class(c)
	before := w.bonds.steps
	sorts := w.bonds.sortsOf(class)
	w.Looked(w.bonds.steps - before + len(w.nodes))
	v := &view{
		class: c, perNode: class.coupling == single || class.readsHost, keys: class.keys,
		index: map[string]int32{}, byShape: map[model.ShapeID]int32{}, bare: map[model.ShapeID]*framework.NodeInfo{},
		relevant: sorts.relevant, sorts: sorts,
		required: nodeaffinity.GetRequiredNodeAffinity(class.pod),
		low:      make([]int32, len(sorts.relevant)),
		fold:     w.newFold(class, len(sorts.relevant)),
	}
	for i := range w.nodes {
		v.add(w, i)
	}
	w.views[c] = v
	w.readers = append(w.readers, v)
	return v
}

// add takes in a node that the world has just got, with the pods on it.
func (v *view) add(w *World, i int) {
	n := &w.nodes[i]
	v.domainOf = append(v.domainOf, v.domain(w, n.shape))
	if !n.gone {
		v.account(i, n, +1)
	}
}

// domain finds or makes the domain of nodes of a shape.
func (v *view) domain(w *World, s model.ShapeID) int32 {
	if d, ok := v.byShape[s]; ok {
		return d
	}
	content := w.shapes[s].content.Node
	var key []byte
	for _, k := range v.keys {
		if value, ok := content.Labels[k]; ok {
			key = append(append(append(append(key, k...), '='), value...), 0)
		} else {
			key = append(append(key, k...), " absent\x00"...)
		}
	}
	class := &w.classes[v.class]
	counted := false
	value := ""
	if len(class.spec.TopologySpreadConstraints) > 0 {
		// A term that cannot be parsed matches nothing, as for the plugin.
		match, _ := v.required.Match(content)
		_, untolerated := v1helper.FindMatchingUntoleratedTaint(klog.Background(), content.Spec.Taints,
			class.spec.Tolerations,
			schedulingTaint, true)
		key = strconv.AppendBool(strconv.AppendBool(key, match), !untolerated)
		counted = countedBySpread(class.spec, content, match, !untolerated)
		value = content.Labels[class.spreadOver]
	}
	d, ok := v.index[string(key)]
	if !ok {
		d = int32(len(v.domains))
		v.index[string(key)] = d
		v.domains = append(v.domains, domainState{
			content: content, value: value, counted: counted, counts: make([]int32, len(v.relevant)),
		})
	}
	v.byShape[s] = d
	return d
}

// countedBySpread reports whether any spread constraint counts pods on such
// nodes: they have all the keys, and the inclusion policies let them in. Every
// node is taken to have a hostname, which its shape does not tell.
func countedBySpread(spec *corev1.PodSpec, n *corev1.Node, affinity, tolerated bool) bool {
	for _, c := range spec.TopologySpreadConstraints {
		if _, ok := n.Labels[c.TopologyKey]; !ok && c.TopologyKey != corev1.LabelHostname {
			return false
		}
	}
	for _, c := range spec.TopologySpreadConstraints {
		honorAffinity := c.NodeAffinityPolicy == nil || *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor
		honorTaints := c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
		if (affinity || !honorAffinity) && (tolerated || !honorTaints) {
			return true
		}
	}
	return false
}

// account adds all of a node's pods to its domain, or takes them away.
func (v *view) account(i int, n *node, sign int) {
	if v.fold != nil {
		v.fold.account(v, i, n, sign)
	}
	d := &v.domains[v.domainOf[i]]
	d.nodes += sign
	for _, b := range n.batches {
		if s := v.sorts.slot(b.Class); s >= 0 {
			d.counts[s] += int32(sign * b.Count)
		}
	}
}

// put counts pods that were placed on a node.
func (v *view) put(i int, c model.ClassID, count int) {
	if s := v.sorts.slot(c); s >= 0 {
		v.domains[v.domainOf[i]].counts[s] += int32(count)
		if v.fold != nil {
			v.fold.put(v, i, s, count)
		}
	}
}

// weight is how many pods the class's spread constraints count in a domain, or
// those that matter to its affinity.
func (v *view) weight(d int32) int {
	n := 0
	for _, count := range v.domains[d].counts {
		n += int(count)
	}
	return n
}

// nodeWeight is how many pods that matter to the class are on a node.
func (v *view) nodeWeight(n *node) int {
	count := 0
	for _, b := range n.batches {
		if v.sorts.slot(b.Class) >= 0 {
			count += b.Count
		}
	}
	return count
}

// check tells how one more pod of the class stands to the node. Its static
// verdict and amounts have been seen to.
func (v *view) check(w *World, i int) *rejection {
	// What conflicts are known to say no to is left to the plugins' own words,
	// for which the pods of that very node must be on it.
	if (v.perNode && v.fold == nil) || w.blocked(v.class, &w.nodes[i]) {
		return v.ask(w, v.class, i)
	}
	q := v.raise(w)
	return w.answer(&q, v.target(w, i))
}

// raise puts the question for all domains at once: before their stand-ins, with
// all pods that matter; where every node is a domain that nothing stands in for,
// before all nodes.
func (v *view) raise(w *World) question {
	v.stage = v.stage[:0]
	switch {
	case v.fold != nil:
		v.fold.show(w, v)
	case v.perNode:
		v.everyNode(w)
	default:
		v.lowest(w, -1, nil)
		for j := range v.domains {
			if v.domains[j].nodes > 0 {
				v.stage = append(v.stage, v.show(w, j, nil))
			}
		}
	}
	return w.raise(w.plugins(v.class), v.class, v.stage)
}

func (v *view) everyNode(w *World) {
	for j := range w.nodes {
		if !w.nodes[j].gone {
			v.stage = append(v.stage, w.info(j))
		}
	}
}

// target is the node as it is shown for such a question. Unless the plugins look
// at its pods, it is an empty one of its shape: what it has free was counted, what
// conflicts with the class is not on it, and its domain's stand-in has all else.
func (v *view) target(w *World, i int) *framework.NodeInfo {
	if v.fold != nil {
		return v.fold.standIn(w, v, v.fold.kindOf[i], 0)
	}
	if v.perNode || !w.classes[v.class].plain {
		return w.info(i)
	}
	shape := w.nodes[i].shape
	info, ok := v.bare[shape]
	if !ok {
		info = framework.NewNodeInfo()
		info.SetNode(named(w.shapes[shape].content.Node, "bare"))
		v.bare[shape] = info
	}
	return info
}

// ask puts the question to all plugins, before stand-ins for every domain and
// the node itself.
func (v *view) ask(w *World, c model.ClassID, i int) *rejection {
	target := w.info(i)
	v.stage = v.stage[:0]
	if v.perNode {
		v.everyNode(w)
		return w.ask(w.filters.full, c, target, v.stage)
	}
	at := v.domainOf[i]
	v.lowest(w, at, &w.nodes[i])
	for j := range v.domains {
		d := &v.domains[j]
		if d.nodes == 0 {
			continue
		}
		if int32(j) == at {
			if d.nodes == 1 {
				continue // the node is its domain
			}
			v.stage = append(v.stage, v.show(w, j, &w.nodes[i]))
			continue
		}
		v.stage = append(v.stage, v.show(w, j, nil))
	}
	v.stage = append(v.stage, target)
	return w.ask(w.filters.full, c, target, v.stage)
}
