package report

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

func happened(changes ...model.Change) model.Cycle {
	return model.Cycle{Decided: true, Snapshot: snapshot(0), Changes: changes}
}

func TestChangesOfTheRegistry(t *testing.T) {
	for _, c := range []struct {
		name       string
		changes    []model.Change
		event, log string
		metrics    []string
	}{
		{"given up", []model.Change{{Kind: model.AskGivenUp, Group: "a", Count: 3, Cause: provider.Transient,
			Message: "3 of the nodes did not register within 15m0s"}},
			"ConfigMap kube-system/status Warning ScaleUpTimedOut: Scale-up of group a timed out: 3 of the nodes did not " +
				"register within 15m0s",
			`msg="requested nodes did not arrive in time, and are given up" group=a nodes=3`,
			[]string{`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="timeout"} 1`,
				`cluster_autoscaler_failed_node_creations_total{reason="timeout"} 3`}},
		{"given up at the cloud's word",
			[]model.Change{{Kind: model.AskGivenUp, Group: "a", Count: 2, Cause: provider.NoCapacity,
				Message: "Could not launch: zone a is sold out"}},
			"ConfigMap kube-system/status Warning ScaleUpTimedOut: Scale-up of group a failed for 2 nodes: Could not launch: " +
				"zone a is sold out",
			`msg="the cloud cannot make the requested nodes, and they are given up" group=a nodes=2 kind=NoCapacity`,
			[]string{`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="cloudProviderError"} 1`,
				`cluster_autoscaler_failed_node_creations_total{reason="timeout"} 0`}},
		{"stock-out of many", []model.Change{
			{Kind: model.CreationFailed, Group: "a", Instance: "i-1", Count: 1, Cause: provider.NoCapacity,
				Message: "none left"},
			{Kind: model.CreationFailed, Group: "a", Instance: "i-2", Count: 1, Cause: provider.NoCapacity,
				Message: "none left"}},
			"ConfigMap kube-system/status Warning ScaleUpFailed: Scale-up of group a failed for 2 instances: none left",
			`group=a instances=2 first=i-1 kind=NoCapacity`,
			[]string{`cluster_autoscaler_failed_scale_ups_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="cloudProviderError"} 1`,
				`cluster_autoscaler_failed_node_creations_total{reason="cloudProviderError"} 2`}},
		{"a rest begins", []model.Change{{Kind: model.BackoffBegan, Group: "a", Cause: provider.Quota,
			Message: "for 5m0s: quota"}},
			"", `level=WARN msg="a group backs off after a failed scale-up; other groups are tried" group=a kind=Quota rests="for 5m0s: quota"`, nil},
		{"a rest ends", []model.Change{{Kind: model.BackoffEnded, Group: "a", Message: "a scale-up succeeded"}},
			"", `group=a why="a scale-up succeeded"`, nil},
		{"what cannot happen", []model.Change{{Kind: model.RemovalOdd, Group: "a", Message: "node n: Cordon begins"}},
			"", `level=WARN msg="something happened to a removal that cannot happen, and changed nothing: please report it" ` +
				`group=a what="node n: Cordon begins"`, nil},
		{"arrived", []model.Change{{Kind: model.AskArrived, Group: "a", Count: 1}}, "", "",
			[]string{`cluster_autoscaler_failed_node_creations_total{reason="timeout"} 0`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk()
			d.report(t, happened(c.changes...))
			if got := strings.Join(d.pad.take(), "\n"); got != c.event {
				t.Errorf("events: %s", got)
			}
			if got := d.takeLog(); (c.log == "") != (len(got) == 0) ||
				!strings.Contains(strings.Join(got, "\n"), c.log) || len(got) > 1 {
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

// Failures of two kinds in one group are two events.
func TestTwoFailuresOfOneGroup(t *testing.T) {
	d := newDesk()
	d.report(t, happened(
		model.Change{Kind: model.CreationFailed, Group: "a", Count: 1, Cause: provider.NoCapacity, Message: "x"},
		model.Change{Kind: model.CreationFailed, Group: "a", Count: 1, Cause: provider.Quota, Message: "y"}))
	if got := d.pad.take(); len(got) != 2 {
		t.Errorf("%q", got)
	}
}

func TestEndsOfRepairs(t *testing.T) {
	call := func(verb model.Verb, reason model.Reason) model.Call {
		c := model.Call{Verb: verb, Group: "a", Reason: reason, Why: "no node within 15m0s"}
		if verb == model.Remove {
			c.Instance = "i-1"
		} else {
			c.From, c.To = 5, 3
		}
		return c
	}
	failed := &provider.Error{Op: provider.OpRemove, Group: "a", Kind: provider.Throttled, Message: "slow down"}
	for _, c := range []ended{
		{"never registered, removed", model.Outcome{Call: call(model.Remove, model.ProvisionTimeout)},
			"ConfigMap kube-system/status Normal DeleteUnregistered: Instance i-1 of group a, which has no node, was removed: " +
				"no node within 15m0s", "",
			"cluster_autoscaler_old_unregistered_nodes_removed_count 1"},
		{"could not be made, removed", model.Outcome{Call: call(model.Remove, model.InstanceFailed)},
			"ConfigMap kube-system/status Normal DeleteUnregistered: Instance i-1", "",
			"cluster_autoscaler_old_unregistered_nodes_removed_count 0"},
		{"not removed", model.Outcome{Call: call(model.Remove, model.ProvisionTimeout), Err: failed},
			"ConfigMap kube-system/status Warning DeleteUnregisteredFailed: Instance i-1 of group a, which has no node, could " +
				"not be removed: remove group", "instance=i-1",
			"cluster_autoscaler_old_unregistered_nodes_removed_count 0"},
		{"resized", model.Outcome{Call: call(model.Cancel, model.ProvisionTimeout)}, "", "",
			`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="empty"} 0`},
		{"not resized", model.Outcome{Call: call(model.Cancel, model.ProvisionTimeout), Err: failed},
			"ConfigMap kube-system/status Warning FailedToRevertScaleUp: Group a could not be resized from 5 to 3 nodes: ",
			"from=5 to=3",
			`cluster_autoscaler_errors_total{type="transientError"} 1`},
		{"an unready node, removed", model.Outcome{Call: model.Call{Verb: model.Remove, Group: "a", Node: "n",
			Unready: true, Why: "not ready for 20m"}},
			"Node /n Normal ScaleDown: node removed by the cluster autoscaler: not ready for 20m", "",
			`cluster_autoscaler_scaled_down_nodes_total{dra_drivers="",gpu_name="",gpu_resource_name="",reason="unready"} 1`},
	} {
		t.Run(c.name, c.check)
	}
}

// What a repair sets out to do is in the line of the cycle; events about it wait
// for its end, and an unready node is not called empty.
func TestRepairsInThePlan(t *testing.T) {
	d := newDesk()
	d.report(t, model.Cycle{Decided: true, Snapshot: snapshot(0), Plan: model.Plan{Calls: []model.Call{
		{Verb: model.Remove, Group: "a", Instance: "i-1", Reason: model.ProvisionTimeout},
		{Verb: model.Cancel, Group: "a", From: 5, To: 3},
		{Verb: model.Remove, Group: "a", Node: "n", Unready: true},
	}}})
	if log := d.takeLog(); len(log) != 1 ||
		!strings.Contains(log[0], `remove=n remove_instances="i-1 (ProvisionTimeout)" cancel="a 5->3"`) {
		t.Errorf("log: %s", log)
	}
	if got := d.pad.take(); !slices.Equal(got,
		[]string{`ConfigMap kube-system/status Normal ScaleDown: Scale-down: removing node "n" of group a, which is not ready`}) {
		t.Errorf("events: %q", got)
	}
}

// Nodes of a scale-up that failed are counted once, and only as far as they are
// known not to come.
func TestNodesInVain(t *testing.T) {
	for name, c := range map[string]struct {
		err    provider.Error
		target int
		want   int
	}{
		"refused":               {provider.Error{Kind: provider.Quota}, -1, 2},
		"half of it":            {provider.Error{Kind: provider.Quota, MayHaveHappened: true}, 2, 1},
		"it is unknown":         {provider.Error{Kind: provider.Transient, MayHaveHappened: true}, -1, 0},
		"it was all there":      {provider.Error{Kind: provider.Transient, MayHaveHappened: true}, 3, 0},
		"more than we asked":    {provider.Error{Kind: provider.Conflict}, 7, 0},
		"the target, as it was": {provider.Error{Kind: provider.NoCapacity}, 1, 2},
	} {
		out := outcome(model.Grow, &c.err) // 1 → 3
		out.Target = c.target
		if got := inVain(out); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestUnhealthyCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		c := happened()
		c.Snapshot.Unhealthy = &model.Verdict{Reason: model.ClusterUnhealthy, Detail: "6 of 10 nodes are not ready",
			Fix: "at most 45% are"}
		told := 0
		for range 31 { // 5 minutes and a bit
			d.report(t, c)
			for _, e := range d.pad.take() {
				if e != "ConfigMap kube-system/status Warning ClusterUnhealthy: Cluster is unhealthy: 6 of 10 nodes are not "+
					"ready; nothing is bought or removed" {
					t.Error(e)
				}
				told++
			}
			time.Sleep(10 * time.Second)
		}
		if told != 2 {
			t.Errorf("told %d times in five minutes", told)
		}
		if log := d.takeLog(); len(log) != 1 || !strings.Contains(log[0],
			`why="ClusterUnhealthy (6 of 10 nodes are not ready)" healthy_when="at most 45% are"`) {
			t.Errorf("log: %s", log)
		}
		if _, page := d.page(t, "/metrics"); !strings.Contains(page,
			"cluster_autoscaler_cluster_safe_to_autoscale 0\n") {
			t.Error("the metric says that it is safe")
		}
		d.report(t, happened())
		d.report(t, happened())
		if log := d.takeLog(); len(log) != 1 || !strings.Contains(log[0], "the cluster is healthy again") {
			t.Errorf("log: %s", log)
		}
		if _, page := d.page(t, "/metrics"); !strings.Contains(page,
			"cluster_autoscaler_cluster_safe_to_autoscale 1\n") {
			t.Error("the metric says that it is not safe")
		}
	})
}

func TestUnhealthyGroup(t *testing.T) {
	d := newDesk()
	says := func(name string, v *model.Verdict, want string) {
		t.Helper()
		c := happened()
		c.Snapshot.Groups[0].Unhealthy = v
		d.report(t, c)
		if log := d.takeLog(); (want == "") != (len(log) == 0) || len(log) > 1 ||
			!strings.Contains(strings.Join(log, ""), want) {
			t.Errorf("%s: %q", name, log)
		}
	}
	says("healthy", nil, "")
	says("sick", &model.Verdict{Reason: model.NodeNeverStarted, Detail: "1 node"},
		`group=a why="NodeNeverStarted (1 node)"`)
	says("still", &model.Verdict{Reason: model.NodeNeverStarted, Detail: "2 nodes"}, "")
	says("worse", &model.Verdict{Reason: model.GroupUnhealthy}, "why=GroupUnhealthy")
	says("cured", nil, `msg="a group is healthy again" group=a`)
	says("sick again", &model.Verdict{Reason: model.GroupUnhealthy}, "why=GroupUnhealthy")
	gone := happened()
	gone.Snapshot.Groups, gone.Snapshot.Nodes = nil, nil
	d.report(t, gone)
	if log := d.takeLog(); len(log) != 0 || len(d.standing.groups) != 0 {
		t.Errorf("a group that is gone: %q", log)
	}
}

// Gauges of the registry, and their end with what they are about.
func TestGaugesOfTheRegistry(t *testing.T) {
	d := newDesk(func(s *Settings) { s.PerGroupMetrics = true })
	c := happened()
	s := c.Snapshot
	s.Counts = model.Counts{Total: 12, Ready: 3, Young: 2, NeverStarted: 1, Suspended: 1, BeingDeleted: 1, Unready: 4,
		Unregistered: 5, LongUnregistered: 6}
	s.Others = model.Counts{Total: 1, Ready: 1}
	s.Groups[0].Unhealthy = &model.Verdict{Reason: model.GroupUnhealthy}
	s.Groups[0].Rests = model.Rests{{
		Cause: model.RestFailed, Until: s.Now.Add(time.Second), Kind: provider.NoCapacity, Code: "OutOfStock"}}
	s.Groups = append(s.Groups, model.Group{Group: provider.Group{ID: "b"}})
	d.report(t, c)
	shows := func(want bool, lines ...string) {
		t.Helper()
		_, page := d.page(t, "/metrics")
		for _, line := range lines {
			if strings.Contains(page, "cluster_autoscaler_"+line) != want {
				t.Errorf("%s: shown %v", line, !want)
			}
		}
	}
	rests := `node_group_backoff_status{node_group="a",reason="OutOfStock"} 1` + "\n"
	shows(true, `nodes_count{state="ready"} 4`+"\n", `nodes_count{state="unready"} 5`+"\n",
		`nodes_count{state="notStarted"} 2`+"\n",
		`nodes_count{state="suspended"} 1`+"\n", `nodes_count{state="unregistered"} 5`+"\n",
		`nodes_count{state="longUnregistered"} 6`+"\n",
		`node_group_healthiness{node_group="a"} 0`+"\n", `node_group_healthiness{node_group="b"} 1`+"\n", rests,
		`node_group_backoff_status{node_group="b",reason=""} 0`+"\n", `node_group_min_count{node_group="a"} 1`+"\n",
		`node_group_target_count{node_group="a"} 1`+"\n")
	// The rest is over: the reason is gone.
	s.Groups[0].Rests[0].Until = s.Now
	d.report(t, c)
	shows(false, `node_group_backoff_status{node_group="a",reason="OutOfStock"}`)
	shows(true, `node_group_backoff_status{node_group="a",reason=""} 0`+"\n")
	// The group is gone: all of it is.
	s.Groups = s.Groups[1:]
	d.report(t, c)
	_, page := d.page(t, "/metrics")
	if strings.Contains(page, `node_group="a"`) || !strings.Contains(page, `node_group="b"`) {
		t.Error("a group that is gone is shown, or one that is not is not")
	}
}
