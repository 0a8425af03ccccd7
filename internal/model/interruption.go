package model

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Interruption is a node that was seen to say that the cloud is about to take its machine, and when it first was.
type Interruption struct {
	Node  string           `json:"node"`
	UID   types.UID        `json:"uid,omitempty"`
	Group provider.GroupID `json:"group"`
	At    time.Time        `json:"at"`
}

// SpotNotice is how long before spot capacity is taken a cloud says so, two minutes on AWS, less what the taint, the
// cordon and the evictions of a node take.
const SpotNotice = 110 * time.Second

// DrainedBy is when the evictions of a node must be over, a moment before the cloud takes its machine; zero where the
// cloud does not say when that is.
func (n *Node) DrainedBy() time.Time {
	if n.Interrupted == nil || n.Interrupted.Until.IsZero() {
		return time.Time{}
	}
	return n.Interrupted.Until.Add(-10 * time.Second)
}

// Spot reports whether the cloud may take the machine of a node at short notice.
func (s *Snapshot) Spot(n *Node) bool {
	return n.Object != nil && capacityOf(s.groupOf(n.Group), n.Object.Labels) == provider.Spot
}

// SellsSpot reports whether the cloud may take the next machine of a group at short notice.
func (s *Snapshot) SellsSpot(group int) bool {
	g := &s.Groups[group]
	return g.HasTemplate && capacityOf(g, g.Template.Node.Labels) == provider.Spot
}

// Distrust is why a group is bought from last: so many of its nodes were interrupted within the policy's time. Until
// is when there will be fewer, if no more are.
type Distrust struct {
	Group  provider.GroupID
	Count  int
	Until  time.Time
	policy *MovePolicy
}

// Text names the group, and says why with its numbers.
func (d *Distrust) Text() string {
	return fmt.Sprintf("%s (%s; until %s)", d.Group, d.Why(), d.Until.UTC().Format(time.RFC3339))
}

// Why has the numbers.
func (d *Distrust) Why() string {
	return fmt.Sprintf("%s interrupted within %s, of which %d are too many", spelling.Count(d.Count, "node"),
		d.policy.InterruptionSpan, d.policy.MaxInterruptions)
}

// mostInterruptions is how many are remembered of nodes that are gone.
const mostInterruptions = 200

// InterruptionsOf lists the interruptions within the policy's time, those that are seen now among them, and those of
// nodes that are still there; by time.
func (s *Snapshot) InterruptionsOf(p *MovePolicy) []Interruption {
	if p.MaxInterruptions <= 0 {
		return nil
	}
	type key struct {
		name string
		uid  types.UID
	}
	known, there := map[key]bool{}, map[key]bool{}
	for _, x := range s.Interruptions {
		known[key{x.Node, x.UID}] = true
	}
	list := slices.Clone(s.Interruptions)
	for _, n := range s.Nodes {
		if n.Group < 0 || n.Object == nil || s.InterruptedBy(p, n) == "" {
			continue
		}
		k := key{n.Name, n.Object.UID}
		if there[k] = true; !known[k] {
			list = append(list, Interruption{Node: n.Name, UID: n.Object.UID, Group: s.Groups[n.Group].ID, At: s.Now})
		}
	}
	slices.SortFunc(list, func(a, b Interruption) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Node, b.Node), cmp.Compare(a.UID, b.UID))
	})
	over := len(list) - mostInterruptions
	return slices.DeleteFunc(list, func(x Interruption) bool {
		drop := !there[key{x.Node, x.UID}] && (over > 0 || !x.At.Add(p.InterruptionSpan).After(s.Now))
		if drop {
			over--
		}
		return drop
	})
}

// Distrusts says which groups have had too many interruptions, of a list by time; sorted by group.
func (p *MovePolicy) Distrusts(list []Interruption, now time.Time) (out []Distrust) {
	if p.MaxInterruptions <= 0 {
		return nil
	}
	of := map[provider.GroupID][]time.Time{}
	for _, x := range list {
		if x.At.Add(p.InterruptionSpan).After(now) {
			of[x.Group] = append(of[x.Group], x.At)
		}
	}
	for group, at := range of {
		if n := len(at); n >= p.MaxInterruptions {
			out = append(out, Distrust{group, n, at[n-p.MaxInterruptions].Add(p.InterruptionSpan), p})
		}
	}
	slices.SortFunc(out, func(a, b Distrust) int { return cmp.Compare(a.Group, b.Group) })
	return out
}
