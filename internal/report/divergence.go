package report

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// promises remembers, for pods without a node, which groups a plan grew for
// them. When those nodes are ready and a pod still needs a growth, the real
// scheduler has placed pods otherwise than the plan had it: the plan diverged.
type promises map[types.UID][]provider.GroupID

// keep compares a plan with what earlier ones promised, counts the classes that
// it diverged for, and takes note of its own promises.
func (p promises) keep(s *model.Snapshot, plan model.Plan) (diverged int) {
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
	pods := map[model.ClassID][]*model.Pod{}
	waiting := map[types.UID]bool{}
	for i := range s.Pending {
		pods[s.Pending[i].Class] = s.Pending[i].Pods
		for _, pod := range s.Pending[i].Pods {
			waiting[pod.UID] = true
		}
	}
	for i := range plan.Pending {
		v := &plan.Pending[i]
		if v.Planned == 0 {
			continue
		}
		// 1. Pods of the class that a finished growth was for. As many of them
		// as have room now are not without it.
		broken := -v.Existing - v.Upcoming
		for _, pod := range pods[v.Class] {
			if groups := p[pod.UID]; len(groups) > 0 && allSettled(groups, settled) {
				broken++
			}
		}
		if broken > 0 {
			diverged++
		}
		// 2. What this plan promises.
		from := v.Existing + v.Upcoming
		for _, pod := range pods[v.Class][min(from, len(pods[v.Class])):min(from+v.Planned, len(pods[v.Class]))] {
			p[pod.UID] = grown[v.Class]
		}
	}
	for uid := range p {
		if !waiting[uid] {
			delete(p, uid)
		}
	}
	return diverged
}

func allSettled(groups []provider.GroupID, settled map[provider.GroupID]bool) bool {
	for _, g := range groups {
		if !settled[g] {
			return false
		}
	}
	return true
}

// failed takes back what growths that failed had promised: that there is
// another one then is no divergence.
func (p promises) failed(ended []model.Outcome) {
	lost := map[provider.GroupID]bool{}
	for _, out := range ended {
		if out.Call.Verb == model.Grow && out.Err != nil {
			lost[out.Call.Group] = true
		}
	}
	if len(lost) == 0 {
		return
	}
	for uid, groups := range p {
		for _, g := range groups {
			if lost[g] {
				delete(p, uid)
				break
			}
		}
	}
}
