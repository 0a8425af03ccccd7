// Package gate answers one question for all of deciding: may this be done to
// this group now?
//
// What flows in: a snapshot, the policy, and the groups that the plan in the
// making writes to already. What flows out: nil, or a verdict that says why not
// and when that ends. Each check is one small function with one wording; order
// says which checks an operation runs, and which of them speaks first.
// Words that others of decide use for the same reasons are in words.go.
//
// What concerns one node or pod, and what is counted down as a plan grows
// (maximums, minimums, shares, rates), is not asked here.
//
// Pure. Who may import it: decide and its parts. It imports model and provider.
package gate

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Op is what is to be done to a group.
type Op uint8

// The operations.
const (
	// Grow raises the group's target.
	Grow Op = iota
	// Share counts on the group's growth, sooner or later: a group that is closed
	// leaves its share of the pool's maximum to the others.
	Share
	// Repair ends a machine that did not become a node, or lowers the target to
	// what came.
	Repair
	// Spare counts a node of the group as unneeded.
	Spare
	// Time counts how long a node has been unneeded.
	Time
	// Begin begins to remove a node, and BeginUnready one that is not ready.
	Begin
	BeginUnready
	// Continue goes on with a removal that is under way.
	Continue
	ops
)

// String names the operation.
func (op Op) String() string {
	return [ops]string{"grow", "share", "repair", "spare", "time", "begin", "begin unready", "continue"}[op]
}

// check is one reason to leave a group alone.
type check struct {
	name string
	ask  func(question) *model.Verdict
}

// question is what a check is asked about.
type question struct {
	*Gate
	index int
	group *model.Group
}

// order lists the checks of each operation; the first that objects speaks. What
// makes all other answers doubtful comes first, then what a person must mend, then
// what ends by itself. Operations differ on purpose:
//
//   - Grow names a node that did not start before the rest after failed scale-up, and
//     that rest before missing nodes: the error of the cloud says more than their number.
//   - Share ignores what lasts no longer than a call: shares that come and go within
//     seconds would move nodes between zones for nothing.
//   - Repair is not kept from an unhealthy group, nor from one that rests after
//     a failed scale-up: those are the groups that need it.
//   - Time asks little: while the time of an unneeded node runs, its end is the answer.
//     Begin is asked when it is over.
//   - Continue asks first whether the same plan writes to the group: that is no reason for
//     a rollback (RollsBack). Stale comes last: a rollback needs no cloud.
var order = [ops][]check{
	Grow: {
		stale, unreadable, poolUnreadable, noTemplate, allOrNothing, busy, unsure, neverStarted, backoff, unhealthy, paused,
		heldFromGrowing, heldByOperator, fromZero, resized,
	},
	Share:  {unreadable, noTemplate, allOrNothing, unhealthy, backoff, heldFromGrowing, heldByOperator},
	Repair: {stale, unreadable, busy, unsure, older, paused, heldFromRepair, heldByOperator, resized},
	Spare:  {poolUnreadable},
	Time:   {stale},
	Begin:  {stale, refused, resized, unreadable, heldFromRemoving, heldByOperator, poolUnreadable},
	BeginUnready: {
		stale, refused, resized, tooMany, tooFew, unreadable, heldFromRemoving, heldByOperator, poolUnreadable,
	},
	Continue: {resized, refused, unreadable, heldFromRemoving, heldByOperator, stale},
}

// Gate is the gate of one plan. It serves one goroutine.
type Gate struct {
	snap    *model.Snapshot
	policy  model.Policy
	resized map[int]model.Verdict
	// interruptions are those that count, and distrusts what comes of them.
	interruptions []model.Interruption
	distrusts     []model.Distrust
}

// New is the gate before anything has been planned.
func New(s *model.Snapshot, p model.Policy) *Gate {
	t := &Gate{snap: s, policy: p, resized: map[int]model.Verdict{}, interruptions: s.InterruptionsOf(&p.Moves)}
	t.distrusts = t.policy.Moves.Distrusts(t.interruptions, s.Now)
	return t
}

// Interruptions are those that count in this plan, or will in the next.
func (t *Gate) Interruptions() []model.Interruption { return t.interruptions }

// Distrusts are the groups that are bought from last, since too many of their nodes were interrupted.
func (t *Gate) Distrusts() []model.Distrust { return t.distrusts }

// Distrusted reports whether a group, by its index, is one of them.
func (t *Gate) Distrusted(group int) bool {
	return slices.ContainsFunc(t.distrusts, func(d model.Distrust) bool { return d.Group == t.snap.Groups[group].ID })
}

// Tries reports whether a group may have one node at a time, to see whether it becomes ready: others did not. Where
// other groups take the pods, those come first.
func (t *Gate) Tries(group int) bool {
	v := t.snap.Groups[group].Unhealthy
	return v != nil && v.Reason == model.NodeNeverStarted && t.Closed(group, Grow) == nil
}

// Close closes a group for the rest of the plan, which writes to it already.
func (t *Gate) Close(group int, v model.Verdict) { t.resized[group] = v }

// Closed says why the operation must not be done to a group, by its index, now; nil
// if it may.
func (t *Gate) Closed(group int, op Op) *model.Verdict {
	q := question{t, group, &t.snap.Groups[group]}
	for i := range order[op] {
		if v := order[op][i].ask(q); v != nil {
			return v
		}
	}
	return nil
}

// RollsBack reports whether a removal under way is rolled back for a verdict of Continue:
// it is no use to wait, since the cloud refuses, or a person has paused the group.
func RollsBack(v *model.Verdict) bool {
	return v != nil && (v.Reason == model.Cooldown || v.Reason == model.GroupHeld || v.Reason == model.HeldByOperator)
}
