package awstest_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func TestSetDesiredCapacityKeepsTheLimits(t *testing.T) {
	doomed := small("doomed", 0, 5, 1)
	doomed.Status = "Delete in progress"
	r := newRig(t, awstest.Spec{LaunchTemplates: templates, Groups: []awstest.Group{small("g", 1, 10, 2), doomed}})
	refused(t, r.setDesired("g", 11), "ValidationError",
		"New SetDesiredCapacity value 11 is above max value 10 for the AutoScalingGroup.")
	refused(t, r.setDesired("g", 0), "ValidationError",
		"New SetDesiredCapacity value 0 is below min value 1 for the AutoScalingGroup.")
	refused(t, r.setDesired("missing", 1), "ValidationError", "AutoScalingGroup name not found - null")
	refused(t, r.setDesired("doomed", 2), "ScalingActivityInProgress", "")
	if g := r.group("g"); *g.DesiredCapacity != 2 {
		t.Errorf("refusals left the desired capacity at %d", *g.DesiredCapacity)
	}
	if err := r.setDesired("g", 5); err != nil {
		t.Fatal(err)
	}
	if g := r.group("g"); *g.DesiredCapacity != 5 {
		t.Errorf("the desired capacity is %d", *g.DesiredCapacity)
	}
}

func TestTerminateInstance(t *testing.T) {
	r := newRig(t, awstest.Spec{
		Timing:          awstest.Timing{End: time.Minute, Boot: time.Minute},
		LaunchTemplates: templates,
		Groups:          []awstest.Group{small("g", 2, 10, 3), small("other", 0, 3, 1)},
	})
	state, _ := r.cloud.Group("g")
	ids := state.Live()
	refused(t, r.terminate("i-0missing", true), "ValidationError",
		"Instance Id not found - No managed instance found for instance ID: i-0missing")

	if err := r.terminate(ids[0], true); err != nil {
		t.Fatal(err)
	}
	if g := r.group("g"); *g.DesiredCapacity != 2 || r.states("g") != "map[InService:2 Terminating:1]" {
		t.Errorf("after a termination with decrement: desired %d, %s", *g.DesiredCapacity, r.states("g"))
	}
	refused(t, r.terminate(ids[1], true), "ValidationError", "Currently, desiredSize equals minSize (2). Terminating "+
		"instance without replacement will violate group's min size constraint. Either set shouldDecrementDesiredCapacity "+
		"flag to false or lower group's min size.")
	r.pass(time.Minute)
	if got := r.states("g"); got != "map[InService:2]" {
		t.Errorf("a minute later: %s", got)
	}
	refused(t, r.terminate(ids[0], false), "ValidationError",
		"Instance Id not found - No managed instance found for instance ID: "+ids[0])

	// Without the decrement another one comes.
	if err := r.terminate(ids[1], false); err != nil {
		t.Fatal(err)
	}
	if g := r.group("g"); *g.DesiredCapacity != 2 || r.states("g") != "map[InService:1 Pending:1 Terminating:1]" {
		t.Errorf("after a termination without decrement: desired %d, %s", *g.DesiredCapacity, r.states("g"))
	}
	r.pass(time.Minute)
	if got := r.states("g"); got != "map[InService:2]" {
		t.Errorf("a minute later: %s", got)
	}
}

// AWS says of no instance that it was named before: each call takes one more off
// the desired capacity.
func TestATerminationThatIsRepeatedDecrementsAgain(t *testing.T) {
	r := newRig(t, awstest.Spec{
		Timing:          awstest.Timing{TerminatingWait: time.Hour},
		LaunchTemplates: templates,
		Groups:          []awstest.Group{small("g", 0, 10, 4)},
	})
	state, _ := r.cloud.Group("g")
	for range 2 {
		if err := r.terminate(state.Live()[0], true); err != nil {
			t.Fatal(err)
		}
	}
	if g := r.group("g"); *g.DesiredCapacity != 2 || r.states("g") != "map[InService:2 Terminating:Wait:2]" {
		t.Errorf("the same instance twice: desired %d, %s", *g.DesiredCapacity, r.states("g"))
	}
}
