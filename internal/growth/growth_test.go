package growth

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var t0 = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestSoldOutHidesNoLateOnes: units that the cloud has no machines for are not taken off
// those that do not come for no reason told, where they are more than are asked for.
func TestSoldOutHidesNoLateOnes(t *testing.T) {
	var units []model.Unit
	for range 4 {
		for _, why := range []provider.Kind{provider.NoCapacity, provider.Transient} {
			units = append(units, model.Unit{State: model.UnitGivenUp, Entered: t0, Why: string(why)})
		}
	}
	f := &Fold{Rules: model.Rules{MaxUnready: 3, MaxUnreadyShare: 0.45}, Seen: &model.Observation{Now: t0}}
	g := New("g")
	g.asks, g.missing = []model.Ask{{Group: "g", At: t0, Units: units}}, 5
	g.giveUp(f, &provider.Group{ID: "g"})
	if g.overdue != 5 {
		t.Errorf("%d are overdue, want 5", g.overdue)
	}
	if g.health(f); g.unhealthy == nil {
		t.Error("four units do not come, and the group is healthy")
	}
}

// TestMissingBoundsGivenUp: of the units that were given up, no more count against the
// group's health than are missing.
func TestMissingBoundsGivenUp(t *testing.T) {
	units := make([]model.Unit, 6)
	for i := range units {
		units[i] = model.Unit{State: model.UnitGivenUp, Entered: t0, Why: string(provider.Transient)}
	}
	f := &Fold{Rules: model.Rules{MaxUnready: 3, MaxUnreadyShare: 0.45}, Seen: &model.Observation{Now: t0}}
	g := New("g")
	g.asks, g.missing = []model.Ask{{Group: "g", At: t0, Units: units}}, 2
	g.giveUp(f, &provider.Group{ID: "g"})
	if g.health(f); g.unhealthy != nil {
		t.Errorf("two units are missing, and the group is unhealthy: %+v", g.unhealthy)
	}
}

// TestKeptSince: units that the cloud could not take back are kept since the first of them
// was.
func TestKeptSince(t *testing.T) {
	ask := model.Ask{Group: "g", At: t0}
	for _, later := range []time.Duration{time.Minute, 0, time.Hour} {
		ask.Units = append(ask.Units, model.Unit{State: model.UnitKept, Entered: t0.Add(later), Why: "why"})
	}
	g := New("g")
	g.asks, g.missing = []model.Ask{ask}, 3
	g.giveUp(&Fold{Seen: &model.Observation{Now: t0.Add(2 * time.Hour)}}, &provider.Group{ID: "g"})
	if g.kept != 3 || g.keptSince != t0 {
		t.Errorf("%d are kept since %s, want 3 since %s", g.kept, g.keptSince, t0)
	}
}

// TestRetryAfter: a group rests for as long as the cloud says, where that is longer.
func TestRetryAfter(t *testing.T) {
	f := &Fold{Rules: model.Rules{BackoffFirst: 5 * time.Minute, BackoffMost: time.Hour}}
	for said, want := range map[time.Duration]time.Duration{
		time.Minute: 5 * time.Minute, 20 * time.Minute: 20 * time.Minute,
	} {
		g := New("g")
		g.Grown(f, model.Outcome{Call: model.Call{Verb: model.Grow, From: 1, To: 2}, Ended: t0, Target: 1,
			Err: &provider.Error{Kind: provider.NoCapacity, RetryAfter: said}})
		if got := g.Rests.Of(model.RestFailed).Until.Sub(t0); got != want {
			t.Errorf("it rests for %s where the cloud says %s, want %s", got, said, want)
		}
	}
}

// TestNoTimeOfAUnitLiesAhead: whatever a memory says.
func TestNoTimeOfAUnitLiesAhead(t *testing.T) {
	ahead := t0.Add(time.Hour)
	g := New("g")
	g.asks = []model.Ask{{Group: "g", At: t0, Units: []model.Unit{{
		State: model.UnitKept, Entered: ahead, Exists: ahead, Lost: ahead,
		Deadline: model.Deadline{Since: ahead, Stalled: ahead},
	}}}}
	g.Trust(model.Rules{}, t0, 0)
	want := model.Unit{
		State: model.UnitKept, Entered: t0, Exists: t0, Lost: t0, Deadline: model.Deadline{Since: t0, Stalled: t0},
	}
	if got := g.asks[0].Units[0]; got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestAbsenceIsCountedInARow: a group that is only remembered is forgotten when three pictures
// in a row lack it.
func TestAbsenceIsCountedInARow(t *testing.T) {
	g, f := New("g"), &Fold{}
	for i, lacks := range []bool{true, true, false, true, true, true} {
		f.Turn, f.Seen = uint64(i+1), &model.Observation{}
		f.Seen.Inventory.AsOf = t0.Add(time.Duration(i) * time.Minute)
		if !lacks {
			g.Target(f, &provider.Group{ID: "g", Err: &provider.Error{Kind: provider.Unavailable}}, false)
		}
		for range 2 { // the same picture again is no other one
			g.CountAbsence(f, false)
		}
		if got, want := g.Forgotten(f, false), i == 5; got != want {
			t.Errorf("after picture %d: forgotten is %t, want %t", i+1, got, want)
		}
	}
}

// TestAForgottenGroupKnowsWhenItWasWrittenTo: it may come back, and the delays after that hold its nodes still.
func TestAForgottenGroupKnowsWhenItWasWrittenTo(t *testing.T) {
	f := &Fold{Rules: model.Rules{BackoffReset: 3 * time.Hour}, Seen: &model.Observation{}}
	for _, last := range []Lasts{{Growth: t0, Demand: t0}, {Growth: t0}, {Removal: t0}, {Failure: t0, Why: "Denied"}, {}} {
		for _, after := range []time.Duration{time.Minute, 4 * time.Hour} {
			g := New("g")
			g.Last, f.Seen.Now = last, t0.Add(after)
			left, more := g.Forget(f)
			if want := last != (Lasts{}) && after < f.Rules.BackoffReset; !more || (left != nil) != want ||
				want && left.Last != last {
				t.Errorf("%+v: after %s %+v is left", last, after, left)
			}
		}
	}
}
