package aws

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// TestFlagsReachTheConfig: without any, it is that of the zero value; and each changes what is read of it.
func TestFlagsReachTheConfig(t *testing.T) {
	host := wiring.Host{Nodes: []string{"1:10:a"}, Discovery: []string{"asg:tag=a,b"}, Version: "v1"}
	read := func(c Config) settings {
		s, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	parsed := func(args ...string) Config {
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f := bind(set)
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		return f.config(host)
	}
	inside := cmp.AllowUnexported(settings{}, groupSpec{}, templateRules{}, podsRule{}, reserveRule{})
	byDefault := read(parsed())
	zero := Config{Nodes: host.Nodes, Discovery: host.Discovery, Version: "v1"}
	if diff := cmp.Diff(read(zero), byDefault, inside); diff != "" {
		t.Errorf("read() (config.go) must take a zero field for the flag's default, since a Config that is made without "+
			"flags has zero fields (-zero Config +flags' defaults):\n%s", diff)
	}
	changed := map[string]string{
		"aws-template-precedence": "eks-api", "aws-nodegroup-cache-ttl": "2m", "aws-describe-all-nodegroups": "true",
		"aws-max-pods": "eni", "aws-kube-reserved": "eks", "aws-use-static-instance-list": "true", "aws-prices": "true",
		"aws-reservations-tag": "k=v", "aws-interruption-queue": "q", "aws-rebalance-recommendations": "true",
	}
	want := Config{Nodes: host.Nodes, Discovery: host.Discovery, Version: "v1",
		Precedence: EKSAPI, NodegroupTTL: 2 * time.Minute, DescribeAllNodegroups: true, MaxPods: "eni",
		KubeReserved: "eks", StaticInstanceTypes: true, Prices: true, ReservationsTag: "k=v", InterruptionQueue: "q",
		RebalanceRecommendations: true}
	var all []string
	set := pflag.NewFlagSet("all", pflag.ContinueOnError)
	bind(set)
	set.VisitAll(func(flag *pflag.Flag) {
		value, ok := changed[flag.Name]
		if !ok {
			t.Errorf("give --%s another value than its default in `changed`, and say in `want` where it is to arrive", flag.Name)
			return
		}
		arg := "--" + flag.Name + "=" + value
		all = append(all, arg)
		without, with := []string{}, []string{arg}
		if flag.Name == "aws-rebalance-recommendations" { // is nothing without a queue
			queue := "--aws-interruption-queue=q"
			without, with = append(without, queue), append(with, queue)
		}
		if cmp.Equal(read(parsed(without...)), read(parsed(with...)), inside) {
			t.Errorf("%s has no effect: let read() (config.go) take it into the settings", arg)
		}
	})
	if diff := cmp.Diff(want, parsed(all...)); diff != "" {
		t.Error(diff)
	}
}
