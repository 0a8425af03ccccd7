package cli

import (
	"testing"
	"time"
)

// TestSpanTime: the year is said where it is another one.
func TestSpanTime(t *testing.T) {
	now := time.Date(2026, 12, 30, 8, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now.Add(time.Hour): "Wed 30 Dec 09:00Z", time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC): "Tue 29 Feb 2028 00:00Z",
	} {
		if got := spanTime(at, now); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
