package decide_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestUnneededTimeOutlastsARestart: a node that its group's own threshold lets go keeps the time that the memory has of
// it while the cloud has not been read, and so no group is known to have it.
func TestUnneededTimeOutlastsARestart(t *testing.T) {
	s := testkit.NewScenario()
	err := s.Add("group g max=10 cpu=4 memory=16Gi threshold=0.9\nnode n1 group=g\npods a count=3 cpu=1 node=n1")
	if err != nil {
		t.Fatal(err)
	}
	seen, rules := s.Observation(), s.Policy.Rules
	since := seen.Now.Add(-9 * time.Minute)
	book := ledger.Restore(rules, model.Memory{Unneeded: map[string]time.Time{"n1": since}})
	seen.Inventory = provider.Inventory{}
	book.Fold(seen, nil)
	snap := snapshot.New(nil, seen, book.Standing(), rules)
	book.Note(snap, decide.Decide(snap, s.Policy))
	if got := book.Standing().Nodes["n1"].UnneededSince; !got.Equal(since) {
		t.Errorf("unneeded since %s, want %s", got, since)
	}
}
