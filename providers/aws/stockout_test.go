package aws

import (
	"strings"
	"testing"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

func growHold(g provider.Group) *provider.Hold {
	for i := range g.Holds {
		if g.Holds[i].Op == provider.OpGrow {
			return &g.Holds[i]
		}
	}
	return nil
}

func (w *world) grow(t *testing.T, name string, to int) {
	t.Helper()
	from := w.group(t, name).Target
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: provider.GroupID(name), From: from, To: to}); err != nil {
		t.Fatal(err)
	}
}

// TestAStockOutHoldsTheGroupAtOnce, names the zone, makes nothing up, and ends
// when AWS has machines again.
func TestAStockOutHoldsTheGroupAtOnce(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{
		named("a", func(g *awstest.Group) { g.Zones, g.Desired = []string{"us-east-1a"}, 1 }),
		named("b", func(g *awstest.Group) { g.Zones = []string{"us-east-1b"} }),
	}, StockOuts: []awstest.StockOut{{Zone: "us-east-1a"}}}, byTag)
	if g := w.group(t, "a"); len(g.Holds) > 0 {
		t.Errorf("held before anything was asked for: %+v", g.Holds)
	}
	w.grow(t, "a", 4)
	w.clock.pass(time.Second)
	g := w.group(t, "a")
	h := growHold(g)
	if h == nil || h.Reason != string(provider.NoCapacity) || !strings.Contains(h.Message, "us-east-1a") ||
		!h.Until.After(w.clock.now()) {
		t.Fatalf("%+v", g.Holds)
	}
	if g.Target != 4 || len(g.Instances) != 1 {
		t.Errorf("target %d, instances %v", g.Target, g.Instances)
	}
	if h := growHold(w.group(t, "b")); h != nil {
		t.Errorf("the other zone is held: %+v", h)
	}
	if err := w.SetStockOuts(); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(2 * time.Minute)
	if g := w.group(t, "a"); growHold(g) != nil || len(g.Instances) != 4 {
		t.Errorf("when AWS has some again: %d instances, %+v", len(g.Instances), g.Holds)
	}
}

// TestOldFailuresHoldNoGroup: those before this process began, and those before the last scale-up.
func TestOldFailuresHoldNoGroup(t *testing.T) {
	spec := awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g")},
		StockOuts: []awstest.StockOut{{Group: "g"}}, Timing: awstest.Timing{Retry: time.Hour}}
	w := newWorld(t, spec, byTag)
	w.grow(t, "g", 2)
	if growHold(w.group(t, "g")) == nil {
		t.Fatal("it is not held")
	}
	w.clock.pass(time.Minute) // Plimsoll restarts
	w.memory = newMemory(w.clock.now())
	if h := growHold(w.group(t, "g")); h != nil {
		t.Errorf("held after a restart, for a failure of before: %+v", h)
	}
	if err := w.SetStockOuts(); err != nil {
		t.Fatal(err)
	}
	w.grow(t, "g", 3)
	if h := growHold(w.group(t, "g")); h != nil {
		t.Errorf("held for a failure before the last growth: %+v", h)
	}
}

// TestAHoldEnds by time, and outlives what was asked for.
func TestAHoldEnds(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5, Groups: []awstest.Group{named("g")}, StockOuts: []awstest.StockOut{{Group: "g"}},
	}, byTag)
	w.grow(t, "g", 2)
	if growHold(w.group(t, "g")) == nil {
		t.Fatal("it is not held")
	}
	if err := w.SetDesired("g", 0); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(time.Minute)
	if growHold(w.group(t, "g")) == nil {
		t.Error("it is not held any more, and AWS has no more than before")
	}
	w.clock.pass(restAfterFailure)
	if h := growHold(w.group(t, "g")); h != nil {
		t.Errorf("still held: %+v", h)
	}
}

// TestALaterFailureIsANewHold: where AWS tries again after the first hold is over, the failure of
// that try is a new one. A failure within a hold belongs to it.
func TestALaterFailureIsANewHold(t *testing.T) {
	for _, c := range []struct {
		retry time.Duration
		again bool
	}{{6 * time.Minute, true}, {4 * time.Minute, false}} {
		w := newWorld(t, awstest.Spec{
			LaunchTemplates: m5,
			Groups:          []awstest.Group{named("g")},
			StockOuts:       []awstest.StockOut{{Group: "g"}},
			Timing:          awstest.Timing{Retry: c.retry},
		}, byTag)
		w.grow(t, "g", 2)
		first := growHold(w.group(t, "g"))
		if first == nil {
			t.Fatal("it is not held")
		}
		w.clock.pass(c.retry + time.Second)
		for range 2 { // the second read of a failure says the same
			if h := growHold(w.group(t, "g")); h == nil || h.Since.After(first.Since) != c.again {
				t.Errorf("AWS tries again after %s: first %+v, then %+v", c.retry, first, h)
			}
		}
	}
}

// TestWhyALaunchFailed reads AWS's sentences.
func TestWhyALaunchFailed(t *testing.T) {
	for text, want := range map[string]provider.Kind{
		"We currently do not have sufficient m5.large capacity in the Availability Zone you requested (us-east-1a). Launching EC2 instance failed.": provider.NoCapacity,
		"Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have sufficient p5.48xlarge capacity.":            provider.NoCapacity,
		"Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request configuration.":                    provider.NoCapacity,
		"There is no Spot capacity available that matches your request. Launching EC2 instance failed.":                                             provider.NoCapacity,
		"Your requested instance type (g5.xlarge) is not supported in your requested Availability Zone (us-east-1e). ":                              provider.NoCapacity,
		"You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket.":                                  provider.Quota,
		"Could not launch Spot Instances. MaxSpotInstanceCountExceeded - Max spot instance count exceeded.":                                         provider.Quota,
		"There are not enough free addresses in subnet 'subnet-1' to satisfy the requested number of instances.":                                    provider.NoCapacity,
		"Server.InsufficientInstanceCapacity: Insufficient capacity. Launching EC2 instance failed.":                                                provider.NoCapacity,
		"Server.InsufficientHostCapacity. Launching EC2 instance failed.":                                                                           provider.NoCapacity,
		"Client.InstanceLimitExceeded: Your request was refused. Launching EC2 instance failed.":                                                    provider.Quota,
		"Client.VolumeLimitExceeded": provider.Quota,
		"Server.InternalError: Internal error on launch. Launching EC2 instance failed.": provider.Transient,
		"Client.InternalError: Client error on launch":                                   provider.BadConfig,
		"The image id '[ami-1]' does not exist. Launching EC2 instance failed.":          provider.BadConfig,
		"You are not authorized to use launch template: lt-1":                            provider.BadConfig,
	} {
		if got := kindOfFailure(asgtypes.Activity{StatusMessage: ptr(text)}); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if zone := zoneOf(asgtypes.Activity{
		StatusMessage: ptr("not supported in your requested Availability Zone (us-east-1e)."),
	}); zone != "us-east-1e" {
		t.Errorf("zone %q", zone)
	}
	if zone := zoneOf(asgtypes.Activity{
		Details: ptr(`{"Subnet ID":"s","Availability Zone":"us-west-2-lax-1a"}`),
	}); zone != "us-west-2-lax-1a" {
		t.Errorf("zone %q", zone)
	}
}

// TestATransientFailureIsNoStockOut: it says nothing of what AWS has, and hides
// nothing that an earlier one has said.
func TestATransientFailureIsNoStockOut(t *testing.T) {
	asked := newClock().now()
	failed := func(at time.Duration, text string) asgtypes.Activity {
		return asgtypes.Activity{StartTime: ptr(asked.Add(at)), StatusCode: "Failed",
			Description: ptr("Launching a new EC2 instance"), StatusMessage: ptr(text)}
	}
	internal := failed(2*time.Second, "Server.InternalError: Internal error on launch")
	if got := stockOutOf([]asgtypes.Activity{internal}, asked); got != nil {
		t.Errorf("%+v", got)
	}
	if got := stockOutOf(
		[]asgtypes.Activity{internal, failed(time.Second, "do not have sufficient")}, asked,
	); got == nil || got.kind != provider.NoCapacity {
		t.Errorf("after a stock-out: %+v", got)
	}
}

// TestAClockAheadOfAWSHidesNothing: some seconds are forgiven. A failure counts
// then as one of the moment of the ask, which the caller asked at or before.
func TestAClockAheadOfAWSHidesNothing(t *testing.T) {
	for ahead, want := range map[time.Duration]bool{
		0: true, 3 * time.Second: true, clockSlack: true, clockSlack + 2*time.Second: false,
	} {
		w := newWorld(t, awstest.Spec{
			LaunchTemplates: m5,
			Groups:          []awstest.Group{named("g")},
			StockOuts:       []awstest.StockOut{{Group: "g"}},
			Timing:          awstest.Timing{Retry: time.Hour},
		}, byTag)
		w.Provider.useClock(func() time.Time { return w.clock.now().Add(ahead) })
		asked := w.Provider.now()
		w.grow(t, "g", 2)
		w.clock.pass(time.Second)
		h := growHold(w.group(t, "g"))
		if (h != nil) != want {
			t.Errorf("ahead by %s: %+v", ahead, h)
		}
		if h != nil && h.Since.Before(asked) {
			t.Errorf("ahead by %s: held since %s, before the ask at %s", ahead, h.Since, asked)
		}
	}
}

// TestOnlyLaunchesCount, and the newest of them.
func TestOnlyLaunchesCount(t *testing.T) {
	asked := newClock().now()
	act := func(at time.Duration, status asgtypes.ScalingActivityStatusCode, text string) asgtypes.Activity {
		return asgtypes.Activity{StartTime: ptr(asked.Add(at)), StatusCode: status, Description: ptr(text),
			StatusMessage: ptr("do not have sufficient")}
	}
	launching, ending := "Launching a new EC2 instance", "Terminating EC2 instance: i-1"
	for name, c := range map[string]struct {
		list []asgtypes.Activity
		want bool
	}{
		"none":               {nil, false},
		"failed":             {[]asgtypes.Activity{act(time.Second, "Failed", launching)}, true},
		"an end that failed": {[]asgtypes.Activity{act(time.Second, "Failed", ending)}, false},
		"before":             {[]asgtypes.Activity{act(-12*time.Second, "Failed", launching)}, false},
		"in the same second": {[]asgtypes.Activity{act(0, "Failed", launching)}, true},
		"then a success":     {[]asgtypes.Activity{act(2*time.Second, "Successful", launching), act(time.Second, "Failed", launching)}, false},
		"then another try":   {[]asgtypes.Activity{act(2*time.Second, "PreInService", launching), act(time.Second, "Failed", launching)}, false},
		"after a success":    {[]asgtypes.Activity{act(2*time.Second, "Failed", launching), act(time.Second, "Successful", launching)}, true},
		"cancelled":          {[]asgtypes.Activity{act(2*time.Second, "Cancelled", launching), act(time.Second, "Failed", launching)}, true},
	} {
		if got := stockOutOf(c.list, asked.Add(300*time.Millisecond)); (got != nil) != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestActivitiesThatCannotBeRead hold up nothing, and are reported.
func TestActivitiesThatCannotBeRead(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5, Groups: []awstest.Group{named("g")}, StockOuts: []awstest.StockOut{{Group: "g"}},
	}, byTag)
	w.grow(t, "g", 2)
	w.Arm(awstest.Fault{Action: "DescribeScalingActivities", Mishap: awstest.Denied})
	inv := w.read(t)
	if g := groupIn(t, inv, "g"); g.Err != nil || growHold(g) != nil || len(noticesOf(inv, noticeNoActivities)) != 1 {
		t.Errorf("%+v, %v", g, inv.Notices)
	}
}
