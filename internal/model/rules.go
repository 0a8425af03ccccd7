package model

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Rules say which pods count, and when the registry gives up.
type Rules struct {
	// ExpendableBelow: pods of a lower priority take no room and get none.
	ExpendableBelow int32
	// StartupTime is how long a registered node may take to become ready, and
	// ProvisionTime how long a unit may take to register.
	StartupTime, ProvisionTime time.Duration
	// Passing are the taints that nodes carry for a while. A node with one of its
	// start boots, for StartupTime at most.
	Passing PassingTaints
	// A cluster or a group is unhealthy when more than MaxUnready nodes, and a larger
	// share of all than MaxUnreadyShare (0 to 1), are not ready.
	MaxUnready      int
	MaxUnreadyShare float64
	// StopOnFirstDud: a group in which one node never became ready does not grow, however
	// many others it has.
	StopOnFirstDud bool
	// CountOthers lets nodes of no group count in the cluster's health.
	CountOthers bool
	// After a failed scale-up a group rests for BackoffFirst, after the next for twice
	// as long, BackoffMost at most; after BackoffReset without a failure it starts again
	// with BackoffFirst.
	BackoffFirst, BackoffMost, BackoffReset time.Duration
	// RateSpan is how long it is remembered which nodes began to go, for budgets with a rate; 0: not at all.
	RateSpan time.Duration
}

// Startup is how long a node of the group may take to become ready.
func (r Rules) Startup(g *provider.Group) time.Duration {
	if t := g.Options.MaxNodeStartupTime; t != nil {
		return *t
	}
	return r.StartupTime
}

// Provision is how long a unit of the group may take to register.
func (r Rules) Provision(g *provider.Group) time.Duration {
	if t := g.Options.MaxNodeProvisionTime; t != nil {
		return *t
	}
	return r.ProvisionTime
}

// DudsStop reports whether the next node of a scale-up, or of a group, would probably not
// become ready, since duds of all its nodes never did. One of one or two is enough, and so
// are all of any number, whatever the limits are.
func (r Rules) DudsStop(duds, all int) bool {
	return duds > 0 && (r.StopOnFirstDud || all <= 2 || duds >= all || float64(duds) > r.MaxUnreadyShare*float64(all))
}

// Unready counts the nodes that are not ready, and the nodes of which they are a share.
// Machines that lost their node count as not ready. Nodes that are being removed, booting
// or coming do not count, and neither do those that never started: that is a failed
// scale-up, and stops its own group (UC3).
func (r Rules) Unready(ours, others Counts) (unready, all int) {
	unready, all = ours.Unready+ours.Lost, ours.Total-ours.BeingDeleted-ours.NeverStarted+ours.Lost
	if r.CountOthers {
		unready += others.Unready + others.NeverStarted
		all += others.Total - others.BeingDeleted
	}
	return unready, all
}

// TooMany reports whether that many nodes of all may not be unready.
func (r Rules) TooMany(unready, all int) bool {
	return unready > r.MaxUnready && float64(unready) > r.MaxUnreadyShare*float64(all)
}
