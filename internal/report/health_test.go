package report

import (
	"errors"
	"testing"
	"time"
)

// TestALargeDecisionIsAlive: a cycle that takes longer than all limits is healthy
// while it gets on, and only then.
func TestALargeDecisionIsAlive(t *testing.T) {
	for _, first := range []bool{true, false} {
		h := newHealth(HealthLimits{MaxInactivity: 10 * time.Minute, MaxFailingTime: 15 * time.Minute,
			MaxStartupTime: 20 * time.Minute})
		now, steps := time.Unix(1000, 0), int64(0)
		h.Leads(now)
		h.Watch(func() int64 { return steps })
		if !first {
			h.Succeeded(now)
		}
		pass := func(d time.Duration, on bool) (err error) {
			for range d / (20 * time.Second) {
				now = now.Add(20 * time.Second)
				if on {
					steps += 1000
				}
				if err = h.Check(now); err != nil {
					return err
				}
			}
			return nil
		}
		if err := pass(2*time.Hour, true); err != nil {
			t.Errorf("first cycle %v: it gets on, and is killed: %v", first, err)
		}
		if err := pass(21*time.Minute, false); err == nil {
			t.Errorf("first cycle %v: it hangs, and is called healthy", first)
		}
		// Decisions that get on do not hide that every cycle fails.
		h.Failed(now, errors.New("no report"))
		if err := pass(2*time.Hour, true); err == nil {
			t.Errorf("first cycle %v: all cycles fail, and it is called healthy", first)
		}
	}
}
