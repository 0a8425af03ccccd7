package repair

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestWhenTheRateLetsGo: where all groups together hold a machine, they do so until enough
// of what was ended is long enough ago, and not until all of it is.
func TestWhenTheRateLetsGo(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	group := func(id provider.GroupID, count int, ago time.Duration) model.Group {
		return model.Group{Group: provider.Group{ID: id}, GroupStanding: model.GroupStanding{
			Expected: 10, Rests: model.Rests{model.Endings{Count: count, Last: now.Add(-ago)}.Rest()},
		}}
	}
	for name, c := range map[string]struct {
		ended []model.Group
		taken int
		want  time.Duration // zero: no time alone lets go
	}{
		"the first are enough": {[]model.Group{group("a", 3, 9*time.Minute), group("b", 3, time.Minute), group("c", 3, 2*time.Minute), group("d", 3, time.Minute)}, 0, time.Minute},
		"they are not":         {[]model.Group{group("a", 1, 9*time.Minute), group("b", 3, time.Minute), group("c", 3, 2*time.Minute), group("d", 3, time.Minute), group("e", 1, 5*time.Minute)}, 0, 5 * time.Minute},
		"under way":            {[]model.Group{group("a", 1, time.Minute)}, 11, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := &model.Snapshot{Now: now, Groups: append(make([]model.Group, 2), c.ended...)}
			s.Groups[0].Expected, s.Groups[1].Expected = 10, 100
			r := NewRate(s)
			for range c.taken {
				r.Take(1)
			}
			v := r.Held(0)
			if v == nil || c.want == 0 && !v.Until.IsZero() || c.want > 0 && !v.Until.Equal(now.Add(c.want)) {
				t.Errorf("%+v", v)
			}
		})
	}
}
