package drain_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/drain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestNext: each stage's next step, and what holds it.
func TestNext(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := model.ScaleDownPolicy{Enabled: true, DeleteDelay: 5 * time.Second}
	tainted := model.Drain{Stage: model.Tainted, Since: now.Add(-time.Minute)}
	with := func(n model.Node, d model.Drain) model.Node {
		n.Standing.Drain = &d
		return n
	}
	cases := []struct {
		name string
		n    model.Node
		verb model.Verb
		wake time.Time
	}{
		{"the taint is being written", with(model.Node{}, model.Drain{Stage: model.Tainting}), "", time.Time{}},
		{"tainted and empty", with(model.Node{}, tainted), model.Remove, time.Time{}},
		{"tainted just now", with(model.Node{}, model.Drain{Stage: model.Tainted, Since: now.Add(-time.Second)}), "", now.Add(4 * time.Second)},
		{"a pod landed", with(model.Node{Occupants: 1, FirstOccupant: "late"}, tainted), model.Untaint, time.Time{}},
		{"the taint has not been seen yet (rule L4)", with(model.Node{Standing: model.NodeStanding{AwaitVersion: "9"}}, tainted), "", time.Time{}},
		{"a call is under way (rule L1)", with(model.Node{Standing: model.NodeStanding{Busy: &model.Call{}}}, tainted), "", time.Time{}},
		{"our group has it no more", with(model.Node{Group: -1}, model.Drain{Stage: model.Tainted, Group: "g"}), model.Untaint, time.Time{}},
		{"another autoscaler's", with(model.Node{Group: -1}, tainted), "", time.Time{}},
		{"the cloud holds the instance", with(model.Node{InstanceHold: "protected"}, tainted), model.Untaint, time.Time{}},
		{"rolling back", with(model.Node{}, model.Drain{Stage: model.RollingBack}), model.Untaint, time.Time{}},
		{"rolling back failed", with(model.Node{}, model.Drain{Stage: model.RollingBack, NotBefore: now.Add(time.Second)}), "", now.Add(time.Second)},
		{"removed", with(model.Node{}, model.Drain{Stage: model.Removed}), "", time.Time{}},
	}
	wanted := with(model.Node{}, tainted)
	if got := drain.Next(&wanted, true, now, p); got.Verb != model.Untaint || got.Reason != model.Reserved {
		t.Errorf("wanted by pending pods: %+v", got)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := drain.Next(&c.n, false, now, p)
			if got.Verb != c.verb || !got.Wake.Equal(c.wake) {
				t.Errorf("%+v, want %q and wake %v", got, c.verb, c.wake)
			}
		})
	}
}
