package report

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// promises remembers, by the key of a class of pending pods, the rooms that plans have bought for
// it. If the class took fewer rooms than were bought and still needs a scale-up when those nodes are
// ready, the real scheduler has placed pods otherwise than the plan: the plan diverged.
//
// Rooms are counted by class: it does not matter which pod of the class takes one.
type promises map[string]promise

type promise struct {
	rooms  int // bought, and not yet taken by the class
	groups []provider.GroupID
	bound  int // pods of the class that had a node when rooms was last brought up to date
}

// keep compares a plan with the promises of earlier ones, counts the classes that diverged, and
// notes the plan's own promises.
func (p promises) keep(s *model.Snapshot, plan model.Plan) (diverged int) {
	if len(p) == 0 && len(plan.Grow) == 0 {
		return 0
	}
	bound := boundByClass(s)
	// 1. Rooms that have been taken. A class that waits for none needs no more.
	waits := map[string]bool{}
	for i := range s.Pending {
		class := s.Pending[i].Class
		key := s.Classes[class].Key
		waits[key] = true
		if was, ok := p[key]; ok {
			was.rooms -= max(0, bound[class]-was.bound)
			was.bound = bound[class]
			p[key] = was
		}
	}
	for key, was := range p {
		if !waits[key] || was.rooms <= 0 {
			delete(p, key)
		}
	}
	// 2. Classes that need another scale-up.
	settled := map[provider.GroupID]bool{}
	for i := range s.Groups {
		g := &s.Groups[i]
		settled[g.ID] = g.ComingNodes == 0 && g.BootingNodes == 0
	}
	grown := map[model.ClassID][]provider.GroupID{}
	for _, g := range plan.Grow {
		for _, b := range g.Pods {
			grown[b.Class] = append(grown[b.Class], g.Group)
		}
	}
	for i := range plan.Pending {
		v := &plan.Pending[i]
		if v.Planned == 0 {
			continue
		}
		key := s.Classes[v.Class].Key
		was := p[key]
		there := v.Existing + v.Upcoming // rooms that no pod has taken
		if was.rooms > there && allSettled(was.groups, settled) {
			diverged++
		}
		groups := slices.Concat(was.groups, grown[v.Class])
		slices.Sort(groups)
		p[key] = promise{rooms: min(was.rooms, there) + v.Planned, groups: slices.Compact(groups),
			bound: bound[v.Class]}
	}
	return diverged
}

func boundByClass(s *model.Snapshot) map[model.ClassID]int {
	bound := map[model.ClassID]int{}
	for i := range s.Nodes {
		for _, b := range s.Nodes[i].Batches {
			bound[b.Class] += b.Count
		}
	}
	return bound
}

func allSettled(groups []provider.GroupID, settled map[provider.GroupID]bool) bool {
	for _, g := range groups {
		if !settled[g] {
			return false
		}
	}
	return true
}

// failed withdraws the promises of scale-ups that failed, or whose nodes did not come or did not
// start: another scale-up is then no divergence.
func (p promises) failed(ended []model.Outcome, changes []model.Change) {
	forget := func(group provider.GroupID) {
		for key, was := range p {
			if slices.Contains(was.groups, group) {
				delete(p, key)
			}
		}
	}
	for _, out := range ended {
		if out.Call.Verb == model.Grow && out.Err != nil {
			forget(out.Call.Group)
		}
	}
	for _, ch := range changes {
		switch ch.Kind {
		case model.AskGivenUp, model.CreationFailed, model.NodeGivenUp:
			forget(ch.Group)
		}
	}
}
