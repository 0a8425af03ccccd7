package providertest

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Subject is one provider under test, fresh for each case, with its cloud.
type Subject struct {
	Provider provider.Provider
	// Group is what the cases act on, Other a second group. Each has a minimum
	// of 1 to 3, a maximum of at least 10, and starts with its minimum at most.
	Group, Other provider.GroupID
	// Unsupported is a group that this provider cannot grow correctly (rule P8), empty if there is
	// none.
	Unsupported provider.GroupID
	// Pool is the pool of Group and Other, with a maximum of 9 to 15, so that
	// it binds before theirs do (rule P4); empty if this cloud has no pools.
	Pool provider.PoolID
	// Interrupt lets the cloud say that it is about to take a machine; nil where this cloud never says so in its
	// inventory.
	Interrupt func(provider.InstanceID) error
	// Door is the back door to the cloud.
	Door Door
	// Now is the provider's clock; nil is the real one.
	Now func() time.Time
	// Lacks names the cases that this cloud cannot play, each with the reason.
	// They are reported, and a name that is no case fails the suite.
	Lacks map[string]string
}

// Door is the back door to a subject's cloud: what people, time and faults do to it without the
// provider.
type Door interface {
	// SetTarget makes the group's target n, by hand.
	SetTarget(group provider.GroupID, n int) error
	// Settle completes all that is under way: requested machines run, and removed ones are gone.
	// Starve's effect remains.
	Settle()
	// Starve leaves every later request without a machine.
	Starve(group provider.GroupID) error
	// Fail makes a machine one that could not be made: it is creating, with an error
	// and without a node. Recover makes such a machine run after all, with its node.
	Fail(provider.InstanceID) error
	Recover(provider.InstanceID) error
	// Break disturbs all calls of one operation on one group (of Inventory, on all) from now on.
	// The channel signals that a call has met it.
	Break(op provider.Op, group provider.GroupID, how Breakage) <-chan struct{}
	// Mend ends every Break.
	Mend()
	// Instances are those of a group that exist and are not being deleted, as the cloud itself
	// knows them.
	Instances(group provider.GroupID) []provider.InstanceID
}

// Breakage is how a cloud fails.
type Breakage string

// The breakages. A cloud without a wire plays the last two as Refused.
const (
	// Refused: the cloud says no, and does nothing.
	Refused Breakage = "refused"
	// Hanging: the cloud does nothing and does not answer.
	Hanging Breakage = "hanging"
	// Lost: the cloud does it and does not answer.
	Lost Breakage = "lost"
	// Empty: the cloud answers a read with success and nothing in it.
	Empty Breakage = "empty"
	// Garbled: the cloud answers a read with success and something else.
	Garbled Breakage = "garbled"
)
