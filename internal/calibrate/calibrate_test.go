package calibrate

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
)

// TestStepsPerSecond: the fastest of the tries counts, and neither a clock that stands still nor one that jumps says
// more than can be.
func TestStepsPerSecond(t *testing.T) {
	policy := unlimited()
	steps := decide.Decide(cluster(policy.Rules), policy).Work.Steps
	if steps < 1000 {
		t.Fatalf("%d steps are too few to measure", steps)
	}
	for name, c := range map[string]struct {
		takes []time.Duration // in turn
		want  int
	}{
		"the fastest try counts": {
			[]time.Duration{time.Second, time.Second / 100, time.Hour, time.Second, time.Second}, 100 * steps,
		},
		"a clock that stands": {make([]time.Duration, tries), least},
		"a clock that jumps":  {[]time.Duration{1, 1, 1, 1, 1}, most},
		"a busy machine":      {[]time.Duration{time.Hour, time.Hour, time.Hour, time.Hour, time.Hour}, least},
	} {
		t.Run(name, func(t *testing.T) {
			at, calls := time.Unix(0, 0), 0
			got := StepsPerSecond(func() time.Time {
				if calls%2 == 1 {
					at = at.Add(c.takes[calls/2])
				}
				calls++
				return at
			})
			if want := min(max(c.want, least), most); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}

func BenchmarkCluster(b *testing.B) {
	policy := unlimited()
	s := cluster(policy.Rules)
	steps := 0
	for b.Loop() {
		steps = decide.Decide(s, policy).Work.Steps
	}
	b.ReportMetric(float64(steps), "steps")
	b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N*steps), "ns/step")
}
