package model

import "testing"

func TestDudsStop(t *testing.T) {
	for _, c := range []struct {
		duds, all int
		share     float64
		first     bool
		want      bool
	}{
		{0, 0, 0.45, true, false},
		{1, 1, 0.45, false, true},
		{1, 2, 1, false, true},
		{1, 3, 0.45, false, false},
		{1, 3, 0.45, true, true},
		{9, 20, 0.45, false, false},
		{10, 20, 0.45, false, true},
		{19, 20, 1, false, false},
		{20, 20, 1, false, true},
	} {
		r := Rules{MaxUnreadyShare: c.share, StopOnFirstDud: c.first}
		if got := r.DudsStop(c.duds, c.all); got != c.want {
			t.Errorf("%d of %d, a share of %v, at the first %v: %v", c.duds, c.all, c.share, c.first, got)
		}
	}
}
