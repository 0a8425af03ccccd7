// Package repair gives up what does not arrive: instances that the cloud could
// not make, instances that never registered, and units that never became an
// instance.
//
// What flows in: a snapshot, whose groups tell what is not waited for any more.
// What flows out: one step per group or pool at most, and a verdict for each
// unit that stays for now. Ready nodes are left alone, and so is an instance that
// could be one of them under another id (rule P6).
//
// Pure. Who may import it: decide.
package repair

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/gate"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Step is one write: an instance is removed, or anonymous units are cancelled.
type Step struct {
	Verb  model.Verb
	Group int // index of the snapshot's groups
	// Waiting is Remove's subject, and If what must still be true of it; From and To
	// are Cancel's targets.
	Waiting  model.Waiting
	If       provider.Condition
	From, To int
	Force    bool
	Reason   model.Reason
	Why      string
}

// Result is what was decided.
type Result struct {
	Steps    []Step
	Verdicts []model.RepairVerdict
	// Wake is when time alone would change this, zero if it would not.
	Wake time.Time
}

// Plan decides what is given up now. In each group instances come first, one at
// a time; the target is lowered when no instance is left that should go. The gate is
// closed to groups that are written to: nothing else is to be done to them in this plan.
func Plan(s *model.Snapshot, p model.Policy, rate *Rate, access *gate.Gate) Result {
	var r Result
	halted, fewer := halts(s, p.Rules)
	wake(&r, fewer)
	f := finder{
		snap: s, policy: p.Repair, rate: rate, halted: halted, pools: poolsOf(s), strangers: strangers(s),
	}
	for gi := range s.Groups {
		g := &s.Groups[gi]
		wake(&r, g.Due)
		r.Verdicts = append(r.Verdicts, retried(g)...)
		if g.GivenUp() == 0 {
			continue
		}
		if v := access.Closed(gi, gate.Repair); v != nil {
			r.Verdicts = append(r.Verdicts, model.RepairVerdict{Group: g.ID, Count: g.GivenUp(), Verdict: *v})
			wake(&r, v.Until)
			continue
		}
		step, ok := f.stepOf(gi, g, &r)
		if !ok {
			continue
		}
		if step.Verb == model.Remove && step.Waiting.Err == nil {
			rate.Take(gi)
		}
		r.Steps = append(r.Steps, step)
		for other := range s.Groups {
			if other == gi || (g.Pool != "" && s.Groups[other].Pool == g.Pool) {
				access.Close(other, model.Verdict{Reason: model.Resizing, Detail: step.Why, Fix: "the next cycle"})
			}
		}
	}
	return r
}

// retried tells of the instances that the cloud could not make, and that are waited for
// since it tries again.
func retried(g *model.Group) []model.RepairVerdict {
	var out []model.RepairVerdict
	for _, w := range g.Waiting {
		if w.Err != nil && !w.GivenUp() {
			out = append(out, model.RepairVerdict{Group: g.ID, Instance: w.Instance, Count: 1, Verdict: model.Verdict{
				Reason: model.CreationRetried, Detail: w.Err.Error(), Until: w.RetriedUntil,
				Fix: "the cloud makes it after all, or it is given up then",
			}})
		}
	}
	return out
}

// finder finds what is to be done in each group.
type finder struct {
	snap      *model.Snapshot
	policy    model.RepairPolicy
	rate      *Rate
	halted    []time.Time // by group: until when machines without a node are left alone
	pools     map[provider.PoolID]room
	strangers []*corev1.Node
}

// forced is the policy for one group: a pool's minimum keeps no instance that is no
// node, since the pool is filled again, by another of its groups or, after a rest, by
// the same one. A minimum of the group's own does.
func (f *finder) forced(g *model.Group) model.RepairPolicy {
	p := f.policy
	if _, ok := f.pools[g.Pool]; ok && g.Expected > g.Min {
		p.ForceUnregistered, p.ForceFailed = true, true
	}
	return p
}

// stepOf finds the first thing to be done in a group.
func (f *finder) stepOf(gi int, g *model.Group, r *Result) (Step, bool) {
	p := f.forced(g)
	if g.Kept > 0 {
		r.Verdicts = append(r.Verdicts, model.RepairVerdict{Group: g.ID, Count: g.Kept, Verdict: model.Verdict{
			Reason: model.NotCancellable, Since: g.KeptSince,
			Detail: fmt.Sprintf("%d of the nodes asked for did not come, and the cloud could not take the request back", g.Kept),
			Fix: "the next try, once this group may grow again; other groups are tried meanwhile; docs/reasons.md says " +
				"how such requests can be taken back",
		}})
	}
	// 1. Instances that the cloud could not make, then those that never
	// registered.
	for _, failed := range []bool{true, false} {
		for _, w := range g.Waiting {
			if (w.Err != nil) != failed || !w.GivenUp() {
				continue
			}
			since := w.Since.UTC().Format(time.TimeOnly)
			reason, condition, force := model.ProvisionTimeout, provider.StillWithoutNode, p.ForceUnregistered
			why := fmt.Sprintf("instance %s has had no node since %s", w.Instance, since)
			if w.Lost {
				// A provider may still name the node that is gone, and would take that for
				// one that came meanwhile. That no node is the machine's is looked up before
				// the write all the same.
				condition = ""
				why = fmt.Sprintf("instance %s runs without the node that it had, since %s", w.Instance, since)
			}
			if !w.Created.IsZero() && w.Since.Before(w.Created) {
				why += ", and neither had what the cloud replaced by it"
			}
			if failed {
				reason, condition, force = model.InstanceFailed, provider.StillFailed, p.ForceFailed
				why = fmt.Sprintf("the cloud could not make instance %s: %v", w.Instance, w.Err)
			}
			v := f.held(g, w, force)
			if v == nil && !failed {
				v = f.few(gi, g)
			}
			if v != nil {
				wake(r, v.Until)
				r.Verdicts = append(r.Verdicts, model.RepairVerdict{Group: g.ID, Instance: w.Instance, Count: 1, Verdict: *v})
				continue
			}
			return Step{Verb: model.Remove, Group: gi, Waiting: w, If: condition, Force: force, Reason: reason, Why: why}, true
		}
	}
	// 2. Units that never became an instance.
	if g.Overdue == 0 {
		return Step{}, false
	}
	n := g.Overdue
	held, until := f.strangersOf(g)
	wake(r, until)
	if len(held) > 0 {
		n = max(0, n-len(held))
		r.Verdicts = append(r.Verdicts, model.RepairVerdict{Group: g.ID, Count: g.Overdue - n, Verdict: model.Verdict{
			Reason: model.MatchingBroken, Until: until,
			Detail: fmt.Sprintf("of the nodes asked for, %d lack an instance; of an instance unknown: %s, %s among them: "+
				"a lower target could end those", g.Overdue, spelling.Count(len(held), "node"), held[0].Name),
			Fix: "answers of the cloud that list all instances, or provider ids that agree between the cloud and the nodes",
		}})
		if n == 0 {
			return Step{}, false
		}
	}
	n = min(n, spare(g, f.pools))
	if n <= 0 {
		r.Verdicts = append(r.Verdicts, model.RepairVerdict{Group: g.ID, Count: g.Overdue, Verdict: *atMin(g)})
		return Step{}, false
	}
	return Step{Verb: model.Cancel, Group: gi, From: g.Expected, To: g.Expected - n, Reason: model.ProvisionTimeout,
		Why: fmt.Sprintf("%d of the nodes asked for did not come; the target goes from %d to %d",
			g.Overdue, g.Expected, g.Expected-n)}, true
}

// held says what keeps an instance that is not waited for any more, nil if
// nothing does.
func (f *finder) held(g *model.Group, w model.Waiting, force bool) *model.Verdict {
	if w.Hold != "" {
		return &model.Verdict{Reason: model.InstanceHeld, Detail: w.Hold}
	}
	if g.CloudChooses && len(g.Instances) > 1 {
		return gate.Whole("the cloud would choose which of its machines ends",
			"it registers, and all of them can go; or a person ends it")
	}
	if w.Err == nil {
		for _, n := range f.strangers {
			if asOld(w.Created, skew, n) && CouldBe(g, n) {
				return &model.Verdict{Reason: model.MatchingBroken,
					Detail: fmt.Sprintf("node %s (%s) has no instance, and could be that of instance %s (%s)",
						n.Name, n.Spec.ProviderID, w.Instance, w.ProviderID),
					Fix: "provider ids that agree between the cloud and the nodes"}
			}
		}
	}
	if !force && spare(g, f.pools) <= 0 {
		return atMin(g)
	}
	return nil
}

// few says that too many machines without a node are to be ended at once, nil if they
// are few: at first none is, and then a few at a time.
func (f *finder) few(gi int, g *model.Group) *model.Verdict {
	if until := f.halted[gi]; until.After(f.snap.Now) {
		return &model.Verdict{
			Reason: model.ManyAmiss, Until: until, Fix: "they register; see what they have in common",
			Detail: fmt.Sprintf("%s of the group without a node: with those that have just come back, too many "+
				"at once, of it or of all groups, for a fault of each", spelling.Count(g.Counts.LongUnregistered, "machine")),
		}
	}
	return f.rate.Held(gi)
}

func atMin(g *model.Group) *model.Verdict {
	return &model.Verdict{Reason: model.GroupAtMin, Detail: fmt.Sprintf("target %d, min %d", g.Expected, g.Min),
		Fix: "a lower minimum, or the flag that forces it"}
}

// room is what a pool has above its minimum.
type room struct{ expected, least int }

func poolsOf(s *model.Snapshot) map[provider.PoolID]room {
	pools := map[provider.PoolID]room{}
	for _, p := range s.Pools {
		pools[p.ID] = room{least: p.Min}
	}
	for i := range s.Groups {
		if r, ok := pools[s.Groups[i].Pool]; ok {
			r.expected += s.Groups[i].Expected - s.Groups[i].Ending
			pools[s.Groups[i].Pool] = r
		}
	}
	return pools
}

// spare is how many units the group and its pool have above their minimum.
func spare(g *model.Group, pools map[provider.PoolID]room) int {
	n := g.Expected - g.Min
	if r, ok := pools[g.Pool]; ok {
		n = min(n, r.expected-r.least)
	}
	return n
}

func wake(r *Result, at time.Time) {
	if !at.IsZero() && (r.Wake.IsZero() || at.Before(r.Wake)) {
		r.Wake = at
	}
}

// Resized reports whether any group is resized by the steps.
func (r Result) Resized() bool {
	return slices.ContainsFunc(r.Steps, func(s Step) bool { return s.Verb == model.Cancel })
}
