package model

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/policy"
)

// Of is what counts for the nodes of a group: what its policies say, and else what is said for the cluster.
func (p MovePolicy) Of(g *Group) MovePolicy {
	own := &g.Settled.Moves
	take(&p.Consolidation, own.Consolidation)
	take(&p.MinSavingsPerHour, own.MinSavingsPerHour)
	take(&p.MinSavingsShare, own.MinSavingsShare)
	take(&p.MinSavingsPerDisruption, own.MinSavingsPerDisruption)
	take(&p.Stay, own.Stay)
	take(&p.Return, own.Return)
	take(&p.ExpireAfter, own.ExpireAfter)
	take(&p.UnreadyAfter, own.UnreadyAfter)
	take(&p.Drifted, own.Drifted)
	take(&p.Unsound, own.Unsound)
	take(&p.Interrupted, own.Interrupted)
	take(&p.InterruptionWeight, own.InterruptionWeight)
	return p
}

func take[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Stricter is what counts for nodes of two groups that go together: whatever both want saved, and left alone for.
func (p MovePolicy) Stricter(q MovePolicy) MovePolicy {
	p.MinSavingsPerHour = max(p.MinSavingsPerHour, q.MinSavingsPerHour)
	p.MinSavingsShare = max(p.MinSavingsShare, q.MinSavingsShare)
	p.MinSavingsPerDisruption = max(p.MinSavingsPerDisruption, q.MinSavingsPerDisruption)
	p.Stay = max(p.Stay, q.Stay)
	return p
}

// Cheaper reports whether nodes go whose pods have room on cheaper ones.
func (p *MovePolicy) Cheaper() bool { return p.Consolidation == policy.WhenCheaper }

// OnlyEmpty reports whether no node goes that has pods, unless it is due.
func (p *MovePolicy) OnlyEmpty() bool { return p.Consolidation == policy.WhenEmpty }

// Replaces reports whether any node may go for others that are bought first.
func (p *MovePolicy) Replaces() bool { return p.Cheaper() || p.Return || p.Renews() }

// Renews reports whether nodes are replaced for anything but money.
func (p *MovePolicy) Renews() bool {
	return p.ExpireAfter > 0 || p.UnreadyAfter > 0 || p.Drifted || len(p.Unsound) > 0 || len(p.Interrupted) > 0
}

// Due says why a node is to be replaced whatever that costs, nil if it is not: what hurts its pods first.
func (p *MovePolicy) Due(n *Node, now time.Time) *Verdict {
	switch {
	case n.Object == nil:
		return nil
	case n.Kind == Unready: // its pods cannot be moved in order: it goes for that, or for nothing
		if until := p.Hopeless(n); !until.IsZero() && !until.After(now) {
			return &Verdict{Reason: NodeUnready, Since: UnreadySince(n.Object),
				Detail: fmt.Sprintf("%s; nodes are replaced that are not ready for %s", UnreadyWhy(n.Object), p.UnreadyAfter)}
		}
		return nil
	}
	if what := interruptedBy(n, p.Interrupted); what != "" {
		v := &Verdict{Reason: NodeInterrupted, Detail: what}
		if n.Interrupted != nil {
			v.Since = n.Interrupted.Since
		}
		return v
	}
	if c := unsound(n.Object, p.Unsound); c != nil {
		v := Verdict{Reason: NodeUnsound, Detail: fmt.Sprintf("condition %s is true: %s", c.Type, c.Reason),
			Since: c.LastTransitionTime.Time}
		return &v
	}
	if p.Drifted && n.Drifted != "" {
		return &Verdict{Reason: NodeDrifted, Detail: n.Drifted}
	}
	if until := p.Expires(n); !until.IsZero() && !until.After(now) {
		return &Verdict{Reason: NodeExpired, Detail: fmt.Sprintf("nodes are replaced after %s", p.ExpireAfter), Since: until}
	}
	return nil
}

// GoesFirst reports whether a node is the first to go where some go anyway.
func (p *MovePolicy) GoesFirst(n *Node) bool {
	if len(p.Maintained) == 0 || n.Object == nil {
		return false
	}
	return unsound(n.Object, p.Maintained) != nil || slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(p.Maintained, t.Key)
	})
}

// Expires is when a node has got too old, zero if nodes may get as old as they like.
func (p *MovePolicy) Expires(n *Node) time.Time {
	if p.ExpireAfter <= 0 || n.Object == nil {
		return time.Time{}
	}
	return n.Object.CreationTimestamp.Add(p.ExpireAfter)
}

// Hopeless is when a node has not been ready for too long, by its Ready condition; zero if it may be so as long as it
// likes.
func (p *MovePolicy) Hopeless(n *Node) time.Time {
	if p.UnreadyAfter <= 0 || n.State != StateUnready {
		return time.Time{}
	}
	since := UnreadySince(n.Object)
	if since.IsZero() {
		return time.Time{}
	}
	return since.Add(p.UnreadyAfter)
}

// InterruptedBy says by what it is known that the cloud is about to take a node's machine, empty if it is not: by what
// the cloud says of the instance, which no policy turns off, and else by the signs on the node that its group's policy
// names.
func (s *Snapshot) InterruptedBy(p *MovePolicy, n *Node) string {
	if n.Group >= 0 {
		if own := s.Groups[n.Group].Settled.Moves.Interrupted; own != nil {
			return interruptedBy(n, *own)
		}
	}
	return interruptedBy(n, p.Interrupted)
}

func interruptedBy(node *Node, signals []string) string {
	if x := node.Interrupted; x != nil {
		if !x.Until.IsZero() {
			return fmt.Sprintf("the cloud says: %s, at %s", x.Kind, x.Until.UTC().Format(time.RFC3339))
		}
		return "the cloud says: " + x.Kind
	}
	n := node.Object
	if len(signals) == 0 || n == nil {
		return ""
	}
	for _, t := range n.Spec.Taints {
		if slices.Contains(signals, t.Key) {
			return "taint " + t.ToString()
		}
	}
	for _, key := range signals {
		if value, ok := n.Annotations[key]; ok && value != "false" {
			return "annotation " + key
		}
	}
	if c := unsound(n, signals); c != nil {
		return fmt.Sprintf("condition %s is true: %s", c.Type, c.Reason)
	}
	return ""
}

// unsound is the first condition of a node that is true and of one of these types.
func unsound(n *corev1.Node, types []string) *corev1.NodeCondition {
	at := slices.IndexFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Status == corev1.ConditionTrue && slices.Contains(types, string(c.Type))
	})
	if at < 0 {
		return nil
	}
	return &n.Status.Conditions[at]
}
