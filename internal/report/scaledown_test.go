package report

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// draining is a snapshot whose node n is being emptied.
func draining(d model.Drain) *model.Snapshot {
	s := snapshot(0)
	d.Node, d.Group = "n", "a"
	s.Nodes[0].Standing.Drain = &d
	return s
}

func evict(err *provider.Error) model.Outcome {
	o := outcome(model.Evict, err)
	o.Call.Pod, o.Call.PodUID = "shop/db-0", "uid"
	return o
}

func fails(k provider.Kind) *provider.Error {
	return &provider.Error{Op: "Evict", Kind: k, Message: "no"}
}

func TestEndsOnNodes(t *testing.T) {
	unchanged := func(o model.Outcome) model.Outcome { o.Unchanged = true; return o }
	back := func(r model.Reason) model.Outcome {
		o := outcome(model.Untaint, nil)
		o.Call.Reason, o.Call.Why = r, "pod shop/db-0 could not be evicted for 2m0s"
		return o
	}
	landed := outcome(model.Cordon, fails(provider.Conflict))
	landed.Landed = []string{"ns/late"}
	late := fails(provider.Transient)
	late.Code = model.CodeNotBegun
	unsure := fails(provider.Conflict)
	unsure.MayHaveHappened = true
	const quiet = `cluster_autoscaler_errors_total{type="apiCallError"} 0`
	const failed = `cluster_autoscaler_errors_total{type="apiCallError"} 1`
	for _, c := range []struct {
		name       string
		out        model.Outcome
		event, log string // no log: none above the level of debugging
		metrics    []string
	}{
		{"tainted", outcome(model.Taint, nil),
			"Node /n Normal ScaleDown: marked the node as toBeDeleted/unschedulable: empty for 10m",
			"", []string{quiet}},
		{"was tainted", unchanged(outcome(model.Taint, nil)), "", "", nil},
		{"cordoned", outcome(model.Cordon, nil), "", "",
			[]string{`plimsoll_call_duration_seconds_count{end="done",verb="Cordon"} 1`}},
		{"a pod landed before the cordon", landed,
			"Node /n Warning ScaleDownFailed: the node stays: pods landed on it: ns/late", "ns/late",
			[]string{quiet, `plimsoll_call_duration_seconds_count{end="landed",verb="Cordon"} 1`}},
		{"not cordoned", outcome(model.Cordon, fails(provider.Denied)),
			"Node /n Warning ScaleDownFailed: Cordon failed: ", "grant the permission", []string{failed}},
		{"evicted", evict(nil), "Pod shop/db-0 Normal ScaleDown: deleting pod for node scale down: node n", "",
			[]string{`cluster_autoscaler_evicted_pods_total{eviction_result="succeeded"} 1`,
				`plimsoll_evictions_refused_total 0`}},
		{"was gone already", unchanged(evict(nil)), "", "",
			[]string{`cluster_autoscaler_evicted_pods_total{eviction_result="succeeded"} 0`}},
		{"refused", evict(fails(provider.Conflict)), "", "",
			[]string{quiet, `cluster_autoscaler_errors_total{type="transientError"} 0`,
				`plimsoll_evictions_refused_total 1`,
				`cluster_autoscaler_evicted_pods_total{eviction_result="failed"} 0`,
				`plimsoll_call_duration_seconds_count{end="refused",verb="Evict"} 1`}},
		{"it is unknown", evict(unsure), "Pod shop/db-0 Warning ScaleDownFailed: pod could not be evicted from node n: ",
			"pod=shop/db-0",
			[]string{failed, `plimsoll_evictions_refused_total 0`,
				`plimsoll_call_duration_seconds_count{end="unknown",verb="Evict"} 1`}},
		{"must not be evicted by us", evict(fails(provider.Denied)),
			"Pod shop/db-0 Warning ScaleDownFailed: pod could not be evicted", "pod=shop/db-0", []string{failed}},
		{"not begun", evict(late), "", "pod=shop/db-0", nil},
		{"not begun either", outcome(model.Taint, late), "", "node=n", nil},
		{"rolled back", back(model.EvictionRefused),
			"Node /n Warning ScaleDownFailed: its scale-down was rolled back: EvictionRefused (pod shop/db-0 could not be " +
				"evicted for 2m0s)",
			`level=INFO msg="a scale-down was rolled back" verb=Untaint group=a node=n`, nil},
		{"rolled back, as it should", back(model.Reserved),
			"Node /n Normal ScaleDownFailed: its scale-down was rolled back: Reserved", "why=", nil},
		{"was rolled back already", unchanged(back(model.EvictionRefused)), "", "", nil},
		{"marked", outcome(model.Mark, nil), "", "", nil},
		{"not unmarked", outcome(model.Unmark, fails(provider.Denied)), "", "grant the permission", []string{failed}},
		{"not annotated", outcome(model.Annotate, fails(provider.Transient)), "", "verb=Annotate", []string{failed}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk()
			d.report(t, model.Cycle{Snapshot: snapshot(0), Ended: []model.Outcome{c.out}})
			if got := strings.Join(d.pad.take(), "\n"); !strings.HasPrefix(got, c.event) ||
				(c.event == "") != (got == "") || strings.Contains(got, "\n") {
				t.Errorf("events: %s", got)
			}
			if got := strings.Join(d.takeLog(), "\n"); !strings.Contains(got, c.log) || (c.log == "") != (got == "") {
				t.Errorf("log: %s", got)
			}
			_, page := d.page(t, "/metrics")
			for _, want := range c.metrics {
				if !strings.Contains(page, want+"\n") {
					t.Errorf("metrics lack %s", want)
				}
			}
		})
	}
}

// A node's taint, its removal and what it is rolled back for are different news,
// and each is reported, however short a time lies between them.
func TestOneNodeHasSeveralEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		back := outcome(model.Untaint, nil)
		back.Call.Reason = model.EvictionRefused
		again := outcome(model.Taint, nil)
		d.report(t, model.Cycle{Snapshot: snapshot(0), Ended: []model.Outcome{outcome(model.Taint, nil),
			outcome(model.Remove, fails(provider.Throttled)), back, again, outcome(model.Remove, nil)}})
		if got := d.pad.take(); len(got) != 4 {
			t.Errorf("%d events:\n%s", len(got), strings.Join(got, "\n"))
		}
	})
}

// To give a node back is a warning where its removal was tried in vain.
func TestGivenBackInVain(t *testing.T) {
	for r, warning := range map[model.Reason]bool{
		model.PodLanded: true, model.EvictionRefused: true, model.ReplacementWaits: true, model.NoPlaceToMovePods: true,
		model.DrainFailed:  true,
		model.NotEnoughPdb: true, model.ToleratesRemoval: true, model.NotReplicated: true,
		model.Reserved: false, model.ScaleDownOff: false, model.ScaleDownDisabled: false, model.ReadyAgain: false,
		model.InstanceHeld:  false,
		model.NotAutoscaled: false, model.AllOrNothing: false, model.ClusterUnhealthy: false,
		model.LeaderChanged: false,
	} {
		d := newDesk()
		out := outcome(model.Untaint, nil)
		out.Call.Reason = r
		d.report(t, model.Cycle{Snapshot: snapshot(0), Ended: []model.Outcome{out}})
		if got := d.pad.take(); len(got) != 1 || strings.Contains(got[0], "Warning ScaleDownFailed") != warning {
			t.Errorf("%s: %q", r, got)
		}
	}
}

// Why a node went is what was known when its removal began: at its end, the node
// may be gone.
func TestWhyANodeWent(t *testing.T) {
	for _, c := range []struct {
		reason, event     string
		occupied, unready bool
	}{
		{"empty", `ScaleDownEmpty: Scale-down: removing empty node "n" of group a`, false, false},
		{"underutilized", `ScaleDown: Scale-down: removing node "n" of group a, whose pods have left`, true, false},
		{"unready", `ScaleDown: Scale-down: removing node "n" of group a, which is not ready`, true, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			d := newDesk()
			call := model.Call{ID: "Remove/n/1", Verb: model.Remove, Group: "a", Node: "n",
				Instance: "i", Unready: c.unready}
			d.report(t, model.Cycle{Decided: true,
				Snapshot: draining(model.Drain{Stage: model.Evicting, Occupied: c.occupied}),
				Plan:     model.Plan{Calls: []model.Call{call}}})
			if got := d.pad.take(); len(got) != 1 || got[0] != "ConfigMap kube-system/status Normal "+c.event {
				t.Errorf("events: %q", got)
			}
			gone := snapshot(0)
			gone.Nodes = nil
			d.report(t, model.Cycle{Snapshot: gone, Ended: []model.Outcome{{Call: call}}})
			_, page := d.page(t, "/metrics")
			if want := fmt.Sprintf(
				`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason=%q} 1`,
				c.reason); !strings.Contains(page, want) {
				t.Errorf("metrics lack %s", want)
			}
			if len(d.removals.reasons) != 0 {
				t.Errorf("remembered: %v", d.removals.reasons)
			}
		})
	}
}

// Pods whose evictions were refused until their node was rolled back are failed
// evictions, once, however often giving back is tried.
func TestEvictionsThatFailed(t *testing.T) {
	d := newDesk()
	failed := func(want int) {
		t.Helper()
		if _, page := d.page(t, "/metrics"); !strings.Contains(page,
			fmt.Sprintf("cluster_autoscaler_evicted_pods_total{eviction_result=\"failed\"} %d\n", want)) {
			t.Errorf("not %d failed evictions", want)
		}
	}
	drain := model.Drain{Stage: model.Evicting, Began: time.Unix(10, 0), Evictions: []model.Eviction{
		{Pod: "ns/granted", Granted: true, Why: "not at first"}, {Pod: "ns/refused", Why: "budget"},
		{Pod: "ns/failed", Why: "denied"}, {Pod: "ns/unanswered", Busy: true}}}
	cycle := func(s *model.Snapshot, calls ...model.Call) model.Cycle {
		return model.Cycle{Decided: true, Snapshot: s, Plan: model.Plan{Calls: calls}}
	}
	untaint := model.Call{Verb: model.Untaint, Group: "a", Node: "n"}
	d.report(t, cycle(draining(drain)))
	failed(0)
	d.report(t, cycle(draining(drain), untaint))
	failed(2)
	drain.Stage = model.RollingBack
	d.report(t, cycle(draining(drain), untaint))
	failed(2)
	d.report(t, cycle(snapshot(0)))
	if len(d.removals.given) != 0 {
		t.Errorf("remembered: %v", d.removals.given)
	}
	drain.Began = time.Unix(20, 0)
	d.report(t, cycle(draining(drain), untaint))
	failed(4)
}

func TestGaugesOfNodesThatGoAndStay(t *testing.T) {
	d := newDesk()
	s := draining(model.Drain{Stage: model.Evicting})
	s.Nodes = append(s.Nodes,
		&model.Node{Name: "o", Standing: model.NodeStanding{Drain: &model.Drain{Stage: model.Evicting}}},
		&model.Node{Name: "p", Standing: model.NodeStanding{Drain: &model.Drain{Stage: model.RollingBack}}})
	verdict := func(node string, r model.Reason) model.NodeVerdict {
		return model.NodeVerdict{Node: node, Verdict: model.Verdict{Reason: r}}
	}
	d.report(t, model.Cycle{Decided: true, Snapshot: s, Plan: model.Plan{
		Unneeded: []model.NodeVerdict{verdict("u", model.Unneeded), verdict("v", model.Cooldown),
			verdict("w", model.GroupAtMin)},
		Kept: []model.NodeVerdict{verdict("x", model.NotUnderutilized), verdict("y", model.NotEnoughPdb),
			verdict("z", model.NotEnoughPdb)},
	}})
	_, page := d.page(t, "/metrics")
	for _, want := range []string{
		`cluster_autoscaler_unneeded_nodes_count 3`,
		`cluster_autoscaler_unremovable_nodes_count{reason="Cooldown"} 1`,
		`cluster_autoscaler_unremovable_nodes_count{reason="NodeGroupMinSizeReached"} 1`,
		`cluster_autoscaler_unremovable_nodes_count{reason="NotEnoughPdb"} 2`,
		`cluster_autoscaler_unremovable_nodes_count{reason="NotUnderutilized"} 1`,
		`cluster_autoscaler_scale_down_in_cooldown 1`,
		`cluster_autoscaler_pending_node_deletions 3`,
		`plimsoll_drains{stage="Evicting"} 2`,
		`plimsoll_drains{stage="RollingBack"} 1`,
		`plimsoll_drains{stage="Removing"} 0`,
		`plimsoll_evictions_refused_total 0`,
		`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="underutilized"} 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("lacking %s", want)
		}
	}
	if strings.Contains(page, `reason="Unneeded"`) {
		t.Error("a node that goes is counted among those that stay")
	}
}

// Each step of a drain is said once; what is tried again, and what only marks
// nodes, is said at a higher verbosity.
func TestLinesOfADrain(t *testing.T) {
	on := func(v model.Verb) model.Call { return model.Call{Verb: v, Group: "a", Node: "n"} }
	pod := func(name string) model.Call {
		c := on(model.Evict)
		c.Pod, c.PodUID = "ns/"+name, types.UID(name)
		return c
	}
	s := draining(model.Drain{Stage: model.Evicting,
		Evictions: []model.Eviction{{Pod: "ns/old", UID: "old", Why: "budget"}}})
	for _, c := range []struct {
		name  string
		calls []model.Call
		loud  bool
		line  string
	}{
		{"a drain's steps", []model.Call{on(model.Cordon), on(model.Taint), pod("new"), pod("old")}, true,
			"msg=acting taint=n cordon=n evict=ns/new evict_again=ns/old decided_in="},
		{"an eviction again", []model.Call{pod("old")}, false, "msg=acting evict_again=ns/old decided_in="},
		{"marks", []model.Call{on(model.Mark), on(model.Unmark), on(model.Annotate)}, false,
			"msg=acting mark=n unmark=n annotate=n decided_in="},
		{"a mark beside a removal", []model.Call{on(model.Mark), on(model.Remove)}, true,
			"msg=acting remove=n mark=n decided_in="},
		{"nothing", nil, false, ""},
	} {
		d := newDesk()
		d.report(t, model.Cycle{Decided: true, Snapshot: s, Plan: model.Plan{Calls: c.calls}})
		if log := strings.Join(d.takeLog(), "\n"); (log != "") != c.loud {
			t.Errorf("%s: %s", c.name, log)
		}
		d.Reporter.log = slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		d.logPlan(context.Background(), model.Cycle{Snapshot: s, Plan: model.Plan{Calls: c.calls}}, 0)
		if log := d.log.String(); !strings.Contains(log, c.line) ||
			strings.Contains(log, "msg=acting") != (c.line != "") {
			t.Errorf("%s: with --v=4: %s", c.name, log)
		}
	}
}
