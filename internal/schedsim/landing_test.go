package schedsim

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestChoosyInAnyOrderOfQuestions: whether a class tells a group's new nodes apart does not
// depend on what else was asked of the world before.
func TestChoosyInAnyOrderOfQuestions(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add("group g max=10 cpu=4 memory=16Gi zones=a|b|c\npods web count=3 cpu=1 spread=zone"); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	for _, before := range []func(*World, model.ClassID){
		func(*World, model.ClassID) {},
		func(w *World, c model.ClassID) { w.class(c) },
	} {
		w := Load(nil, snap)
		c := snap.Pending[0].Class
		before(w, c)
		if !w.Choosy(c, 0) {
			t.Error("pods with a spread over zones do not tell nodes in three zones apart")
		}
		w.Close()
	}
}
