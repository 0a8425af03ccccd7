package schedsim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// This file counts pods by topology domain. A counter is shared by all classes that read the same
// number, is made at the first question about one of them, and follows every change of the world:
// a pod that is placed costs as much as there are counters that its class feeds, whatever the
// number of nodes.

// counters are those of a world. A nil one counts nothing.
type counters struct {
	topologies map[string]*topology
	scopes     map[string]*scope
	all        []*scope
	named      map[string]*counter
	fed        [][]*counter // by class: the counters that its pods count for
	member     []bool       // by class, while a counter is made
	hosts      []int32      // by node of the snapshot: hostOf; nil until asked for
}

func newCounters(classes int) *counters {
	return &counters{topologies: map[string]*topology{}, scopes: map[string]*scope{}, named: map[string]*counter{},
		fed: make([][]*counter, classes)}
}

// topology is the domains of one label key.
type topology struct {
	key     string
	domains map[string]int32 // by value; not for the hostname
	byShape []int32          // one more than the domain, 0 where it is not known yet
}

func (t *counters) topology(w *World, key string) *topology {
	to, ok := t.topologies[key]
	if !ok {
		to = &topology{key: key, domains: map[string]int32{}, byShape: make([]int32, len(w.shapes))}
		t.topologies[key] = to
	}
	return to
}

// domain is that of a node, -1 if it has no such label.
func (to *topology) domain(w *World, i int) int32 {
	if to.key == corev1.LabelHostname {
		return w.hostOf(i)
	}
	return to.ofShape(w, w.nodes[i].shape)
}

func (to *topology) ofShape(w *World, s model.ShapeID) int32 {
	if d := to.byShape[s]; d != 0 {
		return d - 2
	}
	d := int32(-1)
	if value, ok := w.shapes[s].content.Node.Labels[to.key]; ok {
		if d, ok = to.domains[value]; !ok {
			d = int32(len(to.domains))
			to.domains[value] = d
		}
	}
	to.byShape[s] = d + 2
	return d
}

// hostOf is the first node that has the same hostname label, -1 for a node without one. Planned
// nodes have names of their own.
func (w *World) hostOf(i int) int32 {
	if i >= len(w.snap.Nodes) {
		return int32(i)
	}
	if w.counters.hosts == nil {
		hosts, first := make([]int32, len(w.snap.Nodes)), make(map[string]int32, len(w.snap.Nodes))
		for j := range hosts {
			n := &w.nodes[j]
			name, ok := n.name, true
			if n.object != nil {
				name, ok = n.object.Labels[corev1.LabelHostname]
			}
			switch at, seen := first[name]; {
			case !ok:
				hosts[j] = -1
			case seen:
				hosts[j] = at
			default:
				first[name], hosts[j] = int32(j), int32(j)
			}
		}
		w.counters.hosts = hosts
	}
	return w.counters.hosts[i]
}

// scope is the nodes that counters look at, by domain: all that have the key, or those that a spread
// constraint counts.
type scope struct {
	topology *topology
	limits   *inclusion // nil: none
	nodes    []int32    // by domain
	domains  int        // those with nodes
	counters []*counter
}

// inclusion is what a spread constraint asks of a node to count it.
type inclusion struct {
	keys        []string // the node must have all of them
	hostname    bool     // the hostname is one of them
	affinity    bool     // the pod's own node affinity must let it onto the node
	readsHost   bool     // which differs between nodes of a shape
	required    nodeaffinity.RequiredNodeAffinity
	taints      bool // the pod must tolerate the node's taints
	tolerations []corev1.Toleration
	byShape     []int8 // above zero for yes, below for no
}

// inclusionOf is what a class's spread constraint counts, with a name for it.
func (w *World) inclusionOf(class *class, s *corev1.TopologySpreadConstraint) (*inclusion, string) {
	in := &inclusion{byShape: make([]int8, len(w.shapes)), readsHost: class.readsHost}
	var name strings.Builder
	for _, c := range class.spec.TopologySpreadConstraints {
		if c.TopologyKey == corev1.LabelHostname {
			in.hostname = true
		} else {
			in.keys = append(in.keys, c.TopologyKey)
		}
	}
	slices.Sort(in.keys)
	in.keys = slices.Compact(in.keys)
	fmt.Fprintf(&name, "%q %t", in.keys, in.hostname)
	if s.NodeAffinityPolicy == nil || *s.NodeAffinityPolicy == corev1.NodeInclusionPolicyHonor {
		a := class.spec.Affinity
		in.affinity = len(class.spec.NodeSelector) > 0 || a != nil && a.NodeAffinity != nil
		if in.affinity {
			in.required = nodeaffinity.GetRequiredNodeAffinity(class.pod)
			fmt.Fprintf(&name, " selector %q", class.spec.NodeSelector)
			if a != nil && a.NodeAffinity != nil {
				name.WriteString(a.NodeAffinity.String())
			}
		}
	}
	if s.NodeTaintsPolicy != nil && *s.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor {
		in.taints, in.tolerations = true, class.spec.Tolerations
		name.WriteString(" tolerations")
		for i := range in.tolerations {
			name.WriteString(in.tolerations[i].String())
		}
	}
	return in, name.String()
}

// counts reports whether the node is one of the scope's.
func (s *scope) counts(w *World, i int) bool {
	in := s.limits
	if in == nil {
		return true
	}
	if in.hostname && w.hostOf(i) < 0 {
		return false
	}
	if in.affinity && in.readsHost {
		return in.lets(w.object(i))
	}
	shape := w.nodes[i].shape
	if in.byShape[shape] == 0 {
		in.byShape[shape] = -1
		if in.lets(w.shapes[shape].content.Node) {
			in.byShape[shape] = 1
		}
	}
	return in.byShape[shape] > 0
}

func (in *inclusion) lets(n *corev1.Node) bool {
	for _, k := range in.keys {
		if _, ok := n.Labels[k]; !ok {
			return false
		}
	}
	if in.affinity {
		// A term that cannot be parsed matches nothing, as for the plugin.
		if match, _ := in.required.Match(n); !match {
			return false
		}
	}
	if in.taints {
		_, untolerated := v1helper.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, in.tolerations,
			schedulingTaint, true)
		return !untolerated
	}
	return true
}

// scope finds or makes the scope of a name, and takes in the nodes that there are.
func (t *counters) scope(w *World, key string, limits *inclusion, name string) *scope {
	name = key + "\x00" + name
	s, ok := t.scopes[name]
	if ok {
		return s
	}
	s = &scope{topology: t.topology(w, key), limits: limits}
	t.scopes[name] = s
	t.all = append(t.all, s)
	for i := range w.nodes {
		if !w.nodes[i].gone {
			s.account(w, i, +1)
		}
	}
	w.Looked(len(w.nodes))
	return s
}

// account takes a node in, or out.
func (s *scope) account(w *World, i int, sign int32) {
	d := s.topology.domain(w, i)
	if d < 0 || !s.counts(w, i) {
		return
	}
	s.nodes = grown(s.nodes, d)
	was := s.nodes[d]
	s.nodes[d] += sign
	switch {
	case was == 0:
		s.domains++
		for _, c := range s.counters {
			c.join(c.at(d))
		}
	case s.nodes[d] == 0:
		s.domains--
		for _, c := range s.counters {
			c.leave(c.at(d))
		}
	}
}

func grown(list []int32, d int32) []int32 {
	if more := int(d) + 1 - len(list); more > 0 {
		list = append(list, make([]int32, more)...)
	}
	return list
}

// counter is a number of pods by domain.
type counter struct {
	scope *scope
	count []int32 // by domain
	total int     // of all domains
	// low is the least count of a domain that has nodes, and lows how many have it; 0 if that must
	// be found again.
	low, lows int32
	// tally is how many domains have each count, of a counter by hostname: nodes are many, and each that
	// is opened has the least. No domain has less than low then. Elsewhere domains are few, and counts high.
	tally []int32
}

// counter finds or makes the counter of a name: of the pods of some classes, in a scope.
func (t *counters) counter(w *World, s *scope, name string, members []model.ClassID) *counter {
	if c, ok := t.named[name]; ok {
		return c
	}
	c := &counter{scope: s}
	if s.topology.key == corev1.LabelHostname {
		c.tally = []int32{int32(s.domains)}
	}
	t.named[name] = c
	s.counters = append(s.counters, c)
	if t.member == nil {
		t.member = make([]bool, len(t.fed))
	}
	for _, id := range members {
		t.member[id] = true
		t.fed[id] = append(t.fed[id], c)
	}
	if len(members) > 0 {
		for i := range w.nodes {
			if w.nodes[i].gone {
				continue
			}
			for _, b := range w.nodes[i].batches {
				if t.member[b.Class] {
					c.add(w, i, b.Count)
				}
			}
		}
		w.Looked(len(w.nodes))
	}
	for _, id := range members {
		t.member[id] = false
	}
	return c
}

// at is the count of a domain.
func (c *counter) at(d int32) int32 {
	if int(d) < len(c.count) {
		return c.count[d]
	}
	return 0
}

// add counts pods on a node.
func (c *counter) add(w *World, i, count int) {
	d := c.scope.topology.domain(w, i)
	if d < 0 || !c.scope.counts(w, i) {
		return
	}
	c.count = grown(c.count, d)
	was := c.count[d]
	c.count[d] += int32(count)
	c.total += count
	// The new count joins first: where it is the least, the old one need not be looked for.
	c.join(c.count[d])
	c.leave(was)
}

// join and leave are told of the count of a domain that comes, or goes.
func (c *counter) join(count int32) {
	if c.tally != nil {
		c.tally = grown(c.tally, count)
		c.tally[count]++
	}
	switch {
	case count < c.low && (c.lows > 0 || c.tally != nil):
		c.low, c.lows = count, 1
	case count == c.low && c.lows > 0:
		c.lows++
	}
}

func (c *counter) leave(count int32) {
	if c.tally != nil {
		c.tally[count]--
	}
	if c.lows > 0 && count == c.low {
		c.lows--
	}
}

// least is the lowest count of a domain that has nodes; as the plugin has it, without limit where
// there is none.
func (c *counter) least(w *World) int {
	if c.scope.domains == 0 {
		return math.MaxInt32
	}
	if c.lows == 0 && c.tally != nil {
		from := c.low
		for c.tally[c.low] == 0 {
			c.low++
		}
		c.lows = c.tally[c.low]
		w.Looked(int(c.low - from + 1))
	}
	if c.lows == 0 {
		for d, nodes := range c.scope.nodes {
			if nodes == 0 {
				continue
			}
			if count := c.at(int32(d)); c.lows == 0 || count < c.low {
				c.low, c.lows = count, 1
			} else if count == c.low {
				c.lows++
			}
		}
		w.Looked(len(c.scope.nodes))
	}
	return int(c.low)
}

// account takes in a node with its pods, or takes it out.
func (t *counters) account(w *World, i, sign int) {
	if t == nil {
		return
	}
	if sign > 0 {
		for _, s := range t.all {
			s.account(w, i, +1)
		}
	}
	for _, b := range w.nodes[i].batches {
		t.put(w, i, b.Class, sign*b.Count)
	}
	if sign < 0 {
		for _, s := range t.all {
			s.account(w, i, -1)
		}
	}
}

// put counts pods that were placed on a node, or have left it.
func (t *counters) put(w *World, i int, c model.ClassID, count int) {
	if t == nil {
		return
	}
	for _, x := range t.fed[c] {
		x.add(w, i, count)
	}
}
