package provider

import (
	"context"
	"fmt"
)

// Provider is what a cloud must be able to do. Every method may be called from any goroutine,
// subject to rule P3.
type Provider interface {
	// Inventory reads groups, their targets, templates and instances, as one
	// consistent picture. An error means that nothing is known: the caller
	// keeps what it knew. A single unreadable group is reported by its Err.
	Inventory(context.Context) (Inventory, error)

	// Grow raises a group's target from GrowRequest.From to GrowRequest.To. If
	// the live target is not From, nothing is changed and the error's Kind is
	// Conflict. If To is above the group's or its pool's maximum, nothing is
	// changed and the Kind is Limit. A scale-up that got part of the way returns
	// an error with MayHaveHappened and, beside it, the result: the target that
	// was reached, as far as it is known.
	Grow(context.Context, GrowRequest) (GrowResult, error)

	// Remove ends exactly the named instances and lowers the target with them. The result has an
	// entry for each instance asked for. An error means that nothing was attempted, or, with
	// MayHaveHappened, that the effect is unknown. If too few would be left for the group's
	// minimum, nothing is attempted and the Kind is Limit. An instance that is gone already is a
	// success. One that belongs to another group, or no longer meets the request's condition, is a
	// Conflict in its entry, and is left alone.
	Remove(context.Context, RemoveRequest) (RemoveResult, error)

	// Cancel lowers a group's target by anonymous requests only. It never ends an instance or goes
	// below the group's minimum. To cancel none is a valid answer. If the live target is not From,
	// nothing is changed and the error's Kind is Conflict.
	Cancel(context.Context, CancelRequest) (CancelResult, error)
}

// Notifier is optional: a provider that notices changes by itself signals them, and the caller
// reads a new Inventory soon.
type Notifier interface {
	// Notify calls changed at each change, without blocking on it, until ctx
	// ends. Changes may be coalesced; a spurious call is harmless.
	Notify(ctx context.Context, changed func()) error
}

// Starter is optional, used once by the process that leads, before its first cycle: bring the cloud
// to where the provider's configuration says that it starts. It must be idempotent: what exists
// already is adopted. What it begins in the background ends with ctx, when the process leads no more.
type Starter interface {
	Start(context.Context) error
}

// Closer is optional, used once by the process that leads when it is asked to end (not when it
// loses its lease, and not when it crashes).
type Closer interface {
	Close(context.Context) error
}

// GrowRequest asks for To − From more units in one group.
type GrowRequest struct {
	Group GroupID `json:"group"`
	// From is the target that the caller believes in; To is the one it wants.
	From int `json:"from"`
	To   int `json:"to"`
}

// GrowResult has the target after the growth. Created names the instances that the provider can
// name already; it may be empty.
type GrowResult struct {
	Target  int          `json:"target"`
	Created []InstanceID `json:"created,omitempty"`
}

// RemoveRequest asks for the end of exactly these instances of one group.
type RemoveRequest struct {
	Group     GroupID      `json:"group"`
	Instances []InstanceID `json:"instances"`
	// Force lets the group go below its minimum (rule P4).
	Force bool `json:"force,omitempty"`
	// If is what must still be true of each instance, empty for nothing (rule P9).
	If Condition `json:"if,omitempty"`
}

// Condition is what must be true of an instance, by the provider's last read before
// the write, for the instance to be ended. Between the caller's picture and the write
// lie seconds, in which a machine that could not be made may have been made after all.
type Condition string

// The conditions.
const (
	// StillFailed: an Inventory would show it as Creating, and with an Err.
	StillFailed Condition = "StillFailed"
	// StillWithoutNode: the cloud knows no node of it. A cloud that never knows nodes leaves this
	// to the caller, who has read the cluster.
	StillWithoutNode Condition = "StillWithoutNode"
)

// Unmet says why an instance, as read right before the write, does not meet the condition; empty if
// it does. hasNode says that the cloud knows a node of it.
func (c Condition) Unmet(in Instance, hasNode bool) string {
	switch {
	case c == StillFailed && (in.State != Creating || in.Err == nil):
		return "it has been made after all"
	case c == StillWithoutNode && hasNode:
		return "it has a node by now"
	case c != "" && c != StillFailed && c != StillWithoutNode:
		return fmt.Sprintf("the condition %q of its removal is not known here", string(c))
	}
	return ""
}

// RemoveResult has one entry per instance asked for, in the request's order.
type RemoveResult struct {
	Target    int              `json:"target"`
	Instances []InstanceResult `json:"instances"`
}

// InstanceResult is the fate of one instance. A nil Err means that it is gone
// or on its way out, and that the target went down with it (or had already).
type InstanceResult struct {
	ID  InstanceID `json:"id"`
	Err *Error     `json:"err,omitempty"`
}

// CancelRequest asks to lower a group's target from From to no less than To.
type CancelRequest struct {
	Group GroupID `json:"group"`
	From  int     `json:"from"`
	To    int     `json:"to"`
}

// CancelResult has the number of cancelled anonymous requests, and the target after that.
type CancelResult struct {
	Target    int `json:"target"`
	Cancelled int `json:"cancelled"`
}
