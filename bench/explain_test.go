package bench

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// BenchmarkExplainPod asks why a pod waits that no group takes, in a cluster of 5,000 nodes of 30 pods with 20
// groups. Every plan that is tried for it is made of the whole cluster.
func BenchmarkExplainPod(b *testing.B) {
	c := u4(0, 0)
	c.Pending(testkit.Pod("default", "giant", "500", "1Gi", map[string]string{"app": "giant"}), 1)
	policy := testkit.Policy()
	s := snapshot.New(nil, c.Observation(), model.Standing{}, policy.Rules)
	cycle := model.Cycle{Snapshot: s, Plan: decide.Decide(s, policy)}
	var fix *explain.Fix
	for b.Loop() {
		answer, err := explain.PodOf(cycle, policy, "default/giant-000001")
		if err != nil {
			b.Fatal(err)
		}
		fix = answer.Pending.Fix
	}
	if fix == nil {
		b.Fatal("no fix was found")
	}
	b.Log(fix.Text)
}
