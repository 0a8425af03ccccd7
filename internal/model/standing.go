package model

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Standing is what the ledger knows beyond what can be seen: what was asked,
// what is under way.
type Standing struct {
	Groups map[provider.GroupID]GroupStanding
	Nodes  map[string]NodeStanding
	// LastGrowth and LastRemoval are when we last grew a group or removed a
	// node, zero if never; LastFailure when a removal last failed.
	LastGrowth, LastRemoval, LastFailure time.Time
}

// GroupStanding is one group's.
type GroupStanding struct {
	// Expected is the observed target, or, until a read that began after our
	// last write, the one that the write leads us to expect (rules L2, L3).
	Expected int
	// Busy is the open call on this group or its pool, nil if there is none.
	Busy *Call
	// PausedUntil is set while the group rests after a growth that failed, and
	// Failure says why it did.
	PausedUntil time.Time
	Failure     string
	// Unsure: a growth failed, and no read that began after it has shown what
	// the target is now.
	Unsure bool
}

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
	// Drain is how far its removal is, if one is open.
	Drain *Drain
}

// Stage is how far a drain is.
type Stage string

// The stages of a node's removal, in order.
const (
	Tainting Stage = "Tainting"
	Tainted  Stage = "Tainted"
	Removing Stage = "Removing"
	Removed  Stage = "Removed"
	// RollingBack: the node is given back.
	RollingBack Stage = "RollingBack"
)

// Drain is a node on its way out, as a value: decide advances it call by call.
type Drain struct {
	Node     string
	Group    provider.GroupID
	Instance provider.InstanceID
	Stage    Stage
	Since    time.Time
	// Why is the reason of a rollback.
	Why string
	// NotBefore paces a step that failed: it is not tried again before.
	NotBefore time.Time
}
