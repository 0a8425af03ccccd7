package main

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// last keeps the cycle that was reported last.
type last struct{ model.Cycle }

func (l *last) Report(_ context.Context, c model.Cycle) error {
	l.Cycle = c
	return nil
}

// TestFixesAreNamedUnasked: a cycle is handed on with the fix that was tried meanwhile, until the answer is another,
// and with the time since when the answer is the same, which may be from before this leader. The cycle itself
// stays as it is.
func TestFixesAreNamedUnasked(t *testing.T) {
	policy := testkit.Policy()
	cycle := func(most, pods int) model.Cycle {
		c := testkit.New()
		c.Group("full", 0, most, testkit.Node("", "4", "16Gi", nil))
		c.Pending(testkit.Pod("shop", "web", "3", "1Gi", nil), pods)
		c.Pending(testkit.Pod("shop", "huge", "6", "1Gi", nil), 1)
		got, err := ask.Decide(c.Observation(), model.Memory{}, policy)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	c := cycle(1, 3)
	digests := map[string]string{}
	for i := range c.Plan.Pending {
		class := &c.Snapshot.Classes[c.Plan.Pending[i].Class]
		digests[class.Spec.Requests.String()] = class.Digest()
	}
	long := c.Snapshot.Now.Add(-time.Hour)
	before := status.Pending{List: []status.PendingClass{
		{Class: digests["cpu 6, memory 1Gi"], Reason: model.InsufficientResources, Since: metav1.NewTime(long)},
		{Class: digests["cpu 3, memory 1Gi"], Reason: model.GroupBackoff, Since: metav1.NewTime(long)},
	}}
	var told last
	f := newFixes(before, &told, slog.New(slog.DiscardHandler))
	said := func(c model.Cycle) map[string]string {
		if err := f.Report(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		for more := true; more; {
			_, more = f.tryNext()
		}
		out := map[string]string{}
		for i := range told.Plan.Pending {
			v := &told.Plan.Pending[i]
			_, nearest := v.Nearest()
			out[c.Snapshot.Classes[v.Class].Spec.Requests.String()] = nearest.Fix + " since " +
				nearest.Since.Sub(c.Snapshot.Now).String()
		}
		return out
	}
	for _, x := range []struct {
		name      string
		cycle     model.Cycle
		web, huge string
	}{
		{"not tried yet", c, "max ≥ 2 since 0s", "smaller requests, or a group with larger nodes since -1h0m0s"},
		{"tried", c, "raise full.max 1 → 3 (+2 nodes) since 0s", "request cpu ≤ 4, and raise full.max 1 → 2 (+1 node) since -1h0m0s"},
		{"more pods", cycle(1, 4), "max ≥ 2 since 0s", "request cpu ≤ 4, and raise full.max 1 → 2 (+1 node) since -1h0m0s"},
	} {
		if got := said(x.cycle); got["cpu 3, memory 1Gi"] != x.web || got["cpu 6, memory 1Gi"] != x.huge {
			t.Errorf("%s: %q", x.name, got)
		}
	}
	for i := range c.Plan.Pending {
		if v := &c.Plan.Pending[i]; v.Tried != nil || !v.Groups[0].Since.Equal(c.Snapshot.Now) {
			t.Errorf("the cycle itself has changed: %+v", v)
		}
	}
}

// TestFixesOfASearchThatIsNotFinished: where there is more to try than idle time has, nothing is said to be tried,
// though a fix was found: a nearer one may be among the rest.
func TestFixesOfASearchThatIsNotFinished(t *testing.T) {
	for groups, want := range map[int]bool{2: true, 40: false} {
		c := testkit.New()
		for i := range groups {
			c.Group(fmt.Sprintf("full-%02d", i), 0, 1, testkit.Node("", "4", "16Gi", nil))
		}
		c.Pending(testkit.Pod("shop", "web", "3", "1Gi", nil), groups+2)
		cycle, err := ask.Decide(c.Observation(), model.Memory{}, testkit.Policy())
		if err != nil {
			t.Fatal(err)
		}
		f := newFixes(status.Pending{}, &last{}, slog.New(slog.DiscardHandler))
		f.told(cycle)
		if _, more := f.tryNext(); !more {
			t.Fatal("there is nothing to try")
		}
		if _, more := f.tryNext(); more {
			t.Errorf("%d groups: what was tried is tried again at once", groups)
		}
		if v := &f.told(cycle).Plan.Pending[0]; (v.Tried != nil) != want {
			t.Errorf("%d groups: tried: %+v", groups, v.Tried)
		}
	}
}
