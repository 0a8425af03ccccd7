package decide

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/removal"
)

// rest is how long an unhealthy cluster is left alone before it is looked at again.
const rest = 10 * time.Second

// halted is the plan for an unhealthy cluster: nothing is bought or removed, no
// node is unneeded, and removals that wait are rolled back.
func halted(s *model.Snapshot, p model.Policy) model.Plan {
	plan := model.Plan{Brakes: s.Brakes, NotBefore: s.Now.Add(rest), Wake: s.Now.Add(rest),
		Interruptions: s.InterruptionsOf(&p.Moves)}
	for i := range s.Pending {
		q := &s.Pending[i]
		plan.Pending = append(plan.Pending, model.PendingVerdict{Class: q.Class, Pods: len(q.Pods), Left: len(q.Pods),
			Since: q.Oldest, Skipped: s.Unhealthy})
	}
	for i := range s.Nodes {
		n := s.Nodes[i]
		if n.Object == nil {
			continue
		}
		v := model.NodeVerdict{Node: n.Name, Verdict: *s.Unhealthy}
		if n.Group >= 0 {
			v.Group = s.Groups[n.Group].ID
		}
		plan.Kept = append(plan.Kept, v)
		if n.Standing.Drain == nil || n.Unknown {
			continue
		}
		p.ScaleDown.Enabled = false
		steps, _ := removal.Next(n, removal.View{}, s.Now, p.ScaleDown)
		for _, step := range steps {
			if step.Verb == model.Untaint {
				step.Reason, step.Why = s.Unhealthy.Reason, s.Unhealthy.Detail
				plan.Calls = append(plan.Calls, nodeCall(s, p, n, step))
			}
		}
	}
	return plan
}
