package ask_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/ask"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

// started is a cluster of testkit as a plan begins with it.
func started(c *testkit.Cluster) ask.Cluster {
	out := ask.Cluster{Settings: observe.Settings{Namespace: "kube-system", Seed: 1}, Groups: c.Inventory(), Now: c.Now}
	for _, obj := range c.Objects() {
		if cut := observe.Cut(obj); cut != nil {
			out.Objects = append(out.Objects, cut)
		}
	}
	return out
}

// TestUntilRest: nodes are bought, with the pods of DaemonSets, pods run on them, and a node goes whose pods have
// room elsewhere by then. The objects that were given stay as they are.
func TestUntilRest(t *testing.T) {
	c := testkit.New()
	pool := map[string]string{"pool": "g"}
	c.Group("g", 0, 5, testkit.Node("", "4", "16Gi", pool))
	c.Group("h", 0, 5, testkit.Node("", "4", "16Gi", nil))
	c.DaemonSet("agent", testkit.Pod("default", "agent", "100m", "128Mi", nil))
	c.AddNode(testkit.Node("old", "4", "16Gi", nil), "h")
	c.Bound(testkit.Pod("shop", "small", "200m", "1Gi", map[string]string{"app": "small"}), 1, "old")
	wide := testkit.Pod("shop", "wide", "3500m", "1Gi", nil)
	wide.Spec.NodeSelector = pool
	c.Pending(wide, 2)
	c.Pending(testkit.Pod("shop", "giant", "30", "1Gi", nil), 1)
	start := started(c)
	before := fmt.Sprint(start.Objects)
	policy := testkit.Policy()
	var last model.Cycle
	var calls []string
	limit, err := ask.UntilRest(t.Context(), start, policy, func(cycle model.Cycle) {
		last = cycle
		for _, call := range cycle.Plan.Calls {
			if call.Verb == model.Mark || !cycle.Decided {
				continue
			}
			after := cycle.Snapshot.Now.Sub(start.Now)
			calls = append(calls, fmt.Sprint(after, " ", call.Verb, " ", call.Group, call.Pod))
		}
	})
	if err != nil || limit != "" {
		t.Fatalf("ended by %q, %v: %v", limit, err, calls)
	}
	want := "[0s Grow g 10m10s Taint h 10m20s Cordon h 10m30s Evict hshop/small-000001 10m50s Remove h]"
	if got := fmt.Sprint(calls); got != want {
		t.Errorf("calls %s\nwant  %s", got, want)
	}
	s := last.Snapshot
	if len(s.Pending) != 1 || len(s.Nodes) != 2 || s.Groups[0].Target != 2 || s.Groups[1].Target != 0 {
		t.Errorf("%d classes wait, %d nodes, groups %+v", len(s.Pending), len(s.Nodes), s.Groups)
	}
	for i := range s.Nodes {
		agents := 0
		for _, p := range s.Nodes[i].Bound {
			if p.Flags&model.FromDaemonSet != 0 {
				agents++
			}
		}
		if agents != 1 {
			t.Errorf("%s has %d pods of the DaemonSet", s.Nodes[i].Name, agents)
		}
	}
	if after := fmt.Sprint(start.Objects); after != before {
		t.Error("the objects that were given have changed")
	}
}

// TestRandomWorldsComeToRest: at rest no pod waits that has room, each group has the machines of its target, and
// no object names a node that is gone.
func TestRandomWorldsComeToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := testkit.DrawWorld
		if rapid.Bool().Draw(t, "occupied") {
			draw = testkit.DrawOccupied
		}
		w := draw(t)
		start := started(w.Build(testkit.InOrder))
		var last model.Cycle
		limit, err := ask.UntilRest(context.Background(), start, w.Policy, func(c model.Cycle) { last = c })
		if err != nil || limit != "" {
			t.Fatalf("ended by %q, %v; %s\n%s", limit, err, last.Snapshot.Now.Sub(start.Now), last.Plan.Text(last.Snapshot))
		}
		for i := range last.Plan.Pending {
			if v := &last.Plan.Pending[i]; v.Existing+v.Upcoming+v.Planned > 0 && v.Skipped == nil {
				t.Errorf("pods have room, and wait:\n%s", last.Plan.Text(last.Snapshot))
			}
		}
		for i := range last.Snapshot.Groups {
			if g := &last.Snapshot.Groups[i]; g.HasTemplate && g.Err == nil && len(g.Instances) < g.Target {
				t.Errorf("%s has %d machines of %d", g.ID, len(g.Instances), g.Target)
			}
		}
	})
}

// TestUntilRestEndsWithItsContext: a person may end it between two plans.
func TestUntilRestEndsWithItsContext(t *testing.T) {
	c := testkit.New()
	c.Group("g", 0, 5, testkit.Node("", "4", "16Gi", nil))
	c.Pending(testkit.Pod("shop", "web", "3", "1Gi", nil), 1)
	ctx, cancel := context.WithCancel(t.Context())
	turns := 0
	_, err := ask.UntilRest(ctx, started(c), testkit.Policy(), func(model.Cycle) { turns++; cancel() })
	if !errors.Is(err, context.Canceled) || turns != 1 {
		t.Errorf("%d plans were made: %v", turns, err)
	}
}
