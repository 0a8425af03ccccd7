package model

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Ask is a scale-up in flight, and how far each of its units has come.
type Ask struct {
	ID    string           `json:"id"`
	Group provider.GroupID `json:"group"`
	// At is when the timers of its anonymous units started (rule L8); those of a
	// unit with an instance start at the instance's creation, and go on if the cloud
	// replaces it.
	At time.Time `json:"at"`
	// Found: we did not ask for it. Another client raised the target, or a leader before us did.
	Found bool `json:"found,omitempty"`
	// First: it was found in the first observation of a process that remembered nothing of
	// it, so that its units may be machines of any age.
	First bool `json:"first,omitempty"`
	// For names the classes of pods that it was bought for, by digest, and Pods how many of each, for Bought nodes. It is
	// not known of what memories from before it was kept tell.
	For    []string `json:"for,omitempty"`
	Pods   []int    `json:"pods,omitempty"`
	Bought int      `json:"bought,omitempty"`
	Units  []Unit   `json:"units"`
}

// Whole reports whether all that was bought is still to come, so that there will be room for all of its pods.
func (a *Ask) Whole() bool {
	return len(a.Pods) == len(a.For) && len(a.Units) == a.Bought &&
		!slices.ContainsFunc(a.Units, func(u Unit) bool { return u.State != UnitAsked && u.State != UnitMade })
}

// Unread is what a leader before this one asked for of a group that has not been read since: nodes may come for pods of
// these classes until then.
type Unread struct {
	Group provider.GroupID
	For   []string
	Until time.Time
}

// Unit is one node that was asked for. internal/growth moves it from state to state.
type Unit struct {
	State UnitState `json:"state,omitzero"`
	// Entered is when it came into its state, zero while it is asked for: its ask says when.
	Entered time.Time `json:"entered,omitzero"`
	// Instance and Node are what it has so far.
	Instance provider.InstanceID `json:"instance,omitempty"`
	Node     string              `json:"node,omitempty"`
	// Exists is when its instance was made, or was left without the node that it had.
	Exists time.Time `json:"exists,omitzero"`
	// Deadline is when its time to register began, if that was not with its instance: an
	// instance before this one ended without a node.
	Deadline
	// Lost is when its instance was left without the node that it had.
	Lost time.Time `json:"lost,omitzero"`
	// Why is the reason for which it was given up. It stays when the node turns ready
	// after all.
	Why string `json:"why,omitempty"`
}

// UnitState is how far a unit is. The zero value is a unit that is asked for.
type UnitState uint8

// The states of a unit. A unit that has a node had an instance before, and one that is
// given up has what it had by then.
const (
	// UnitAsked: the target counts it, and the cloud has not named an instance yet.
	UnitAsked UnitState = iota
	// UnitMade: it has an instance, and the instance has no node.
	UnitMade
	// UnitRegistered: it has a node, and the node was never ready.
	UnitRegistered
	// UnitReady: its node was ready.
	UnitReady
	// UnitGivenUp: it is not waited for any more, and the target still counts it.
	UnitGivenUp
	// UnitKept: it was given up, and the cloud could not take the request back. It may
	// come at any time.
	UnitKept
)

// UnitStates are the names of the states, in their order, as the memory has them.
var UnitStates = []string{"asked", "made", "registered", "ready", "givenUp", "kept"}

func (s UnitState) String() string {
	if int(s) < len(UnitStates) {
		return UnitStates[s]
	}
	return fmt.Sprintf("UnitState(%d)", uint8(s))
}

// MarshalText is for the memory.
func (s UnitState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is for the memory.
func (s *UnitState) UnmarshalText(text []byte) error {
	i := slices.Index(UnitStates, string(text))
	if i < 0 {
		return fmt.Errorf("read the state of a unit: %q is none of %v", text, UnitStates)
	}
	*s = UnitState(i)
	return nil
}

// Open reports whether the unit has neither registered nor been given up.
func (u *Unit) Open() bool { return u.State == UnitAsked || u.State == UnitMade }

// Deadline is when a wait is over: a length of time after it began. What stops the clock
// moves it, so that the wait has all of its time again.
type Deadline struct {
	// Since is when the wait began, zero if what is waited for says so itself.
	Since time.Time `json:"since,omitzero"`
	// Stalled is when the clock last stood still. None of the time had run by then.
	Stalled time.Time `json:"stalled,omitzero"`
}

// Stop moves the deadline: the clock stood still at that instant.
func (d *Deadline) Stop(at time.Time) { d.Stalled = Latest(d.Stalled, at) }

// Start moves the deadline, as far as it was set: the time runs from this instant at the
// earliest.
func (d *Deadline) Start(at time.Time) { d.Since = Latest(d.Since, at) }

// From is when the time began to run, where a wait that does not say so began otherwise.
func (d Deadline) From(otherwise time.Time) time.Time {
	if !d.Since.IsZero() {
		otherwise = d.Since
	}
	return Latest(otherwise, d.Stalled)
}

// Latest is the last of some times.
func Latest(t time.Time, more ...time.Time) time.Time {
	for _, m := range more {
		if m.After(t) {
			t = m
		}
	}
	return t
}

// Earlier is a time, or the latest that it can be.
func Earlier(t, latest time.Time) time.Time {
	if t.After(latest) {
		return latest
	}
	return t
}

// Arrival is a node of an ask that has become ready, or was given up before and may be
// ready later, as long as what it was bought for may still wait. Ready is zero until then.
type Arrival struct {
	Node  string           `json:"node"`
	Group provider.GroupID `json:"group"`
	Ready time.Time        `json:"ready"`
	For   []string         `json:"for"`
}

// Brake holds a group for one class of pods: a node of the group came up, and
// does not help that class; or one was bought against the scheduler's word, and has
// to prove itself first. It stands until the template or the pods change, one with an
// end no longer than that; a mismatch or disagreement that has ended so bounds how many nodes are tried for a day.
type Brake struct {
	Group provider.GroupID `json:"group"`
	Class string           `json:"class"` // digest
	// Namespace is that of the pods; empty in memories of before it was kept.
	Namespace string `json:"namespace,omitempty"`
	// Template is the digest of the template that the promise was made from.
	Template string `json:"template"`
	Reason   Reason `json:"reason"` // TemplateMismatch, SchedulerDisagrees, LandedElsewhere or OutOfReach
	Detail   string `json:"detail"`
	// Node is the one that did not help, empty where the brake came with the purchase.
	Node  string    `json:"node"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until,omitzero"`
	// Trials is how often the group was tried again in vain before it (SchedulerDisagrees).
	Trials int `json:"trials,omitempty"`
}

// Memory is what must survive a restart or a change of leader, beside what can
// be read from the cluster and the cloud.
type Memory struct {
	Asks     []Ask     `json:"asks,omitempty"`
	Arrivals []Arrival `json:"arrivals,omitempty"`
	Brakes   []Brake   `json:"brakes,omitempty"`
	// Backoffs are the rests of groups after failed scale-ups, and Endings those after
	// unhealthy machines were ended. Other rests are short.
	Backoffs map[provider.GroupID]Rest      `json:"backoffs,omitempty"`
	Endings  map[provider.GroupID]Endings   `json:"endings,omitempty"`
	Unneeded map[string]time.Time           `json:"unneeded,omitempty"` // node → since when
	Missing  map[provider.GroupID]time.Time `json:"missing,omitempty"`  // group → since when it misses nodes
	// Back is when machines registered a short while ago that were not waited for any more.
	Back map[provider.GroupID][]time.Time `json:"back,omitempty"`
	// Strays are nodes that had an instance of a group, and have none any more.
	Strays map[string]provider.GroupID `json:"strays,omitempty"`
	// Drains are the removals of nodes with pods, from the taint on.
	Drains []Drain `json:"drains,omitempty"`
	// Displaced are the controllers of pods that were evicted a short while ago.
	Displaced map[types.UID]Displaced `json:"displaced,omitempty"`
	// Failures are the removals that failed, by node.
	Failures map[string]Failure `json:"failures,omitempty"`
	// The last scale-up, removal and failed removal, for the delays after them.
	LastGrowth  time.Time `json:"lastGrowth,omitzero"`
	LastDemand  time.Time `json:"lastDemand,omitzero"`
	LastRemoval time.Time `json:"lastRemoval,omitzero"`
	LastFailure time.Time `json:"lastFailure,omitzero"`
	// Moves are those under way, and those whose nodes are left alone.
	Moves []Move `json:"moves,omitempty"`
	// Exits are the nodes that began to go a short while ago, where a budget counts them.
	Exits []budget.Exit `json:"exits,omitempty"`
	// Interruptions are the nodes that were interrupted a short while ago, where that counts.
	Interruptions []Interruption `json:"interruptions,omitempty"`
	// Resume is where the search for unneeded nodes goes on.
	Resume string `json:"resume,omitempty"`
	// Closed: its leader came to a clean end, and started nothing after it.
	Closed bool `json:"closed,omitempty"`
	// Written is as of when it was last written down, zero if unknown. It stands
	// beside the text, and not in it: a memory that has not changed is confirmed
	// again and again, and versions that do not date it leave the date alone.
	Written time.Time `json:"-"`
}

// ChangeKind is what happened in the registry.
type ChangeKind string

// The kinds of change.
const (
	// AskGivenUp: units did not arrive in time.
	AskGivenUp ChangeKind = "AskGivenUp"
	// AskArrived: all units of an ask are ready, or given up.
	AskArrived ChangeKind = "AskArrived"
	// NodeGivenUp: a node of an ask did not become ready in time, or broke before
	// it was.
	NodeGivenUp ChangeKind = "NodeGivenUp"
	// CreationFailed: the cloud could not make an instance.
	CreationFailed ChangeKind = "CreationFailed"
	// BackoffBegan and BackoffEnded: a group's rest after a failed scale-up.
	BackoffBegan ChangeKind = "BackoffBegan"
	BackoffEnded ChangeKind = "BackoffEnded"
	// GroupForgotten: the cloud has not had it for a while.
	GroupForgotten ChangeKind = "GroupForgotten"
	// MoveEnded and MoveGivenUpOn: the end of a move, by its stage.
	MoveEnded     ChangeKind = "MoveDone"
	MoveGivenUpOn ChangeKind = "MoveGivenUp"
	// RemovalOdd: something has happened to a removal that cannot happen by its table.
	RemovalOdd ChangeKind = "RemovalOdd"
)

// Codes of errors that are ours: a call that act did not begin, units that did
// not arrive in time, evictions that the API server refused.
const (
	CodeNotBegun = "NotBegun"
	CodeTimeout  = "timeout"
	// CodeNeverStarted: a node that was asked for registered and did not become
	// ready in time.
	CodeNeverStarted = "NodeNeverStarted"
	// CodeDisruptionBudget: a budget allows no eviction now. CodeManyBudgets: two of them
	// cover the pod, and the API server never evicts it.
	CodeDisruptionBudget = "DisruptionBudget"
	CodeManyBudgets      = "MoreThanOneDisruptionBudget"
	// CodeRightMissing: Plimsoll itself may not evict, whatever pod it is.
	CodeRightMissing = "RightMissing"
)

// Change is something that happened in the registry, for events and metrics.
type Change struct {
	Kind     ChangeKind
	Group    provider.GroupID
	Instance provider.InstanceID
	Count    int
	// Cause is the kind of the error behind it, empty if there is none.
	Cause   provider.Kind
	Message string
}
