package model

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Commitment is a price that holds for the first few nodes, cores or GiB only, such as that of a reservation. What is
// beyond them costs what it does without.
type Commitment struct {
	Name string
	// Groups and Types say which nodes it is for, by the names of their groups and by instance type; empty: all.
	Groups []*regexp.Regexp
	Types  []string
	// Zone, CapacityType and OS are those of the nodes; empty: any.
	Zone, CapacityType, OS string
	Unit                   CommitmentUnit
	// Amount is how many units it is for, and PerHour what each of them costs.
	Amount, PerHour float64
}

// CommitmentUnit is what a commitment counts.
type CommitmentUnit uint8

// The units of commitments.
const (
	CommittedNodes CommitmentUnit = iota
	CommittedCores
	CommittedGiB
)

// units are how many of what a commitment counts a node has.
func (c *Commitment) units(node *Shape) float64 {
	switch c.Unit {
	case CommittedCores:
		return float64(whatIs(node).MilliCPU) / 1000
	case CommittedGiB:
		return float64(whatIs(node).Memory) / (1 << 30)
	}
	return 1
}

// fits reports whether it is for a node. One that does not tell what it is asked for is not taken for cheaper.
func (c *Commitment) fits(g *Group, node *Shape) bool {
	labels := node.Node.Labels
	capacity := capacityOf(g, labels)
	switch {
	case len(c.Groups) > 0 && (g == nil || !slices.ContainsFunc(c.Groups, func(p *regexp.Regexp) bool {
		return p.MatchString(string(g.ID))
	})):
	case len(c.Types) > 0 && !slices.Contains(c.Types, labels[corev1.LabelInstanceTypeStable]):
	case c.Zone != "" && c.Zone != labels[corev1.LabelTopologyZone]:
	case c.CapacityType != "" && c.CapacityType != capacity:
	case c.OS != "" && c.OS != labels[corev1.LabelOSStable]:
	default:
		return c.units(node) > 0
	}
	return false
}

// WithCloud is the prices with what the cloud says of commitments. Its own come first, since it deals them out.
func (p *Prices) WithCloud(told []provider.Commitment, unread bool) *Prices {
	if len(told) == 0 && !unread {
		return p
	}
	out := Prices{}
	if p != nil {
		out = *p
	}
	all := make([]Commitment, 0, len(told)+len(out.Commitments))
	for _, c := range told {
		all = append(all, Commitment{Name: c.Name, Types: []string{c.InstanceType}, Zone: c.Zone,
			CapacityType: c.CapacityType, OS: c.OS, Unit: CommittedNodes, Amount: float64(c.Nodes), PerHour: c.PerHour})
		if c.InstanceType == "" {
			all[len(all)-1].Types = nil
		}
	}
	out.Commitments, out.ReservedUnread = append(all, out.Commitments...), unread
	return &out
}

// Committed reports whether some prices hold for the first few only: a node has no price of its own then.
func (p *Prices) Committed() bool { return p != nil && len(p.Commitments) > 0 }

// IdleCommitments are the names of those that are for no node that is there, and for no new one of any group.
func (s *Snapshot) IdleCommitments() (names []string) {
	if !s.Prices.Committed() {
		return nil
	}
	for i, shared := range newTariff(s).shared() {
		if shared == 0 {
			names = append(names, s.Prices.Commitments[i].Name)
		}
	}
	return names
}
