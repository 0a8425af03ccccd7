package aws

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestASilentServiceMakesOneReadLate: the others go on without it, and it is
// asked in the background, once at a time. After it speaks again it is waited for.
func TestASilentServiceMakesOneReadLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &errand{now: time.Now}
		var silent atomic.Bool
		var asked, answered, atOnce atomic.Int32
		read := func() time.Duration {
			begun := time.Now()
			e.run(t.Context(), 15*time.Second, func(ctx context.Context) {
				asked.Add(1)
				if atOnce.Add(1) > 1 {
					t.Error("it is asked twice at once")
				}
				defer atOnce.Add(-1)
				if silent.Load() {
					<-ctx.Done()
					return
				}
				time.Sleep(time.Second)
				answered.Add(1)
			})
			return time.Since(begun)
		}
		if took := read(); took != time.Second || answered.Load() != 1 {
			t.Errorf("%s, %d answers", took, answered.Load())
		}
		silent.Store(true)
		if took := read(); took != 15*time.Second {
			t.Errorf("the first late one: %s", took)
		}
		for range 60 { // ten minutes
			if took := read(); took != 0 {
				t.Errorf("another late one: %s", took)
			}
			time.Sleep(10 * time.Second)
		}
		if n := asked.Load(); n < 20 || n > 40 {
			t.Errorf("it is asked %d times in ten minutes", n)
		}
		silent.Store(false)
		time.Sleep(apartFor + 15*time.Second)
		if took := read(); took != time.Second || answered.Load() != 2 {
			t.Errorf("it speaks again: %s, %d answers", took, answered.Load())
		}
	})
}
