package ask_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestDecide: a leader that remembers since when a node has been unneeded takes it away at once, and one that
// remembers nothing waits.
func TestDecide(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 5, testkit.Node("", "4", "16Gi", nil))
	c.AddNode(testkit.Node("idle", "4", "16Gi", nil), "g")
	seen := c.Observation()
	for name, want := range map[string]int{"idle": 1, "another": 0} {
		memory := model.Memory{Written: c.Now, Unneeded: map[string]time.Time{name: c.Now.Add(-time.Hour)}}
		cycle, err := ask.Decide(seen, memory, testkit.Policy())
		if err != nil {
			t.Fatal(err)
		}
		if !cycle.Decided || len(cycle.Plan.Unneeded) != 1 || len(cycle.Plan.Calls) != want {
			t.Errorf("%s was unneeded: %d calls, want %d: %s", name, len(cycle.Plan.Calls), want,
				cycle.Plan.Text(cycle.Snapshot))
		}
	}
}
