package loop

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestRecheck: once an hour, a turn that decides nothing holds what is kept against a decision from nothing. What is
// wrong is told and dropped, and the next turn decides.
func TestRecheck(t *testing.T) {
	warm(t)
	for _, r := range []struct {
		spoil   func(*model.Snapshot) // what is kept; nil: nothing
		differs string                // then in the plan
	}{
		{nil, ""},
		{func(s *model.Snapshot) { clear(s.Projection.Of) }, "Pending"}, // all labels are taken for the first ones
		{func(s *model.Snapshot) { s.Nodes[0].MilliCPU += 2000 }, "Kept"},
	} {
		spoiled := r.spoil != nil
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			for _, app := range []string{"a", "b"} {
				p := testkit.Pod("default", app, "100", "1Gi", map[string]string{"app": app})
				testkit.SpreadOver(p, corev1.LabelTopologyZone, 1, map[string]string{"app": "a"})
				w.cluster.Pending(p, 3)
			}
			w.cluster.AddNode(testkit.Node("n", "4", "16Gi", nil), "g")
			w.cluster.Bound(testkit.Pod("default", "web", "1", "1Gi", nil), 1, "n")
			l := w.loop()
			defer l.Close()
			w.run(t, l, time.Minute)
			if spoiled {
				r.spoil(l.snap)
			}
			w.run(t, l, 3*time.Hour)
			var found []string
			checked, after := 0, false
			for i, c := range w.cycles {
				if c.Recheck == nil {
					continue
				}
				if c.Decided {
					t.Error("a turn that decided checked besides")
				}
				checked++
				if len(c.Recheck.Differs) > 0 {
					found, after = c.Recheck.Differs, w.cycles[i+1].Decided
				}
			}
			if checked < 2 || checked > 3 {
				t.Errorf("checked %d times in three hours", checked)
			}
			if (len(found) > 0) != spoiled || after != spoiled || spoiled && !slices.Contains(found, r.differs) {
				t.Errorf("spoiled %v: %q differ, decided again %v", spoiled, found, after)
			}
		})
	}
}
