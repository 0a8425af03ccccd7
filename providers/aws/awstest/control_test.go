package awstest_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

const yamlSpec = `
region: eu-west-1
timing: {boot: 30s, retry: 2m}
launchTemplates:
- {id: lt-1, name: nodes, versions: [{instanceType: m5.large}, {instanceType: m5.xlarge}]}
groups:
- name: eks-workers
  min: 0
  max: 10
  desired: 0
  zones: [eu-west-1a]
  launchTemplate: {id: lt-1, version: $Latest}
  timing: {decide: 1s}
  tags: {"eks:cluster-name": demo, "eks:nodegroup-name": workers}
nodegroups:
- {cluster: demo, name: workers, labels: {tier: batch}, taints: [{key: bare, effect: NO_SCHEDULE}, {key: full, value: x, effect: NO_EXECUTE}]}
stockOuts:
- {instanceType: m5.large, left: 2, why: vcpu-limit}
faults:
- {action: DescribeNodegroup, mishap: denied, delay: 1.5s}
`

func TestASpecIsReadFromAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "aws.yaml")
	read := func(text string) (awstest.Spec, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return awstest.ReadSpec(file)
	}
	got, err := read(yamlSpec)
	if err != nil {
		t.Fatal(err)
	}
	x := "x"
	want := awstest.Spec{
		Region: "eu-west-1", Timing: awstest.Timing{Boot: 30 * time.Second, Retry: 2 * time.Minute},
		LaunchTemplates: []awstest.LaunchTemplate{{
			ID:       "lt-1",
			Name:     "nodes",
			Versions: []awstest.TemplateVersion{{InstanceType: "m5.large"}, {InstanceType: "m5.xlarge"}},
		}},
		Groups: []awstest.Group{{
			Name:           "eks-workers",
			Max:            10,
			Zones:          []string{"eu-west-1a"},
			LaunchTemplate: &awstest.TemplateRef{ID: "lt-1", Version: "$Latest"},
			Timing:         &awstest.Timing{Decide: time.Second},
			Tags:           map[string]string{"eks:cluster-name": "demo", "eks:nodegroup-name": "workers"},
		}},
		Nodegroups: []awstest.Nodegroup{{Cluster: "demo", Name: "workers", Labels: map[string]string{"tier": "batch"},
			Taints: []awstest.Taint{{Key: "bare", Effect: "NO_SCHEDULE"}, {Key: "full", Value: &x, Effect: "NO_EXECUTE"}}}},
		StockOuts: []awstest.StockOut{{InstanceType: "m5.large", Left: 2, Why: awstest.VCPULimit}},
		Faults:    []awstest.Fault{{Action: "DescribeNodegroup", Mishap: awstest.Denied, Delay: 1500 * time.Millisecond}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{
		"groups: [{nam: x}]", "timing: {boot: fast}", "timing: {nap: 1s}", "faults: [{mishap: explode}]",
	} {
		if _, err := read(bad); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	if _, err := awstest.ReadSpec(file + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestSpecsThatCannotBe(t *testing.T) {
	for name, spec := range map[string]awstest.Spec{
		"a group without a name":        {Groups: []awstest.Group{small("", 0, 1, 0)}},
		"a doubled group":               {Groups: []awstest.Group{small("g", 0, 1, 0), small("g", 0, 1, 0)}},
		"a minimum above the maximum":   {Groups: []awstest.Group{small("g", 2, 1, 0)}},
		"a template without an id":      {LaunchTemplates: []awstest.LaunchTemplate{{Name: "x"}}},
		"a doubled node group":          {Nodegroups: []awstest.Nodegroup{{Cluster: "c", Name: "n"}, {Cluster: "c", Name: "n"}}},
		"a node group without a name":   {Nodegroups: []awstest.Nodegroup{{Cluster: "c"}}},
		"a doubled image":               {Images: []awstest.Image{{ID: "ami-1"}, {ID: "ami-1"}}},
		"a doubled configuration":       {LaunchConfigurations: []awstest.LaunchConfiguration{{Name: "l"}, {Name: "l"}}},
		"an instance of two ids' group": {Groups: []awstest.Group{{Name: "g", Max: 1, Instances: []awstest.Instance{{ID: "i"}, {ID: "i"}}}}},
	} {
		if _, err := awstest.New(spec, time.Now); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// served runs Serve as a child process would, in real time.
func served(t *testing.T, spec awstest.Spec) awstest.Remote {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- awstest.Serve(ctx, addr, spec) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	remote := awstest.Remote{URL: "http://" + addr}
	for {
		if _, err := remote.Groups(t.Context()); err == nil {
			return remote
		} else if len(ended) > 0 {
			t.Fatal(err)
		}
	}
}

func TestServeAndRemote(t *testing.T) {
	remote, ctx := served(t, awstest.Spec{
		LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 2)},
	}), t.Context()
	r := &rig{T: t}
	r.connect(awstest.Environment(remote.URL, "us-east-1"))
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	live := func() []string {
		t.Helper()
		groups, err := remote.Groups(ctx)
		must(err)
		return groups[0].Live()
	}
	killed := live()[0]
	must(remote.Kill(ctx, killed))
	if got := live(); len(got) != 2 || got[0] == killed || got[1] == killed {
		t.Errorf("%s was killed, and there are %v", killed, got)
	}
	must(remote.SetDesired(ctx, "g", 3))
	if got := r.states("g"); got != "map[InService:3]" {
		t.Errorf("the target was set by hand: %s", got)
	}

	must(remote.SetStockOuts(ctx, awstest.StockOut{}))
	must(r.setDesired("g", 4))
	if got := live(); len(got) != 3 {
		t.Errorf("out of stock, there are %v", got)
	}
	must(remote.SetStockOuts(ctx))
	if got := live(); len(got) != 4 {
		t.Errorf("in stock, there are %v", got)
	}

	must(remote.SetFaults(ctx, awstest.Fault{Action: "SetDesiredCapacity", Mishap: awstest.Denied}))
	refused(t, r.setDesired("g", 5), "AccessDenied", "")
	must(remote.SetFaults(ctx))

	must(remote.Hold(ctx, "g", awstest.Launch))
	must(r.setDesired("g", 6))
	if got := live(); len(got) != 4 {
		t.Errorf("launches are held, and there are %v", got)
	}
	n, err := remote.Play(ctx, "g", awstest.Launch, 1)
	must(err)
	if got := live(); len(got) != 5 || n != 1 {
		t.Errorf("%d launches were played, and there are %v", n, got)
	}
	must(remote.Hold(ctx, "g"))
	if got := live(); len(got) != 6 {
		t.Errorf("nothing is held, and there are %v", got)
	}

	must(remote.SetNodegroups(ctx, awstest.Nodegroup{Cluster: "c", Name: "n", Version: "1.37"}))
	nodegroup, err := r.nodegroup("c", "n")
	must(err)
	if *nodegroup.Version != "1.37" {
		t.Errorf("the node group is %+v", nodegroup)
	}
	counts, err := remote.Calls(ctx)
	must(err)
	if counts["SetDesiredCapacity"] != 3 || counts["DescribeNodegroup"] != 1 {
		t.Errorf("the calls are %v", counts)
	}

	account, err := remote.Account(ctx)
	must(err)
	if g := account.Groups[0]; g.Desired != 6 || len(g.Instances) != 6 || g.Instances[0].Type == "" ||
		len(account.InstanceTypes) < 10 {
		t.Errorf("the account is %+v", account)
	}
	account.Groups = append(account.Groups, small("h", 0, 9, 1))
	must(remote.SetAccount(ctx, account))
	if got := r.states("g") + r.states("h"); got != "map[InService:6]map[InService:1]" {
		t.Errorf("a group came, and the instances are %s", got)
	}
	account.Groups = account.Groups[1:]
	must(remote.SetAccount(ctx, account))
	if groups, err := remote.Groups(ctx); err != nil || len(groups) != 1 || groups[0].Name != "h" {
		t.Errorf("a group went, and there are %+v, %v", groups, err)
	}
	must(remote.SetAccount(ctx, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 2)}}))

	for name, err := range map[string]error{
		"faults in an account": remote.SetAccount(ctx, awstest.Spec{Faults: []awstest.Fault{{}}}),
		"a bad account":        remote.SetAccount(ctx, awstest.Spec{Groups: []awstest.Group{{}}}),
		"an unknown group":     remote.SetDesired(ctx, "missing", 1),
		"an unknown instance":  remote.Kill(ctx, "i-0"),
		"an unknown step":      remote.Hold(ctx, "g", "nap"),
		"a bad node group":     remote.SetNodegroups(ctx, awstest.Nodegroup{}),
		"an unknown mishap":    remote.SetFaults(ctx, awstest.Fault{Mishap: "explode"}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := remote.Play(ctx, "missing", awstest.Launch, 1); err == nil {
		t.Error("play of an unknown group: no error")
	}
}

func TestAnAddressInUseIsTold(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := awstest.Serve(t.Context(), listener.Addr().String(), awstest.Spec{}); err == nil {
		t.Error("an address in use was served")
	}
}
