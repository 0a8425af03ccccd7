package model

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Ask is a growth in flight, and how far each of its units has come: asked →
// instance exists → node registered → ready, or given up.
type Ask struct {
	ID    string           `json:"id"`
	Group provider.GroupID `json:"group"`
	// At is when the timers of its anonymous units started (rule L8); those of a
	// unit with an instance start at the instance's creation, and go on if the cloud
	// replaces it.
	At time.Time `json:"at"`
	// Found: we did not ask for it. Somebody else raised the target, or a leader
	// before us did.
	Found bool `json:"found,omitempty"`
	// First: it was found at the first look of a process that remembered nothing of it, so
	// that its units may be machines of any age.
	First bool `json:"first,omitempty"`
	// For names the classes of pods that it was bought for, by digest.
	For   []string `json:"for,omitempty"`
	Units []Unit   `json:"units"`
}

// Unit is one node that was asked for. An empty Instance means that the cloud
// has not named one yet.
type Unit struct {
	Instance provider.InstanceID `json:"instance,omitempty"`
	Node     string              `json:"node,omitempty"`
	Exists   time.Time           `json:"exists,omitzero"`
	// Since is when its time to register began, if that is not its instance's creation:
	// an instance before this one ended without a node. None of its time had run before
	// Stalled: until then nothing made machines.
	Since   time.Time `json:"since,omitzero"`
	Stalled time.Time `json:"stalled,omitzero"`
	// Lost is when its instance was left without the node that it had.
	Lost       time.Time `json:"lost,omitzero"`
	Registered time.Time `json:"registered,omitzero"`
	Ready      time.Time `json:"ready,omitzero"`
	// GivenUp is when it was given up, and Why the reason.
	GivenUp time.Time `json:"givenUp,omitzero"`
	Why     string    `json:"why,omitempty"`
	// Kept is when the cloud could not take the request for it back: the target
	// goes on to count it, and it may come at any time.
	Kept time.Time `json:"kept,omitzero"`
}

// Open tells whether the unit has neither registered nor been given up.
func (u *Unit) Open() bool { return u.Registered.IsZero() && u.GivenUp.IsZero() }

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
// end no longer than that.
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
}

// Backoff is a group's rest after a growth that failed. It stands, for the next
// one's length, until a growth succeeds or the reset time is over.
type Backoff struct {
	// Until is when the group may grow again; Duration how long this rest is.
	Until    time.Time     `json:"until"`
	Duration time.Duration `json:"duration"`
	// Since is the last failure; Kind, Code and Message say what it was.
	Since   time.Time     `json:"since"`
	Kind    provider.Kind `json:"kind"`
	Code    string        `json:"code,omitempty"`
	Message string        `json:"message,omitempty"`
}

// Memory is what must survive a restart or a change of leader, beside what can
// be read from the cluster and the cloud.
type Memory struct {
	Asks     []Ask                          `json:"asks,omitempty"`
	Arrivals []Arrival                      `json:"arrivals,omitempty"`
	Brakes   []Brake                        `json:"brakes,omitempty"`
	Backoffs map[provider.GroupID]Backoff   `json:"backoffs,omitempty"`
	Unneeded map[string]time.Time           `json:"unneeded,omitempty"` // node → since when
	Missing  map[provider.GroupID]time.Time `json:"missing,omitempty"`  // group → since when it misses nodes
	// Endings are, by group, the machines ended because something was amiss with them.
	Endings map[provider.GroupID]Endings `json:"endings,omitempty"`
	// Strays are nodes that had an instance of a group, and have none any more.
	Strays map[string]provider.GroupID `json:"strays,omitempty"`
	// Drains are the removals of nodes with pods, from the taint on.
	Drains []Drain `json:"drains,omitempty"`
	// Displaced are the controllers of pods that were evicted a short while ago.
	Displaced map[types.UID]Displaced `json:"displaced,omitempty"`
	// Failures are the removals that were begun in vain, by node.
	Failures map[string]Failure `json:"failures,omitempty"`
	// The last growth, removal and failed removal, for the delays after them.
	LastGrowth  time.Time `json:"lastGrowth,omitzero"`
	LastRemoval time.Time `json:"lastRemoval,omitzero"`
	LastFailure time.Time `json:"lastFailure,omitzero"`
	// Resume is where the search for unneeded nodes goes on.
	Resume string `json:"resume,omitempty"`
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
	// BackoffBegan and BackoffEnded: a group's rest after failed growth.
	BackoffBegan ChangeKind = "BackoffBegan"
	BackoffEnded ChangeKind = "BackoffEnded"
	// GroupForgotten: the cloud has not had it for a while.
	GroupForgotten ChangeKind = "GroupForgotten"
)

// Codes of errors that are ours: a call that act did not begin, units that did
// not arrive in time, evictions that the API server refused.
const (
	CodeNotBegun = "NotBegun"
	CodeTimeout  = "timeout"
	// CodeNeverStarted: a node that was asked for registered and did not become
	// ready in time.
	CodeNeverStarted = "NodeNeverStarted"
	// CodeDisruptionBudget: a budget has no eviction to spare now. CodeManyBudgets:
	// two of them cover the pod, and the API server evicts it never.
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
