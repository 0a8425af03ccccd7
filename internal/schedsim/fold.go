package schedsim

import (
	"encoding/binary"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// fold is a view of a class to which every node is a domain of its own. Nodes that
// its constraints count alike, and that have as many of each of the pods that
// matter, are of one kind: what the plugins say of one they say of all, and one of
// each kind is enough to show them. A node that a pod is placed on becomes one of
// another kind.
type fold struct {
	kinds  []kind
	index  map[string]int32
	kindOf []int32 // by node of the world; beyond its nodes it says nothing
	// copies is how many nodes of a kind are shown, where there are as many: so many
	// domains a constraint may ask for.
	copies int
	key    []byte
	counts []int32
}

// kind is the nodes of one domain of the view, by shape, with the same counts of
// the pods that matter.
type kind struct {
	domain   int32
	counts   []int32 // by relevant sort
	nodes    int
	standIns []*framework.NodeInfo
}

// newFold returns nil for a class that it cannot serve: one that reads other
// topology keys, or more of a node than those that domainPlugins read; or where
// nodes share a hostname or have none.
func (w *World) newFold(c *class, sorts int) *fold {
	if c.coupling != single || !c.plain || len(c.keys) > 0 || !w.ownHostnames() {
		return nil
	}
	f := &fold{index: map[string]int32{}, copies: 1, counts: make([]int32, sorts)}
	for _, s := range c.spec.TopologySpreadConstraints {
		if s.MinDomains != nil {
			f.copies = max(f.copies, int(*s.MinDomains))
		}
	}
	return f
}

// ownHostnames reports whether every node has a hostname label, and no other has the
// same.
func (w *World) ownHostnames() bool {
	if w.hostnames != 0 {
		return w.hostnames > 0
	}
	w.hostnames = 1
	seen := make(map[string]bool, len(w.snap.Nodes))
	for i := range w.snap.Nodes {
		n := &w.nodes[i]
		name, ok := n.name, true
		if n.object != nil {
			name, ok = n.object.Labels[corev1.LabelHostname]
		}
		if !ok || seen[name] {
			w.hostnames = -1
			return false
		}
		seen[name] = true
	}
	return true
}

// account takes in a node with its pods, or takes it out.
func (f *fold) account(v *view, i int, n *node, sign int) {
	if sign < 0 {
		f.kinds[f.kindOf[i]].nodes--
		return
	}
	clear(f.counts)
	for _, b := range n.batches {
		if s := v.sorts.slot(b.Class); s >= 0 {
			f.counts[s] += int32(b.Count)
		}
	}
	f.join(v, i)
}

// put counts pods that were placed on a node, or left it.
func (f *fold) put(v *view, i int, slot int32, count int) {
	old := &f.kinds[f.kindOf[i]]
	old.nodes--
	copy(f.counts, old.counts)
	f.counts[slot] += int32(count)
	f.join(v, i)
}

// join finds or makes the kind of a node with the counts in f.counts.
func (f *fold) join(v *view, i int) {
	d := v.domainOf[i]
	f.key = binary.AppendVarint(f.key[:0], int64(d))
	for _, n := range f.counts {
		f.key = binary.AppendVarint(f.key, int64(n))
	}
	k, ok := f.index[string(f.key)]
	if !ok {
		k = int32(len(f.kinds))
		f.kinds = append(f.kinds, kind{domain: d, counts: append([]int32(nil), f.counts...)})
		f.index[string(f.key)] = k
	}
	for len(f.kindOf) <= i {
		f.kindOf = append(f.kindOf, 0)
	}
	f.kindOf[i] = k
	f.kinds[k].nodes++
}

// show puts the nodes that stand for all onto the view's stage.
func (f *fold) show(w *World, v *view) {
	for k := range f.kinds {
		for j := range min(f.kinds[k].nodes, f.copies) {
			v.stage = append(v.stage, f.standIn(w, v, int32(k), j))
		}
	}
}

func (f *fold) standIn(w *World, v *view, k int32, j int) *framework.NodeInfo {
	kind := &f.kinds[k]
	for len(kind.standIns) <= j {
		var pods []model.Batch
		for s, r := range v.relevant {
			if kind.counts[s] > 0 {
				pods = append(pods, model.Batch{Class: r.class, Count: int(kind.counts[s])})
			}
		}
		name := fmt.Sprintf("kind-%d-%d", k, len(kind.standIns))
		kind.standIns = append(kind.standIns, w.nodeInfo(named(v.domains[kind.domain].content, name), pods))
	}
	return kind.standIns[j]
}
