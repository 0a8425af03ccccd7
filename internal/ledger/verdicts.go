package ledger

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// noteVerdicts keeps since when nodes are unneeded, and since when each is held
// by what holds it. Most verdicts are those of the cycle before, and change
// nothing.
func (l *Ledger) noteVerdicts(s *model.Snapshot, p *model.Plan) {
	timed := 0 // nodes whose time of being unneeded runs
	// 1. Nodes that nothing needs.
	for i := range p.Unneeded {
		v := &p.Unneeded[i]
		if !v.Since.IsZero() {
			timed++
		}
		n := l.nodes.of[v.Node]
		if n.Held == v.Reason && n.UnneededSince == v.Since {
			continue
		}
		if n.Held != v.Reason {
			n.Held, n.HeldSince = v.Reason, s.Now
		}
		n.UnneededSince = v.Since
		l.nodes.put(v.Node, n)
	}
	// 2. Nodes that are kept. One that the cycle's steps did not suffice for was
	// not judged: all that is known of it stays as it was.
	for i := range p.Kept {
		v := &p.Kept[i]
		n := l.nodes.of[v.Node]
		if v.Reason == model.StepBudget {
			if !n.UnneededSince.IsZero() {
				timed++
			}
			continue
		}
		if n.Held != v.Reason {
			n.Held, n.HeldSince = v.Reason, s.Now
			l.nodes.put(v.Node, n)
		}
	}
	// 3. Nodes that were not judged, but for their use, because no group has them, or because their taint is under
	// way: it may come to nothing. The time of all that are left is over.
	groupless := nodesOfNoGroup(s)
	if len(groupless) == 0 && timed == l.nodes.unneeded {
		return
	}
	clear(l.timed)
	for i := range p.Unneeded {
		l.timed[p.Unneeded[i].Node] = true
	}
	for i := range p.Kept {
		if p.Kept[i].Reason == model.StepBudget {
			l.timed[p.Kept[i].Node] = true
		}
	}
	for _, name := range groupless {
		l.timed[name] = l.nodes.of[name].Held != model.NotUnderutilized
	}
	for name, n := range l.nodes.of {
		tainting := n.Drain != nil && n.Drain.Stage == model.Tainting
		if !n.UnneededSince.IsZero() && !l.timed[name] && !tainting {
			n.UnneededSince = time.Time{}
			l.nodes.put(name, n)
			l.news = true // it was tried before others, and is not any more
		}
	}
}

// noteDuds notes that nodes which never started are held by something else than the plan took them for: whether their
// group may grow all the same depends on that.
func (l *Ledger) noteDuds(s *model.Snapshot) {
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.State == model.StateNeverStarted && l.nodes.of[n.Name].Held != n.Standing.Held {
			l.news = true
			return
		}
	}
}

// nodesOfNoGroup are the nodes that were unneeded and that no group has, as far
// as is known now: they could not be judged. In an unhealthy cluster no node is
// unneeded.
func nodesOfNoGroup(s *model.Snapshot) []string {
	if s.Unhealthy != nil {
		return nil
	}
	var names []string
	for i := range s.Nodes {
		if n := s.Nodes[i]; n.Group < 0 && !n.Standing.UnneededSince.IsZero() {
			names = append(names, n.Name)
		}
	}
	return names
}
