package kube

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

func TestTargetSince(t *testing.T) {
	m, at := NewMemory(), time.Unix(100, 0)
	m.Asked("g", at, 3)
	for _, c := range []struct {
		id     provider.GroupID
		target int
		want   time.Time
	}{{"g", 3, at}, {"g", 2, time.Time{}}, {"other", 3, time.Time{}}} {
		if got := m.TargetSince(c.id, c.target); !got.Equal(c.want) {
			t.Errorf("%s at %d since %v, want %v", c.id, c.target, got, c.want)
		}
	}
	m.Asked("g", at.Add(time.Minute), 5)
	if got := m.TargetSince("g", 3); !got.IsZero() {
		t.Errorf("the growth before the last is since %v", got)
	}
}

func TestRest(t *testing.T) {
	m := NewMemory()
	if got := m.Rest(time.Minute); got != 0 {
		t.Errorf("before the first read: %v", got)
	}
	m.ReadTook(2 * time.Second)
	if got := m.Rest(time.Minute); got != 20*time.Second {
		t.Errorf("after a read of two seconds: %v", got)
	}
	if got := m.Rest(5 * time.Second); got != 5*time.Second {
		t.Errorf("at most five seconds: %v", got)
	}
}
