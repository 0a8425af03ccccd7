package model

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Standing is what the ledger knows beyond what can be seen: what was asked,
// what is under way, and how healthy all of it is.
type Standing struct {
	Groups map[provider.GroupID]GroupStanding
	Nodes  map[string]NodeStanding
	// Counts are the nodes of all groups, and Others those of none, by state.
	Counts, Others Counts
	// Unhealthy says why the cluster is in no shape to be acted on (S1); nil if
	// it is.
	Unhealthy *Verdict
	// Brakes are sorted by group and class; Arrivals by group and node.
	Brakes   []Brake
	Arrivals []Arrival
	// Doubts are the classes whose pods fit nodes that are ready while the scheduler
	// leaves them waiting, by digest.
	Doubts map[string]Doubt
	// LastGrowth and LastRemoval are when we last grew a group or removed a
	// node, zero if never; LastFailure when a removal last failed, and FailureWhy of what
	// node and why, empty after a restart.
	LastGrowth, LastRemoval, LastFailure time.Time
	FailureWhy                           string
	// LastDemand is when we last grew a group for anything but a move.
	LastDemand time.Time
	// Resume is where the search for unneeded nodes goes on, and Unseen the classes
	// that the last cycle had no steps for.
	Resume string
	Unseen []string
	// Displaced are the controllers of pods that we evicted a short while ago.
	Displaced map[types.UID]Displaced
	// Strays are nodes whose instance the cloud has ceased to list, by name, with its group.
	Strays map[string]provider.GroupID
	// Unread is what was asked for of groups that have not been read yet; by group and time.
	Unread []Unread
	// Moves are those under way, and those whose nodes are left alone; by when they began.
	Moves []Move
	// Exits are the nodes that began to go a short while ago, where a budget counts them.
	Exits []budget.Exit
	// Interruptions are those that the last plan had; by time.
	Interruptions []Interruption
	// Notices are what a person should know of the groups; nothing is decided by them.
	Notices []provider.Notice
}

// Displaced is when pods of a controller were evicted by us: first and last, both zero once its pods
// have settled.
type Displaced struct {
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Again is when one was last evicted that had come for an evicted one, and Times how often
	// in a row. What comes for it is left alone for longer each time. Resting is when the first was, of those
	// whose rest is not over.
	Again   time.Time `json:"again,omitzero"`
	Times   int       `json:"times,omitempty"`
	Resting time.Time `json:"resting,omitzero"`
	// Came: the controller has made a pod since the last eviction. It may be gone again, where fewer are wanted.
	Came bool `json:"came,omitempty"`
	// Settled is when the first was evicted of those whose pods have settled since. That is known until Known: a pod
	// that is moved once more before then was moved again.
	Settled time.Time `json:"settled,omitzero"`
	Known   time.Time `json:"known,omitzero"`
}

// CameFor reports whether a pod that was created then may have come for one that was evicted.
func (d Displaced) CameFor(created int64) bool {
	return !d.First.IsZero() && CameAfter(created, d.First) || d.movedAgain(created)
}

// Moved reports whether a pod that was created then may have come for one that was evicted, settled since or not.
func (d Displaced) Moved(created int64) bool {
	return d.CameFor(created) || !d.Settled.IsZero() && CameAfter(created, d.Settled)
}

// Rest is until when a pod that was created then is not moved, zero if nothing of the kind holds it.
func (d Displaced) Rest(created int64) time.Time {
	if !d.movedAgain(created) {
		return time.Time{}
	}
	return d.Rests()
}

func (d Displaced) movedAgain(created int64) bool {
	from := d.Resting
	if from.IsZero() {
		from = d.Again
	}
	return !d.Again.IsZero() && CameAfter(created, from)
}

// The first rest of pods that were moved again, and the longest.
const (
	firstPodRest = time.Hour
	mostPodRest  = 6 * time.Hour
)

// Rests is until when the pods of the controller rest that were moved again.
func (d Displaced) Rests() time.Time {
	rest := firstPodRest
	for n := 1; n < d.Times && rest < mostPodRest; n++ {
		rest = min(3*rest, mostPodRest)
	}
	return d.Again.Add(rest)
}

// CameAfter reports whether a pod that was created then may have been so after t. Creation is told
// in whole seconds, rounded down.
func CameAfter(created int64, t time.Time) bool {
	return !time.Unix(created, 0).Add(time.Second).Before(t)
}

// Doubt is a class that the scheduler refuses although its pods fit nodes that are
// ready: since when that has been so without any progress.
type Doubt struct {
	Since time.Time
}

// doubtedAfter is how long the scheduler may leave pods waiting that fit ready nodes. Less is what a
// scheduler with much to do takes.
const doubtedAfter = time.Minute

// Counts is the instant from which on the scheduler's word is reported, and no pod of the class is
// moved to where it should fit. Whether the scheduler is believed takes longer.
func (d Doubt) Counts() time.Time { return d.Since.Add(doubtedAfter) }

// GroupStanding is one group's.
type GroupStanding struct {
	// Expected is the observed target, or, until a read that began after our
	// last write, the one that the write leads us to expect (rules L2, L3).
	Expected int
	// Ending is how many machines are gone, or going, that Expected still counts: the removals
	// of them are under way, or had an unknown end.
	Ending int
	// Busy is the open call on this group or its pool, nil if there is none.
	Busy *Call
	// Amiss is how many open calls end machines of this group because something is amiss with them.
	Amiss int
	// Rests are what the group rests from, or has rested from.
	Rests Rests
	// Unsure: a write failed, and no read that began after it has shown what
	// the target is now.
	Unsure bool
	// Written is when our last write to the group ended, zero if none has since the process began.
	Written time.Time
	// Asks are the scale-ups in flight, oldest first.
	Asks   []Ask
	Counts Counts
	// Unhealthy says why the group must not grow now (S2); nil if it may.
	Unhealthy *Verdict
	// Overdue is how many anonymous units are not waited for any more; their
	// number goes down when the target does. Kept is how many of that kind the
	// cloud could not take back, since KeptSince. Waiting are the instances without
	// a node, by id, and Back when others that were not waited for any more had one lately. Missing is how many nodes the
	// target has and the cluster has not, and MissingSince since when (S4).
	Overdue      int
	Kept         int
	KeptSince    time.Time
	Waiting      []Waiting
	Back         []time.Time
	Missing      int
	MissingSince time.Time
	// LastGrowth, LastDemand, LastRemoval, LastFailure and FailureWhy are the group's own.
	LastGrowth, LastDemand, LastRemoval, LastFailure time.Time
	FailureWhy                                       string
	// Due is when time alone gives the next unit or node up; zero: never.
	Due time.Time
}

// GivenUp is how many units the target still counts that are not waited for
// any more.
func (g GroupStanding) GivenUp() int {
	n := g.Overdue + g.Kept
	for i := range g.Waiting {
		if g.Waiting[i].GivenUp() {
			n++
		}
	}
	return n
}

// Waiting is an instance that has no node.
type Waiting struct {
	Instance provider.InstanceID
	// ProviderID and NodeName are those of the node that it would have, as far as
	// the provider knows.
	ProviderID, NodeName string
	// Created is when the cloud made it at the earliest, zero if unknown; Since when its time to
	// register began.
	Created, Since time.Time
	// Long: its time to register is over. Lost: it had a node before.
	Long, Lost bool
	// Err is why the cloud could not make it, nil if it could. RetriedUntil is until
	// when it is waited for all the same, since the cloud tries again; zero: it does not,
	// or that time is over.
	Err          *provider.Error
	RetriedUntil time.Time
	// Hold is the provider's reason not to remove it.
	Hold string
}

// GivenUp reports whether the instance is not waited for any more.
func (w Waiting) GivenUp() bool { return w.Long || w.Err != nil && w.RetriedUntil.IsZero() }

// NodeStanding is one node's.
type NodeStanding struct {
	// Busy is the open call on this node, nil if there is none.
	Busy *Call
	// AwaitVersion is set while a write of ours has not been seen yet (rule
	// L4): the node's resourceVersion that it returned.
	AwaitVersion string
	// UnneededSince is when the node was first found unneeded, zero if it is
	// not.
	UnneededSince time.Time
	// Held is what kept the node when it was last judged, and HeldSince since when
	// it has been that.
	Held      Reason
	HeldSince time.Time
	// Failed is its last removal that failed, zero if none did.
	Failed Failure
	// MarkAfter is set after a mark or an annotation could not be written: none is
	// tried before.
	MarkAfter time.Time
	// TaintAfter is set after a taint was not begun, or ended in a conflict, so that nothing was
	// written: its removal begins no sooner.
	TaintAfter time.Time
	// Drain is how far its removal is, if one is open.
	Drain *Drain
	// Born is when a node that is not ready yet was first seen, if it says that it is older than a look that
	// lacked it, or still to come: another clock has dated it. Else it is zero.
	Born time.Time
}

// Failure is a removal that was begun and failed: when it ended, and what was in the way.
// The node rests from the second time on, longer each time.
type Failure struct {
	At  time.Time `json:"at"`
	Why string    `json:"why,omitempty"`
	// Times is how often in a row it was a pod's doing, and Rest how long the node rests.
	Times int           `json:"times,omitempty"`
	Rest  time.Duration `json:"rest,omitempty"`
}

// Until is when the rest is over.
func (f Failure) Until() time.Time { return f.At.Add(f.Rest) }

// Stage is how far a drain is.
type Stage string

// The stages of a node's removal, in order.
const (
	Tainting Stage = "Tainting"
	Tainted  Stage = "Tainted"
	// Cordoning and Evicting are of nodes with pods only.
	Cordoning Stage = "Cordoning"
	Evicting  Stage = "Evicting"
	Removing  Stage = "Removing"
	Removed   Stage = "Removed"
	// RollingBack: the node is untainted, and kept.
	RollingBack Stage = "RollingBack"
)

// Stages are all of them, in that order.
var Stages = []Stage{Tainting, Tainted, Cordoning, Evicting, Removing, Removed, RollingBack}

// Drain is a node on its way out, as a value: decide advances it call by call.
type Drain struct {
	Node     string              `json:"node"`
	Group    provider.GroupID    `json:"group"`
	Instance provider.InstanceID `json:"instance"`
	Stage    Stage               `json:"stage"`
	// Since is when the stage was reached, and Began when the removal was decided.
	Since time.Time `json:"since"`
	Began time.Time `json:"began"`
	// Occupied: it had pods of its own when that was decided, and Pods are those,
	// by UID: another one has landed since. A cordon does not keep out pods that
	// tolerate everything.
	Occupied bool        `json:"occupied,omitempty"`
	Pods     []types.UID `json:"pods,omitempty"`
	// Before is the drain as it was before the write to its node that is under way; nil if
	// none is.
	Before *Drain `json:"-"`
	// Evictions are those asked for, sorted by pod.
	Evictions []Eviction `json:"-"`
	// Refused is, of a drain that was remembered, since when its evictions had been refused.
	Refused time.Time `json:"refused,omitzero"`
	// Moved is, of a drain that was remembered, when pods were last moved for it, zero if
	// none were. One whose first eviction was under way counts.
	Moved time.Time `json:"moved,omitzero"`
	// Unready: it goes because it is not ready. If it becomes so, it stays.
	Unready bool `json:"unready,omitempty"`
	// Ending is when the machine was made, by the cloud's date, that the cloud was seen to delete, zero until it was:
	// one of the same id that was made later is another, and Other is when that was first seen.
	Ending, Other time.Time `json:"-"`
	// Why is the reason of a rollback, and Code its short form.
	Why  string `json:"why,omitempty"`
	Code Reason `json:"code,omitempty"`
	// NotBefore paces a step that failed: it is not tried again before. Tries counts how
	// often the cloud could not remove the instance just then.
	NotBefore time.Time `json:"notBefore,omitzero"`
	Tries     int       `json:"tries,omitempty"`
}

// IsDraft reports whether a removal has got no further than the taint: its pods are all there,
// and a rollback leaves no trace.
func (d *Drain) IsDraft() bool { return d != nil && (d.Stage == Tainting || d.Stage == Tainted) }

// Eviction is one pod's of a drain.
type Eviction struct {
	Pod   string // namespace/name
	UID   types.UID
	Owner types.UID
	// First is when it was first asked for, and Last when it last was, or ended.
	First, Last time.Time
	// Again: it had come for a pod that was evicted before.
	Again bool
	// Busy: the call is under way. Granted: the API server has agreed, or the pod
	// is gone.
	Busy, Granted bool
	// Gone is when the pod was first seen to have left the node, zero if it was not.
	Gone time.Time
	// Why is the last refusal.
	Why string
}
