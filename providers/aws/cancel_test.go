package aws

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestNoCancellationEndsAnInstance plays every interleaving of a cancellation
// with launches: those that were decided on, became pending, or went into
// service before it, at each of its calls, or after it. AWS ends the oldest
// instance when there is one too many. (kubernetes/autoscaler issue 10147)
func TestNoCancellationEndsAnInstance(t *testing.T) {
	type moment struct {
		call  int // 0 is before the cancellation
		after bool
	}
	moments := []moment{{}}
	for call := 1; call <= 4; call++ {
		moments = append(moments, moment{call, false}, moment{call, true})
	}
	cancelled := map[bool]int{}
	for _, protected := range []bool{true, false} {
		for _, m := range moments {
			for decided := range 2 {
				for launched := range 4 {
					for booted := range launched + 1 {
						name := fmt.Sprintf("protected=%v/%+v/%d,%d,%d", protected, m, decided, launched, booted)
						t.Run(name, func(t *testing.T) {
							cancelled[protected] += cancelAmidLaunches(t, protected, m.call, m.after, decided, launched, booted)
						})
					}
				}
			}
		}
	}
	if cancelled[true] == 0 {
		t.Error("nothing was ever cancelled, so that nothing was shown")
	}
	if cancelled[false] != 0 {
		t.Error("something was cancelled in a group that AWS ends instances of")
	}
}

func cancelAmidLaunches(t *testing.T, protected bool, call int, after bool, decided, launched, booted int) int {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g", func(g *awstest.Group) { g.Desired, g.ProtectNew = 3, protected })}}, byTag)
	before := w.liveOf(t)
	if err := w.Cloud.Hold("g"); err != nil {
		t.Fatal(err)
	}
	w.grow(t, "g", 6)
	play := func() {
		w.Play("g", awstest.Decide, 1)
		w.Play("g", awstest.Launch, launched)
		w.Play("g", awstest.Boot, booted)
		w.Play("g", awstest.Decide, 5)
	}
	if decided > 0 { // launches that nobody can see are under way already
		w.Play("g", awstest.Decide, 1)
	}
	if call == 0 {
		play()
	} else {
		seen := 0
		w.Arm(awstest.Fault{After: after, Met: func() {
			if seen++; seen == call {
				play()
			}
		}})
	}
	result, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 6, To: 0})
	if err != nil {
		t.Fatal(err)
	}
	w.ClearFaults()
	state, _ := w.Cloud.Group("g")
	if result.Target != state.Desired && result.Target != 6-result.Cancelled {
		t.Errorf("the result is %+v, and the desired capacity %d", result, state.Desired)
	}
	booting := w.liveOf(t)
	if err := w.Release("g"); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	w.clock.pass(time.Hour)
	w.Settle()
	now := w.liveOf(t)
	for _, id := range append(before, booting...) {
		if !slices.Contains(now, id) {
			t.Errorf("the instance %s is ended; %v were there, and %v are left", id, before, now)
		}
	}
	return result.Cancelled
}

func (w *world) liveOf(t *testing.T) []string {
	t.Helper()
	state, ok := w.Cloud.Group("g")
	if !ok {
		t.Fatal("there is no group")
	}
	return state.Live()
}

// TestPendingInstancesAreReal: they are not what can be taken back.
func TestPendingInstancesAreReal(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Timing: awstest.Timing{Boot: time.Hour}, Groups: []awstest.Group{named("g", func(g *awstest.Group) { g.ProtectNew = true })},
		StockOuts: []awstest.StockOut{{Group: "g", Left: 2}}}, byTag)
	w.grow(t, "g", 5)
	w.clock.pass(time.Second)
	if g := w.group(t, "g"); len(g.Instances) != 2 || g.Instances[0].State != provider.Creating {
		t.Fatalf("%+v", g.Instances)
	}
	got, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 5, To: 0})
	if err != nil || got != (provider.CancelResult{Target: 2, Cancelled: 3}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestOneUnprotectedInstanceIsEnough to cancel nothing.
func TestOneUnprotectedInstanceIsEnough(t *testing.T) {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g", func(g *awstest.Group) { g.Desired, g.ProtectNew = 3, true })},
		StockOuts: []awstest.StockOut{{Group: "g"}}}, byTag)
	if err := w.Protect(w.liveOf(t)[1], false); err != nil {
		t.Fatal(err)
	}
	w.grow(t, "g", 5)
	w.ForgetCalls()
	got, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 5, To: 3})
	if err != nil || got.Cancelled != 0 || got.Target != 5 || w.Count("SetDesiredCapacity") != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if n := noticesOf(w.read(t), noticeRequestsStay); len(n) != 1 {
		t.Errorf("a person is not told why what was asked for stays: %v", n)
	}
}
