package provider

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Op is what was attempted.
type Op string

// The operations of the contract.
const (
	OpInventory Op = "Inventory"
	OpGrow      Op = "Grow"
	OpRemove    Op = "Remove"
	OpCancel    Op = "Cancel"
)

// Kind is what a caller may branch on; everything finer is Code and Message.
type Kind string

// The kinds of error.
const (
	// NoCapacity: the cloud has no such machine there now. Try elsewhere.
	NoCapacity Kind = "NoCapacity"
	// Quota: the account's quota is used up. Try elsewhere.
	Quota Kind = "Quota"
	// Throttled: too many requests. Repeat it later.
	Throttled Kind = "Throttled"
	// NotFound: the group or the instance does not exist.
	NotFound Kind = "NotFound"
	// Denied: the credentials are valid, a permission is missing.
	Denied Kind = "Denied"
	// Credentials: the credentials are missing, wrong or expired.
	Credentials Kind = "Credentials"
	// BadConfig: what the operator configured cannot work.
	BadConfig Kind = "BadConfig"
	// Conflict: the state differs from the request's. Read, then decide again.
	Conflict Kind = "Conflict"
	// Limit: a minimum or a maximum forbids it.
	Limit Kind = "Limit"
	// Unsupported: this provider can never do that correctly.
	Unsupported Kind = "Unsupported"
	// Unavailable: the cloud does not answer.
	Unavailable Kind = "Unavailable"
	// Transient: anything else that may go away by itself.
	Transient Kind = "Transient"
)

// Error is the one error type of the contract.
type Error struct {
	Op    Op      `json:"op"`
	Group GroupID `json:"group,omitempty"`
	Kind  Kind    `json:"kind"`
	// Code is the cloud's own word for it; Message is for a person.
	Code    string `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	Zone    string `json:"zone,omitempty"`
	// RetryAfter is the cloud's own advice, zero for none.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// MayHaveHappened says that the write's effect is unknown, or that a part
	// of it took place: count it as done until a read that began after it says
	// otherwise.
	MayHaveHappened bool  `json:"mayHaveHappened,omitempty"`
	Err             error `json:"-"`
}

// Error says what was attempted, on what, and why it failed, in one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(strings.ToLower(string(e.Op)))
	if e.Group != "" {
		fmt.Fprintf(&b, " group %q", e.Group)
	}
	if e.Zone != "" {
		fmt.Fprintf(&b, " in zone %s", e.Zone)
	}
	fmt.Fprintf(&b, ": %s", e.Kind)
	if e.Code != "" {
		fmt.Fprintf(&b, " (%s)", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	// A message must survive JSON, so it includes the cause.
	if e.Err != nil && !strings.Contains(e.Message, e.Err.Error()) {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.MayHaveHappened {
		b.WriteString(" (it may have happened all the same)")
	}
	return b.String()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError finds the contract's error in err. An error that is none becomes a
// Transient one of the given operation and group, so that no caller has to
// guess; nil stays nil.
func AsError(op Op, group GroupID, err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Op: op, Group: group, Kind: Transient, Err: err, Message: err.Error()}
}
