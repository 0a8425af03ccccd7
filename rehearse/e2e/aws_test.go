package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/eks"
	worlds "github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// outage is how long AWS is away in the script of that name.
var outage = flag.Duration("aws.outage", 40*time.Second, "how long AWS is away in the script outage")

// TestAWSScripts runs the scripts of testdata/aws, one after the other, on one
// control plane and one simulated AWS, whose instances become nodes.
func TestAWSScripts(t *testing.T) {
	t.Parallel() // on a control plane of its own
	r := ownRig(t, reviving, func(r *rig) (worlds.World, error) {
		made, remote, err := worlds.AWS(r.plane, eks.Cluster{})
		r.aws = &simulatedAWS{Remote: remote, cloud: made.Cloud}
		return made, err
	})
	runScripts(oneByOne{t}, "testdata/aws", func(*testing.T, *testscript.Env) *rig { return r })
}

// simulatedAWS is the AWS of a rig, and what the present script has made of it.
type simulatedAWS struct {
	awstest.Remote
	cloud   autoscaler.Cloud
	cluster eks.Cluster
	faults  []awstest.Fault
}

// bootDelay is long enough for an instance without a node to be seen.
const bootDelay = time.Second

// setUp gives a script an AWS without a group, and what it needs to ask AWS itself:
// the SDK's environment, and the flag that finds its groups in $DISCOVERY. $OUTAGE is
// how many cycles an outage lasts. At the script's end all is taken back.
func (a *simulatedAWS) setUp(w *world, env *testscript.Env) {
	a.cluster = eks.Cluster{BootDelay: metav1.Duration{Duration: bootDelay}}
	a.faults = nil
	w.cloud = a.cloud
	for _, variable := range a.cloud.Env {
		name, value, _ := strings.Cut(variable, "=")
		env.Setenv(name, value)
	}
	env.Setenv("DISCOVERY", a.cluster.DiscoveryFlag())
	env.Setenv("OUTAGE", strconv.Itoa(int(*outage/scanInterval)))
	w.elsewhere = append(w.elsewhere, func(ctx context.Context) error {
		return errors.Join(a.SetFaults(ctx), a.SetAccount(ctx, eks.Cluster{}.Account()))
	})
}

// cmdNodegroup declares a managed node group, whose name is its nodes' group's. What
// is not said: m5.xlarge (4 cores, of which pods may use 3920m), zone a, no more than
// 20 nodes.
//
//	min= max= desired=    counts
//	zone=                 a zone of the region: a, b or c; may be given more than once
//	type=                 an instance type; may be given more than once
//	label=KEY=VALUE       a label
//	labels=N              N labels more, label-01=on and so on
//	taint=KEY=VALUE:EFFECT  in EKS's words: NO_SCHEDULE
//	tag=KEY=VALUE         a tag of the Auto Scaling group
func (w *world) cmdNodegroup(c *call) error {
	n := eks.Nodegroup{Name: c.args[0], Max: 20, Labels: map[string]string{}, ASGTags: map[string]string{}}
	for _, arg := range c.args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		name, rest, _ := strings.Cut(value, "=")
		count, errCount := strconv.Atoi(value)
		var err error
		switch key {
		case "min":
			n.Min, err = count, errCount
		case "max":
			n.Max, err = count, errCount
		case "desired":
			n.Desired, err = count, errCount
		case "zone":
			n.Zones = append(n.Zones, zoneNamed(value))
		case "type":
			n.InstanceTypes = append(n.InstanceTypes, value)
		case "label":
			n.Labels[name] = rest
		case "labels":
			err = errCount
			for i := range count {
				n.Labels[fmt.Sprintf("label-%02d", i+1)] = "on"
			}
		case "taint":
			text, effect, _ := strings.Cut(rest, ":")
			n.Taints = append(n.Taints, awstest.Taint{Key: name, Value: &text, Effect: effect})
		case "tag":
			n.ASGTags[name] = rest
		default:
			err = errors.New("a node group has no such property")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
	}
	if len(n.InstanceTypes) == 0 {
		n.InstanceTypes = []string{"m5.xlarge"}
	}
	w.aws.cluster.Nodegroups = append(w.aws.cluster.Nodegroups, n)
	return w.aws.change(c.ctx)
}

// zoneNamed is a zone by its letter.
func zoneNamed(letter string) string { return eks.Cluster{}.Account().Region + letter }

// change makes AWS what the script has declared by now. Groups that are there keep
// the size that they have.
func (a *simulatedAWS) change(ctx context.Context) error {
	if err := a.cluster.Check(); err != nil {
		return err
	}
	groups, err := a.Groups(ctx)
	if err != nil {
		return err
	}
	account := a.cluster.Account()
	for i := range account.Groups {
		at := slices.IndexFunc(groups, func(g awstest.GroupState) bool { return g.Name == account.Groups[i].Name })
		if at >= 0 {
			account.Groups[i].Desired = groups[at].Desired
		}
	}
	return a.SetAccount(ctx, account)
}

// cmdAWS looks at the simulated AWS, or disturbs it.
//
//	aws stockout ZONE ...             these zones have no machine more; without any, all have
//	aws fault ACTION MISHAP           requests of an action, or of any ('*'), meet a mishap of package awstest
//	aws well                          no request does any more
//	aws hold NODEGROUP [STEP ...]     exactly these steps of a group happen no more by themselves
//	aws play NODEGROUP STEP N         a step happens N times
//	aws desired NODEGROUP N           wait until a group's desired capacity is N
//	aws instances NODEGROUP N [STATE]  wait until it has N instances, or N in a state
//	aws calls ACTION N                there have been N requests of an action or more
func (w *world) cmdAWS(c *call) error {
	verb := c.args[0]
	c.args = c.args[1:]
	least := map[string]int{
		"stockout": 0, "fault": 2, "well": 0, "hold": 1, "play": 3, "desired": 2, "instances": 2, "calls": 2,
	}
	if want, ok := least[verb]; !ok || len(c.args) < want {
		return fmt.Errorf("aws %s: there is no such verb, or it lacks arguments", verb)
	}
	a := w.aws
	switch verb {
	case "stockout":
		a.cluster.StockOuts = nil
		for _, letter := range c.args {
			a.cluster.StockOuts = append(a.cluster.StockOuts, eks.StockOut{Zone: zoneNamed(letter)})
		}
		return a.change(c.ctx)
	case "fault":
		fault := awstest.Fault{Action: strings.TrimPrefix(c.args[0], "*"), Mishap: awstest.Mishap(c.args[1])}
		a.faults = append(a.faults, fault)
		return a.SetFaults(c.ctx, a.faults...)
	case "well":
		a.faults = nil
		return a.SetFaults(c.ctx)
	case "hold":
		var steps []awstest.Step
		for _, step := range c.args[1:] {
			steps = append(steps, awstest.Step(step))
		}
		return a.Hold(c.ctx, eks.ASGName(c.args[0]), steps...)
	case "play":
		return w.playAWS(c)
	case "calls":
		return w.countCalls(c)
	}
	want, err := c.number(1)
	if err != nil {
		return err
	}
	return poll(c.ctx, func() (bool, string) {
		g, err := a.group(c.ctx, c.args[0])
		n := len(g.Live())
		switch {
		case err != nil:
			return false, err.Error()
		case verb == "desired":
			n = g.Desired
		case len(c.args) > 2:
			n = len(slices.DeleteFunc(slices.Clone(g.Instances), func(i awstest.Instance) bool { return i.State != c.args[2] }))
		}
		return n == want, w.state(fmt.Sprintf("%d, want %d; the group is %+v", n, want, g))
	})
}

func (w *world) playAWS(c *call) error {
	want, err := c.number(2)
	if err != nil {
		return err
	}
	// AWS may not have come to it yet.
	return poll(c.ctx, func() (bool, string) {
		n, err := w.aws.Play(c.ctx, eks.ASGName(c.args[0]), awstest.Step(c.args[1]), want)
		want -= n
		return err == nil && want == 0, fmt.Sprintf("%d steps are left (%v)", want, err)
	})
}

func (w *world) countCalls(c *call) error {
	want, err := c.number(1)
	if err != nil {
		return err
	}
	counts, err := w.aws.Calls(c.ctx)
	if err == nil && counts[c.args[0]] < want {
		err = fmt.Errorf("there were %d requests of %s, want %d or more", counts[c.args[0]], c.args[0], want)
	}
	return err
}

// group is the Auto Scaling group of a node group.
func (a *simulatedAWS) group(ctx context.Context, nodegroup string) (awstest.GroupState, error) {
	groups, err := a.Groups(ctx)
	if err != nil {
		return awstest.GroupState{}, err
	}
	at := slices.IndexFunc(groups, func(g awstest.GroupState) bool { return g.Name == eks.ASGName(nodegroup) })
	if at < 0 {
		return awstest.GroupState{}, fmt.Errorf("AWS has no Auto Scaling group of the node group %s", nodegroup)
	}
	return groups[at], nil
}
