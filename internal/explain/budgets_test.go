package explain

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/window"
)

// TestSpansAreCut: of a window that opens often not all openings are listed, and that is said.
func TestSpansAreCut(t *testing.T) {
	for schedule, want := range map[string]struct {
		spans int
		more  bool
	}{"0 * * * *": {7 * 24, false}, "*/30 * * * *": {mostSpans, true}} {
		w, err := window.Parse(window.Spec{Schedule: schedule, Duration: "10m"})
		if err != nil {
			t.Fatal(err)
		}
		got, more := spans([]window.Window{w}, time.Date(2030, 1, 1, 0, 30, 0, 0, time.UTC))
		if len(got) != want.spans || more != want.more {
			t.Errorf("%s: %d openings, and more: %t; want %+v", schedule, len(got), more, want)
		}
	}
}
