package report

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func observer() *desk { return newDesk(func(s *Settings) { s.Observe = true }) }

// ofObserver is the cycle that an observer's loop has: the plan's calls are on record
// when it is reported, and those of the cycle before have ended as not begun.
func ofObserver(c model.Cycle) model.Cycle {
	for i := range c.Plan.Calls {
		call := &c.Plan.Calls[i]
		call.ID, call.Reason, call.Why = "call-"+string(call.Verb), model.Fits, "2 pods of 1 kind"
		c.Memory.Asks = append(c.Memory.Asks, model.Ask{ID: call.ID, Group: "a", Units: make([]model.Unit, 2)})
		c.Ended = append(c.Ended, model.Outcome{Call: *call, Target: -1,
			Err: &provider.Error{Kind: provider.Transient, Code: model.CodeNotBegun, Message: "not begun"}})
	}
	c.Open = slices.Clone(c.Plan.Calls)
	c.Memory.Asks = append(c.Memory.Asks,
		model.Ask{ID: "found/a/1", Group: "a", Found: true, Units: make([]model.Unit, 1)})
	return c
}

func TestObservedGrowth(t *testing.T) {
	d := observer()
	d.report(t, ofObserver(growing(3, 2, says("a", model.GroupAtMax, "3 of 3"))))
	// 1. One line for the call, and none that says that anything was done.
	log := d.takeLog()
	if len(log) != 2 || !strings.Contains(log[0],
		`level=INFO msg="would begin" verb=Grow group=a from=1 to=3 max=10 new_nodes=2 for_pods=2 reason=Fits why="2 pods of 1 kind"`) ||
		!strings.Contains(log[1], "pods stay pending") {
		t.Errorf("log:\n%s", strings.Join(log, "\n"))
	}
	// 2. Events with reasons of their own alone.
	want := []string{
		"ConfigMap kube-system/status Normal WouldScaleUp: Observe mode: group a would go from 1 to 3 nodes (max: 10)",
		"Pod ns/web-000 Normal WouldTriggerScaleUp: Observe mode: pod would trigger scale-up: [{a 1->3 (max: 10)}]",
		"Pod ns/web-001 Normal WouldTriggerScaleUp: Observe mode: pod would trigger scale-up: [{a 1->3 (max: 10)}]",
	}
	if got := d.pad.take(); !slices.Equal(got, want) {
		t.Errorf("events:\n%s", strings.Join(got, "\n"))
	}
	// 3. The same again is no news.
	d.report(t, ofObserver(growing(3, 2, says("a", model.GroupAtMax, "3 of 3"))))
	if log, events := d.takeLog(), d.pad.take(); len(log) != 0 || len(events) != 0 {
		t.Errorf("log %q, events %q", log, events)
	}
	holds(t, d,
		`plimsoll_shadow_calls_total{verb="Grow"} 1`, `plimsoll_shadow_calls_total{verb="Taint"} 0`,
		`plimsoll_shadow_bought_nodes_total{node_group="a"} 2`, `plimsoll_shadow_wanted_nodes{node_group="a"} 2`,
		`plimsoll_shadow_waiting_pods{node_group="a"} 2`,
		`plimsoll_shadow_others_bought_nodes_total{here="wanted",node_group="a"} 0`,
		// Nothing was done, and nothing has failed.
		`cluster_autoscaler_scaled_up_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name=""} 0`,
		`cluster_autoscaler_errors_total{type="transientError"} 0`, `plimsoll_plan_divergence_total 0`,
		`plimsoll_plan_nodes 2`)
	if _, text := d.page(t, "/metrics"); strings.Contains(text, "plimsoll_call_duration_seconds_count") {
		t.Error("a call that was not begun took time")
	}
	// 4. Another client does it.
	done := model.Cycle{Decided: true, Snapshot: snapshot(0)}
	done.Snapshot.Groups[0].Target = 3
	d.report(t, done)
	if log := d.takeLog(); len(log) != 2 ||
		!strings.Contains(log[0], `msg="others bought nodes" group=a nodes=2 here=wanted after=`) ||
		!strings.Contains(log[1], `msg="no more nodes are needed" group=a would_have_bought=2 others_bought=2`) {
		t.Errorf("log:\n%s", strings.Join(log, "\n"))
	}
	holds(t, d, `plimsoll_shadow_others_bought_nodes_total{here="wanted",node_group="a"} 2`,
		`plimsoll_shadow_wanted_nodes{node_group="a"} 0`)
	// 5. A group that is gone is wanted no more; what was counted stays.
	gone := model.Cycle{Decided: true, Snapshot: snapshot(0)}
	gone.Snapshot.Groups, gone.Snapshot.Nodes = nil, nil
	d.report(t, gone)
	if _, text := d.page(t, "/metrics"); strings.Contains(text, "plimsoll_shadow_wanted_nodes{") ||
		!strings.Contains(text, "plimsoll_shadow_bought_nodes_total{") {
		t.Error("the gauges of a group outlive it, or its counters do not")
	}
}

func TestObservedRemoval(t *testing.T) {
	d := observer()
	going := func(known ...types.UID) model.Cycle {
		return ofObserver(model.Cycle{Decided: true, Snapshot: snapshot(0), Plan: model.Plan{
			Calls:    []model.Call{{Verb: model.Taint, Node: "n", Group: "a", Known: known}},
			Unneeded: []model.NodeVerdict{{Node: "n", Group: "a"}}}})
	}
	d.report(t, going("x", "y"))
	d.report(t, going("x", "y"))
	if log := d.takeLog(); len(log) != 1 || !strings.Contains(log[0],
		`verb=Taint group=a node=n then="cordon it, evict 2 pods, remove its instance" reason=Fits`) {
		t.Errorf("log:\n%s", strings.Join(log, "\n"))
	}
	want := []string{"Node /n Normal WouldScaleDown: Observe mode: the node would be tainted (2 pods of 1 kind), and " +
		"then: cordon it, evict 2 pods, remove its instance"}
	if got := d.pad.take(); !slices.Equal(got, want) {
		t.Errorf("events:\n%s", strings.Join(got, "\n"))
	}
	away := model.Cycle{Decided: true, Snapshot: snapshot(0)}
	away.Snapshot.Nodes = nil
	d.report(t, away)
	if log := d.takeLog(); len(log) != 1 ||
		!strings.Contains(log[0], `msg="others removed a node, or it is gone" node=n group=a here=wanted`) {
		t.Errorf("log:\n%s", strings.Join(log, "\n"))
	}
	holds(t, d, `plimsoll_shadow_removed_nodes_total{node_group="a"} 1`,
		`plimsoll_shadow_others_removed_nodes_total{here="wanted",node_group="a"} 1`,
		`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="empty"} 0`)
}

func holds(t *testing.T, d *desk, samples ...string) {
	t.Helper()
	code, text := d.page(t, "/metrics")
	for _, s := range samples {
		if code != http.StatusOK || !strings.Contains("\n"+text, "\n"+s+"\n") {
			t.Errorf("%d: no %s among\n%s", code, s, grep(text, "plimsoll_shadow"))
		}
	}
}

func grep(text, word string) string {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool {
		return !strings.Contains(l, word) || strings.HasPrefix(l, "#")
	})
	return strings.Join(lines, "\n")
}

// A process that acts has no metrics of what it would do.
func TestNoShadowOfWhatIsDone(t *testing.T) {
	d := newDesk()
	d.report(t, growing(2, 2))
	if _, text := d.page(t, "/metrics"); strings.Contains(text, "plimsoll_shadow") {
		t.Error(grep(text, "plimsoll_shadow"))
	}
}

// The status says that nothing is written, from the first moment on, and what is
// remembered has no intent that is not carried out.
func TestStatusOfAnObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, s := observer(), newShelf()
		w := d.KeepStatus(s, func() error { return nil }, status.Document{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		synctest.Wait()
		_, m := s.count()
		if first := parsed(t, m); first.Mode != status.ModeObserve || first.AutoscalerStatus != status.Initializing ||
			!strings.HasPrefix(first.Message, "observe mode: ") {
			t.Errorf("at first: %+v", first)
		}
		c := ofObserver(growing(3, 2))
		c.Snapshot.Unhealthy = &model.Verdict{Reason: model.ClusterUnhealthy, Detail: "9 of 10 nodes"}
		d.report(t, c)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		_, m = s.count()
		got := parsed(t, m)
		if got.Mode != status.ModeObserve || !strings.Contains(got.Message, "observe mode: ") ||
			!strings.Contains(got.Message, "9 of 10 nodes") ||
			got.NodeGroups[0].ScaleUp.Status == status.InProgress {
			t.Errorf("%+v", got)
		}
		memory, err := status.MemoryIn(m)
		if err != nil || len(memory.Asks) != 1 || !memory.Asks[0].Found {
			t.Errorf("%v: remembered %+v", err, memory.Asks)
		}
		cancel()
		synctest.Wait()
	})
}
