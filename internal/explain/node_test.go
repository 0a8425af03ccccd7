package explain_test

import (
	"fmt"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// TestWhatANodeSays: for whom it was bought, for which pending pods it is kept, and what runs on it, the largest first.
// Its pods say for whom it was bought, too.
func TestWhatANodeSays(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group g max=1 cpu=4 memory=16Gi
daemonset agent cpu=100m memory=100Mi
node n1 group=g
arrived n1 group=g ready=2m for=web
pods small count=1 cpu=100m memory=8Gi node=n1
pods web count=2 cpu=1 node=n1
pods api count=3 cpu=500m
pods job count=1 cpu=200m`); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	c := model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy), Memory: model.Memory{Arrivals: snap.Arrivals}}
	n, err := explain.NodeOf(c, s.Policy, "n1")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%s\n%s\n%v\n%v", n.Hold.Reason, n.BuyFor, n.ReservedFor, n.Runs)
	const want = `ReservedForPendingPods
[ReplicaSet default/web]
[{ReplicaSet default/api 3 3 default/api-000001} {ReplicaSet default/job 1 1 default/job-000001}]
[{default/small-000001 ReplicaSet default/small cpu 100m, memory 8Gi 0.5} ` +
		`{default/web-000001 ReplicaSet default/web cpu 1 0.25} {default/web-000002 ReplicaSet default/web cpu 1 0.25}]`
	if got != want {
		t.Errorf("it says:\n%s\nwant:\n%s", got, want)
	}
	p, err := explain.PodOf(c, s.Policy, "default/web-000001")
	if err != nil || fmt.Sprint(p.Running.BoughtFor) != fmt.Sprint(n.BuyFor) {
		t.Errorf("its pod says %+v (%v)", p.Running, err)
	}
}
