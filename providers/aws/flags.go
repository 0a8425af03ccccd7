package aws

import (
	"context"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// Entry offers the provider.
func Entry() wiring.Entry {
	return wiring.Entry{
		Name: "aws", Title: "AWS",
		Nodes: "min:max:name", Discovery: "asg:tag=key[=value],...", DiscoveryPrefix: "asg:tag=", Env: []string{"AWS_"},
		Bind: func(set *pflag.FlagSet) wiring.Maker { return bind(set) },
	}
}

// flags are a Config as the command line has it.
type flags struct{ Config }

// bind adds the provider's flags to a set.
func bind(s *pflag.FlagSet) *flags {
	f := &flags{Config{
		Precedence: ASGTags, NodegroupTTL: defaultNodegroupTTL, MaxPods: strconv.Itoa(defaultMaxPods), KubeReserved: "none",
	}}
	s.StringVar((*string)(&f.Precedence), "aws-template-precedence", string(f.Precedence),
		"which source wins where the tags of an Auto Scaling group and EKS describe nodes "+
			"differently: asg-tags or eks-api")
	s.DurationVar(&f.NodegroupTTL, "aws-nodegroup-cache-ttl", f.NodegroupTTL,
		"how long an answer of EKS about a managed node group is used before EKS is asked again")
	s.BoolVar(&f.DescribeAllNodegroups, "aws-describe-all-nodegroups", false,
		"ask EKS about groups that have nodes, too")
	s.StringVar(&f.MaxPods, "aws-max-pods", f.MaxPods,
		"number of pods that a new node takes, or eni for what its network interfaces allow")
	s.StringVar(&f.KubeReserved, "aws-kube-reserved", f.KubeReserved,
		"resources of a new node that pods cannot have: none, eks (the formula of EKS), or amounts as "+
			"in cpu=100m,memory=700Mi")
	s.BoolVar(&f.StaticInstanceTypes, "aws-use-static-instance-list", false,
		"use the built-in list of instance types only, and do not ask EC2")
	s.BoolVar(&f.Prices, "aws-prices", false,
		"ask AWS what instances cost, on demand and spot; prices of --price-file win")
	s.StringVar(&f.ReservationsTag, "aws-reservations-tag", "",
		"KEY or KEY=VALUE: the capacity reservations with this tag are for these groups; a node in one costs nothing more")
	s.StringVar(&f.InterruptionQueue, "aws-interruption-queue", "",
		"name or URL of an SQS queue, into which EventBridge puts what AWS says of instances that it is about to take; "+
			"such a node is replaced at once")
	s.BoolVar(&f.RebalanceRecommendations, "aws-rebalance-recommendations", false,
		"replace spot instances that are at risk, by the messages of --aws-interruption-queue")
	return f
}

func (f *flags) config(h wiring.Host) Config {
	c := f.Config
	c.Nodes, c.Discovery, c.Version = h.Nodes, h.Discovery, h.Version
	return c
}

// Check says what is wrong with the flags.
func (f *flags) Check(h wiring.Host) error { return f.config(h).Validate() }

// Make makes the provider. It asks AWS alone, and no cluster.
func (f *flags) Make(ctx context.Context, h wiring.Host) (provider.Provider, error) {
	p, err := New(ctx, f.config(h), h.Log, h.Metrics)
	if err != nil {
		return nil, err
	}
	if p.interruptions != nil {
		return listening{p}, nil
	}
	return p, nil
}
