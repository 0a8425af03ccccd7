package model

import (
	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// ExitReason is what a node goes for, as budgets count it.
func ExitReason(why Reason, unready, occupied bool) budget.Reason {
	switch {
	case why == CheaperElsewhere:
		return budget.Cheaper
	case why == NodeDrifted:
		return budget.Drifted
	case why == NodeExpired:
		return budget.Expired
	case unready, why == NodeUnsound:
		return budget.Unready
	case occupied:
		return budget.Underutilized
	}
	return budget.Empty
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
			for _, name := range m.Goes {
				moved[name] = m.Reason
			}
		}
	}
	for i := range s.Nodes {
		n := &s.Nodes[i]
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
