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
// of the whole process, and what it costs when one does: those who look share a view. Three classes of 20 pods fit
// nowhere.
func BenchmarkRoutes(b *testing.B) {
	s := testkit.NewScenario()
	var text strings.Builder
	for i := range 5 {
		fmt.Fprintf(&text, "group g%d max=200 cpu=4 memory=16Gi\n", i)
	}
	for i := range 1000 {
		fmt.Fprintf(&text, "node n%04d group=g%d\npods p%04d count=2 cpu=1 memory=1Gi node=n%04d\n", i, i%5, i, i)
	}
	for i := range lookers {
		fmt.Fprintf(&text, "pods giant%d count=20 cpu=%d memory=1Gi\n", i, 30+i)
	}
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
	var classes []string
	for i := range pods.Pods {
		classes = append(classes, "/class/"+pods.Pods[i].Digest)
	}
	look := func(name string, paths ...string) {
		b.Run(name, func(b *testing.B) {
			began := processorTime(b)
			for range b.N {
				report()
				for _, path := range paths {
					get(path)
				}
			}
			b.ReportMetric((processorTime(b)-began)*1000/float64(b.N), "cpu-ms/op")
		})
	}
	for name, path := range map[string]string{"Now": "/", "Pending": "/pending", "Class": classes[0], "Nodes": "/nodes",
		"Node": "/node/n0000", "Groups": "/groups", "Group": "/group/g0", "Decisions": "/decisions"} {
		look(name+"/1", path)
		look(name+"/3", path, path, path)
	}
	look("Classes/3", classes...) // each of them another one
}
