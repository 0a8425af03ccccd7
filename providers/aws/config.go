package aws

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Precedence says whose word holds where an Auto Scaling group's tag and the
// EKS node group say different things about the same label, taint or resource.
type Precedence string

// The precedences.
const (
	// ASGTags: the tag wins, so that a person can override any value.
	ASGTags Precedence = "asg-tags"
	// EKSAPI: what EKS says wins, since that is what it puts onto the node.
	EKSAPI Precedence = "eks-api"
)

// Config is what the operator says, as the flags have it; Validate checks it. The zero
// value has no groups.
type Config struct {
	// Nodes are the values of --nodes: "min:max:name", one group each.
	Nodes []string
	// Discovery are the values of --node-group-auto-discovery:
	// "asg:tag=key[=value],...". All tags of one value must be there; any one
	// of the values is enough.
	Discovery []string
	// Precedence is ASGTags if empty.
	Precedence Precedence
	// NodegroupTTL is how long an answer of eks:DescribeNodegroup is believed; a
	// minute if zero.
	NodegroupTTL time.Duration
	// DescribeAllNodegroups keeps the answers fresh for groups with nodes too.
	DescribeAllNodegroups bool
	// MaxPods says how many pods a node takes: a number, or "eni" for what the
	// instance type's network interfaces allow; 110 if empty.
	MaxPods string
	// KubeReserved is what a node keeps for itself: "none", "eks" for the amounts
	// that EKS' own images set, or amounts as in "cpu=100m,memory=700Mi"; none if
	// empty.
	KubeReserved string
	// StaticInstanceTypes uses the built-in list of instance types alone.
	StaticInstanceTypes bool
	// Prices asks AWS what instances cost.
	Prices bool
	// ReservationsTag is the tag, KEY or KEY=VALUE, of the capacity reservations that are for these groups; none if empty.
	ReservationsTag string
	// InterruptionQueue is the name or the URL of an SQS queue with what AWS is about to take; none if empty.
	InterruptionQueue string
	// RebalanceRecommendations counts these among its messages.
	RebalanceRecommendations bool
	// Version is what AWS's logs show of this program, beside the SDK's.
	Version string
}

const (
	defaultNodegroupTTL = time.Minute
	defaultMaxPods      = 110
)

// settings are a Config that was read and found right.
type settings struct {
	explicit  []groupSpec
	discovery []selector
	// repeated names groups that --nodes has more than once.
	repeated     []string
	template     templateRules
	nodegroupTTL time.Duration
	describeAll  bool
	staticTypes  bool
	prices       bool
	reservations selector
	queue        string
	rebalance    bool
	version      string
}

// Validate returns everything that is wrong, each with its flag and text.
func (c Config) Validate() error {
	_, err := c.read()
	return err
}

func (c Config) read() (settings, error) {
	s := settings{
		nodegroupTTL: c.NodegroupTTL,
		describeAll:  c.DescribeAllNodegroups,
		staticTypes:  c.StaticInstanceTypes,
		prices:       c.Prices,
		queue:        c.InterruptionQueue,
		rebalance:    c.RebalanceRecommendations,
		version:      c.Version,
		template:     templateRules{precedence: c.Precedence},
	}
	var errs []error
	for _, text := range c.Nodes {
		spec, err := parseNodes(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if slices.ContainsFunc(s.explicit, func(other groupSpec) bool { return other.name == spec.name }) {
			s.repeated = append(s.repeated, spec.name)
			continue
		}
		s.explicit = append(s.explicit, spec)
	}
	for _, text := range c.Discovery {
		sel, err := parseDiscovery(text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.discovery = append(s.discovery, sel)
	}
	if len(c.Nodes)+len(c.Discovery) == 0 {
		errs = append(errs, wiring.Lacks("no node group: name Auto Scaling groups by --nodes=min:max:name, or find them by "+
			"--node-group-auto-discovery=asg:tag=key"))
	}
	switch c.Precedence {
	case "":
		s.template.precedence = ASGTags
	case ASGTags, EKSAPI:
	default:
		errs = append(errs, fmt.Errorf("--aws-template-precedence=%q: it is %s or %s", c.Precedence, ASGTags, EKSAPI))
	}
	switch {
	case c.NodegroupTTL == 0:
		s.nodegroupTTL = defaultNodegroupTTL
	case c.NodegroupTTL < time.Second:
		errs = append(errs, fmt.Errorf(
			"--aws-nodegroup-cache-ttl=%s: give at least a second: EKS refuses those who ask too often", c.NodegroupTTL,
		))
	}
	if c.RebalanceRecommendations && c.InterruptionQueue == "" {
		errs = append(errs, errors.New(
			"--aws-rebalance-recommendations: they come by --aws-interruption-queue, and none is named"))
	}
	var err error
	if s.template.maxPods, err = parseMaxPods(c.MaxPods); err != nil {
		errs = append(errs, err)
	}
	if s.template.reserved, err = parseReserved(c.KubeReserved); err != nil {
		errs = append(errs, err)
	}
	if s.reservations, err = parseReservationsTag(c.ReservationsTag); err != nil {
		errs = append(errs, err)
	}
	if err := checkQueue(c.InterruptionQueue); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// quotedFlag is a flag as it was written, for the beginning of an error.
func quotedFlag(name, text string) string { return fmt.Sprintf("--%s=%q", name, text) }

// blank reports whether a name is empty, or has white space at its ends, which is
// always a mistake.
func blank(name string) bool { return name == "" || strings.TrimSpace(name) != name }
