package model

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Verb is what a Call does.
type Verb string

// The verbs.
const (
	// Grow raises a group's target.
	Grow Verb = "Grow"
	// Taint marks a node as being deleted, so that nothing more lands on it.
	Taint Verb = "Taint"
	// Untaint rolls a removal back: it takes that taint away, and ends the cordon unless it is another
	// client's (AnnotationRemoval).
	Untaint Verb = "Untaint"
	// Cordon makes a node unschedulable and then looks at its pods once more (rule
	// L9): it fails if one has come that the plan did not know.
	Cordon Verb = "Cordon"
	// Mark and Unmark set and take away the soft taint of a candidate, by which the
	// scheduler prefers other nodes.
	Mark   Verb = "Mark"
	Unmark Verb = "Unmark"
	// Annotate writes on a node what keeps it, or takes that away.
	Annotate Verb = "Annotate"
	// Evict asks the Eviction API for one pod of a node.
	Evict Verb = "Evict"
	// Remove ends an instance, after a last look at its node's pods. An instance
	// that never registered has no node, and none is looked at.
	Remove Verb = "Remove"
	// Cancel lowers a group's target by units that have no instance.
	Cancel Verb = "Cancel"
)

// Call is one short, idempotent write on one subject. It says what it expects
// to find, so that act can refuse what has changed meanwhile.
type Call struct {
	// ID names the call for good: verb, subject, and the instant it was
	// decided at.
	ID   string
	Verb Verb
	// Group and Pool are the subject of Grow, and the home of every node.
	Group provider.GroupID
	Pool  provider.PoolID
	// Node and Instance are the subject of the other verbs.
	Node     string
	Instance provider.InstanceID
	// From and To are Grow's and Cancel's targets. MaxTo is the group's limit when
	// it was decided; act refuses a Grow to above it (rule P4).
	From, To, MaxTo int
	// ProviderID and NodeName are those of the node that an instance without one
	// would have: act leaves it if there is such a node now.
	ProviderID, NodeName string
	// Unready: the node goes because it is not ready; act leaves one that has
	// become so.
	Unready bool
	// Known are the pods that Cordon may find on the node, by UID: another one has
	// landed meanwhile, unless it is of a DaemonSet, static or at its end. Of Remove they are the pods at
	// their end whose time is long over: others are waited for.
	Known []types.UID
	// LookOnly: Cordon looks, and leaves the node schedulable.
	LookOnly bool
	// Pod is the subject of Evict, as namespace/name, and PodUID says which of that
	// name; Grace is how long it may take to end, below 0: as long as it says.
	Pod    string
	PodUID types.UID
	Grace  time.Duration
	// Note is what Annotate writes; empty: nothing is to be there.
	Note string
	// Force lets Remove go below the group's minimum; If is what must still be true
	// of its instance.
	Force bool
	If    provider.Condition
	// Whole is how many removals of its group are one write, which ends all of them or
	// none; 0: each is for itself.
	Whole int
	// ExpendableBelow: pods of a lower priority are no reason for Remove to
	// leave a node alone.
	ExpendableBelow int32
	// Deadline ends the call; at it, the call may have happened.
	Deadline time.Time
	// Reason and Why explain it: a code, and a line for a person.
	Reason Reason
	Why    string
}

// Outcome is the end of a Call.
type Outcome struct {
	Call Call
	// Began and Ended are when act started and finished it.
	Began, Ended time.Time
	// Err is nil if it was done. With MayHaveHappened it is unknown.
	Err *provider.Error
	// Target is a group's target after Grow or Remove, -1 if unknown.
	Target int
	// ResourceVersion is the written node's (rule L4), empty if none was.
	ResourceVersion string
	// Unchanged: what was wanted was so already, and nothing was written.
	Unchanged bool
	// Landed names the pods that act's look found on a node that was to go, and
	// that are to keep it. A cordon may have been written all the same.
	Landed []string
}

// Answer is how a call has ended, as far as it matters to what comes next.
type Answer uint8

// The answers.
const (
	// AnswerDone: it was done, or was so already.
	AnswerDone Answer = iota
	// AnswerUnknown: it is unknown whether it was done (rule L2).
	AnswerUnknown
	// AnswerNotBegun: nothing was asked of anybody.
	AnswerNotBegun
	// AnswerBusy: it could not be done just then, which says nothing about the subject.
	AnswerBusy
	// AnswerConflict: another client changed the subject at the same moment.
	AnswerConflict
	// AnswerRefused is every other error.
	AnswerRefused
	// Answers is how many there are.
	Answers
)

// Answer is the outcome's. A Remove that was not begun because the API server could not
// tell what is on the node has met a busy one.
func (o *Outcome) Answer() Answer {
	if o.Err == nil {
		return AnswerDone
	}
	overloaded := o.Err.Kind == provider.Throttled || o.Err.Kind == provider.Unavailable
	switch {
	case o.Err.Code == CodeNotBegun && !(o.Call.Verb == Remove && overloaded):
		return AnswerNotBegun
	case o.Err.MayHaveHappened:
		return AnswerUnknown
	case overloaded || o.Err.Kind == provider.Transient:
		return AnswerBusy
	case o.Err.Kind == provider.Conflict:
		return AnswerConflict
	}
	return AnswerRefused
}

// Plan is what was decided. Every slice is sorted: by group, class or node.
type Plan struct {
	Calls []Call
	// Grow has an entry per group that grows, with the pods it grows for.
	Grow []Growth
	// Pending has an entry per class that has pods without a node.
	Pending []PendingVerdict
	// Unneeded are the nodes that nothing needs, whether or not they go now;
	// Kept the others that Plimsoll could take away, each with what holds it.
	Unneeded []NodeVerdict
	Kept     []NodeVerdict
	// Moves are those that begin, with a call for each of their purchases; Worth are those that would be
	// worth it and do not begin now, the best first.
	Moves []Move
	Worth []WaitingMove
	// Shares has an entry per group of a pool that names a sizing; sorted by group.
	Shares []PoolShareOf
	// Resume is where the search for unneeded nodes goes on in the next cycle,
	// empty if it got to the end.
	Resume string
	// MadeUp are the controllers that are seen to have made a pod since the last of theirs was evicted; sorted.
	MadeUp []types.UID
	// Unseen are the digests of the classes that pods wait of and that the cycle's
	// steps did not suffice for; they are first in the next, in this order.
	Unseen []string
	// Repair are the units that are given up and stay for now, each with what holds it.
	Repair []RepairVerdict
	// Brakes are those that stand after this plan; sorted by group and class.
	Brakes []Brake
	// Interruptions are those that count after this plan, or are still to be seen; by time.
	Interruptions []Interruption
	// Notices are what is wrong with the operator's documents, and stops nothing.
	Notices []provider.Notice
	// Nodes is how many nodes the scale-ups add; LowerBound is how many any plan would have to, for the
	// pods that they are for. Price is what they cost an hour, PriceBound what the nodes of any plan for
	// these pods cost; both are zero where the price of a group is not known.
	Nodes      int
	LowerBound int
	Price      float64
	PriceBound float64
	// Tighter says why nodes that cost less were found for the pods and are not bought; empty if there were none.
	Tighter string
	// Wake is the earliest instant at which the same snapshot would give
	// another plan; zero: never.
	Wake time.Time
	// NotBefore keeps the loop from turning again before it, whatever happens;
	// zero: it may turn at once.
	NotBefore time.Time
	// Work counts what the decision cost.
	Work Work
}

// Work counts steps, which do not depend on the machine.
type Work struct {
	Filters      int // one node tried for one pod by the real plugins
	PreFilters   int
	NodesScanned int
	Options      int // group options computed
	// Steps are what budgets count: a node shown to the plugins, an answer of theirs,
	// or LooksPerStep cheap looks. Allowed are those that the cycle might take, which a plan depends on
	// where they did not suffice; zero: not set.
	Steps, Allowed int
}

// LooksPerStep is how many looks at a node's free amounts, at a selector or at an
// option cost about as much as one node that is shown to the plugins.
const LooksPerStep = 64

// Plus adds two counts.
func (w Work) Plus(o Work) Work {
	return Work{w.Filters + o.Filters, w.PreFilters + o.PreFilters, w.NodesScanned + o.NodesScanned,
		w.Options + o.Options, w.Steps + o.Steps, w.Allowed + o.Allowed}
}

// PoolShareOf is what a group may have of its pool, as the pool's sizing spreads it
// before anything of the plan is done.
type PoolShareOf struct {
	Group  provider.GroupID
	Pool   provider.PoolID
	Sizing string
	// Min is what the sizing calls the group's minimum, and Max the most that it may
	// grow to; the pool's own limits hold besides.
	Min, Max int
}

// Bounds are a group's least and most nodes: its own, narrowed by its share of its
// pool. The most comes first: a share's minimum may be out of reach, as long as the
// pool's other groups have what it lacks.
func (p Plan) Bounds(g *Group) (least, most int) {
	least, most = g.Min, g.Max
	at, ok := slices.BinarySearchFunc(p.Shares, g.ID, func(s PoolShareOf, id provider.GroupID) int {
		return cmp.Compare(s.Group, id)
	})
	if ok {
		least, most = max(least, p.Shares[at].Min), min(most, p.Shares[at].Max)
	}
	return min(least, most), most
}

// Growth is one group's part of the plan.
type Growth struct {
	Group    provider.GroupID
	From, To int
	// Pods are those that the new nodes are for.
	Pods []Batch
	// Why says how the group was chosen.
	Why string
}

// PendingVerdict is what became of one class's pods that have no node.
type PendingVerdict struct {
	Class ClassID
	// Pods = Existing + Upcoming + Planned + Left + Delayed.
	Pods     int
	Existing int // room on nodes that are ready
	Upcoming int // room on nodes that are on their way
	Planned  int // room on nodes that this plan buys
	Left     int
	Delayed  int // wish to wait still, and were not looked at
	// Since is when the oldest of them came to be.
	Since time.Time
	// Groups has a verdict of each group, for classes with pods left or planned; sorted
	// by group.
	Groups []GroupVerdict
	// Disagrees, if set, says that pods fit nodes that are ready, and that the scheduler
	// has left them waiting all the same.
	Disagrees *Verdict
	// Skipped, if set, says why the class was not looked at.
	Skipped *Verdict
	// Tried, if set, is the nearest change with which all of them get a node. Deciding leaves it empty: it is tried
	// in idle time.
	Tried *TriedFix
}

// TriedFix is a change that gives pods room, as a trial has shown, and the group that it begins with; no group
// where it is about the pods alone. Without a text, none was found.
type TriedFix struct {
	Group provider.GroupID
	Text  string
}

// GroupVerdict is how a group stands to a class.
type GroupVerdict struct {
	Group provider.GroupID
	Verdict
}

// NodeVerdict is how a node stands to its removal.
type NodeVerdict struct {
	Node  string
	Group provider.GroupID
	// Use is the largest share that requests have of what the node can hold (0 to
	// 1 and more); 0 where it was not computed.
	Use float64
	Verdict
}

// RepairVerdict is how an instance, or a group's anonymous units (then Instance
// is empty), stands to its being given up.
type RepairVerdict struct {
	Group    provider.GroupID
	Instance provider.InstanceID
	Count    int
	Verdict
}

// Verdict is a reasoned answer.
type Verdict struct {
	Reason Reason
	// Detail has the numbers, for a person: "cpu 4 > 3.67".
	Detail string
	// Since and Until are when it began and when it ends by itself; zero if
	// not known.
	Since, Until time.Time
	// Fix says what would change it.
	Fix string
}

// After is a verdict with the time at which it began, where the one before may have had the
// same reason.
func (v Verdict) After(before *Verdict, now time.Time) *Verdict {
	v.Since = now
	if before != nil && before.Reason == v.Reason {
		v.Since = before.Since
	}
	return &v
}

// Cycle is what one turn of the loop saw, decided and learned.
type Cycle struct {
	Snapshot *Snapshot
	Plan     Plan
	// Ended are the calls that ended before this cycle, Open those under way
	// after it, and Changes what happened in the registry.
	Ended   []Outcome
	Open    []Call
	Changes []Change
	// Memory is what must survive a restart, with this cycle's intents in it.
	Memory Memory
	// Decided is false where nothing had changed and the last plan still held.
	Decided bool
	// Policy is the one that counted.
	Policy Policy
	// Recheck is what holding the kept state against a decision from nothing found; nil in most cycles.
	Recheck *Recheck
	// Replay is what became of the last plan before the plugins, where that has ended since the last cycle.
	Replay *Replay
	// Took is how long each phase took, for metrics.
	Took Took
}

// Recheck is the result of deciding twice on the same: with what earlier turns left to save work, and from nothing.
type Recheck struct {
	// Differs names the parts of the plan that differ; empty: what is kept is right.
	Differs []string
}

// Replay is the result of putting what a plan has placed before the scheduler's plugins once more, one pod at a time.
type Replay struct {
	// Pods were placed, and about so many of them the plugins were Asked. Steps is what that took.
	Pods, Asked, Steps int
	// Ended is false where the next decision came first.
	Ended bool
	// Refused is a placement that they do not allow, nil if there is none.
	Refused *Disallowed
}

// Disallowed is a pod that the plugins do not allow where a plan has placed it: one of those of a class.
type Disallowed struct {
	Class string // its key
	Pod   string
	Node  string // its name, or of which group it was to be
	Verdict
}

// Took is the duration of each phase of one turn.
type Took struct {
	Observe, Decide time.Duration
}
