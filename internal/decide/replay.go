package decide

import (
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/schedsim"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Replay puts what the last plan of a decider has placed before the scheduler's plugins once more. It ends with the
// next decision.
type Replay struct {
	world *schedsim.World
	steps int
	run   *schedsim.Replay // nil until the first step
	snap  *model.Snapshot
}

// cheaper is how many steps of a replay take the time of one of a decision: most are nodes shown to the plugins.
const cheaper = 4

// Replay begins one, of about as much time as a decision may take; the snapshot and the policy are those of the last
// plan. It is nil where the plan begins nothing that depends on where pods may go: it neither buys nodes nor begins to
// remove some.
func (d *Decider) Replay(s *model.Snapshot, p model.Policy, plan *model.Plan) *Replay {
	begins := func(c model.Call) bool { return c.Verb == model.Grow || c.Verb == model.Taint }
	if !slices.ContainsFunc(plan.Calls, begins) {
		return nil
	}
	return &Replay{world: d.world, steps: ReplaySteps(p), snap: s}
}

// ReplaySteps is how many steps a replay may take, zero where nothing bounds a decision.
func ReplaySteps(p model.Policy) int { return cheaper * p.Steps }

// Step goes on for the time of one question to the plugins at most, and reports whether there is more to do.
func (r *Replay) Step() bool {
	if r.run == nil {
		r.run = r.world.Replay(r.steps, int(r.snap.Seed%uint64(len(r.snap.Classes)+1)))
		return true
	}
	return r.run.Step()
}

// Result is what came of it so far.
func (r *Replay) Result() *model.Replay {
	if r.run == nil {
		return &model.Replay{}
	}
	done := r.run.Result()
	out := &model.Replay{Pods: done.Pods, Asked: done.Asked, Steps: done.Steps}
	if no := done.Refused; no != nil {
		out.Refused = &model.Disallowed{Class: r.snap.Classes[no.Class].Key, Pod: podOf(r.snap, no.Class),
			Node: no.Node, Verdict: no.Verdict}
	}
	return out
}

// disallowed tells of classes that are left to the plugins, since these did not allow what a plan had found for them.
func disallowed(p model.Policy) []provider.Notice {
	var out []provider.Notice
	for _, key := range slices.Sorted(maps.Keys(p.Disallowed)) {
		out = append(out, provider.Notice{Code: "PlanNotAllowed", Message: p.Disallowed[key]})
	}
	return out
}
