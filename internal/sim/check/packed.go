package check

import (
	"cmp"
	"slices"
)

// allPacked fills the largest nodes that must stay first, and then the others, with the largest pods first.
func allPacked(j *Judge, e *Event) {
	t := &j.truth
	if t.unquiet || !j.flags.ScaleDown || t.unbound > 0 {
		return
	}
	var bins []*bin
	var loose []*pod
	kept := map[string]int{}
	for _, name := range sorted(t.nodes) {
		n := t.nodes[name]
		b := &bin{node: n, cpu: n.cpu, memory: n.memory, stays: t.machineOf(n) == nil}
		var mine []*pod
		covered := map[*budget]int{}
		for _, uid := range sorted(n.pods) {
			p := n.pods[uid]
			if p.own {
				b.cpu, b.memory = b.cpu-p.cpu, b.memory-p.memory
				continue
			}
			if p.coupled {
				return
			}
			mine = append(mine, p)
			b.stays = b.stays || j.stays(p) != ""
			for _, c := range t.budgetsOf(p) {
				covered[c]++
				b.stays = b.stays || covered[c] > t.spared(c)
			}
		}
		if !b.stays {
			loose = append(loose, mine...)
		} else {
			for _, p := range mine {
				b.cpu, b.memory = b.cpu-p.cpu, b.memory-p.memory
			}
			if m := t.machineOf(n); m != nil {
				kept[m.group]++
			}
		}
		bins = append(bins, b)
	}
	needed := t.pack(bins, loose, kept)
	t.fleet = Fleet{Nodes: len(bins), Needed: needed}
	j.test(len(bins) <= needed+needed/4+1, e, "the cluster", "%d nodes are left, and a plain packing needs %d", len(bins),
		needed)
}

// bin is a node to be packed: what is free on it, whether it must stay, and whether a pod was put there.
type bin struct {
	*node
	cpu, memory int64
	stays, used bool
}

// pack puts pods onto nodes, and counts those that are needed. Groups keep their minimums, those in kept of them
// by pods that must stay.
func (t *truth) pack(bins []*bin, loose []*pod, kept map[string]int) (needed int) {
	slices.SortStableFunc(bins, func(a, b *bin) int { return cmp.Compare(b.cpu, a.cpu) })
	for _, b := range bins {
		m := t.machineOf(b.node)
		if m == nil || b.stays {
			continue
		}
		if g := t.groups[m.group]; g != nil && kept[g.id] < g.min {
			b.stays = true
			kept[g.id]++
		}
	}
	slices.SortStableFunc(bins, func(a, b *bin) int {
		switch {
		case a.stays == b.stays:
			return 0
		case a.stays:
			return -1
		}
		return 1
	})
	slices.SortStableFunc(loose, func(a, b *pod) int { return cmp.Compare(b.cpu, a.cpu) })
	for _, p := range loose {
		i := slices.IndexFunc(bins, func(b *bin) bool { return b.cpu >= p.cpu && b.memory >= p.memory })
		if i >= 0 {
			bins[i].cpu, bins[i].memory, bins[i].used = bins[i].cpu-p.cpu, bins[i].memory-p.memory, true
		}
	}
	for _, b := range bins {
		if b.stays || b.used {
			needed++
		}
	}
	return needed
}

// spared is how many pods a budget lets go at once.
func (t *truth) spared(b *budget) int {
	ready := 0
	for _, p := range t.pods {
		if slices.Contains(b.workloads, p.workload) && t.ready(p) {
			ready++
		}
	}
	return max(0, ready-b.min)
}

// Fleet is how many nodes there were when the world was last asked whether it is at rest, and how many a
// plain packing needs.
type Fleet struct{ Nodes, Needed int }

// Fleet is as it was found at rest; zero where it is not judged.
func (j *Judge) Fleet() Fleet { return j.truth.fleet }
