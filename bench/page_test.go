package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// BenchmarkPage is what the page and the decisions that are kept cost: taking
// in a cycle while no viewer is connected, rendering the first view, what a
// change costs with three viewers, their own part included, and, as heap-MB,
// what all of it keeps once every view and list was asked for and six hours have
// gone by. A plan keeps each node, and another reason for each at every cycle; a
// group has 150 nodes.
func BenchmarkPage(b *testing.B) {
	for _, nodes := range []int{1000, 5000, 15000} {
		cycle, plans := manyKept(b, nodes)
		before := heap()
		book := decisions.New(decisions.DefaultCount, decisions.DefaultBytes, nil, prometheus.NewRegistry())
		page := ui.New(ui.Settings{}, book, slog.New(slog.DiscardHandler))
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
		b.Run(fmt.Sprintf("ThreeLookers%d", nodes), func(b *testing.B) {
			server := httptest.NewServer(page.Handler())
			defer server.Close()
			seen := make(chan error)
			for range lookers {
				events, err := http.Get(server.URL + "/api/v1/events")
				if err != nil {
					b.Fatal(err)
				}
				defer events.Body.Close()
				go follow(events.Body, server.URL, seen)
			}
			look := func() {
				for range lookers {
					if err := <-seen; err != nil {
						b.Fatal(err)
					}
				}
			}
			look() // what was there when they came
			began := processorTime(b)
			for i := range b.N {
				report(i)
				look()
			}
			b.ReportMetric((processorTime(b)-began)*1000/float64(b.N), "cpu-ms/op")
		})
		remember(b, page, cycle)
		for i := range 2 * decisions.DefaultCount {
			report(i)
		}
		for _, path := range everyView() {
			get(path)
		}
		b.Run(fmt.Sprintf("Memory%d", nodes), func(b *testing.B) {
			b.ReportMetric(float64(heap()-before)/1e6, "heap-MB")
			runtime.KeepAlive(page)
		})
	}
}

// manyKept is a cluster, and two plans that keep each of its nodes for another reason.
func manyKept(b *testing.B, nodes int) (cycle model.Cycle, plans [2]model.Plan) {
	s := testkit.NewScenario()
	var text strings.Builder
	groups := nodes / 150
	for i := range groups {
		fmt.Fprintf(&text, "group g%03d max=1000 cpu=4 memory=16Gi\n", i)
	}
	for i := range nodes {
		fmt.Fprintf(&text, "node n%05d group=g%03d\n", i, i%groups)
	}
	if err := s.Add(text.String()); err != nil {
		b.Fatal(err)
	}
	cycle = model.Cycle{Snapshot: s.Snapshot(s.Policy), Policy: s.Policy, Decided: true}
	for i := range cycle.Snapshot.Nodes {
		for k, reason := range []model.Reason{model.NotUnderutilized, model.NotEnoughPdb} {
			v := model.NodeVerdict{Node: cycle.Snapshot.Nodes[i].Name}
			v.Group = provider.GroupID(fmt.Sprintf("g%03d", i%groups))
			v.Reason, v.Detail = reason, fmt.Sprintf("cpu %d%% >= 50%%", i%100)
			plans[k].Kept = append(plans[k].Kept, v)
		}
	}
	return cycle, plans
}

// remember fills what is kept of the past: the sizes of groups, six hours long.
func remember(b *testing.B, page *ui.Server, c model.Cycle) {
	begin := c.Snapshot.Now
	for i := range 6 * 60 * 4 {
		calm := *c.Snapshot
		calm.Now = begin.Add(time.Duration(i) * 15 * time.Second)
		if err := page.Report(context.Background(), model.Cycle{Snapshot: &calm, Policy: c.Policy}); err != nil {
			b.Fatal(err)
		}
	}
}

// everyView has each view and list, and as many explanations as are kept.
func everyView() []string {
	out := []string{"/", "/pending", "/nodes", "/nodes?reason=NotEnoughPdb", "/decisions", "/groups", "/cost",
		"/group/g000", "/api/v1/nodes", "/api/v1/pods", "/api/v1/groups"}
	for i := range 64 {
		out = append(out, fmt.Sprintf("/node/n%05d", i))
	}
	return out
}

const lookers = 3

// follow does what the page's script does: it fetches the page at each change.
func follow(events io.Reader, url string, seen chan<- error) {
	for lines := bufio.NewScanner(events); lines.Scan(); {
		if lines.Text() != "event: change" {
			continue
		}
		res, err := http.Get(url)
		if err == nil {
			_, err = io.Copy(io.Discard, res.Body)
			res.Body.Close()
		}
		seen <- err
	}
}

// heap is what is in use after everything that is not was collected.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
