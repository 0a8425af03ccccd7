package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const (
	rulesFile = "../../../charts/plimsoll/files/alerts.yaml"
	runbooks  = "../../../docs/runbooks.md"
	step      = time.Minute
)

// well is the series of a Plimsoll that does its work for eight hours: at the minute n its
// clock is 60·n. It buys and removes nodes, and now and then something fails. The second
// replica waits, and has counters alone. What a replica serves besides those of the Cluster
// Autoscaler's names tells that it is one.
const well = `load 1m
cluster_autoscaler_last_activity{namespace="n",job="p",instance="a",activity="main"} 0+60x480
cluster_autoscaler_last_activity{namespace="n",job="p",instance="a",activity="mainSuccessful"} 0+60x480
plimsoll_inventory_as_of_seconds{namespace="n",job="p",instance="a"} -20+60x480
cluster_autoscaler_cluster_safe_to_autoscale{namespace="n",job="p",instance="a"} 1x480
plimsoll_pending_pods{namespace="n",job="p",instance="a",fate="left"} 0x100 3x10 0x370
plimsoll_pending_pods{namespace="n",job="p",instance="a",fate="planned"} 5x480
cluster_autoscaler_unschedulable_pods_count{namespace="n",job="p",instance="a",type="unschedulable"} 5x25 0 5x25 0 7x25 0 5x20 0x380
cluster_autoscaler_node_group_target_count{namespace="n",job="p",instance="a",node_group="g"} 10x480
cluster_autoscaler_node_group_max_count{namespace="n",job="p",instance="a",node_group="g"} 10x480
cluster_autoscaler_node_group_target_count{namespace="n",job="p",instance="a",node_group="off"} 0x480
cluster_autoscaler_node_group_max_count{namespace="n",job="p",instance="a",node_group="off"} 0x480
cluster_autoscaler_node_group_backoff_status{namespace="n",job="p",instance="a",node_group="g",reason=""} 0x480
cluster_autoscaler_node_group_backoff_status{namespace="n",job="p",instance="a",node_group="off",reason="OutOfStock"} 1x20 _x460
cluster_autoscaler_node_group_backoff_status{namespace="n",job="p",instance="a",node_group="off",reason=""} _x20 0x460
cluster_autoscaler_node_group_healthiness{namespace="n",job="p",instance="a",node_group="g"} 1x480
cluster_autoscaler_failed_scale_ups_total{namespace="n",job="p",instance="a",reason="timeout"} 0x200 1x200 2x80
cluster_autoscaler_failed_scale_ups_total{namespace="n",job="p",instance="b",reason="timeout"} 0x480
cluster_autoscaler_nodes_count{namespace="n",job="p",instance="a",state="ready"} 40x480
cluster_autoscaler_nodes_count{namespace="n",job="p",instance="a",state="longUnregistered"} 0x100 1x5 0x375
cluster_autoscaler_evicted_pods_total{namespace="n",job="p",instance="a",eviction_result="failed"} 0x100 1x100 2x280
cluster_autoscaler_evicted_pods_total{namespace="n",job="p",instance="a",eviction_result="succeeded"} 0+3x480
plimsoll_drains{namespace="n",job="p",instance="a",stage="Evicting"} 1x40 0x5 2x50 0x385
cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="cloudProviderError"} 0x60 1x200 2x220
cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="transientError"} 0x60 5x200 15x220
cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="apiCallError"} 0x60 2x200 4x220
cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="internalError"} 0x480
plimsoll_plan_divergence_total{namespace="n",job="p",instance="a"} 0x60 1x420
plimsoll_plan_divergence_total{namespace="n",job="p",instance="b"} 0x480
cluster_autoscaler_scaled_up_nodes_total{namespace="n",job="p",instance="a"} 0+0.3x480
cluster_autoscaler_scaled_down_nodes_total{namespace="n",job="p",instance="a",reason="empty"} 0+0.3x480
plimsoll_provider_notices{namespace="n",job="p",instance="a",code="BadTag"} 1x30 0x450
plimsoll_eks_anywhere_workers_ready{namespace="n",job="p",instance="a",cluster="c"} 1x30 0x20 1x430
plimsoll_eks_anywhere_worker_node_groups_valid{namespace="n",job="p",instance="a",cluster="c"} 1x30 0x5 1x445
`

// ill are, for each alert, the series that are otherwise when it must fire, and the first
// minute at which it does.
var ill = map[string]struct {
	series string
	from   int
	labels string // beside the alert's name and the severity
}{
	"PlimsollNoLeader":           {`cluster_autoscaler_last_activity{namespace="n",job="p",instance="a",activity="main"} _x480`, 5, `namespace="n", job="p"`},
	"PlimsollLoopStalled":        {`cluster_autoscaler_last_activity{namespace="n",job="p",instance="a",activity="main"} 0+60x30 1800x450`, 36, `namespace="n", job="p"`},
	"PlimsollLoopFails":          {`cluster_autoscaler_last_activity{namespace="n",job="p",instance="a",activity="mainSuccessful"} 0+60x30 1800x450`, 38, `namespace="n", job="p"`},
	"PlimsollInventoryStale":     {`plimsoll_inventory_as_of_seconds{namespace="n",job="p",instance="a"} 0+60x30 1800x450`, 41, `namespace="n", job="p"`},
	"PlimsollNotSafeToAutoscale": {`cluster_autoscaler_cluster_safe_to_autoscale{namespace="n",job="p",instance="a"} 1x30 0x450`, 41, `namespace="n", job="p"`},
	"PlimsollPodsNotHelped":      {`plimsoll_pending_pods{namespace="n",job="p",instance="a",fate="left"} 0x30 2x450`, 46, `namespace="n", job="p"`},
	"PlimsollPodsWaitLong":       {`cluster_autoscaler_unschedulable_pods_count{namespace="n",job="p",instance="a",type="unschedulable"} 0x30 2x450`, 61, `namespace="n", job="p"`},
	"PlimsollGroupFull":          {`plimsoll_pending_pods{namespace="n",job="p",instance="a",fate="left"} 0x30 2x450`, 46, `namespace="n", job="p", node_group="g"`},
	"PlimsollGroupBacksOff":      {`cluster_autoscaler_node_group_backoff_status{namespace="n",job="p",instance="a",node_group="off",reason="OutOfStock"} 1x480`, 30, `namespace="n", job="p", node_group="off"`},
	"PlimsollAllGroupsBackOff": {`cluster_autoscaler_node_group_backoff_status{namespace="n",job="p",instance="a",node_group="off",reason="OutOfStock"} 1x480
cluster_autoscaler_node_group_backoff_status{namespace="n",job="p",instance="a",node_group="g",reason="Quota"} 1x480`, 10, `namespace="n", job="p"`},
	"PlimsollGroupUnhealthy":     {`cluster_autoscaler_node_group_healthiness{namespace="n",job="p",instance="a",node_group="g"} 1x30 0x450`, 46, `namespace="n", job="p", node_group="g"`},
	"PlimsollGrowthFails":        {`cluster_autoscaler_failed_scale_ups_total{namespace="n",job="p",instance="a",reason="timeout"} 0x30 1x5 2x5 4x440`, 43, `namespace="n", job="p", reason="timeout"`},
	"PlimsollNodesDoNotRegister": {`cluster_autoscaler_nodes_count{namespace="n",job="p",instance="a",state="longUnregistered"} 0x30 1x450`, 46, `namespace="n", job="p"`},
	"PlimsollDrainsFail":         {`cluster_autoscaler_evicted_pods_total{namespace="n",job="p",instance="a",eviction_result="failed"} 0x30 1x5 2x5 4x440`, 43, `namespace="n", job="p"`},
	"PlimsollDrainStuck":         {`plimsoll_drains{namespace="n",job="p",instance="a",stage="Evicting"} 0x30 1x450`, 91, `namespace="n", job="p", stage="Evicting"`},
	"PlimsollCloudErrors":        {`cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="cloudProviderError"} 0x30 0+1x450`, 39, `namespace="n", job="p", type="cloudProviderError"`},
	"PlimsollTransientErrors":    {`cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="transientError"} 0x30 0+3x450`, 53, `namespace="n", job="p"`},
	"PlimsollAPIServerErrors":    {`cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="apiCallError"} 0x30 0+1x450`, 41, `namespace="n", job="p"`},
	"PlimsollInternalErrors":     {`cluster_autoscaler_errors_total{namespace="n",job="p",instance="a",type="internalError"} 0x30 1x450`, 31, `namespace="n", job="p"`},
	"PlimsollPlanNotAllowed":     {`plimsoll_plan_replays_total{namespace="n",job="p",instance="a",result="refused"} 0x30 1x450`, 31, `namespace="n", job="p"`},
	"PlimsollKeptStateWrong":     {`plimsoll_decide_rechecks_total{namespace="n",job="p",instance="a",result="differs"} 0x30 1x450`, 31, `namespace="n", job="p"`},
	"PlimsollNodesNotAsExpected": {`plimsoll_plan_divergence_total{namespace="n",job="p",instance="a"} 0x30 1x30 2x30 4x390`, 93, `namespace="n", job="p"`},
	"PlimsollChurn": {`cluster_autoscaler_scaled_up_nodes_total{namespace="n",job="p",instance="a"} 0+1x480
cluster_autoscaler_scaled_down_nodes_total{namespace="n",job="p",instance="a",reason="empty"} 0+1x480`, 141, `namespace="n", job="p"`},
	"PlimsollEKSAnywhereWorkersNotReady": {`plimsoll_eks_anywhere_workers_ready{namespace="n",job="p",instance="a",cluster="c"} 1x30 0x450`, 61, `namespace="n", job="p", cluster="c"`},
	"PlimsollEKSAnywhereGroupsInvalid":   {`plimsoll_eks_anywhere_worker_node_groups_valid{namespace="n",job="p",instance="a",cluster="c"} 1x30 0x450`, 41, `namespace="n", job="p", cluster="c"`},
	"PlimsollProviderNotices":            {`plimsoll_provider_notices{namespace="n",job="p",instance="a",code="BadTag"} 1x480`, 60, `namespace="n", job="p", code="BadTag"`},
}

func readRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.ParseFile(rulesFile, false, model.UTF8Validation, parser.NewParser(parser.Options{}))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return groups.Groups[0].Rules
}

// with replaces the series of well that one of the lines is about.
func with(series string) string {
	lines := strings.Split(strings.TrimSpace(well), "\n")
	for line := range strings.SplitSeq(series, "\n") {
		name, _, _ := strings.Cut(line, "} ")
		// A group has one series of backoff at a time, whatever its reason.
		if group := regexp.MustCompile(`backoff_status.*node_group="(\w+)"`).FindStringSubmatch(line); group != nil {
			lines = slices.DeleteFunc(lines, func(l string) bool {
				return strings.Contains(l, "backoff_status") && strings.Contains(l, `node_group="`+group[1]+`"`)
			})
		} else {
			lines = slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, name+"} ") })
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// firing evaluates a rule each minute, and gives the alerts that fired, by the first minute
// at which they did.
func firing(t *testing.T, rule rulefmt.Rule, series string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for alert, minutes := range fired(t, rule, series) {
		out[alert] = minutes[0]
	}
	return out
}

// fired evaluates a rule each minute, and gives the minutes at which alerts fired.
func fired(t *testing.T, rule rulefmt.Rule, series string) map[string][]int {
	t.Helper()
	storage := promqltest.LoadedStorage(t, series)
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 5*time.Minute, 1_000_000)
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(rule.Expr)
	if err != nil {
		t.Fatal(err)
	}
	r := rules.NewAlertingRule(rule.Alert, expr, time.Duration(rule.For), 0, labels.FromMap(rule.Labels),
		labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", true, slog.New(slog.DiscardHandler))
	out := map[string][]int{}
	for minute := range 480 {
		now := time.Unix(0, 0).UTC().Add(time.Duration(minute) * step)
		if _, err := r.Eval(context.Background(), 0, now, rules.EngineQueryFunc(engine, storage), &url.URL{}, 0); err != nil {
			t.Fatal(err)
		}
		for _, a := range r.ActiveAlerts() {
			if a.State == rules.StateFiring {
				out[a.Labels.String()] = append(out[a.Labels.String()], minute)
				whose := a.Labels.Get("namespace") + "/" + a.Labels.Get("job")
				if text := a.Annotations.Get("description"); whose != "/" && rule.Labels["severity"] == "critical" &&
					!strings.Contains(text, whose) {
					t.Errorf("%s does not tell whose it is: %s", rule.Alert, text)
				}
				if text := a.Annotations.Get("description") + a.Annotations.Get("summary"); strings.Contains(text, "{{") ||
					strings.Contains(text, "<error") || strings.Contains(text, "no value") {
					t.Errorf("%s tells: %s", rule.Alert, text)
				}
			}
		}
	}
	return out
}

// TestEachAlertFires, at the right time and with the labels that it is routed by; and none
// fires while Plimsoll does its work.
func TestEachAlertFires(t *testing.T) {
	seen := map[string]bool{}
	for _, rule := range readRules(t) {
		seen[rule.Alert] = true
		t.Run(rule.Alert, func(t *testing.T) {
			t.Parallel()
			if fired := firing(t, rule, well); len(fired) > 0 {
				t.Errorf("it fires though all is well: %v", fired)
			}
			c, ok := ill[rule.Alert]
			if !ok {
				t.Fatal("no series are known that it must fire for")
			}
			want, err := parser.NewParser(parser.Options{}).
				ParseMetric(fmt.Sprintf(`{alertname=%q, severity=%q, %s}`, rule.Alert, rule.Labels["severity"], c.labels))
			if err != nil {
				t.Fatal(err)
			}
			fired := firing(t, rule, with(c.series))
			if at, ok := fired[want.String()]; !ok || at != c.from || len(fired) != 1 {
				t.Errorf("fired %v, want %s at minute %d and no other", fired, want, c.from)
			}
		})
	}
	for name := range ill {
		if !seen[name] {
			t.Errorf("there is no alert %s", name)
		}
	}
}

// TestRunbooks: each alert says what it is about, how bad it is, and where its runbook is;
// and there is no runbook of an alert that is gone.
func TestRunbooks(t *testing.T) {
	data, err := os.ReadFile(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, section := range strings.Split(string(data), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[title] = body
	}
	for _, rule := range readRules(t) {
		const page = "https://github.com/plimsoll-dev/plimsoll/blob/main/docs/runbooks.md#"
		if got := rule.Annotations["runbook_url"]; got != page+strings.ToLower(rule.Alert) {
			t.Errorf("the runbook of %s is %s", rule.Alert, got)
		}
		body, ok := sections[rule.Alert]
		if !ok {
			t.Errorf("%s has no section in %s", rule.Alert, runbooks)
		}
		delete(sections, rule.Alert)
		for _, part := range []string{"**Meaning.**", "**Look.**", "**Do.**"} {
			if !strings.Contains(body, part) {
				t.Errorf("the runbook of %s lacks %s", rule.Alert, part)
			}
		}
		if !slices.Contains([]string{"critical", "warning", "info"}, rule.Labels["severity"]) ||
			rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s: %v %v", rule.Alert, rule.Labels, rule.Annotations)
		}
	}
	for title := range sections {
		t.Errorf("%s has a section of %s, which is no alert", runbooks, title)
	}
}
