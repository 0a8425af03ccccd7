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
	// MaxUnready and MaxUnreadyShare bound what may be amiss: a cluster, or a
	// group, is unhealthy when more nodes than the first and more than that share
	// of all (0 to 1) are.
	MaxUnready      int
	MaxUnreadyShare float64
	// StopOnFirstDud: a group in which one node never became ready does not grow, however
	// many others it has.
	StopOnFirstDud bool
	// CountOthers lets nodes of no group count in the cluster's health.
	CountOthers bool
	// After a growth that failed a group rests for BackoffFirst, after the next
	// for twice as long, BackoffMost at most; after BackoffReset without a failure
	// it starts anew.
	BackoffFirst, BackoffMost, BackoffReset time.Duration
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

// DudsStop reports whether so many nodes of a growth, or of a group of so many nodes, that
// never became ready say that the next would not either. One says so of one or two, and
// all of any number do, however many may be amiss.
func (r Rules) DudsStop(duds, all int) bool {
	return duds > 0 && (r.StopOnFirstDud || all <= 2 || duds >= all || float64(duds) > r.MaxUnreadyShare*float64(all))
}

// Amiss counts, of the nodes of our groups and of others, those that are not as they
// should be, and those that it is a share of. Machines that had a node and lost it count as
// nodes that are not ready. Nodes that are on their way out, up or in count neither for nor
// against, and neither do those that never started: that is a growth that failed, and stops
// its own group (UC3).
func (r Rules) Amiss(ours, others Counts) (amiss, all int) {
	amiss, all = ours.Unready+ours.Lost, ours.Total-ours.BeingDeleted-ours.NeverStarted+ours.Lost
	if r.CountOthers {
		amiss += others.Unready + others.NeverStarted
		all += others.Total - others.BeingDeleted
	}
	return amiss, all
}

// TooMany tells whether so many of all are too many to be amiss.
func (r Rules) TooMany(amiss, all int) bool {
	return amiss > r.MaxUnready && float64(amiss) > r.MaxUnreadyShare*float64(all)
}
