package scaledown

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
)

// mover commits candidates to the world.
type mover struct {
	*finder
	world  *schedsim.Mover
	enough bool
	// untried: no node's pods have been moved, or tried to, so far.
	untried bool
	resume  string
	// guests are the nodes that pods of others were moved to.
	guests map[model.NodeID]bool
}

// newMover makes ready to move pods. They go to nodes that stay, the fullest
// first, and only then to candidates, the last that would go first: each that
// takes a pod is needed from then on. Nodes that are not ready yet come last.
func newMover(f *finder, list []candidate) *mover {
	rank := make(map[model.NodeID]int, len(list))
	for i := range list {
		rank[list[i].node] = i + 1
	}
	s := f.Snapshot
	type host struct {
		id   model.NodeID
		kind model.NodeKind
		rank int
		free int64
	}
	var hosts []host
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if n.Kind != model.Ready && n.Kind != model.Booting && n.Kind != model.Coming {
			continue
		}
		id := model.NodeID(i)
		hosts = append(hosts, host{id, n.Kind, rank[id], free(s, n)})
	}
	slices.SortStableFunc(hosts, func(a, b host) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), compareBool(a.rank > 0, b.rank > 0), -cmp.Compare(a.rank, b.rank), cmp.Compare(a.free, b.free))
	})
	order := make([]model.NodeID, len(hosts))
	for i := range hosts {
		order[i] = hosts[i].id
	}
	return &mover{finder: f, world: f.World.Mover(order, f.Policy.ScaleDown.StepLimit), enough: true, untried: true, guests: maps.Clone(f.Guests)}
}

// free is how much CPU a node has left, in thousandths.
func free(s *model.Snapshot, n *model.Node) int64 {
	left := s.Contents.Shapes[n.Shape].Allocatable.MilliCPU
	for _, b := range n.Batches {
		left -= s.Classes[b.Class].Spec.Requests.MilliCPU * int64(b.Count)
	}
	return left
}

// move commits one candidate, or says why it cannot go. With enough unset there
// was no answer.
func (m *mover) move(c *candidate) *model.Verdict {
	if m.guests[c.node] {
		return movedThere()
	}
	if c.empty() {
		m.world.Exclude(c.node)
		return nil
	}
	// 1. What may be disrupted.
	left := m.Budgets.Clone()
	if v := m.Rules.TakeAll(c.moving, left); v != nil {
		return v
	}
	// 2. Room, for all of its pods.
	puts, stuck, enough := m.world.Move(c.node, Batches(m.Snapshot, c.moving))
	m.untried = false
	if !enough {
		m.enough = false
		return nil
	}
	if stuck != nil {
		return NoPlace(m.Snapshot, c.moving, stuck)
	}
	copy(m.Budgets, left)
	for _, put := range puts {
		m.guests[put.Node] = true
		c.upcoming = c.upcoming || m.Snapshot.Nodes[put.Node].Kind != model.Ready
	}
	return nil
}

// movedThere keeps a node for pods of others.
func movedThere() *model.Verdict {
	return &model.Verdict{Reason: model.ReservedForMovedPods, Detail: "pods of other nodes that go have room there", Fix: "those are gone"}
}

// NoPlace names a pod that finds no room.
func NoPlace(s *model.Snapshot, pods []*model.Pod, stuck *schedsim.Stuck) *model.Verdict {
	name := ""
	for _, p := range pods {
		if c, ok := s.ClassOf(p); ok && c == stuck.Class {
			name = s.Contents.Specs[p.Spec].Pod.Namespace + "/" + p.Name
			break
		}
	}
	return &model.Verdict{Reason: model.NoPlaceToMovePods, Detail: fmt.Sprintf("pod %s: %s", name, cmp.Or(stuck.Verdict.Detail, string(stuck.Verdict.Reason))), Fix: "room for it on other nodes that stay, as all its constraints want it"}
}

// Batches counts pods by class, sorted by class.
func Batches(s *model.Snapshot, pods []*model.Pod) []model.Batch {
	var out []model.Batch
	for _, p := range pods {
		id, ok := s.ClassOf(p)
		if !ok {
			continue // it takes no room
		}
		i, found := slices.BinarySearchFunc(out, id, func(b model.Batch, c model.ClassID) int { return cmp.Compare(b.Class, c) })
		if !found {
			out = slices.Insert(out, i, model.Batch{Class: id})
		}
		out[i].Count++
	}
	return out
}
