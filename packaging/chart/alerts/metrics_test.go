package alerts

import (
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	prometheusmodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/provider"
)

const dashboards = "../../../charts/plimsoll/files/dashboards"

// served are the metrics that Plimsoll serves after a cycle that has seen a group, a node and a
// notice, and ended calls well and badly, each with its labels; and those that it serves
// where it observes. Prometheus adds those of the target.
func served(t *testing.T) map[string]map[string]bool {
	t.Helper()
	settings := report.Settings{Namespace: "n", StatusConfigMap: "s", PerGroupMetrics: true}
	r := report.New(report.Silent(), settings, slog.New(slog.DiscardHandler))
	snapshot := &model.Snapshot{Now: time.Unix(1000, 0), AsOf: time.Unix(990, 0), Notices: []provider.Notice{{Code: "c"}}}
	price := 1.0
	snapshot.Groups = []model.Group{{Group: provider.Group{ID: "g", Max: 3, PricePerHour: &price}}}
	snapshot.Nodes = []*model.Node{{Name: "n", Object: &corev1.Node{}}}
	snapshot.Contents.Shapes = []*model.Shape{{Node: &corev1.Node{}}}
	grow := model.Call{Verb: model.Grow, Group: "g", To: 1}
	err := r.Report(t.Context(), model.Cycle{Snapshot: snapshot, Decided: true,
		Plan: model.Plan{Kept: []model.NodeVerdict{{Verdict: model.Verdict{Reason: model.Cooldown}}},
			Unneeded: []model.NodeVerdict{{Node: "n", Verdict: model.Verdict{Reason: model.Cooldown}}}},
		Ended: []model.Outcome{{Call: grow}, {Call: grow, Err: &provider.Error{Kind: provider.Denied}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Failed(errors.New("a cycle that failed"))
	settings.Observe = true
	out := page(t, report.New(report.Silent(), settings, slog.New(slog.DiscardHandler)))
	maps.Copy(out, page(t, r))
	// Those of the controller of EKS Anywhere's workers; its own tests know that it
	// serves whatever the chart's files ask for.
	for _, name := range []string{
		"plimsoll_eks_anywhere_workers_ready", "plimsoll_eks_anywhere_worker_node_groups_valid",
	} {
		out[name] = map[string]bool{"namespace": true, "job": true, "instance": true, "pod": true, "cluster": true}
	}
	return out
}

// page are the metrics that a reporter serves now, each with its labels.
func page(t *testing.T, r *report.Reporter) map[string]map[string]bool {
	t.Helper()
	page := httptest.NewRecorder()
	r.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	parse := expfmt.NewTextParser(prometheusmodel.UTF8Validation)
	families, err := parse.TextToMetricFamilies(page.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for _, f := range families {
		names := []string{f.GetName()}
		if f.GetType().String() == "HISTOGRAM" {
			names = []string{f.GetName() + "_bucket", f.GetName() + "_sum", f.GetName() + "_count"}
		}
		for _, name := range names {
			out[name] = map[string]bool{"namespace": true, "job": true, "instance": true, "pod": true, "le": true}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					out[name][l.GetName()] = true
				}
			}
		}
	}
	return out
}

// TestBeforeTheFirstCycle: what tells a Plimsoll from everything else, and one that observes
// from one that acts, is there from the beginning, in replicas that wait, too; and what tells
// how it stands is not.
func TestBeforeTheFirstCycle(t *testing.T) {
	for _, observe := range []bool{false, true} {
		there := page(t,
			report.New(report.Silent(), report.Settings{Observe: observe, PerGroupMetrics: true}, slog.New(slog.DiscardHandler)))
		for name, want := range map[string]bool{
			"plimsoll_plan_divergence_total":               true,
			"plimsoll_shadow_calls_total":                  observe,
			"cluster_autoscaler_last_activity":             false,
			"plimsoll_inventory_as_of_seconds":             false,
			"cluster_autoscaler_cluster_safe_to_autoscale": false,
			"cluster_autoscaler_node_group_healthiness":    false,
		} {
			if there[name] != nil != want {
				t.Errorf("observing %t, %s is served: %t, want %t", observe, name, !want, want)
			}
		}
	}
}

// TestMetricsExist: whatever a rule or a dashboard asks for is served, with these labels.
func TestMetricsExist(t *testing.T) {
	there := served(t)
	queries := dashboardQueries(t)
	for _, rule := range readRules(t) {
		queries["alert "+rule.Alert] = []string{rule.Expr}
	}
	for where, list := range queries {
		for _, query := range list {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
			if err != nil {
				t.Errorf("%s: %s: %v", where, query, err)
				continue
			}
			var used []map[string]bool
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				selector, ok := node.(*parser.VectorSelector)
				if !ok {
					return nil
				}
				has, ok := there[selector.Name]
				if !ok {
					t.Errorf("%s asks for %s, which Plimsoll does not serve", where, selector.Name)
					return nil
				}
				used = append(used, has)
				for _, m := range selector.LabelMatchers {
					if m.Name != labels.MetricName && !has[m.Name] {
						t.Errorf("%s asks for %s by %s, a label that it has not", where, selector.Name, m.Name)
					}
				}
				return nil
			})
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				if by, ok := node.(*parser.AggregateExpr); ok {
					for _, label := range by.Grouping {
						if !slices.ContainsFunc(used, func(has map[string]bool) bool { return has[label] }) {
							t.Errorf("%s groups by %s, a label that nothing in it has", where, label)
						}
					}
				}
				return nil
			})
		}
	}
	if t.Failed() {
		t.Log("served:", slices.Sorted(maps.Keys(there)))
	}
}

// dashboard is what of a Grafana dashboard matters here.
type dashboard struct {
	Title, UID string
	Templating struct {
		List []struct{ Name, Type, Query, AllValue string }
	}
	Panels []struct {
		ID                       int
		Title, Type, Description string
		GridPos                  struct{ H, W, X, Y int }
		Datasource               struct{ Type, UID string }
		Targets                  []struct{ RefID, Expr string }
	}
}

func readDashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dashboards, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboard is in %s (%v)", dashboards, err)
	}
	out := map[string]dashboard{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[filepath.Base(file)] = d
	}
	return out
}

// dashboardQueries are the queries of all panels, with Grafana's variables replaced.
func dashboardQueries(t *testing.T) map[string][]string {
	t.Helper()
	variables := strings.NewReplacer("$__rate_interval", "5m", "$job", ".*")
	out := map[string][]string{}
	for file, d := range readDashboards(t) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				where := file + ", panel " + p.Title
				out[where] = append(out[where], variables.Replace(target.Expr))
			}
		}
	}
	return out
}

// TestDashboards: each has a name of its own, and panels that are apart and ask something.
func TestDashboards(t *testing.T) {
	uids := map[string]string{}
	for file, d := range readDashboards(t) {
		if d.Title == "" || d.UID == "" || uids[d.UID] != "" {
			t.Errorf("%s: title %q, uid %q, which is %s's, too", file, d.Title, d.UID, uids[d.UID])
		}
		uids[d.UID] = file
		// A job can be chosen if a Plimsoll is under it, and all jobs are all of these. What
		// else is under the same one, with metrics of the same names, the panels do not tell apart.
		for _, v := range d.Templating.List {
			if v.Name == "job" && (v.Query != "label_values(plimsoll_plan_divergence_total, job)" || v.AllValue != "") {
				t.Errorf("%s: its jobs are %q, and all of them %q", file, v.Query, v.AllValue)
			}
		}
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d %q has no title or no query, or a number that is taken", file, p.ID, p.Title)
			}
			ids[p.ID] = true
			if p.Datasource.UID != "${datasource}" || d.Templating.List[0].Name != "datasource" {
				t.Errorf("%s: panel %q does not use the chosen data source", file, p.Title)
			}
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: panel %q is over %q, or out of sight", file, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}
