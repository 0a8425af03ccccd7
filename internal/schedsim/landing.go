package schedsim

import (
	"iter"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about groups whose new nodes may differ: the cloud picks the zone of
// each, or its instance type.
//
// A node of such a group that is planned or on its way is undecided at first: it is what all
// variants have in common. That is enough for a class that does not tell them apart. For any other
// class the node is decided: it becomes one of the variants that the cloud may make of it, the best
// for that class. Landing says which are possible.

// Landing is where the cloud puts new nodes of one group.
type Landing struct {
	// Variants are templates of the forms that a node may have.
	Variants []Template
	// Balanced: the cloud picks the zone with the fewest instances of the group.
	Balanced bool
	zone     []int // by variant: its zone
	names    []string
	have     []int // by zone: the instances that the cloud counts
	seen     []int // by variant: nodes that the group has of it
}

// Landing is nil for a group whose new nodes are all alike. Differences in labels that no pending
// pod reads do not count, so a group can lose its Landing while its pods are still remembered.
func (w *World) Landing(group int) *Landing {
	if g := &w.snap.Groups[group]; !g.HasTemplate || len(g.Variants) == 0 {
		return nil
	}
	if l, ok := w.landings[group]; ok {
		return l
	}
	l := w.newLanding(group)
	w.landings[group] = l
	return l
}

func (w *World) newLanding(group int) *Landing {
	g := &w.snap.Groups[group]
	l := &Landing{Balanced: g.Template.Balanced, seen: make([]int, len(g.Variants))}
	for _, v := range g.Variants {
		z := slices.Index(l.names, v.Zone)
		if z < 0 {
			z = len(l.names)
			l.names = append(l.names, v.Zone)
		}
		l.zone = append(l.zone, z)
		n, _ := w.newNodeOf(group, v.Shape, nil)
		l.Variants = append(l.Variants, Template{Group: group, Shape: v.Shape, Pods: n.batches})
	}
	l.have = make([]int, len(l.names))
	gone := w.goneFrom(group)
	for i := range g.Instances {
		in := &g.Instances[i]
		if in.State == provider.Deleting || gone[in.ID] {
			continue
		}
		if z := slices.Index(l.names, in.Zone); z >= 0 {
			l.have[z]++
		}
		l.Balanced = l.Balanced && in.Zone != ""
	}
	for i := range w.snap.Nodes[:w.snap.Registered()] {
		if n := w.snap.Nodes[i]; n.Group == group {
			if v := slices.IndexFunc(g.Variants,
				func(v model.Variant) bool { return hasAll(n.Object.Labels, v.Labels) }); v >= 0 {
				l.seen[v]++
			}
		}
	}
	return l
}

// goneFrom are the instances of a group that we have asked the cloud to end. The newest
// read may still list them as running, and the cloud fills their zones already.
func (w *World) goneFrom(group int) map[provider.InstanceID]bool {
	gone := map[provider.InstanceID]bool{}
	for i := range w.snap.Nodes {
		n := w.snap.Nodes[i]
		if d := n.Standing.Drain; n.Group == group && d != nil &&
			(d.Stage == model.Removing || d.Stage == model.Removed) {
			gone[n.Instance] = true
		}
	}
	return gone
}

func hasAll(labels, want map[string]string) bool {
	for key, value := range want {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// Sure reports whether the cloud's rule says where nodes come up: in which zone, and
// nothing else matters.
func (l *Landing) Sure() bool { return l.Balanced && !l.typed() }

// typed reports whether the variants differ in more than their zones.
func (l *Landing) typed() bool { return len(l.Variants) > len(l.names) }

// perZone is how many instances each zone has with the nodes that land.
func (l *Landing) perZone(landed []int) []int {
	f := slices.Clone(l.have)
	for v, n := range landed {
		f[l.zone[v]] += n
	}
	return f
}

// Possible reports whether the cloud may put new nodes so, by variant. Where it balances, a zone
// that gets one is ahead of no other by more than one. Where its choice is unknown, we count on one
// node of each variant, and on as many more as the group has of it already.
func (l *Landing) Possible(landed []int) bool {
	if !l.Sure() {
		for v, n := range landed {
			if n > max(1, l.seen[v]) {
				return false
			}
		}
	}
	if !l.Balanced {
		return true
	}
	f := l.perZone(landed)
	least := slices.Min(f)
	for v, n := range landed {
		if n > 0 && f[l.zone[v]] > least+1 {
			return false
		}
	}
	return true
}

// mostFirst is how many rounds over its zones the cloud may make before it reaches the wanted one.
// More costs too much for one node.
const mostFirst = 2

// First lists the variants of which the cloud makes nodes before it can make one of this variant,
// beside those that have landed; ok is false where that cannot be counted on, or would take more
// than two rounds over all zones.
func (l *Landing) First(landed []int, variant int) (first []int, ok bool) {
	next := slices.Clone(landed)
	next[variant]++
	if l.Possible(next) {
		return nil, true
	}
	if !l.Balanced {
		return nil, false
	}
	f := l.perZone(landed)
	to := f[l.zone[variant]]
	for v := range l.Variants {
		z := l.zone[v]
		for ; f[z] < to; f[z]++ {
			first = append(first, v)
			next[v]++
		}
	}
	return first, len(first) <= mostFirst*len(l.names) && l.Possible(next)
}

// AtWorst is how many new nodes, beside those that have landed, guarantee one of a wanted
// variant: the cloud may first fill every zone that has none of them, ties included.
func (l *Landing) AtWorst(landed []int, wanted []int) int {
	f := l.perZone(landed)
	least := math.MaxInt
	for _, v := range wanted {
		least = min(least, f[l.zone[v]])
	}
	nodes := 1
	for z := range f {
		if !slices.ContainsFunc(wanted, func(v int) bool { return l.zone[v] == z }) {
			nodes += max(0, least+1-f[z])
		}
	}
	return nodes
}

// Certain reports whether the cloud's rule leaves it no other choice than to put the nodes so, by
// zone.
func (l *Landing) Certain(landed []int) bool {
	if !l.Sure() || !l.Possible(landed) {
		return false
	}
	f := l.perZone(landed)
	least := slices.Min(f)
	if slices.Max(f) == least {
		return true
	}
	for v, n := range landed {
		if n > 0 && f[l.zone[v]] == least+1 {
			return false // a zone that has less may get it instead
		}
	}
	return true
}

// Astray reports whether a node of the variant contradicts the cloud's rule, given how few nodes
// the wanted variants have. The rule is then not relied on.
func (l *Landing) Astray(variant int, wanted []int) bool {
	if !l.Balanced {
		return false
	}
	return !slices.ContainsFunc(wanted, func(v int) bool { return l.have[l.zone[v]]+2 > l.have[l.zone[variant]] })
}

// Follows reports whether a node of the variant is where the cloud's rule puts one: its
// zone is no more than one ahead of any other.
func (l *Landing) Follows(variant int) bool { return l.have[l.zone[variant]] <= slices.Min(l.have)+1 }

// VariantOf finds the variant that a node of the group is, -1 if it is none.
func (w *World) VariantOf(id Node) int {
	i := int(id)
	group := w.groupOf(i)
	if group < 0 || w.nodes[i].may != nil {
		return -1
	}
	labels := w.shapes[w.nodes[i].shape].content.Node.Labels
	return slices.IndexFunc(w.snap.Groups[group].Variants, func(v model.Variant) bool {
		return hasAll(labels, v.Labels)
	})
}

// Landed counts, by variant, the group's nodes whose variant is decided but not observed yet:
// planned ones, and those on their way. It is nil for a group whose new nodes are all alike.
func (w *World) Landed(group int) []int {
	l := w.Landing(group)
	if l == nil {
		return nil
	}
	out := make([]int, len(l.Variants))
	for i := range w.future() {
		n := &w.nodes[i]
		if n.gone || n.may != nil || w.groupOf(i) != group || i < len(w.snap.Nodes) &&
			len(w.snap.Nodes[i].May) != len(l.Variants) {
			continue
		}
		if v := slices.IndexFunc(l.Variants, func(t Template) bool { return t.Shape == n.shape }); v >= 0 {
			out[v]++
		}
	}
	return out
}

// Underway reports whether the group has nodes, planned or on their way, whose place has not been
// observed yet.
func (w *World) Underway(group int) bool {
	return w.Undecided(group) > 0 || slices.ContainsFunc(w.Landed(group), func(n int) bool { return n > 0 })
}

// Forms are the nodes that a plan counts on in one group.
type Forms struct {
	// Bought and Coming are nodes that are decided, by variant: planned ones, and those
	// on their way. Open are planned ones that are not, or of a group whose nodes are
	// all alike.
	Bought, Coming []int
	Open           int
}

// Forms tells what has been made of a group's planned nodes, and of those on their way.
func (w *World) Forms(group int) Forms {
	var f Forms
	if l := w.Landing(group); l != nil {
		f.Coming = w.Landed(group)
		f.Bought = make([]int, len(l.Variants))
	}
	for i := len(w.snap.Nodes); i < len(w.nodes); i++ {
		n := &w.nodes[i]
		if n.gone || n.group != group {
			continue
		}
		v := -1
		if n.may == nil && f.Bought != nil {
			v = slices.IndexFunc(w.Landing(group).Variants, func(t Template) bool { return t.Shape == n.shape })
		}
		if v < 0 {
			f.Open++
			continue
		}
		f.Bought[v]++
		f.Coming[v]--
	}
	return f
}

// Decide makes an undecided node that is on its way one of a variant, if there is one
// that may be.
func (w *World) Decide(group, variant int) {
	t := w.Landing(group).Variants[variant]
	if i := w.undecided(group, t.Shape, anyNode); i >= 0 && i < len(w.snap.Nodes) {
		w.become(i, t)
	}
}

// Spares reports whether the cloud may put all other new nodes as they are without this
// planned one.
func (w *World) Spares(id Node) bool {
	n := &w.nodes[id]
	l := w.Landing(n.group)
	if l == nil || n.may != nil {
		return true
	}
	landed := w.Landed(n.group)
	if v := slices.IndexFunc(l.Variants, func(t Template) bool { return t.Shape == n.shape }); v >= 0 {
		landed[v]--
	}
	return l.Possible(landed)
}

// Choosy reports whether it matters to the class which variant a node of the group is.
func (w *World) Choosy(c model.ClassID, group int) bool {
	l := w.Landing(group)
	if l == nil {
		return false
	}
	key := avoided{c, group}
	if known, ok := w.apart[key]; ok {
		return known
	}
	yes := w.tellsApart(c, group, l)
	w.apart[key] = yes
	return yes
}

func (w *World) tellsApart(c model.ClassID, group int, l *Landing) bool {
	class := w.class(c)
	g := &w.snap.Groups[group]
	for _, key := range class.keys {
		if _, varies := g.Variants[0].Labels[key]; varies {
			return true
		}
	}
	if class.readsHost {
		return false
	}
	lets := w.staticVerdict(c, g.Shape) == nil
	for _, t := range l.Variants {
		if (w.staticVerdict(c, t.Shape) == nil) != lets {
			return true
		}
	}
	if !lets || len(w.snap.Classes[c].Spec.Claims) == 0 {
		return false
	}
	base, _ := w.GroupTemplate(group)
	fits := w.ExplainTemplate(c, base).Reason == model.Fits
	return slices.ContainsFunc(l.Variants, func(t Template) bool {
		return (w.ExplainTemplate(c, t).Reason == model.Fits) != fits
	})
}

// groupOf is the group of a node, below 0 for none.
func (w *World) groupOf(i int) int {
	if i < len(w.snap.Nodes) {
		return w.snap.Nodes[i].Group
	}
	return w.nodes[i].group
}

// future are the nodes that are undecided or once were: those on their way whose variant is
// unknown, and all planned ones.
func (w *World) future() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, i := range w.loose {
			if !yield(i) {
				return
			}
		}
		for i := len(w.snap.Nodes); i < len(w.nodes); i++ {
			if !yield(i) {
				return
			}
		}
	}
}

// undecided finds a node of the group that may become one of the shape and will do, -1
// if there is none.
func (w *World) undecided(group int, s model.ShapeID, do func(*node) bool) int {
	for i := range w.future() {
		if n := &w.nodes[i]; n.may != nil && !n.gone && w.groupOf(i) == group && slices.Contains(n.may, s) && do(n) {
			return i
		}
	}
	return -1
}

func anyNode(*node) bool { return true }

// Undecided counts the group's nodes that are undecided: they can be had without
// buying.
func (w *World) Undecided(group int) int {
	n := 0
	for i := range w.future() {
		if w.nodes[i].may != nil && !w.nodes[i].gone && w.groupOf(i) == group {
			n++
		}
	}
	return n
}

// become makes a node what it starts as by a template: of its shape, and with its
// DaemonSets' pods in place of those that the node started with.
func (w *World) become(i int, t Template) {
	n := w.save(i)
	w.account(i, -1)
	n.batches, n.free = w.as(n, t)
	n.shape, n.may, n.own, n.info = t.Shape, t.May, false, nil
	if n.starts != nil {
		n.starts = started(t.Pods)
	}
	w.account(i, +1)
}

// started are the pods that a new node starts with. It is never nil: nil means a node that exists.
func started(pods []model.Batch) []model.Batch {
	if pods == nil {
		return []model.Batch{}
	}
	return pods
}

// as is what a node would have on it, and free, if it were of a template. One that has
// registered has its pods.
func (w *World) as(n *node, t Template) (batches []model.Batch, free amounts) {
	batches, free = n.batches, w.shapes[t.Shape].total
	if n.starts != nil {
		batches = merge(missing(n.batches, n.starts), t.Pods)
	}
	for _, b := range batches {
		free.take(&w.classes[b.Class], int64(b.Count))
	}
	return batches, free
}
