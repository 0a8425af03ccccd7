package model

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Renews reports whether nodes are replaced for anything but money.
func (p *MovePolicy) Renews() bool { return p.ExpireAfter > 0 || p.Drifted || len(p.Unsound) > 0 }

// Due says why a node is to be replaced whatever that costs, nil if it is not: what hurts its pods first.
func (p *MovePolicy) Due(n *Node, now time.Time) *Verdict {
	if n.Object == nil {
		return nil
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

// Expires is when a node has got too old, zero if nodes may get as old as they like.
func (p *MovePolicy) Expires(n *Node) time.Time {
	if p.ExpireAfter <= 0 || n.Object == nil {
		return time.Time{}
	}
	return n.Object.CreationTimestamp.Add(p.ExpireAfter)
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
