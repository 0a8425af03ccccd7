package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// rethink decides again, from scratch, in every cycle in which the loop kept the plan that it had
// (rule L11). A difference means that the plan waits for something that neither the generation, nor
// the plan's wake, nor the cloud's next read would tell the loop; a later cycle could hide that by
// chance.
//
// In a cycle in which the loop decides, it holds the plan against one that is made from nothing: what is kept from
// cycle to cycle saves work and changes nothing.
//
// It keeps a ledger of its own, which takes in what the loop's takes in.
type rethink struct {
	policy model.Policy
	book   *ledger.Ledger
	seen   model.Observation
	ended  []model.Outcome
	held   model.Cycle // the last that decided
	from   inputs      // what it decided from
}

// see takes in what the loop observes, as the loop does: with what the policies say of the groups.
func (r *rethink) see(seen model.Observation) {
	in, policies := &seen.Inventory, r.policy.Groups
	policies.Pauses = seen.Pauses
	in.Groups, seen.Settled, seen.SettledUntil = policies.Groups(in.Groups, seen.Now)
	in.Notices = slices.Concat(in.Notices, policies.Notices(in.Groups))
	r.seen = seen
}

// inputs are what a decision is made from.
type inputs struct {
	before   *model.Snapshot
	seen     model.Observation
	standing model.Standing
}

// differs names the parts in which a plan from nothing differs from the one that the loop made.
func (in inputs) differs(p model.Policy, kept model.Plan) []string {
	in.before = nil
	_, fresh := in.plan(p)
	return decide.Differences(kept, fresh)
}

// plan decides from the inputs.
func (in inputs) plan(p model.Policy) (*model.Snapshot, model.Plan) {
	snap := snapshot.New(in.before, in.seen, in.standing, p.Rules)
	return snap, decide.Decide(snap, p)
}

// cycle takes in a cycle that has ended, and returns how a decision from scratch differs from the
// plan that the loop kept; empty if it does not.
func (r *rethink) cycle(c model.Cycle) string {
	r.book.Fold(r.seen, r.ended)
	if c.Decided {
		r.from = inputs{r.held.Snapshot, r.seen, r.book.Standing()}
		found := r.from.differs(r.policy, c.Plan)
		r.book.Note(c.Snapshot, c.Plan)
		r.held = c
		return strings.Join(found, ", ")
	}
	if len(c.Open) > 0 {
		return "" // a decision follows their ends, and each read of the cloud until then
	}
	snap, fresh := inputs{r.held.Snapshot, r.seen, r.book.Standing()}.plan(r.policy)
	was, is := verdictsOf(r.held.Snapshot, &r.held.Plan), verdictsOf(snap, &fresh)
	var found []string
	for _, about := range sortedKeys(is) {
		if was[about] != is[about] {
			found = append(found, fmt.Sprintf("%s: %s instead of %s", about, is[about], was[about]))
		}
		delete(was, about)
	}
	for _, about := range sortedKeys(was) {
		found = append(found, fmt.Sprintf("%s: no longer %s", about, was[about]))
	}
	return strings.Join(found, "; ")
}

// verdictsOf is what a plan says of each subject, without what changes by the second.
func verdictsOf(s *model.Snapshot, p *model.Plan) verdicts {
	out := verdicts{}
	for _, c := range p.Calls {
		out[strings.Join([]string{"call", string(c.Verb), string(c.Group), c.Node, c.Pod, string(c.Instance)},
			" ")] = string(c.Reason)
	}
	for _, v := range p.Unneeded {
		out["unneeded "+v.Node] = string(v.Reason)
	}
	for _, v := range p.Kept {
		switch out["kept "+v.Node] = string(v.Reason); v.Reason {
		case model.NoPlaceToMovePods, model.ReservedForMovedPods, model.NotEnoughPdb, model.GroupAtMin, model.PoolAtMin,
			model.PoolFloor, model.MinimalResourceLimit:
			// Nodes that were found unneeded are tried first the next time, which may change the
			// verdicts on others.
			out["kept "+v.Node] = "as others go first"
		}
	}
	for _, v := range p.Repair {
		out["repair of "+string(v.Group)+" "+string(v.Instance)] += string(v.Reason) + " "
	}
	for _, b := range p.Brakes {
		out["growth of "+string(b.Group)+" for "+b.Class] = string(b.Reason)
	}
	for _, v := range p.Pending {
		about := "pods " + s.Classes[v.Class].Key
		switch {
		case v.Skipped != nil:
			out[about] = string(v.Skipped.Reason)
			continue
		case v.Disagrees != nil:
			out[about] = string(v.Disagrees.Reason)
		default:
			out[about] = fmt.Sprint(v.Left)
		}
		for _, g := range v.Groups {
			out[about+" in "+string(g.Group)] = string(g.Reason)
		}
	}
	return out
}
