package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/repair"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func growCall(s *model.Snapshot, p model.Policy, g *model.Growth) model.Call {
	i, _ := slices.BinarySearchFunc(s.Groups, g.Group, func(x model.Group, id provider.GroupID) int {
		return cmp.Compare(x.ID, id)
	})
	pods := 0
	for _, b := range g.Pods {
		pods += b.Count
	}
	reason, why := model.Fits, fmt.Sprintf("%s of %s; %s", spelling.Count(pods, "pod"),
		spelling.Count(len(g.Pods), "kind"), g.Why)
	if pods == 0 {
		reason, why = model.PoolBelowMin, g.Why
		if s.Groups[i].EnforcesMin(p.ScaleUp) && g.From < s.Groups[i].Min {
			reason = model.GroupBelowMin
		}
	}
	return model.Call{
		ID: fmt.Sprintf("grow/%s/%d", g.Group, s.Now.UnixNano()), Verb: model.Grow,
		Group: g.Group, Pool: s.Groups[i].Pool, From: g.From, To: g.To, MaxTo: s.Groups[i].Max,
		Deadline: s.Now.Add(p.CallDeadline), Reason: reason, Why: why,
	}
}

// moveCall buys nodes for a move.
func moveCall(s *model.Snapshot, p model.Policy, m *model.Move, buy *model.Purchase) model.Call {
	at, _ := slices.BinarySearchFunc(s.Groups, buy.Group, func(x model.Group, id provider.GroupID) int {
		return cmp.Compare(x.ID, id)
	})
	from := s.Groups[at].Expected
	c := growCall(s, p, &model.Growth{Group: buy.Group, From: from, To: from + buy.Count})
	c.Reason, c.Why = m.Reason, fmt.Sprintf("a move: %s saves %.4g an hour", m.Text(), m.Savings())
	if m.ByPriority() {
		c.Why = fmt.Sprintf("a move: %s, which the priorities prefer", m.Text())
	}
	return c
}

func repairCall(s *model.Snapshot, p model.Policy, step *repair.Step) model.Call {
	g := &s.Groups[step.Group]
	c := model.Call{
		Verb: step.Verb, Group: g.ID, Pool: g.Pool, From: step.From, To: step.To, Force: step.Force,
		Deadline: s.Now.Add(p.CallDeadline), Reason: step.Reason, Why: step.Why,
	}
	subject := string(g.ID)
	if step.Verb == model.Remove {
		w := &step.Waiting
		c.Instance, c.ProviderID, c.NodeName, c.If = w.Instance, w.ProviderID, w.NodeName, step.If
		subject = "instance/" + string(c.Instance)
	}
	c.ID = fmt.Sprintf("%s/%s/%d", verbID(step.Verb), subject, s.Now.UnixNano())
	return c
}

func nodeCall(s *model.Snapshot, p model.Policy, n *model.Node, step removal.Step) model.Call {
	subject := n.Name
	if step.Verb == model.Evict {
		subject += "/" + step.Pod
	}
	c := model.Call{
		ID: fmt.Sprintf("%s/%s/%d", verbID(step.Verb), subject, s.Now.UnixNano()), Verb: step.Verb,
		Node: n.Name, Instance: n.Instance,
		ExpendableBelow: p.Rules.ExpendableBelow, Unready: step.Unready, Whole: step.Whole,
		Known: step.Known, LookOnly: step.LookOnly, Pod: step.Pod, PodUID: step.PodUID, Grace: step.Grace, Note: step.Note,
		Deadline: s.Now.Add(p.CallDeadline), Reason: step.Reason, Why: step.Why,
	}
	if n.Group >= 0 {
		c.Group, c.Pool = s.Groups[n.Group].ID, s.Groups[n.Group].Pool
	}
	return c
}

func verbID(v model.Verb) string { return strings.ToLower(string(v)) }
