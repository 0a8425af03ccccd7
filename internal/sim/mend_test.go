package sim

import (
	"testing"
	"time"
)

// TestAllThatAFixNamesIsDone: pods that two flags keep waiting run once people have changed both.
func TestAllThatAFixNamesIsDone(t *testing.T) {
	s := newScript()
	if err := s.Add("flags --max-nodes-total=2 --cores-total=0:8\ngroup g min=0 max=9 target=2 cpu=4 memory=16Gi\n" +
		"workload web count=8 cpu=3 memory=1Gi"); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	t.Cleanup(w.Close)
	run(t, w, time.Hour)
	if n := len(w.truth.unbound()); n != 6 {
		t.Fatalf("%d pods wait for other flags, want 6", n)
	}
	if err := rested(w); err != nil {
		t.Error(err)
	}
	if n := len(w.truth.unbound()); n != 0 {
		t.Errorf("%d pods wait still: %q", n, w.settings.Flags)
	}
}
