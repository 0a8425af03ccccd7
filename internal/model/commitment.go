package model

import (
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Commitment is a price that holds for the first few nodes, cores or GiB only, such as that of a reservation. What is
// beyond them costs what it does without.
type Commitment struct {
	Name string
	// Groups and Types say which nodes it is for, by the names of their groups and by instance type; empty: all.
	Groups []*regexp.Regexp
	Types  []string
	// Zone and CapacityType are those of the nodes; empty: any.
	Zone, CapacityType string
	Unit               CommitmentUnit
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
	default:
		return c.units(node) > 0
	}
	return false
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
