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
	got := fmt.Sprintf("%s\n%s\n%v\n%v", n.Hold.Reason, n.For, n.ReservedFor, n.Runs)
	const want = `ReservedForPendingPods
[ReplicaSet default/web]
[{ReplicaSet default/api 3 3 default/api-000001} {ReplicaSet default/job 1 1 default/job-000001}]
[{default/small-000001 ReplicaSet default/small cpu 100m, memory 8Gi 0.5} ` +
		`{default/web-000001 ReplicaSet default/web cpu 1 0.25} {default/web-000002 ReplicaSet default/web cpu 1 0.25}]`
	if got != want {
		t.Errorf("it says:\n%s\nwant:\n%s", got, want)
	}
	p, err := explain.PodOf(c, s.Policy, "default/web-000001")
	if err != nil || fmt.Sprint(p.Running.Bought) != fmt.Sprint(n.Bought) {
		t.Errorf("its pod says %+v (%v)", p.Running, err)
	}
}

// TestWhomANodeWasBoughtForIsNotKnown: it says so, and why, and so do its pods.
func TestWhomANodeWasBoughtForIsNotKnown(t *testing.T) {
	s := testkit.NewScenario()
	if err := s.Add(`
group g max=2 cpu=4 memory=16Gi
node n1 group=g
node own
pods web count=1 cpu=1 node=n1
pods db count=1 cpu=1 node=own`); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	for _, x := range []struct {
		node, want string
		memory     model.Memory
	}{
		{"own", "it is of no node group", model.Memory{}},
		{"n1", "no scale-up is remembered: it is older than the leader's memory, or that is not at hand", model.Memory{}},
		{"n1", "that is remembered only until the pods that it was bought for have their nodes", model.Memory{LastGrowth: snap.Now}},
		{"n1", "the pods that it was bought for are gone",
			model.Memory{Arrivals: []model.Arrival{{Node: "n1", Group: "g", For: []string{"gone"}}}}},
	} {
		c := model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy), Memory: x.memory}
		n, err := explain.NodeOf(c, s.Policy, x.node)
		if err != nil || n.Unknown != x.want || n.For != nil {
			t.Errorf("%s: %+v (%v), want %q", x.node, n.Bought, err, x.want)
		}
		pod := map[string]string{"n1": "default/web-000001", "own": "default/db-000001"}[x.node]
		p, err := explain.PodOf(c, s.Policy, pod)
		if err != nil || p.Running.Unknown != x.want {
			t.Errorf("its pod says %+v (%v)", p.Running, err)
		}
	}
}
