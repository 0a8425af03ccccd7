package gardener

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
)

// Another client undoes two changes by turns, so that no two patches in a row are equal. Each patch
// is still made only a few times, and then waits for its own time.
func TestUndoneInTurns(t *testing.T) {
	patch := func(uid, field string) pools.Step {
		return pools.Step{Verb: pools.Patch, UID: "uid-" + uid, Body: map[string]any{"spec": map[string]any{field: 1}}}
	}
	one, two, both := patch("d", "one"), patch("d", "two"), patch("d", "both")
	m, began := newMemory(), time.Unix(0, 0)
	at := func(minute int) time.Time { return began.Add(time.Duration(minute) * time.Minute) }
	written := 0
	for minute := range 9 {
		step := []pools.Step{one, two}[minute%2]
		if m.undone(step, at(minute)) > 0 {
			continue
		}
		m.wrote(step, at(minute))
		written++
	}
	if written != 2*undoneTimes {
		t.Errorf("%d writes, want %d of each of two", written, undoneTimes)
	}
	// Each waits for its own first one: those of one were at 0, 2 and 4 minutes.
	if got := m.undone(one, at(9)); got != time.Minute {
		t.Errorf("one waits %v", got)
	}
	if got := m.undone(two, at(9)); got != 2*time.Minute {
		t.Errorf("two waits %v", got)
	}
	if m.undone(both, at(9)) > 0 || m.undone(patch("other", "one"), at(9)) > 0 {
		t.Error("something else waits, or another machine deployment")
	}
	// When that is over it is written once, and waits for the next.
	if got := m.undone(one, at(10)); got > 0 {
		t.Errorf("one waits %v still", got)
	}
	m.wrote(one, at(10))
	if got := m.undone(one, at(10)); got != 2*time.Minute {
		t.Errorf("one waits %v", got)
	}
	// What is over for all is forgotten.
	m.wrote(both, at(60))
	if n := len(m.writes); n != 1 {
		t.Errorf("%d are remembered", n)
	}
	m.wrote(pools.Step{Verb: pools.Create, UID: "uid-d"}, at(60))
	if m.undone(pools.Step{Verb: pools.Create, UID: "uid-d"}, at(60)) > 0 {
		t.Error("what is created waits")
	}
}
