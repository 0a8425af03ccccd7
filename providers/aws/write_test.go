package aws

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// plain is one group of three instances; edit changes it.
func threeOf(edit ...func(*awstest.Group)) awstest.Spec {
	edit = append([]func(*awstest.Group){func(g *awstest.Group) { g.Desired = 3 }}, edit...)
	return awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g", edit...)}}
}

func (w *world) remove(t *testing.T, ids ...string) (provider.RemoveResult, error) {
	t.Helper()
	req := provider.RemoveRequest{Group: "g"}
	for _, id := range ids {
		req.Instances = append(req.Instances, provider.InstanceID(id))
	}
	return w.Remove(t.Context(), req)
}

func (w *world) desired(t *testing.T) int {
	t.Helper()
	state, _ := w.Cloud.Group("g")
	return state.Desired
}

// TestWhatEndsAlreadyIsNotEndedTwice: each call for it would lower the desired
// capacity once more. (kubernetes/autoscaler 4095, 5411)
func TestWhatEndsAlreadyIsNotEndedTwice(t *testing.T) {
	for _, state := range []string{
		awstest.Terminating, awstest.TerminatingWait, awstest.TerminatingProceed, awstest.Terminated,
	} {
		w := newWorld(t, threeOf(), byTag)
		id := w.liveOf(t)[0]
		if err := w.SetState(id, state); err != nil {
			t.Fatal(err)
		}
		result, err := w.remove(t, id)
		if err != nil || result.Instances[0].Err != nil || w.desired(t) != 3 ||
			w.Count("TerminateInstanceInAutoScalingGroup") != 0 {
			t.Errorf("%s: %+v, %v, desired %d", state, result, err, w.desired(t))
		}
	}
}

// TestAWriteWithoutAnAnswerIsNotRepeated by the SDK either: a second end of the
// same instance would cost another machine.
func TestAWriteWithoutAnAnswerIsNotRepeated(t *testing.T) {
	for _, mishap := range []awstest.Mishap{awstest.ServerError, awstest.Cut, awstest.Unavailable} {
		w := newWorld(t, threeOf(), byTag)
		id := w.liveOf(t)[0]
		w.Arm(awstest.Fault{Action: "TerminateInstanceInAutoScalingGroup", Mishap: mishap, After: true})
		result, err := w.remove(t, id)
		if err != nil || result.Instances[0].Err == nil || !result.Instances[0].Err.MayHaveHappened {
			t.Errorf("%s: %+v, %v", mishap, result, err)
		}
		if n := w.Count("TerminateInstanceInAutoScalingGroup"); n != 1 || w.desired(t) != 2 {
			t.Errorf("%s: %d calls, desired %d", mishap, n, w.desired(t))
		}
		w.Arm(awstest.Fault{Action: "SetDesiredCapacity", Mishap: mishap})
		_, err = w.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 2, To: 4})
		if e := provider.AsError("", "", err); err == nil || !e.MayHaveHappened || w.Count("SetDesiredCapacity") != 1 {
			t.Errorf("%s: %v, %d calls", mishap, err, w.Count("SetDesiredCapacity"))
		}
	}
}

// TestWhatVanishesInBetweenLowersNothing: AWS knows the instance no more, so that
// it has lowered no desired capacity for it.
func TestWhatVanishesInBetweenLowersNothing(t *testing.T) {
	w := newWorld(t, threeOf(), byTag)
	ids := w.liveOf(t)
	w.Arm(awstest.Fault{Action: "TerminateInstanceInAutoScalingGroup", On: "g", Times: 1, Met: func() {
		if err := w.Kill(ids[0]); err != nil {
			t.Error(err)
		}
	}})
	result, err := w.remove(t, ids[0], ids[1])
	if err != nil || result.Instances[0].Err != nil || result.Instances[1].Err != nil {
		t.Fatalf("%+v, %v", result, err)
	}
	if result.Target != 2 || w.desired(t) != 2 {
		t.Errorf("the result's target is %d, and the desired capacity %d", result.Target, w.desired(t))
	}
}

// TestThrottledWritesAreRepeated: AWS has done nothing, and says so.
func TestThrottledWritesAreRepeated(t *testing.T) {
	w := newWorld(t, threeOf(), byTag)
	w.Arm(awstest.Fault{Action: "SetDesiredCapacity", Mishap: awstest.Throttled, Times: 1})
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 3, To: 4}); err != nil || w.desired(t) != 4 {
		t.Errorf("%v, desired %d", err, w.desired(t))
	}
}

// TestErrorKinds: AWS's refusals in the contract's words, of reads and writes.
func TestErrorKinds(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	for _, c := range []struct {
		fault   awstest.Fault
		want    provider.Kind
		unknown bool
	}{
		{awstest.Fault{Mishap: awstest.Throttled}, provider.Throttled, false},
		{awstest.Fault{Mishap: awstest.Denied}, provider.Denied, false},
		{awstest.Fault{Mishap: awstest.ExpiredToken}, provider.Credentials, false},
		{awstest.Fault{Mishap: awstest.BadCredentials}, provider.Credentials, false},
		{awstest.Fault{Mishap: awstest.Busy}, provider.Transient, false},
		{awstest.Fault{Mishap: awstest.ServerError}, provider.Unavailable, true},
		{awstest.Fault{Mishap: awstest.Unavailable}, provider.Unavailable, true},
		{awstest.Fault{Mishap: awstest.Cut}, provider.Unavailable, true},
		{awstest.Fault{Mishap: awstest.Truncated}, provider.Unavailable, true},
		{awstest.Fault{Mishap: awstest.Answer, Status: 400, Code: "LimitExceeded", Message: "too many"}, provider.Quota, false},
		{awstest.Fault{Mishap: awstest.Answer, Status: 400, Code: "ValidationError", Message: "New SetDesiredCapacity value 9 is above max value 8 for the AutoScalingGroup."}, provider.Limit, false},
		{awstest.Fault{Mishap: awstest.Answer, Status: 400, Code: "ValidationError", Message: "AutoScalingGroup name not found - null"}, provider.NotFound, false},
		{awstest.Fault{Mishap: awstest.Answer, Status: 400, Code: "ValidationError", Message: "nonsense"}, provider.BadConfig, false},
		{awstest.Fault{Mishap: awstest.Answer, Status: 400, Code: "SomethingNew", Message: "what?"}, provider.Transient, false},
	} {
		w := newWorld(t, threeOf(), byTag)
		c.fault.Action = "SetDesiredCapacity"
		w.Arm(c.fault)
		_, err := w.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 3, To: 4})
		if e := provider.AsError("", "", err); err == nil || e.Kind != c.want || e.MayHaveHappened != c.unknown ||
			e.Group != "g" {
			t.Errorf("%s %s: %v; want %s, may have happened %v", c.fault.Mishap, c.fault.Code, err, c.want, c.unknown)
		}
		if c.fault.Mishap == awstest.Truncated {
			continue // a read cut short is a failed one; its kind is as above
		}
		c.fault.Action = "DescribeAutoScalingGroups"
		w.Arm(c.fault)
		_, err = w.Inventory(t.Context())
		if e := provider.AsError("", "", err); err == nil || e.Kind != c.want || e.MayHaveHappened {
			t.Errorf("%s %s of a read: %v; want %s", c.fault.Mishap, c.fault.Code, err, c.want)
		}
	}
}

// TestHintsTellWhatToDo about what only a person can mend.
func TestHintsTellWhatToDo(t *testing.T) {
	w := newWorld(t, threeOf(), byTag)
	w.Arm(awstest.Fault{Action: "SetDesiredCapacity", Mishap: awstest.Denied})
	_, err := w.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 3, To: 4})
	if err == nil || !strings.Contains(err.Error(), "docs/aws.md") ||
		!strings.Contains(err.Error(), "set the desired capacity to 4") {
		t.Errorf("%v", err)
	}
}

// TestInstancesThatAreKept: in Standby, and protected one by one; by the group's
// own setting they are not.
func TestInstancesThatAreKept(t *testing.T) {
	w := newWorld(t, threeOf(), byTag)
	ids := w.liveOf(t)
	if err := w.SetState(ids[0], "Standby"); err != nil {
		t.Fatal(err)
	}
	if err := w.Protect(ids[1], true); err != nil {
		t.Fatal(err)
	}
	g := w.group(t, "g")
	for _, i := range g.Instances {
		if held := string(i.ID) == ids[0] || string(i.ID) == ids[1]; (i.Hold != "") != held {
			t.Errorf("%s: hold %q", i.ID, i.Hold)
		}
	}
	desired := w.desired(t)
	if g.Target != desired+1 { // the one in Standby is not counted by AWS
		t.Errorf("target %d, with a desired capacity of %d and one in Standby", g.Target, desired)
	}
	result, err := w.remove(t, ids[0], ids[1])
	if err != nil || result.Instances[0].Err == nil || result.Instances[1].Err == nil || w.desired(t) != desired {
		t.Errorf("%+v, %v", result, err)
	}
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: "g", From: desired + 1, To: desired + 2}); err != nil ||
		w.desired(t) != desired+1 {
		t.Errorf("growing beside one in Standby: %v, desired %d", err, w.desired(t))
	}

	w = newWorld(t, threeOf(func(g *awstest.Group) { g.ProtectNew = true }), byTag)
	for _, i := range w.group(t, "g").Instances {
		if i.Hold != "" {
			t.Errorf("all are protected, and %s is held: %s", i.ID, i.Hold)
		}
	}
	if result, err := w.remove(t, w.liveOf(t)[0]); err != nil || result.Instances[0].Err != nil {
		t.Errorf("%+v, %v", result, err)
	}
}

// TestLifecycleStates, all of them: instances of a warm pool do not belong to the group, and
// instances in unknown states are left alone.
func TestLifecycleStates(t *testing.T) {
	for state, want := range map[string]provider.State{
		"Pending": provider.Creating, "Pending:Wait": provider.Creating, "Pending:Proceed": provider.Creating,
		"InService":   provider.Running,
		"Terminating": provider.Deleting, "Terminating:Wait": provider.Deleting,
		"Terminating:Proceed": provider.Deleting, "Terminating:Retained": provider.Deleting,
		"Detaching": provider.Deleting, "Standby": provider.Running, "EnteringStandby": provider.Running,
		"Quarantined": provider.Running, "ReplacingRootVolume": provider.Running,
		"Terminated": "", "Detached": "", "Warmed:Stopped": "", "Warmed:Running": "", "Warmed:Pending:Wait": "",
		"Warmed:Hibernated": "", "Warmed:Terminating": "",
	} {
		w := newWorld(t, threeOf(), byTag)
		id := w.liveOf(t)[0]
		if err := w.SetState(id, state); err != nil {
			t.Fatal(err)
		}
		instances := w.group(t, "g").Instances
		at := slices.IndexFunc(instances, func(i provider.Instance) bool { return string(i.ID) == id })
		if (at >= 0) != (want != "") || at >= 0 && instances[at].State != want {
			t.Errorf("%s: %d of %+v, want %q", state, at, instances, want)
		}
	}
}

// TestTheAutoScalingGroupsOwnMinimum: no removal goes below it, forced or not.
func TestTheAutoScalingGroupsOwnMinimum(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) { g.Min = 3 }), byTag)
	id := w.liveOf(t)[0]
	_, err := w.remove(t, id)
	if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Limit {
		t.Errorf("unforced: %v", err)
	}
	result, err := w.Remove(t.Context(), provider.RemoveRequest{
		Group: "g", Instances: []provider.InstanceID{provider.InstanceID(id)}, Force: true,
	})
	if err != nil || result.Instances[0].Err == nil || result.Instances[0].Err.Kind != provider.Limit ||
		result.Instances[0].Err.MayHaveHappened || result.Target != 3 {
		t.Errorf("forced: %+v, %v", result, err)
	}
}

// TestWeightedCapacityIsUnsupported, of every form.
func TestWeightedCapacityIsUnsupported(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) {
		g.Desired, g.LaunchTemplate = 4, nil
		g.MixedInstances = &awstest.MixedInstances{
			Template: *template(""), Overrides: []awstest.Override{{InstanceType: "m5.large", Weight: "2"}},
		}
	}), byTag)
	g := w.group(t, "g")
	held := map[provider.Op]bool{}
	for _, h := range g.Holds {
		held[h.Op] = h.Reason == string(provider.Unsupported)
	}
	if !held[provider.OpGrow] || !held[provider.OpRemove] || !held[provider.OpCancel] || g.Target != len(g.Instances) {
		t.Errorf("%+v", g)
	}
	_, err := w.remove(t, string(g.Instances[0].ID))
	if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Unsupported {
		t.Errorf("%v", err)
	}
}

// TestAWeightOfOneIsNone.
func TestAWeightOfOneIsNone(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) {
		g.LaunchTemplate = nil
		g.MixedInstances = &awstest.MixedInstances{
			Template: *template(""), Overrides: []awstest.Override{{InstanceType: "m5.large", Weight: "1"}},
		}
	}), byTag)
	w.grow(t, "g", 4)
	if g := w.group(t, "g"); len(g.Holds) > 0 || g.Target != 4 {
		t.Errorf("target %d, holds %+v", g.Target, g.Holds)
	}
}

// TestGroupsThatAreHeld by AWS or by people.
func TestGroupsThatAreHeld(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) { g.Suspended = []string{"AZRebalance", "Launch"} }), byTag)
	if h := growHold(w.group(t, "g")); h == nil || h.Reason != holdLaunchSuspended ||
		!strings.Contains(h.Message, "resume-processes") {
		t.Errorf("%+v", h)
	}
	w = newWorld(t, threeOf(func(g *awstest.Group) { g.Suspended = []string{"AZRebalance"} }), byTag)
	if g := w.group(t, "g"); len(g.Holds) > 0 {
		t.Errorf("%+v", g.Holds)
	}
	w = newWorld(t, threeOf(func(g *awstest.Group) { g.Status = "Delete in progress" }), byTag)
	if g := w.group(t, "g"); len(g.Holds) != 3 {
		t.Errorf("%+v", g.Holds)
	}
}

// TestProviderIDsAreTheNodes, as the cloud's controllers write them.
func TestProviderIDsAreTheNodes(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) { g.Zones = []string{"us-east-1c"} }), byTag)
	for _, i := range w.group(t, "g").Instances {
		if i.ProviderID != "aws:///us-east-1c/"+string(i.ID) || i.Zone != "us-east-1c" {
			t.Errorf("%+v", i)
		}
	}
}

// TestDeletionWhileAWSLaunches: removing one while others are being launched ends that one and no other.
func TestDeletionWhileAWSLaunches(t *testing.T) {
	spec := threeOf()
	spec.Timing = awstest.Timing{Decide: time.Second, Launch: 10 * time.Second, Boot: 30 * time.Second}
	for at := range 8 {
		w := newWorld(t, spec, byTag)
		ids := w.liveOf(t)
		w.grow(t, "g", 6)
		w.clock.pass(time.Duration(at) * 6 * time.Second)
		if result, err := w.remove(t, ids[0]); err != nil || result.Instances[0].Err != nil || result.Target != 5 {
			t.Fatalf("%+v, %v", result, err)
		}
		w.clock.pass(10 * time.Minute)
		live := w.liveOf(t)
		if len(live) != 5 || slices.Contains(live, ids[0]) || !slices.Contains(live, ids[1]) ||
			!slices.Contains(live, ids[2]) {
			t.Errorf("at %d s: of %v, %v are left", at*6, ids, live)
		}
	}
}

// TestDeadlines: a slow AWS does not make a call late.
func TestDeadlines(t *testing.T) {
	w := newWorld(t, threeOf(), byTag)
	w.Arm(awstest.Fault{Mishap: awstest.Hang})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := w.Inventory(ctx)
	if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Unavailable {
		t.Errorf("%v", err)
	}
	_, err = w.Grow(ctx, provider.GrowRequest{Group: "g", From: 3, To: 4})
	if e := provider.AsError("", "", err); err == nil || !e.MayHaveHappened {
		t.Errorf("%v", err)
	}
}

// TestAnOutageOfAWS of five minutes: each read is an error, no write is made, and
// afterwards everything is as it was.
func TestAnOutageOfAWS(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	spec := threeOf()
	spec.StockOuts = []awstest.StockOut{{Group: "g"}}
	w := newWorld(t, spec, byTag)
	w.grow(t, "g", 5)
	before := w.group(t, "g")
	w.Arm(awstest.Fault{Mishap: awstest.Unavailable})
	for range 10 {
		w.clock.pass(30 * time.Second)
		if inv, err := w.Inventory(t.Context()); err == nil || len(inv.Groups) > 0 {
			t.Fatalf("%d groups, %v", len(inv.Groups), err)
		}
		if _, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 5, To: 0}); err == nil ||
			provider.AsError("", "", err).MayHaveHappened {
			t.Errorf("%v", err)
		}
		if _, err := w.remove(t, string(before.Instances[0].ID)); err == nil ||
			provider.AsError("", "", err).MayHaveHappened {
			t.Errorf("%v", err)
		}
	}
	w.ClearFaults()
	after := w.group(t, "g")
	if after.Target != 5 || len(after.Instances) != 3 || after.Template == nil ||
		after.Template.Version != before.Template.Version || !after.TargetSince.Equal(before.TargetSince) {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
