package model

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// NodeState is the one class that the registry puts a node into, or an
// instance that has no node. The first that matches counts, in this order.
type NodeState string

// The states.
const (
	// StateBeingDeleted: its removal is under way, by us or by another client.
	StateBeingDeleted NodeState = "BeingDeleted"
	// StateSuspended: the cloud has put it to sleep (condition Suspended).
	StateSuspended NodeState = "Suspended"
	// StateReady: pods may be expected to start there.
	StateReady NodeState = "Ready"
	// StateYoung: it has never been ready, and still has time.
	StateYoung NodeState = "Young"
	// StateNeverStarted: it has never been ready, and its start time is over.
	StateNeverStarted NodeState = "NeverStarted"
	// StateUnready: it was ready once and is not now.
	StateUnready NodeState = "Unready"
	// StateUnregistered: an instance without a node, which still has time.
	StateUnregistered NodeState = "Unregistered"
	// StateLongUnregistered: an instance without a node, whose time is over.
	StateLongUnregistered NodeState = "LongUnregistered"
)

// conditionSuspended is set by clouds that put nodes to sleep.
const conditionSuspended corev1.NodeConditionType = "Suspended"

// StateOf puts a node into its class. The instance may be nil; startup is how
// long the node may take to become ready. Until is when time alone changes the
// class, zero if it does not: a young node's time is over, or a clock that is
// ahead is so no longer.
func StateOf(
	n *corev1.Node, in *provider.Instance, known NodeStanding, now time.Time, startup time.Duration,
) (state NodeState, until time.Time) {
	d := known.Drain
	switch {
	case n.DeletionTimestamp != nil,
		in != nil && in.State == provider.Deleting,
		d != nil && d.Stage != RollingBack,
		HasTaint(n, TaintToBeDeleted):
		return StateBeingDeleted, time.Time{}
	case hasCondition(n, conditionSuspended):
		return StateSuspended, time.Time{}
	case NodeReady(n):
		return StateReady, time.Time{}
	}
	born := known.Born
	if born.IsZero() {
		born = n.CreationTimestamp.Time
	}
	until = born.Add(startup)
	young := now.Before(until)
	never, ahead := neverReady(n, now)
	if young && !ahead.IsZero() {
		until = Earlier(until, ahead)
	}
	switch {
	case lacksResource(n):
		// It says that it is ready. A taint of the start may linger, and the network
		// come late; a full disk is no part of starting.
		if young && !hasCondition(n, corev1.NodeDiskPressure) {
			return StateYoung, until
		}
		return StateUnready, time.Time{}
	case !never:
		return StateUnready, time.Time{}
	case young:
		return StateYoung, until
	}
	return StateNeverStarted, ahead
}

// HasTaint reports whether the node has a taint with this key.
func HasTaint(n *corev1.Node, key string) bool {
	for i := range n.Spec.Taints {
		if n.Spec.Taints[i].Key == key {
			return true
		}
	}
	return false
}

// WithoutTaint is the node as it is without its taints of this key. It shares all
// else with the node that is given.
func WithoutTaint(n *corev1.Node, key string) *corev1.Node {
	out := *n
	out.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t.Key == key })
	return &out
}

// RolledBack is a node as it is after the rollback of its removal: without our taint and cordon.
func RolledBack(n *corev1.Node) *corev1.Node {
	out := WithoutTaint(n, TaintToBeDeleted)
	out.Spec.Unschedulable = false
	return out
}

func hasCondition(n *corev1.Node, kind corev1.NodeConditionType) bool {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == kind {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// registering is how far apart a node's creation and the first word on its
// readiness may be, clocks included.
const registering = time.Minute

// farAhead is how far in the future a condition's time must be to say nothing.
const farAhead = 5 * time.Minute

// neverReady reports whether a node that is not ready has never been ready: its Ready
// condition has not changed since it registered. A node that broke within its first
// minute counts as booting, and so does one whose clock is far ahead of ours: we err to
// not buying twice. Until is when that clock is no longer far ahead, zero if none is.
func neverReady(n *corev1.Node, now time.Time) (never bool, until time.Time) {
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		if c.Type != corev1.NodeReady || c.Status == corev1.ConditionTrue {
			continue
		}
		changed := c.LastTransitionTime
		if !changed.After(n.CreationTimestamp.Add(registering)) {
			return true, time.Time{}
		}
		if until = changed.Add(-farAhead); until.After(now) {
			return true, until
		}
		return false, time.Time{}
	}
	return true, time.Time{}
}

// NodeReady reports whether pods can be expected to start on the node: its Ready
// condition is True, no taint says that it is not ready, and it lacks neither
// disk nor network.
func NodeReady(n *corev1.Node) bool { return UnreadyWhy(n) == "" }

// UnreadyWhy says why pods cannot be expected to start on the node; empty if they can.
func UnreadyWhy(n *corev1.Node) string {
	ready := false
	for i := range n.Status.Conditions {
		switch c := &n.Status.Conditions[i]; c.Type {
		case corev1.NodeReady:
			if c.Status != corev1.ConditionTrue {
				return fmt.Sprintf("Ready is %s (%s)", c.Status, c.Reason)
			}
			ready = true
		case corev1.NodeDiskPressure, corev1.NodeNetworkUnavailable:
			if c.Status == corev1.ConditionTrue {
				return string(c.Type)
			}
		}
	}
	if !ready {
		return "it has not said that it is ready"
	}
	for i := range n.Spec.Taints {
		switch key := n.Spec.Taints[i].Key; key {
		case corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable,
			corev1.TaintNodeDiskPressure, corev1.TaintNodeNetworkUnavailable:
			return "taint " + key
		}
	}
	return ""
}

// UnreadySince is when the node was last ready, by its Ready condition; zero if that
// does not say.
func UnreadySince(n *corev1.Node) time.Time {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// ReadinessChanged is when the node's Ready condition last changed, in whole seconds; zero if it does not say.
func ReadinessChanged(n *corev1.Node) time.Time {
	for i := range n.Status.Conditions {
		if c := &n.Status.Conditions[i]; c.Type == corev1.NodeReady {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

// lacksResource reports whether the Ready condition of a node that is not ready is True:
// it lacks disk or network, or has a taint that says so.
func lacksResource(n *corev1.Node) bool { return hasCondition(n, corev1.NodeReady) }

// Counts counts nodes by state, of a group or of all groups.
type Counts struct {
	// Total is the registered nodes: all but the last two.
	Total        int
	Ready        int
	Young        int
	NeverStarted int
	Suspended    int
	BeingDeleted int
	Unready      int
	// ResourceUnready are those of Unready that only lack disk or network.
	ResourceUnready  int
	Unregistered     int
	LongUnregistered int
	// Lost are those of the last two whose node is gone while the machine is not.
	Lost int
}

// Add counts one node; n is nil for an instance without one.
func (c *Counts) Add(s NodeState, n *corev1.Node) {
	if n != nil {
		c.Total++
	}
	switch s {
	case StateReady:
		c.Ready++
	case StateYoung:
		c.Young++
	case StateNeverStarted:
		c.NeverStarted++
	case StateSuspended:
		c.Suspended++
	case StateBeingDeleted:
		c.BeingDeleted++
	case StateUnready:
		c.Unready++
		if lacksResource(n) {
			c.ResourceUnready++
		}
	case StateUnregistered:
		c.Unregistered++
	case StateLongUnregistered:
		c.LongUnregistered++
	}
}

// Plus adds two counts.
func (c Counts) Plus(o Counts) Counts {
	return Counts{
		c.Total + o.Total, c.Ready + o.Ready, c.Young + o.Young, c.NeverStarted + o.NeverStarted, c.Suspended + o.Suspended,
		c.BeingDeleted + o.BeingDeleted, c.Unready + o.Unready, c.ResourceUnready + o.ResourceUnready,
		c.Unregistered + o.Unregistered, c.LongUnregistered + o.LongUnregistered, c.Lost + o.Lost,
	}
}

// LostText says how many machines have lost their node, for the end of a sentence.
func (c Counts) LostText() string {
	if c.Lost == 0 {
		return ""
	}
	return fmt.Sprintf("; %d of them are machines that run without a Node object", c.Lost)
}
