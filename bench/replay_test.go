package bench

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestReplay puts plans for large worlds before the scheduler's filters, as a live process does in idle time. They
// allow all that they are asked about, and it ends within its steps.
func TestReplay(t *testing.T) {
	for name, c := range map[string]*testkit.Cluster{
		"U4s": u4(5, 3), "C2-300": hosts(300, 800, zone, host), "A4-1000": diverse(1000),
	} {
		p := testkit.Policy()
		p.Share(budget)
		s := snapshot.New(nil, c.Observation(), model.Standing{}, p.Rules)
		var d decide.Decider
		plan := d.Decide(s, p)
		r := d.Replay(s, p, &plan)
		if r == nil {
			t.Fatalf("%s: nothing is bought", name)
		}
		began, longest := time.Now(), time.Duration(0)
		for more := true; more; {
			at := time.Now()
			more = r.Step()
			longest = max(longest, time.Since(at))
		}
		got := r.Result()
		t.Logf("%s: %d of %d pods asked about in %d steps, %v; the longest piece %v", name, got.Asked, got.Pods, got.Steps,
			time.Since(began).Round(time.Millisecond), longest.Round(time.Millisecond))
		if got.Refused != nil || got.Asked == 0 || got.Steps > 5*budget {
			t.Errorf("%s: %+v, refused %+v", name, got, got.Refused)
		}
		d.Close()
	}
}
