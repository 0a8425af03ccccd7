package awstest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	astypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/smithy-go"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

var dawn = time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC)

// rig is a simulated AWS with the real SDK's clients for it, found by
// AWS_ENDPOINT_URL alone.
type rig struct {
	*testing.T
	cloud *awstest.Cloud
	clock *awstest.Clock
	url   string
	asg   *autoscaling.Client
	ec2   *ec2.Client
	eks   *eks.Client
}

func newRig(t *testing.T, spec awstest.Spec) *rig {
	t.Helper()
	r := &rig{T: t, clock: awstest.NewClock(dawn)}
	var err error
	if r.cloud, err = awstest.New(spec, r.clock.Now); err != nil {
		t.Fatal(err)
	}
	server, err := awstest.Listen("127.0.0.1:0", r.cloud)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	r.url = server.URL()
	r.connect(awstest.Environment(r.url, "us-east-1"))
	return r
}

// connect makes the clients as any program does, from its environment.
func (r *rig) connect(environment map[string]string) {
	r.Helper()
	for name, value := range environment {
		r.Setenv(name, value)
	}
	cfg, err := config.LoadDefaultConfig(r.Context(), config.WithHTTPClient(awstest.HTTPClient()),
		config.WithRetryer(func() aws.Retryer {
			return retry.AddWithMaxBackoffDelay(retry.NewStandard(), time.Millisecond)
		}))
	if err != nil {
		r.Fatal(err)
	}
	r.asg, r.ec2, r.eks = autoscaling.NewFromConfig(cfg), ec2.NewFromConfig(cfg), eks.NewFromConfig(cfg)
}

// pass lets time go by.
func (r *rig) pass(d time.Duration) {
	r.clock.Advance(d)
	r.cloud.Tick()
}

// group reads one group by its name, through the API.
func (r *rig) group(name string) astypes.AutoScalingGroup {
	r.Helper()
	out, err := r.asg.DescribeAutoScalingGroups(r.Context(),
		&autoscaling.DescribeAutoScalingGroupsInput{AutoScalingGroupNames: []string{name}})
	if err != nil {
		r.Fatal(err)
	}
	if len(out.AutoScalingGroups) != 1 {
		r.Fatalf("there are %d groups of the name %q", len(out.AutoScalingGroups), name)
	}
	return out.AutoScalingGroups[0]
}

func (r *rig) setDesired(name string, n int) error {
	_, err := r.asg.SetDesiredCapacity(r.Context(), &autoscaling.SetDesiredCapacityInput{
		AutoScalingGroupName: &name, DesiredCapacity: aws.Int32(int32(n)), HonorCooldown: aws.Bool(false),
	})
	return err
}

func (r *rig) terminate(id string, decrement bool) error {
	_, err := r.asg.TerminateInstanceInAutoScalingGroup(r.Context(), &autoscaling.TerminateInstanceInAutoScalingGroupInput{
		InstanceId: &id, ShouldDecrementDesiredCapacity: &decrement,
	})
	return err
}

// activities gives the newest page of a group's history.
func (r *rig) activities(name string) []astypes.Activity {
	r.Helper()
	out, err := r.asg.DescribeScalingActivities(r.Context(),
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: &name})
	if err != nil {
		r.Fatal(err)
	}
	return out.Activities
}

// states counts a group's instances by their lifecycle state, as the API shows them.
func (r *rig) states(name string) string {
	r.Helper()
	counts := map[string]int{}
	for _, i := range r.group(name).Instances {
		counts[string(i.LifecycleState)]++
	}
	return fmt.Sprint(counts)
}

// refused checks an error's code and message; an empty message is any.
func refused(t *testing.T, err error, code, message string) {
	t.Helper()
	e, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		t.Fatalf("the error is %v, not one of the API with the code %s", err, code)
	}
	if e.ErrorCode() != code || message != "" && e.ErrorMessage() != message {
		t.Errorf("the error is %s: %q, want %s: %q", e.ErrorCode(), e.ErrorMessage(), code, message)
	}
}

// within gives a context that ends soon, for calls that hang.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// small is a group of m5.large from a launch template.
func small(name string, low, high, desired int) awstest.Group {
	return awstest.Group{
		Name: name, Min: low, Max: high, Desired: desired, LaunchTemplate: &awstest.TemplateRef{ID: "lt-0a"},
	}
}

var templates = []awstest.LaunchTemplate{{
	ID: "lt-0a", Name: "nodes", Default: 2,
	Versions: []awstest.TemplateVersion{
		{InstanceType: "t3.micro", ImageID: "ami-1"},
		{InstanceType: "m5.large", ImageID: "ami-1", VolumeGiB: 80},
		{InstanceType: "m6g.large", ImageID: "ami-2", Spot: true},
	},
}}
