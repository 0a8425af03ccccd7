package awstest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func TestActivitiesTellTheLifeOfAnInstance(t *testing.T) {
	r := newRig(t, awstest.Spec{Timing: slow, LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 0)}})
	if err := r.setDesired("g", 1); err != nil {
		t.Fatal(err)
	}
	r.pass(15500 * time.Millisecond)
	id := *r.group("g").Instances[0].InstanceId
	a := r.activities("g")[0]
	if a.StatusCode != types.ScalingActivityStatusCodeInProgress ||
		*a.Description != "Launching a new EC2 instance: "+id || a.EndTime != nil ||
		!a.StartTime.Equal(dawn.Add(15*time.Second)) ||
		!strings.Contains(*a.Cause, "changing the desired capacity from 0 to 1.") ||
		!strings.Contains(*a.Cause, "increasing the capacity from 0 to 1.") ||
		!strings.Contains(*a.Details, `"Availability Zone":"us-east-1a"`) {
		t.Errorf("the launch under way is %+v", a)
	}
	r.pass(time.Minute)
	if a := r.activities("g")[0]; a.StatusCode != types.ScalingActivityStatusCodeSuccessful || *a.Progress != 100 ||
		a.EndTime == nil {
		t.Errorf("the launch is %+v", a)
	}
	if err := r.terminate(id, true); err != nil {
		t.Fatal(err)
	}
	if a := r.activities("g")[0]; a.StatusCode != types.ScalingActivityStatusCodeInProgress ||
		*a.Description != "Terminating EC2 instance: "+id ||
		!strings.Contains(
			*a.Cause, "was taken out of service in response to a user request, shrinking the capacity from 1 to 0.",
		) {
		t.Errorf("the end under way is %+v", a)
	}
	r.pass(time.Minute)
	if all := r.activities("g"); len(all) != 2 || all[0].StatusCode != types.ScalingActivityStatusCodeSuccessful {
		t.Errorf("the history is %+v", all)
	}
}

func TestAnInstanceThatNeverRanIsCancelled(t *testing.T) {
	r := newRig(t, awstest.Spec{Timing: slow, LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 9, 0)}})
	if err := r.setDesired("g", 1); err != nil {
		t.Fatal(err)
	}
	r.pass(20 * time.Second)
	if err := r.terminate(*r.group("g").Instances[0].InstanceId, true); err != nil {
		t.Fatal(err)
	}
	if all := r.activities("g"); len(all) != 2 || all[1].StatusCode != types.ScalingActivityStatusCodeCancelled {
		t.Errorf("the history is %+v", all)
	}
}

func TestAStockOutIsAFailedActivity(t *testing.T) {
	zero := 0
	mixed := func(name string, percentage *int) awstest.Group {
		return awstest.Group{Name: name, Max: 9, Zones: []string{"us-east-1a"}, MixedInstances: &awstest.MixedInstances{
			Template: awstest.TemplateRef{Name: "nodes"}, OnDemandPercentage: percentage,
			Overrides: []awstest.Override{{InstanceType: "c5.large"}, {InstanceType: "m5.large"}}}}
	}
	one := small("one-zone", 0, 9, 0)
	one.Zones = []string{"us-east-1a"}
	only := small("balanced-only", 0, 9, 0)
	only.Distribution = "balanced-only"
	gone := awstest.Group{
		Name: "no-template", Max: 9, Zones: []string{"us-east-1a"}, LaunchTemplate: &awstest.TemplateRef{Name: "gone"},
	}
	const vcpu = "VcpuLimitExceeded - You have requested more vCPU capacity than your current vCPU limit of 32 allows " +
		"for the instance bucket that the specified instance type belongs to. Please visit " +
		"http://aws.amazon.com/contact-us/ec2-request to request an adjustment to this limit. Launching EC2 instance failed."
	for _, c := range []struct {
		group    awstest.Group
		outs     []awstest.StockOut
		zones    string // of the failures, newest first
		message  string // of the oldest failure
		launched string
	}{
		{one, []awstest.StockOut{{}}, "[us-east-1a]",
			"We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a). Our " +
				"system will be working on provisioning additional capacity. Launching EC2 instance failed.", "map[]"},
		{small("three-zones", 0, 9, 0), []awstest.StockOut{{Zone: "us-east-1a"}}, "[us-east-1a]",
			"We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a). Our " +
				"system will be working on provisioning additional capacity. You can currently get m5.large capacity by not " +
				"specifying an Availability Zone in your request or choosing us-east-1b, us-east-1c. Launching EC2 instance " +
				"failed.", "map[InService:1]"},
		{small("nowhere", 0, 9, 0), []awstest.StockOut{{InstanceType: "m5.large"}}, "[us-east-1c us-east-1b us-east-1a]", "", "map[]"},
		{only, []awstest.StockOut{{Zone: "us-east-1a"}}, "[us-east-1a]", "", "map[]"},
		{mixed("mixed", nil), []awstest.StockOut{{Why: awstest.VCPULimit}}, "[us-east-1a]", "Could not launch On-Demand Instances. " + vcpu, "map[]"},
		{mixed("second-choice", nil), []awstest.StockOut{{InstanceType: "c5.large"}}, "[]", "", "map[InService:1]"},
		{mixed("spot", &zero), []awstest.StockOut{{Why: awstest.SpotPool}}, "[us-east-1a]",
			"Could not launch Spot Instances. InsufficientInstanceCapacity - There is no Spot capacity available that matches " +
				"your request. Launching EC2 instance failed.", "map[]"},
		{mixed("no-such-zone", nil), []awstest.StockOut{{Why: awstest.NotInZone}}, "[us-east-1a]",
			"Could not launch On-Demand Instances. InvalidFleetConfiguration - Your requested instance type (c5.large) is not " +
				"supported in your requested Availability Zone (us-east-1a). Launching EC2 instance failed.", "map[]"},
		{one, []awstest.StockOut{{Message: "something else"}}, "[us-east-1a]", "something else", "map[]"},
		{gone, nil, "[us-east-1a]", "The specified launch template, with template name gone, does not exist. Launching EC2 instance failed.", "map[]"},
	} {
		t.Run(c.group.Name, func(t *testing.T) {
			r := newRig(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{c.group}, StockOuts: c.outs})
			if err := r.setDesired(c.group.Name, 1); err != nil {
				t.Fatal(err)
			}
			if got := r.states(c.group.Name); got != c.launched {
				t.Errorf("instances %s, want %s", got, c.launched)
			}
			failures := slices.DeleteFunc(r.activities(c.group.Name), func(a types.Activity) bool {
				return a.StatusCode != types.ScalingActivityStatusCodeFailed
			})
			zones := []string{}
			for _, a := range failures {
				_, zone, _ := strings.Cut(*a.Details, `"Availability Zone":"`)
				zones = append(zones, strings.TrimSuffix(zone, `"}`))
				if !strings.HasPrefix(*a.Description, "Launching a new EC2 instance.  Status Reason: "+*a.StatusMessage) ||
					*a.Progress != 100 || a.EndTime == nil {
					t.Errorf("the failure is %+v", a)
				}
			}
			if fmt.Sprint(zones) != c.zones {
				t.Errorf("failures in %v, want %s", zones, c.zones)
			}
			if len(failures) > 0 && c.message != "" && *failures[len(failures)-1].StatusMessage != c.message {
				t.Errorf("the message is\n%s\nwant\n%s", *failures[len(failures)-1].StatusMessage, c.message)
			}
		})
	}
}

func TestALaunchIsTriedAgain(t *testing.T) {
	g := small("g", 0, 9, 0)
	g.Zones = []string{"us-east-1a"}
	r := newRig(t, awstest.Spec{
		Timing: slow, LaunchTemplates: templates, Groups: []awstest.Group{g}, StockOuts: []awstest.StockOut{{Left: 2}},
	})
	if err := r.setDesired("g", 5); err != nil {
		t.Fatal(err)
	}
	r.pass(15 * time.Second)
	if got, history := r.states("g"), r.activities("g"); got != "map[Pending:2]" || len(history) != 3 {
		t.Errorf("two were left: %s, and the history is %+v", got, history)
	}
	r.pass(3*time.Minute + 45*time.Second)
	if got, history := r.states("g"), r.activities("g"); got != "map[InService:2]" || len(history) != 6 {
		t.Errorf("three attempts later: %s, with %d activities", got, len(history))
	}
	if err := r.cloud.SetStockOuts(); err != nil {
		t.Fatal(err)
	}
	r.pass(15 * time.Second)
	if got := r.states("g"); got != "map[InService:2 Pending:3]" {
		t.Errorf("in stock again: %s", got)
	}
}

func TestActivitiesArePagedAndFiltered(t *testing.T) {
	r := newRig(t, awstest.Spec{
		Timing: slow, LaunchTemplates: templates, Groups: []awstest.Group{small("g", 0, 200, 0), small("other", 0, 9, 0)},
	})
	for n := 1; n <= 120; n++ {
		if err := r.cloud.SetDesired("g", n); err != nil {
			t.Fatal(err)
		}
		r.pass(20 * time.Second)
	}
	if err := r.cloud.SetDesired("other", 1); err != nil {
		t.Fatal(err)
	}
	r.pass(time.Minute)
	read := func(in autoscaling.DescribeScalingActivitiesInput) (all []types.Activity) {
		t.Helper()
		pages := autoscaling.NewDescribeScalingActivitiesPaginator(r.asg, &in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, out.Activities...)
		}
		return all
	}
	all := read(autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("g")})
	if len(all) != 120 || !slices.IsSortedFunc(all, func(a, b types.Activity) int {
		return b.StartTime.Compare(*a.StartTime)
	}) {
		t.Errorf("%d activities, newest first from %v to %v", len(all), all[0].StartTime, all[len(all)-1].StartTime)
	}
	if every := read(autoscaling.DescribeScalingActivitiesInput{}); len(every) != 121 {
		t.Errorf("%d activities of the account", len(every))
	}
	bound := all[9].StartTime.Format(time.RFC3339)
	since := read(autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String("g"), MaxRecords: aws.Int32(3), Filters: []types.Filter{
			{Name: aws.String("StartTimeLowerBound"), Values: []string{bound}},
			{Name: aws.String("Status"), Values: []string{"Successful", "InProgress"}}},
	})
	if len(since) != 10 {
		t.Errorf("%d activities since %s", len(since), bound)
	}
	if failed := read(autoscaling.DescribeScalingActivitiesInput{
		AutoScalingGroupName: aws.String("g"),
		Filters:              []types.Filter{{Name: aws.String("Status"), Values: []string{"Failed"}}},
	}); len(failed) != 0 {
		t.Errorf("%d failed activities", len(failed))
	}
	_, err := r.asg.DescribeScalingActivities(t.Context(),
		&autoscaling.DescribeScalingActivitiesInput{AutoScalingGroupName: aws.String("missing")})
	refused(t, err, "ValidationError", "AutoScalingGroup name not found - null")
	_, err = r.asg.DescribeScalingActivities(t.Context(),
		&autoscaling.DescribeScalingActivitiesInput{NextToken: aws.String("bogus")})
	refused(t, err, "InvalidNextToken", "")
}
