package aws

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// These are troubles that users of node autoscalers have had on AWS, by the
// number of the issue, as far as they are a provider's and no other file has them.

// TestIdsOfOthersBelongToNoGroup: hybrid nodes, Fargate nodes and groups that are not configured exist
// beside the nodes of AWS. Their ids cause no error, and no request about them is made to AWS.
// (kubernetes/autoscaler 604, 790, 7540, 8045)
func TestIdsOfOthersBelongToNoGroup(t *testing.T) {
	w := newWorld(t, threeOf(), byTag)
	id := w.liveOf(t)[0]
	result, err := w.remove(t, "eks-hybrid:///us-east-1/prod/mi-0123", "fargate-ip-10-0-0-1.ec2.internal",
		"aws:///us-east-1a/x/ip-10-0-0-2", "i-placeholder-g-1", id)
	if err != nil || result.Target != 2 || w.Count("TerminateInstanceInAutoScalingGroup") != 1 ||
		slices.Contains(w.liveOf(t), id) {
		t.Errorf("%+v, %v, %d calls", result, err, w.Count("TerminateInstanceInAutoScalingGroup"))
	}
}

// TestMoreInstancesThanTheTargetCanGo: a user has lowered the maximum and the desired capacity, and
// AWS ends no instance since all are protected. Those above the target are removed without lowering
// it further. (kubernetes/autoscaler 5728)
func TestMoreInstancesThanTheTargetCanGo(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) { g.Desired, g.ProtectNew, g.Min = 5, true, 1 }), byTag)
	if err := w.Change(func(s *awstest.Spec) { s.Groups[0].Max, s.Groups[0].Desired = 2, 2 }); err != nil {
		t.Fatal(err)
	}
	if g := w.group(t, "g"); g.Target != 2 || g.Max != 2 || len(g.Instances) != 5 || g.Err != nil {
		t.Fatalf("target %d of %d, %d instances, %v", g.Target, g.Max, len(g.Instances), g.Err)
	}
	ids := w.liveOf(t)
	for _, c := range []struct {
		doomed []string
		target int
	}{{ids[:2], 2}, {ids[2:4], 1}} {
		result, err := w.remove(t, c.doomed...)
		if err != nil || result.Target != c.target || w.desired(t) != c.target {
			t.Errorf("%v: %+v, %v, desired %d, want %d", c.doomed, result, err, w.desired(t), c.target)
		}
	}
	w.clock.pass(time.Hour)
	if live := w.liveOf(t); !slices.Equal(live, ids[4:]) {
		t.Errorf("of %v, %v are left", ids, live)
	}
	if _, err := w.remove(t, ids[4]); err == nil || provider.AsError("", "", err).Kind != provider.Limit {
		t.Errorf("below the minimum: %v", err)
	}
}

// TestAGroupBelowItsMinimumInAStockOut shows what there is, and is held for as
// long as AWS has none. (kubernetes/autoscaler 5000, 6645, 9043)
func TestAGroupBelowItsMinimumInAStockOut(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) { g.Min, g.ProtectNew = 3, true }), byTag)
	w.read(t)
	if err := w.SetStockOuts(awstest.StockOut{Group: "g"}); err != nil {
		t.Fatal(err)
	}
	for _, id := range w.liveOf(t)[:2] { // the spot market takes them back
		if err := w.Kill(id); err != nil {
			t.Fatal(err)
		}
	}
	w.clock.pass(time.Second)
	g := w.group(t, "g")
	if h := growHold(g); g.Target != 3 || len(g.Instances) != 1 || h == nil || h.Reason != string(provider.NoCapacity) {
		t.Errorf("target %d, %d instances, %+v", g.Target, len(g.Instances), g.Holds)
	}
	if r, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 3, To: 0}); err != nil || r.Target != 3 {
		t.Errorf("the minimum is taken back: %+v, %v", r, err)
	}
	if err := w.SetStockOuts(); err != nil {
		t.Fatal(err)
	}
	w.clock.pass(2 * time.Minute)
	if g := w.group(t, "g"); growHold(g) != nil || len(g.Instances) != 3 {
		t.Errorf("when AWS has some again: %d instances, %+v", len(g.Instances), g.Holds)
	}
}

// TestUnregisteredInstancesGoOneByOne: the removal of each is requested again at every look until
// it is gone, and no healthy instance ends. (kubernetes/autoscaler 6795)
func TestUnregisteredInstancesGoOneByOne(t *testing.T) {
	w := newWorld(t, threeOf(func(g *awstest.Group) {
		g.Desired, g.Timing = 5, &awstest.Timing{
			TerminatingWait: 30 * time.Second, End: 30 * time.Second, Linger: 30 * time.Second,
		}
	}), byTag)
	ids := w.liveOf(t)
	for _, doomed := range [][]string{ids[:1], ids[:2], ids[1:2]} {
		for range 5 {
			result, err := w.remove(t, doomed...)
			if err != nil || result.Instances[0].Err != nil || result.Target != w.desired(t) {
				t.Errorf("%+v, %v, desired %d", result, err, w.desired(t))
			}
			w.clock.pass(20 * time.Second)
		}
	}
	w.clock.pass(time.Hour)
	if live := w.liveOf(t); !slices.Equal(live, ids[2:]) || w.desired(t) != 3 ||
		w.Count("TerminateInstanceInAutoScalingGroup") != 2 {
		t.Errorf("of %v, %v are left; desired %d, %d calls",
			ids, live, w.desired(t), w.Count("TerminateInstanceInAutoScalingGroup"))
	}
}

// TestAReplacementIsNoGrowth: AWS takes a spot machine back and launches another
// by itself; the target says so all the time. (kubernetes/autoscaler 4071)
func TestAReplacementIsNoGrowth(t *testing.T) {
	w := newWorld(t,
		threeOf(func(g *awstest.Group) { g.Timing = &awstest.Timing{Decide: time.Minute, Launch: time.Minute} }), byTag)
	lost := w.liveOf(t)[0]
	if err := w.Kill(lost); err != nil {
		t.Fatal(err)
	}
	if g := w.group(t, "g"); g.Target != 3 || len(g.Instances) != 2 || len(g.Holds) > 0 {
		t.Errorf("target %d, %d instances, %+v", g.Target, len(g.Instances), g.Holds)
	}
	if _, err := w.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 2, To: 3}); err == nil ||
		!strings.Contains(err.Error(), "the target is 3, not 2") {
		t.Errorf("a growth to what is on its way already: %v", err)
	}
	w.clock.pass(time.Hour)
	if g := w.group(t, "g"); g.Target != 3 || len(g.Instances) != 3 {
		t.Errorf("target %d, %d instances", g.Target, len(g.Instances))
	}
}
