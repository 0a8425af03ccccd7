package scaleup

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// doubt finds the classes that fit ready nodes while the scheduler leaves them waiting.
// It is reported first; then the scheduler is believed: for one pod of one such class
// another node is looked for. That class is returned, nil if there is none. A node
// that is bought against the scheduler's word brakes its group for the class until it
// has helped, and with it all further steps for the namespace: a user who can make pods
// that the scheduler refuses can make many kinds of them.
func (pl *planner) doubt(list []*waiting) (step *waiting) {
	for _, q := range list {
		if q.existing == 0 {
			continue
		}
		if q.Awaits {
			continue // so do the pods that the scheduler makes room for, and these after them
		}
		class := pl.s.Classes[q.Class].Digest()
		since := pl.doubtedSince(class)
		if at := (model.Doubt{Since: since}).Counts(); at.After(pl.s.Now) {
			pl.wake = earliest(pl.wake, at)
			continue
		}
		if !q.Refused {
			continue // a bypassed scheduler has not looked at them: there is no word to believe
		}
		q.disagrees = pl.disagreement(q, since)
		if at := since.Add(disagreeAfter); at.After(pl.s.Now) {
			pl.wake = earliest(pl.wake, at)
			continue
		}
		if step == nil && q.left == 0 && q.upcoming == 0 && !pl.tried(q.Class, class) {
			step = q
		}
	}
	if step != nil {
		pl.avoidRefused(step)
		pl.w.Doubt(step.Class)
		step.existing, step.left = step.existing-1, 1
	}
	return step
}

// avoidRefused keeps a step from groups with ready nodes that the class fits and the scheduler
// refuses, where another group may have the node: more of the same is of less use.
func (pl *planner) avoidRefused(q *waiting) {
	hosts, refused := pl.w.HostsOf(q.Class, schedsim.OnReady), map[int]bool{}
	for i := range pl.s.Nodes {
		n := pl.s.Nodes[i]
		if n.Kind == model.Ready && n.Group >= 0 && !refused[n.Group] &&
			(slices.Contains(hosts, n.Name) || pl.w.Fits(q.Class, model.NodeID(i)) == model.Fits) {
			refused[n.Group] = true
		}
	}
	if !slices.ContainsFunc(pl.heads, func(h head) bool {
		return !refused[h.group] && pl.limits.most(h.group) > 0 && pl.suits(q.Class, h)
	}) {
		return
	}
	delete(pl.packs, q.Class)
	for group := range refused {
		pl.w.Avoid(q.Class, group)
		delete(pl.forms, brakeKey{q.Class, group})
	}
}

// doubtedSince is since when the scheduler has left pods of the class waiting that fit
// ready nodes: since now, if it did not do so in the last cycle.
func (pl *planner) doubtedSince(class string) time.Time {
	if d, ok := pl.s.Doubts[class]; ok {
		return d.Since
	}
	return pl.s.Now
}

// tried reports whether a step for a class, or for another of its namespace, has been
// made and has not helped, or has not yet had the time to.
func (pl *planner) tried(c model.ClassID, class string) bool {
	for _, k := range pl.brakes {
		if k.Reason != model.SchedulerDisagrees || onTrial(k, pl.s.Now) {
			continue
		}
		if k.Class == class || k.Namespace == pl.s.Classes[c].Namespace() {
			return true
		}
		// Steps for several namespaces follow each other.
		if next := k.Since.Add(disagreeAfter); next.After(pl.s.Now) {
			pl.wake = earliest(pl.wake, next)
			return true
		}
	}
	if pl.inFlight(class) {
		return true // what is on its way for the class is such a step, or more than one
	}
	for _, a := range pl.s.Arrivals {
		if !slices.Contains(a.For, class) {
			continue
		}
		if a.Ready.IsZero() {
			return true
		}
		if judged := a.Ready.Add(disagreeAfter); judged.After(pl.s.Now) {
			pl.wake = earliest(pl.wake, judged)
			return true
		}
	}
	return false
}

// inFlight reports whether a node is on its way that was bought for a class.
func (pl *planner) inFlight(class string) bool {
	return slices.ContainsFunc(pl.s.Groups, func(g model.Group) bool {
		return slices.ContainsFunc(g.Asks, func(a model.Ask) bool {
			return slices.Contains(a.For, class) &&
				slices.ContainsFunc(a.Units, func(u model.Unit) bool { return u.Open() })
		})
	})
}

// stepped closes a step: the groups that grew for it are braked for the class. Where
// none could, the pod is counted where it fits.
func (pl *planner) stepped(q *waiting) {
	if q == nil {
		return
	}
	loads := pl.w.Planned()
	for _, h := range pl.heads {
		if !slices.ContainsFunc(loads[h.group].Pods, func(b model.Batch) bool { return b.Class == q.Class }) {
			continue
		}
		c := &pl.s.Classes[q.Class]
		pl.addBrake(model.Brake{
			Group: pl.groupOf(h.group), Class: c.Digest(), Namespace: c.Namespace(),
			Template: pl.s.Contents.Shapes[h.template.Shape].Digest(), Reason: model.SchedulerDisagrees, Since: pl.s.Now,
			Detail: "a node was bought for pods that fit others, since the scheduler refuses them there; it has yet to help",
		})
	}
	q.existing, q.left = q.existing+q.left, 0
}

// disagreement puts both words beside each other: ours on a node that the pods fit, and
// the scheduler's.
func (pl *planner) disagreement(q *waiting, since time.Time) *model.Verdict {
	nodes := pl.w.HostsOf(q.Class, schedsim.OnReady)
	where := "ready nodes"
	if len(nodes) > 0 {
		where = "node " + nodes[0]
		if len(nodes) > 1 {
			where += fmt.Sprintf(" and %d more", len(nodes)-1)
		}
	}
	return &model.Verdict{
		Reason: model.SchedulerDisagrees, Since: since,
		Detail: fmt.Sprintf("%d of %s would fit %s by every filter, since %s, and the scheduler leaves them waiting",
			q.existing, spelling.Count(len(q.Pods), "pod"), where, since.UTC().Format(time.TimeOnly)) + said(q),
		Fix: "the scheduler's own word on the pods: its events, its plugins, its version",
	}
}

// said are the scheduler's words on the first pod that has any.
func said(q *waiting) string {
	for _, p := range q.Pods {
		if p.Said != "" {
			return fmt.Sprintf("; it says: %q", p.Said)
		}
	}
	return ""
}
