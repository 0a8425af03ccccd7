package schedsim

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// request is one thing asked of a Mover.
type request struct {
	verb string // move, exclude, mark, undo
	node Node
	pods []model.Batch
}

func (r request) String() string { return fmt.Sprintf("%s %d %v", r.verb, r.node, r.pods) }

// drawRequests draws hosts in an order of preference, and what is asked. Pods that
// were moved to a node may be moved again with it, or stay as if they were a
// DaemonSet's.
func drawRequests(t *rapid.T, s *model.Snapshot) (hosts []Node, list []request) {
	for i := range s.Nodes {
		hosts = append(hosts, Node(i))
	}
	hosts = rapid.Permutation(hosts).Draw(t, "hosts")
	hosts = hosts[:rapid.IntRange(0, len(hosts)).Draw(t, "number of hosts")]
	if len(hosts) == 0 {
		hosts = nil
	}
	for range rapid.IntRange(1, 14).Draw(t, "requests") {
		r := request{
			verb: rapid.SampledFrom([]string{"move", "move", "move", "move", "move", "exclude", "mark", "undo"}).Draw(t,
				"verb"),
			node: Node(rapid.IntRange(0, len(s.Nodes)-1).Draw(t, "node")),
		}
		if r.verb == "move" {
			for _, b := range s.Nodes[r.node].Batches {
				if n := rapid.IntRange(-1, b.Count).Draw(t, "count"); n != 0 {
					r.pods = append(r.pods, model.Batch{Class: b.Class, Count: max(n, 1)})
				}
			}
		}
		list = append(list, r)
	}
	return hosts, list
}

// result is what came of a request.
type result struct {
	put    []Put
	stuck  *Stuck
	enough bool
}

func (r result) String() string {
	if r.stuck != nil {
		return fmt.Sprintf("class %d: %s", r.stuck.Class, r.stuck.Verdict.Reason)
	}
	return fmt.Sprint(r.put, r.enough)
}

// carryOut asks one thing after another and calls after each. Of pods that have
// been moved before, only those that are still there are moved.
func carryOut(w *World, m *Mover, list []request, after func(i int, r result)) {
	var marks []MoverMark
	for i, q := range list {
		r := result{enough: true}
		switch q.verb {
		case "move":
			r.put, r.stuck, r.enough = m.Move(q.node, present(w, q.node, q.pods))
		case "exclude":
			m.Exclude(q.node)
		case "mark":
			marks = append(marks, m.Mark())
		case "undo":
			if n := len(marks); n > 0 {
				m.Undo(marks[n-1])
				marks = marks[:n-1]
			}
		}
		after(i, r)
	}
}

func present(w *World, id Node, pods []model.Batch) []model.Batch {
	var out []model.Batch
	for _, b := range pods {
		if n := min(b.Count, int(countOf(w.nodes[id].batches, b.Class))); n > 0 {
			out = append(out, model.Batch{Class: b.Class, Count: n})
		}
	}
	return out
}

// state is all of a world that a Mover changes, as text: nodes with what is free
// and which pods they have, and whatever else is counted from those.
func state(w *World) string {
	out := ""
	for i := range w.nodes {
		n := &w.nodes[i]
		ext := slices.DeleteFunc(slices.Clone(n.free.ext), func(a model.Amount) bool { return a.Value == 0 })
		out += fmt.Sprintf("%s kind %d free %d %d %d %d %v pods %v\n", n.called(), n.kind, n.free.cpu, n.free.memory,
			n.free.ephemeral, n.free.pods, ext, n.batches)
	}
	for _, name := range slices.Sorted(maps.Keys(w.counters.named)) {
		c := w.counters.named[name]
		out += fmt.Sprintf("%q: nodes %v pods %v\n", name, aboveZero(c.scope.nodes), aboveZero(c.count))
	}
	return out + fmt.Sprint(w.claims, len(w.journal), len(w.moves), w.Reserved())
}

// aboveZero are counts by domain without the zeros, which need not be written down.
func aboveZero(counts []int32) map[int]int32 {
	out := map[int]int32{}
	for d, n := range counts {
		if n != 0 {
			out[d] = n
		}
	}
	return out
}

// countAll makes all counters that a world can have, so that all counts are seen.
func countAll(w *World) {
	for c := range w.classes {
		if class := w.class(model.ClassID(c)); class.coupling >= domain && !class.broken {
			w.outlook(model.ClassID(c))
		}
	}
}

// consistent reports whether what the world counts is what its nodes add up to.
func consistent(w *World) error {
	claims := map[string]int{}
	for i := range w.nodes {
		n := &w.nodes[i]
		free := w.shapes[n.shape].total
		for k, b := range n.batches {
			if b.Count <= 0 || (k > 0 && n.batches[k-1].Class >= b.Class) {
				return fmt.Errorf("%s has pods %v", n.called(), n.batches)
			}
			free.take(&w.classes[b.Class], int64(b.Count))
			for _, claim := range w.snap.Classes[b.Class].Spec.Claims {
				claims[w.snap.Classes[b.Class].Namespace()+"/"+claim] += b.Count
			}
		}
		if !sameAmounts(free, n.free) {
			return fmt.Errorf("%s has %+v free, counted %+v", n.called(), free, n.free)
		}
		if n.info != nil && len(n.info.Pods) != podsOn(n) {
			return fmt.Errorf("%s has %d pods, the plugins see %d", n.called(), podsOn(n), len(n.info.Pods))
		}
	}
	for name, n := range w.claims {
		if claims[name] != n {
			return fmt.Errorf("claim %s has %d users, counted %d", name, claims[name], n)
		}
	}
	return countersAddUp(w)
}

// countersAddUp reports whether each counter has what a look at all nodes finds.
func countersAddUp(w *World) error {
	for name, c := range w.counters.named {
		nodes, pods, least := make([]int32, 0), make([]int32, 0), math.MaxInt32
		for i := range w.nodes {
			d := c.scope.topology.domain(w, i)
			if w.nodes[i].gone || d < 0 || !c.scope.counts(w, i) {
				continue
			}
			nodes, pods = grown(nodes, d), grown(pods, d)
			nodes[d]++
			for _, b := range w.nodes[i].batches {
				if slices.Contains(w.counters.fed[b.Class], c) {
					pods[d] += int32(b.Count)
				}
			}
		}
		total := int32(0)
		for d := range nodes {
			if total += pods[d]; nodes[d] > 0 {
				least = min(least, int(pods[d]))
			}
		}
		if !maps.Equal(aboveZero(nodes), aboveZero(c.scope.nodes)) || !maps.Equal(aboveZero(pods), aboveZero(c.count)) ||
			int(total) != c.total || len(aboveZero(nodes)) != c.scope.domains || least != c.least(w) {
			return fmt.Errorf("%q: nodes %v with %v pods, at least %d; counted %+v in %+v", name, nodes, pods, least,
				*c, *c.scope)
		}
	}
	return nil
}

func podsOn(n *node) int {
	count := 0
	for _, b := range n.batches {
		count += b.Count
	}
	return count
}

func totals(w *World) []int {
	counts := make([]int, len(w.classes))
	for i := range w.nodes {
		for _, b := range w.nodes[i].batches {
			counts[b.Class] += b.Count
		}
	}
	return counts
}

const plenty = 1_000_000_000
