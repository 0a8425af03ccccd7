package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// BenchmarkPage is what the page and the decisions that are kept cost: taking in a cycle while nobody
// looks, rendering the first view, and, as heap-MB, what all of it keeps once every list was asked for.
// A plan keeps each node, and another reason for each at every cycle.
func BenchmarkPage(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 15000} {
		s := testkit.NewScenario()
		var text strings.Builder
		text.WriteString("group g max=20000 cpu=4 memory=16Gi\n")
		for i := range nodes {
			fmt.Fprintf(&text, "node n%05d group=g\n", i)
		}
		if err := s.Add(text.String()); err != nil {
			b.Fatal(err)
		}
		cycle := model.Cycle{Snapshot: s.Snapshot(s.Policy), Decided: true}
		plans := [2]model.Plan{}
		for i := range cycle.Snapshot.Nodes {
			for k, reason := range []model.Reason{model.NotUnderutilized, model.NotEnoughPdb} {
				v := model.NodeVerdict{Node: cycle.Snapshot.Nodes[i].Name, Group: "g"}
				v.Reason, v.Detail = reason, fmt.Sprintf("cpu %d%% >= 50%%", i%100)
				plans[k].Kept = append(plans[k].Kept, v)
			}
		}
		before := heap()
		book := decisions.New(decisions.DefaultCount, decisions.DefaultBytes, nil, prometheus.NewRegistry())
		page := ui.New(ui.Settings{Policy: s.Policy}, book, slog.New(slog.DiscardHandler))
		page.Leader("me", true)
		report := func(i int) {
			cycle.Plan = plans[i%2]
			for _, err := range []error{book.Report(context.Background(), cycle), page.Report(context.Background(), cycle)} {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		get := func(path string) {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.Host = "localhost"
			w := httptest.NewRecorder()
			if page.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Fatal(w.Code, w.Body)
			}
		}
		b.Run(fmt.Sprintf("Unwatched%d", nodes), func(b *testing.B) {
			for i := range b.N {
				report(i)
			}
		})
		b.Run(fmt.Sprintf("View%d", nodes), func(b *testing.B) {
			for i := range b.N {
				report(i)
				get("/")
			}
		})
		for i := range 2 * decisions.DefaultCount {
			report(i)
		}
		for _, path := range []string{"/", "/api/v1/nodes", "/api/v1/pods", "/api/v1/groups"} {
			get(path)
		}
		b.Run(fmt.Sprintf("Memory%d", nodes), func(b *testing.B) {
			b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
			runtime.KeepAlive(page)
		})
	}
}

// heap is what is in use after everything that is not was collected.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
