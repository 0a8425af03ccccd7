package migrate

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/catalog"
	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// TestLimitsAreMetrics: limits that are given as flags are shown as the Cluster
// Autoscaler shows them, in its units.
func TestLimitsAreMetrics(t *testing.T) {
	line, err := read([]located{
		{"--cloud-provider=kwok", "a"}, {"--memory-total=2:4", "b"}, {"--cores-total=8:64", "c"},
		{"--max-nodes-total=7", "d"},
	}, nil, settings.Providers)
	if err != nil {
		t.Fatal(err)
	}
	page := metricsOf(t, line.config)
	for _, want := range []string{
		`cluster_autoscaler_memory_limits_bytes{direction="minimum"} 2.147483648e+09`,
		`cluster_autoscaler_memory_limits_bytes{direction="maximum"} 4.294967296e+09`,
		`cluster_autoscaler_cpu_limits_cores{direction="minimum"} 8`,
		`cluster_autoscaler_cpu_limits_cores{direction="maximum"} 64`,
		`cluster_autoscaler_max_nodes_count 7`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("lacking %s", want)
		}
	}
}

// metricsOf is what is served after a cycle with nothing in it.
func metricsOf(t *testing.T, c config.Config) string {
	t.Helper()
	r := report.New(record.NewFakeRecorder(10), report.Settings{
		Namespace: "kube-system", StatusConfigMap: "status", Policy: c.Policy,
		Health: report.HealthLimits{MaxInactivity: time.Minute, MaxFailingTime: time.Minute, MaxStartupTime: time.Minute},
	}, slog.New(slog.DiscardHandler))
	cycle := model.Cycle{Decided: true, Snapshot: &model.Snapshot{Now: time.Unix(1000, 0), AsOf: time.Unix(990, 0)}}
	if err := r.Report(context.Background(), cycle); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPrioritiesThatCannotBeRead: a ConfigMap of the priority expander that is
// wrong, or is not there, is told by a notice of the plan.
func TestPrioritiesThatCannotBeRead(t *testing.T) {
	line, err := read([]located{{"--cloud-provider=kwok", "a"}, {"--expander=priority", "b"}}, nil, settings.Providers)
	if err != nil {
		t.Fatal(err)
	}
	for document, want := range map[string]string{
		"10: [web-.*]": "", "ten: [web]": "PriorityConfigMapInvalid", "10: ['(']": "PriorityConfigMapInvalid",
		"": "PriorityConfigMapMissing",
	} {
		seen := model.Observation{
			Now: time.Unix(1000, 0), Contents: catalog.New().Contents(), Priorities: model.ParsePriorities(document),
		}
		plan := decide.Decide(snapshot.New(nil, seen, model.Standing{}, line.config.Policy.Rules), line.config.Policy)
		var got string
		for _, n := range plan.Notices {
			got += n.Code
		}
		if got != want {
			t.Errorf("%q: notices %q, want %q", document, got, want)
		}
	}
}
