package providertest

import (
	"context"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Mode is how a fault affects a call.
type Mode int

// The modes of a fault.
const (
	// Refuse answers with the fault's error and does nothing.
	Refuse Mode = iota
	// Lose carries the call out, and then loses the answer: the caller gets the error of a call
	// that met its deadline.
	Lose
	// Hang does nothing, and does not answer until the caller's deadline.
	Hang
)

// Fault is a disturbance on demand. It affects calls of its operation on its group, where an empty
// group means any.
type Fault struct {
	Op    provider.Op
	Group provider.GroupID
	Mode  Mode
	// Err is the answer of Refuse; its Op and Group are filled in. Without one
	// the kind is Unavailable.
	Err *provider.Error
	// Times is how many calls it affects; 0 means all, until ClearFaults.
	Times int
	// Met, if set, is called when the fault affects a call, on the caller's goroutine: it tells a
	// test that a call hangs.
	Met func()
}

// Arm adds a fault. Older faults come first.
func (c *Cloud) Arm(f Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, &f)
}

// ClearFaults ends all faults; calls that hang stay so.
func (c *Cloud) ClearFaults() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = nil
}

// meet finds the first fault that matches, and counts it.
func (c *Cloud) meet(matches func(*Fault) bool) (Fault, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, f := range c.faults {
		if !matches(f) {
			continue
		}
		if f.Times == 1 {
			c.faults = append(c.faults[:i:i], c.faults[i+1:]...)
		}
		if f.Times > 1 {
			f.Times--
		}
		return *f, true
	}
	return Fault{}, false
}

// disturbed plays a call through its fault, if it meets one.
func disturbed[R any](
	ctx context.Context, c *Cloud, op provider.Op, group provider.GroupID, call func() (R, error),
) (R, error) {
	var none R
	if ctx.Err() != nil {
		return none, atDeadline(ctx, op, group)
	}
	f, met := c.meet(func(f *Fault) bool { return f.Op == op && (f.Group == "" || f.Group == group) })
	if !met {
		return call()
	}
	if f.Met != nil {
		f.Met()
	}
	switch f.Mode {
	case Refuse:
		return none, f.refusal(op, group)
	case Lose:
		if _, err := call(); err != nil {
			return none, err
		}
	}
	return none, waitForDeadline(ctx, op, group)
}

func (f Fault) refusal(op provider.Op, group provider.GroupID) *provider.Error {
	e := provider.Error{Kind: provider.Unavailable, Code: "FaultInjected", Message: "the cloud was told to refuse"}
	if f.Err != nil {
		e = *f.Err
	}
	e.Op, e.Group = op, group
	return &e
}

// waitForDeadline gives the error of a call that met its deadline. A caller
// whose context can never end has no wall clock: it is the virtual world, which
// accounts for the time itself and gets the error at once.
func waitForDeadline(ctx context.Context, op provider.Op, group provider.GroupID) *provider.Error {
	if ctx.Done() != nil {
		<-ctx.Done()
	}
	return atDeadline(ctx, op, group)
}

func atDeadline(ctx context.Context, op provider.Op, group provider.GroupID) *provider.Error {
	cause := context.Cause(ctx)
	if cause == nil {
		cause = context.DeadlineExceeded
	}
	return &provider.Error{Op: op, Group: group, Kind: provider.Unavailable, Code: "DeadlineExceeded",
		Message: fmt.Sprintf("the cloud did not answer: %v", cause), MayHaveHappened: op != provider.OpInventory, Err: cause}
}
