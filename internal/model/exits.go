package model

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// ExitReason is what a node goes for, as budgets count it.
func ExitReason(why Reason, unready, occupied bool) budget.Reason {
	switch {
	case why == NodeInterrupted:
		return budget.Interrupted
	case why == CheaperElsewhere, why == PreferredElsewhere:
		return budget.Cheaper
	case why == NodeDrifted:
		return budget.Drifted
	case why == NodeExpired:
		return budget.Expired
	case unready, why == NodeUnready, why == NodeUnsound:
		return budget.Unready
	case occupied:
		return budget.Underutilized
	}
	return budget.Empty
}

// Promise counts the nodes of moves under way that have not begun to go, but for some: what is bought for them is paid
// for, and their place in the budgets is theirs.
func (s *Snapshot) Promise(b *budget.Book, moves []Move, but func(NodeID) bool) {
	for i := range moves {
		m := &moves[i]
		if !m.Open() {
			continue
		}
		going := m.Going()
		for id := range s.Nodes {
			n := s.Nodes[id]
			if n.Group >= 0 && n.Kind != Leaving && slices.Contains(going, n.Name) && !but(NodeID(id)) {
				b.Take(n.Group, ExitReason(m.Reason, n.Kind == Unready, true), 1)
			}
		}
	}
}

// Book has what budgets leave, before a plan lets anything go.
func (s *Snapshot) Book(all []budget.Budget) *budget.Book {
	if len(all) == 0 {
		return budget.Open(nil, budget.Use{})
	}
	u := budget.Use{Now: s.Now, Nodes: make([]int, len(s.Groups)), Begun: s.Exits}
	for i := range s.Groups {
		u.Groups = append(u.Groups, &s.Groups[i].Group)
	}
	moved := map[string]Reason{}
	for i := range s.Moves {
		if m := &s.Moves[i]; m.Open() {
			for _, name := range m.Going() {
				moved[name] = m.Reason
			}
		}
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Group >= 0 && n.Object != nil {
			u.Nodes[n.Group]++
		}
		d := n.Standing.Drain
		if n.Kind != Leaving || d == nil || d.Stage == Removed {
			continue
		}
		group := provider.GroupID("")
		if n.Group >= 0 {
			group = s.Groups[n.Group].ID
		}
		reason := ExitReason(moved[n.Name], d.Unready, d.Occupied)
		u.Going = append(u.Going, budget.Exit{Group: group, Reason: reason, At: d.Began, Count: 1})
	}
	return budget.Open(all, u)
}
