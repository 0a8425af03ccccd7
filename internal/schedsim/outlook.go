package schedsim

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// outlook is what the verdict on a coupled class reads of other pods: counters, and what it makes of
// them. The verdict costs as much as the class has terms. It is that of the scheduler's PodTopologySpread
// and InterPodAffinity plugins, in their words; property tests compare it with theirs.
type outlook struct {
	class   *class // or another of its family
	spread  []skew
	affine  []*counter // of the pods that match all of its affinity terms, by the terms' keys
	seeds   bool       // its own pods match them, too: the first may go anywhere
	anti    []*counter // of the pods that it repels
	against []*counter // of the pods that repel it
	hosts   []*counter // those of spread and affine that count by hostname
	regions *regions
	// ownHosts: hostnames are not shared, so that anti-affinity over them is a matter of the node
	// itself, which conflicts knows.
	ownHosts bool
}

// skew is one spread constraint.
type skew struct {
	*counter
	most       int // maxSkew
	self       int // 1 if the constraint counts the class's own pods
	minDomains int
}

// The refusals of a coupled class; those of a region hold for all of its nodes.
var (
	noSpreadLabel = coupled(model.TopologySpread, podtopologyspread.ErrReasonNodeLabelNotMatch)
	overSkew      = coupled(model.TopologySpread, podtopologyspread.ErrReasonConstraintsNotMatch)
	notBeside     = coupled(model.PodAffinity, interpodaffinity.ErrReasonAffinityRulesNotMatch)
	repels        = coupled(model.PodAffinity, interpodaffinity.ErrReasonAntiAffinityRulesNotMatch)
	repelled      = coupled(model.PodAffinity, interpodaffinity.ErrReasonExistingAntiAffinityRulesNotMatch)
)

// refusals are the same words for a node, and for all nodes of its region.
type refusals struct{ node, region rejection }

func coupled(reason model.Reason, said string) *refusals {
	return &refusals{rejection{reason: reason, said: said}, rejection{reason: reason, said: said, region: true}}
}

func (r *refusals) over(t *topology) *rejection {
	if t.key == corev1.LabelHostname {
		return &r.node
	}
	return &r.region
}

// outlook returns the class's outlook, made at its first use.
func (w *World) outlook(c model.ClassID) *outlook {
	if o := w.outlooks[c]; o != nil {
		return o
	}
	class, before := w.class(c), w.bonds.steps
	if o := w.outlookOf[class.family]; o != nil && !class.asks {
		w.outlooks[c] = o
		return o
	}
	b, t := w.bonds, w.counters
	o := &outlook{class: class, ownHosts: b.apart == host, regions: w.regions(class.keys)}
	everywhere := func(key string) *scope { return t.scope(w, key, nil, "") }
	for i := range class.spec.TopologySpreadConstraints {
		s := &class.spec.TopologySpreadConstraints[i]
		in, name := w.inclusionOf(class, s)
		scope := t.scope(w, s.TopologyKey, in, name)
		term := b.term(&class.spread[i])
		k := skew{most: int(s.MaxSkew), minDomains: 1,
			counter: t.counter(w, scope, fmt.Sprint("spread ", term.id, s.TopologyKey, "\x00", name), b.staying(term))}
		if s.MinDomains != nil {
			k.minDomains = int(*s.MinDomains)
		}
		if term.Selector.Matches(labels.Set(class.labels)) {
			k.self = 1
		}
		o.spread = append(o.spread, k)
	}
	o.readAffinity(w, everywhere)
	for i := range class.anti {
		if key := class.anti[i].TopologyKey; !o.ownHosts || key != corev1.LabelHostname {
			term := b.term(&class.anti[i])
			o.anti = append(o.anti, t.counter(w, everywhere(key), fmt.Sprint("matching ", term.id), b.matches(term)))
		}
	}
	for _, term := range class.against {
		if key := term.TopologyKey; !o.ownHosts || key != corev1.LabelHostname {
			o.against = append(o.against, t.counter(w, everywhere(key), fmt.Sprint("having ", term.id), term.holders))
		}
	}
	for k := range o.spread {
		o.hosts = append(o.hosts, o.spread[k].counter)
	}
	o.hosts = slices.DeleteFunc(append(o.hosts, o.affine...), func(c *counter) bool {
		return c.scope.topology.key != corev1.LabelHostname
	})
	w.outlooks[c] = o
	if !class.asks {
		w.outlookOf[class.family] = o
	}
	w.Looked(b.steps - before)
	return o
}

// readAffinity finds the counters of a class's required affinity: only pods that match all of its
// terms count.
func (o *outlook) readAffinity(w *World, everywhere func(string) *scope) {
	var all []model.ClassID
	var name strings.Builder
	terms := o.class.affine
	o.seeds = len(terms) > 0
	for i := range terms {
		term := w.bonds.term(&terms[i])
		fmt.Fprint(&name, term.id, " ")
		o.seeds = o.seeds && w.bonds.matchesClass(&terms[i], o.class)
		if matching := w.bonds.matches(term); i == 0 {
			all = slices.Clone(matching)
		} else {
			all = slices.DeleteFunc(all, func(id model.ClassID) bool {
				_, found := slices.BinarySearch(matching, id)
				return !found
			})
		}
	}
	for i := range terms {
		key := terms[i].TopologyKey
		o.affine = append(o.affine, w.counters.counter(w, everywhere(key), "beside "+name.String()+key, all))
	}
}

// staying are the classes that a spread constraint counts: an empty selector counts none, and pods
// that are being deleted do not count.
func (b *bonds) staying(t *term) []model.ClassID {
	if t.staying == nil && !t.Selector.Empty() {
		t.staying = slices.DeleteFunc(append([]model.ClassID{}, b.matches(t)...), func(id model.ClassID) bool {
			return b.classes[id].terminating
		})
	}
	return t.staying
}

// refusal tells what other pods have against one more pod of the class on a node, nil if nothing. The
// node's shape, amounts, ports and volumes have been seen to.
func (o *outlook) refusal(w *World, i int) *rejection {
	for k := range o.spread {
		s := &o.spread[k]
		to := s.scope.topology
		d := to.domain(w, i)
		if d < 0 {
			return noSpreadLabel.over(to)
		}
		least := s.least(w)
		if s.scope.domains < s.minDomains {
			least = 0
		}
		if int(s.at(d))+s.self-least > s.most {
			return overSkew.over(to)
		}
	}
	if no := o.lonely(w, i); no != nil {
		return no
	}
	blocked := o.ownHosts && w.hostOf(i) >= 0 && w.conflict(o.class, w.nodes[i].batches) != ""
	if blocked && o.repelsOn(w, &w.nodes[i]) {
		return &repels.node
	}
	if c := o.present(w, o.anti, i); c != nil {
		return repels.over(c.scope.topology)
	}
	if c := o.present(w, o.against, i); c != nil {
		return repelled.over(c.scope.topology)
	}
	if blocked && o.repelledOn(&w.nodes[i]) {
		return &repelled.node
	}
	return nil
}

// lonely rejects a node where the pods that the class must be beside are elsewhere.
func (o *outlook) lonely(w *World, i int) *rejection {
	total, missing := 0, (*counter)(nil)
	for _, c := range o.affine {
		total += c.total
		d := c.scope.topology.domain(w, i)
		if d < 0 {
			return notBeside.over(c.scope.topology)
		}
		if c.at(d) == 0 && (missing == nil || missing.scope.topology.key == corev1.LabelHostname) {
			missing = c
		}
	}
	if missing == nil || total == 0 && o.seeds {
		return nil
	}
	return notBeside.over(missing.scope.topology)
}

// present finds a counter that is above zero where the node is.
func (o *outlook) present(w *World, list []*counter, i int) *counter {
	for _, c := range list {
		if d := c.scope.topology.domain(w, i); d >= 0 && c.at(d) > 0 {
			return c
		}
	}
	return nil
}

// repelsOn reports whether the class repels a pod of the node, over hostnames.
func (o *outlook) repelsOn(w *World, n *node) bool {
	for i := range o.class.anti {
		if o.class.anti[i].TopologyKey != corev1.LabelHostname {
			continue
		}
		matching := w.bonds.matches(w.bonds.term(&o.class.anti[i]))
		for _, b := range n.batches {
			if _, found := slices.BinarySearch(matching, b.Class); found && b.Count > 0 {
				return true
			}
		}
	}
	return false
}

// repelledOn reports whether a pod of the node repels the class, over hostnames.
func (o *outlook) repelledOn(n *node) bool {
	for _, t := range o.class.against {
		for _, b := range n.batches {
			if _, found := slices.BinarySearch(t.holders, b.Class); found && b.Count > 0 &&
				t.TopologyKey == corev1.LabelHostname {
				return true
			}
		}
	}
	return false
}

// regionWeight is how many pods of those that matter to the class are in a region; hostWeight how
// many are on a node's host.
func (o *outlook) regionWeight(region int32) int {
	n := 0
	for k := range o.spread {
		n += o.regions.count(o.spread[k].counter, region)
	}
	for _, list := range [][]*counter{o.affine, o.anti, o.against} {
		for _, c := range list {
			n += o.regions.count(c, region)
		}
	}
	return n
}

func (o *outlook) hostWeight(w *World, i int) int {
	n := 0
	if d := w.hostOf(i); d >= 0 {
		for _, c := range o.hosts {
			n += int(c.at(d))
		}
	}
	return n
}

// opens reports whether a node of a shape would be the first that some spread constraint, other than
// over hostnames, counts in its domain.
func (o *outlook) opens(w *World, s model.ShapeID) bool {
	for k := range o.spread {
		scope := o.spread[k].scope
		if scope.topology.key == corev1.LabelHostname {
			continue
		}
		if d := scope.topology.ofShape(w, s); d >= 0 && (int(d) >= len(scope.nodes) || scope.nodes[d] == 0) {
			return true
		}
	}
	return false
}

// regions are the sets of nodes that agree in the labels of some keys. All classes that read the same
// keys share them; nodes that differ in hostname only are of one region.
type regions struct {
	topologies []*topology
	byShape    []int32 // one more than the region, 0 where it is not known yet
	index      map[string]int32
	domains    [][]int32 // by region, one for each topology
}

func (w *World) regions(keys []string) *regions {
	name := strings.Join(keys, "\x00")
	r, ok := w.regionsBy[name]
	if !ok {
		r = &regions{byShape: make([]int32, len(w.shapes)), index: map[string]int32{}}
		for _, k := range keys {
			r.topologies = append(r.topologies, w.counters.topology(w, k))
		}
		w.regionsBy[name] = r
	}
	return r
}

// of is the region of nodes of a shape.
func (r *regions) of(w *World, s model.ShapeID) int32 {
	if at := r.byShape[s]; at > 0 {
		return at - 1
	}
	domains := make([]int32, len(r.topologies))
	for k, t := range r.topologies {
		domains[k] = t.ofShape(w, s)
	}
	name := fmt.Sprint(domains)
	at, ok := r.index[name]
	if !ok {
		at = int32(len(r.domains))
		r.index[name] = at
		r.domains = append(r.domains, domains)
	}
	r.byShape[s] = at + 1
	return at
}

// count is what a counter counts where a region is; none if it counts by hostname.
func (r *regions) count(c *counter, region int32) int {
	for k, t := range r.topologies {
		if t == c.scope.topology {
			if d := r.domains[region][k]; d >= 0 {
				return int(c.at(d))
			}
		}
	}
	return 0
}
