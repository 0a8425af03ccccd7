package aws

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/provider/wiring"
)

// TestFlagsReachTheConfig: without any, it is that of the zero value.
func TestFlagsReachTheConfig(t *testing.T) {
	host := wiring.Host{Nodes: []string{"1:10:a"}, Discovery: []string{"asg:tag=a,b"}, Version: "v1"}
	parsed := func(args ...string) Config {
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		f := bind(set)
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		set.VisitAll(func(flag *pflag.Flag) {
			if len(args) > 0 && !flag.Changed {
				t.Errorf("give --%s another value than its default below, and say where it is to arrive", flag.Name)
			}
		})
		return f.config(host)
	}
	zero, err := Config{Nodes: host.Nodes, Discovery: host.Discovery, Version: "v1"}.read()
	if err != nil {
		t.Fatal(err)
	}
	byDefault, err := parsed().read()
	if err != nil {
		t.Fatal(err)
	}
	inside := cmp.AllowUnexported(settings{}, groupSpec{}, templateRules{}, podsRule{}, reserveRule{})
	if diff := cmp.Diff(zero, byDefault, inside); diff != "" {
		t.Error(diff)
	}
	want := Config{Nodes: host.Nodes, Discovery: host.Discovery, Version: "v1",
		Precedence: EKSAPI, NodegroupTTL: 2 * time.Minute, DescribeAllNodegroups: true, MaxPods: "eni",
		KubeReserved: "eks", StaticInstanceTypes: true}
	got := parsed("--aws-template-precedence=eks-api", "--aws-nodegroup-cache-ttl=2m",
		"--aws-describe-all-nodegroups", "--aws-max-pods=eni",
		"--aws-kube-reserved=eks", "--aws-use-static-instance-list")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
