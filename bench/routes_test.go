package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

// BenchmarkRoutes is what each view costs at 1,000 nodes when three look at it after each decision, as processor time
// of the whole process, and what it costs when one does: those who look share a view.
func BenchmarkRoutes(b *testing.B) {
	s := testkit.NewScenario()
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "group g%d max=200 cpu=4 memory=16Gi\n", i)
	}
	for i := range 1000 {
		fmt.Fprintf(&text, "node n%04d group=g%d\npods p%04d count=2 cpu=1 memory=1Gi node=n%04d\n", i, i%5, i, i)
	}
	text.WriteString("pods giant count=20 cpu=30 memory=1Gi\n")
	if err := s.Add(text.String()); err != nil {
		b.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	cycle := model.Cycle{Snapshot: snap, Plan: decide.Decide(snap, s.Policy), Policy: s.Policy, Decided: true}
	book := decisions.New(decisions.DefaultCount, decisions.DefaultBytes, nil, prometheus.NewRegistry())
	page := ui.New(ui.Settings{}, book, slog.New(slog.DiscardHandler))
	page.Leader("me", true)
	report := func() {
		for _, err := range []error{book.Report(context.Background(), cycle), page.Report(context.Background(), cycle)} {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	get := func(path string) []byte {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		if page.Handler().ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(path, w.Code, w.Body)
		}
		return w.Body.Bytes()
	}
	report()
	var pods ui.Envelope
	if err := json.Unmarshal(get("/api/v1/pods"), &pods); err != nil {
		b.Fatal(err)
	}
	for name, path := range map[string]string{"Now": "/", "Pending": "/pending", "Class": "/class/" + pods.Pods[0].Digest,
		"Nodes": "/nodes", "Node": "/node/n0000", "Groups": "/groups", "Group": "/group/g0", "Decisions": "/decisions"} {
		for _, lookers := range []int{1, 3} {
			b.Run(fmt.Sprintf("%s/%d", name, lookers), func(b *testing.B) {
				began := processorTime(b)
				for range b.N {
					report()
					for range lookers {
						get(path)
					}
				}
				b.ReportMetric((processorTime(b)-began)*1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}
