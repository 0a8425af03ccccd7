package sim

import (
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// TestWhatABreachTells: a broken rule is told with the seed and the time, its sentence, and what was true
// and what Plimsoll saw side by side. Here another client ends a machine, in our name, whose node runs pods,
// and a machine that was just bought is not to be seen yet.
func TestWhatABreachTells(t *testing.T) {
	s := newScript()
	if err := s.Add("seed 7\ngroup g min=0 max=5 target=2 cpu=4 memory=16Gi find=10s boot=2m\n" +
		"workload web count=8 cpu=1 memory=1Gi\nat 5m target g 3"); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	t.Cleanup(w.Close)
	if err := w.Run(5*time.Minute + 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	w.judge.tell(check.Event{What: check.MachineEnds, Group: "g", Machine: "g-00001", Node: "g-00001",
		Call: "remove/g-00001"})
	got := w.judge.breaches().Error()
	for _, want := range []string{
		"breach of N1 at 00:05:00.1, seed 7: A machine whose node is ready and runs pods that a drain waits for ends only " +
			"by a drain: first the taint, then its pods leave or are granted eviction, then its end.",
		"g-00001: it was ready since 00:00:00.0 and ran ",
		"group        truth                                                Plimsoll, at 00:0",
		"g            target 3, 2 machines, 2 nodes, 2 of them ready       target 2, 2 machines, 2 nodes, 2 of them ready; " +
			"2 expected",
		"Plimsoll: node g-00001 is Ready with ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not told of in\n%s", want, got)
		}
	}
}
