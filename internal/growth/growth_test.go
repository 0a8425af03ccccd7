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
