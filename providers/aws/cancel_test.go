package aws

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// guard is what a group does for its new instances.
type guard struct{ protected, hook bool }

// moment is when launches go on, by the calls of a cancellation.
type moment struct {
	call  int // 0 is before the cancellation
	after bool
}

// amid is a cancellation amid launches, and how far these are.
type amid struct {
	guard
	moment
	decided, launched, booted int
}

// TestNoCancellationEndsAnInstance plays every interleaving of a cancellation
// with launches: those that were decided on, became pending, or went into
// service before it, at each of its calls, or after it. AWS ends the oldest
// instance that it may when there is one too many; protection begins in service.
// Those in service, and those that were pending before, live on: a machine that
// waits for a lifecycle hook may carry pods. (kubernetes/autoscaler issue 10147)
func TestNoCancellationEndsAnInstance(t *testing.T) {
	moments := []moment{{}}
	for call := 1; call <= 4; call++ {
		moments = append(moments, moment{call, false}, moment{call, true})
	}
	cancelled := map[bool]int{}
	for _, g := range []guard{{true, false}, {true, true}, {false, false}} {
		for _, m := range moments {
			for decided := range 2 {
				for launched := range 4 {
					for booted := range launched + 1 {
						c := amid{g, m, decided, launched, booted}
						t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
							cancelled[g.protected] += cancelAmidLaunches(t, c)
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

func cancelAmidLaunches(t *testing.T, c amid) int {
	w := newWorld(t, awstest.Spec{LaunchTemplates: m5, Groups: []awstest.Group{named("g", func(g *awstest.Group) {
		g.Desired, g.ProtectNew = 3, c.protected
		if c.hook {
			g.Timing = &awstest.Timing{PendingWait: time.Minute}
		}
	})}}, byTag)
	if err := w.Cloud.Hold("g"); err != nil {
		t.Fatal(err)
	}
	w.grow(t, "g", 6)
	play := func() {
		w.Play("g", awstest.Decide, 1)
		w.Play("g", awstest.Launch, c.launched)
		w.Play("g", awstest.Boot, c.booted)
		w.Play("g", awstest.Decide, 5)
	}
	if c.decided > 0 { // launches that no read shows are already under way
		w.Play("g", awstest.Decide, 1)
	}
	if c.call == 0 {
		play()
	} else {
		seen := 0
		w.Arm(awstest.Fault{After: c.after, Met: func() {
			if seen++; seen == c.call {
				play()
			}
		}})
	}
	before := w.liveOf(t)
	result, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 6, To: 0})
	if err != nil {
		t.Fatal(err)
	}
	w.ClearFaults()
	state, _ := w.Cloud.Group("g")
	if result.Target != state.Desired && result.Target != 6-result.Cancelled {
		t.Errorf("the result is %+v, and the desired capacity %d", result, state.Desired)
	}
	for _, i := range state.Instances {
		if i.State == awstest.InService {
			before = append(before, i.ID)
		}
	}
	if err := w.Release("g"); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	w.clock.pass(time.Hour)
	w.Settle()
	now := w.liveOf(t)
	for _, id := range before {
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

// TestPendingInstancesAreReal: they are not what can be taken back, and nothing
// is while there are any, since AWS may end them. That is no person's to mend.
func TestPendingInstancesAreReal(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5,
		Timing:          awstest.Timing{Boot: time.Hour},
		Groups:          []awstest.Group{named("g", func(g *awstest.Group) { g.ProtectNew = true })},
		StockOuts:       []awstest.StockOut{{Group: "g", Left: 2}},
	}, byTag)
	w.grow(t, "g", 5)
	w.clock.pass(time.Second)
	if g := w.group(t, "g"); len(g.Instances) != 2 || g.Instances[0].State != provider.Creating {
		t.Fatalf("%+v", g.Instances)
	}
	cancel := func(want provider.CancelResult) {
		t.Helper()
		got, err := w.Cancel(t.Context(), provider.CancelRequest{Group: "g", From: 5, To: 0})
		if err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	for _, state := range []string{awstest.Pending, awstest.PendingWait, awstest.PendingProceed} {
		if err := w.SetState(w.liveOf(t)[0], state); err != nil {
			t.Fatal(err)
		}
		cancel(provider.CancelResult{Target: 5})
	}
	if n := noticesOf(w.read(t), noticeRequestsStay); len(n) > 0 {
		t.Errorf("%v", n)
	}
	for _, id := range w.liveOf(t) {
		if err := w.SetState(id, awstest.InService); err != nil {
			t.Fatal(err)
		}
	}
	cancel(provider.CancelResult{Target: 2, Cancelled: 3})
}

// TestOneUnprotectedInstanceIsEnough to cancel nothing.
func TestOneUnprotectedInstanceIsEnough(t *testing.T) {
	w := newWorld(t, awstest.Spec{
		LaunchTemplates: m5,
		Groups:          []awstest.Group{named("g", func(g *awstest.Group) { g.Desired, g.ProtectNew = 3, true })},
		StockOuts:       []awstest.StockOut{{Group: "g"}},
	}, byTag)
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
