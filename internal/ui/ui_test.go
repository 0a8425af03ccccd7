package ui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
)

const cluster = `
group general max=2 cpu=4 memory=16Gi zone=a
group gpu max=2 cpu=8 memory=64Gi zone=b
node n1 group=general
node n2 group=general
pods web count=2 cpu=3 memory=1Gi node=n1
pods api count=12 cpu=3 memory=1Gi
pods giant count=1 cpu=30 memory=1Gi
`

// cycleOf is a turn of the loop on a cluster in the words of scenarios.
func cycleOf(t testing.TB, text string) (model.Cycle, model.Policy) {
	t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(text); err != nil {
		t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	var d decide.Decider
	defer d.Close()
	return model.Cycle{Snapshot: snap, Plan: d.Decide(snap, s.Policy), Decided: true}, s.Policy
}

// leading serves a cycle as a leader does.
func leading(t testing.TB, c model.Cycle, p model.Policy, allow ui.Allow) *ui.Server {
	t.Helper()
	c.Policy = p
	book := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
	s := ui.New(ui.Settings{Version: "test", Allow: allow}, book, slog.New(slog.DiscardHandler))
	s.Leader("leader-0", true)
	for _, to := range []interface {
		Report(context.Context, model.Cycle) error
	}{book, s} {
		if err := to.Report(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// get asks for a path, as a browser on the same machine does.
func get(t testing.TB, s *ui.Server, path string, change ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1:8086"
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

// Every view answers, and shows what it is for.
func TestPages(t *testing.T) {
	c, p := cycleOf(t, cluster)
	s := leading(t, c, p, nil)
	_, decided := get(t, s, "/api/v1/decisions")
	var list ui.Envelope
	if err := json.Unmarshal([]byte(decided), &list); err != nil || len(list.Decisions) != 1 {
		t.Fatal(err, decided)
	}
	var classes ui.Envelope
	if _, text := get(t, s, "/api/v1/pods"); json.Unmarshal([]byte(text), &classes) != nil || len(classes.Pods) != 2 {
		t.Fatal(text)
	}
	for path, wants := range map[string][]string{
		"/":                                      {"default/api ×12", "InsufficientResources", `href="/node/n1"`, "Buys", "2 of 2"},
		"/pending":                               {"default/giant", "smaller requests, or a group with larger nodes"},
		"/nodes":                                 {"n1"},
		"/nodes?reason=Coming":                   {"There is no node"},
		"/decisions":                             {list.Decisions[0].ID},
		"/groups":                                {"general", "gpu", "GroupAtMax"},
		"/cost":                                  {"No prices are known"},
		"/node/n1":                               {"of CPU", "Stays because"},
		"/group/general":                         {"0 to 2"},
		"/class/" + classes.Pods[0].Digest:       {classes.Pods[0].Name, "Would change with"},
		"/decision/" + list.Decisions[0].ID:      {"Calls, and what became of them", "under way"},
		"/api/v1/state":                          {`"podsWaiting":13`},
		"/api/v1/nodes":                          {`"name":"n1"`},
		"/api/v1/groups":                         {`"id":"general"`},
		"/api/v1/decisions?limit=1":              {list.Decisions[0].ID},
		"/api/v1/decisions/last":                 {list.Decisions[0].ID},
		"/api/v1/explain/plan/last":              {list.Decisions[0].ID},
		"/api/v1/decisions?at=2030-01-01T00:00Z": {"is no time"},
		"/page.css":                              {"--paper"},
		"/page.js":                               {"EventSource"},
		"/icon.svg":                              {"<svg"},
	} {
		res, body := get(t, s, path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s (%s) lacks %q:\n%s", path, res.Status, want, body)
			}
		}
	}
	for _, path := range []string{"/node/none", "/class/none", "/decision/none", "/none", "/api/v1/none", "/pod/a/b"} {
		if res, _ := get(t, s, path); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, res.Status)
		}
	}
}

// TestMovesAndBudgetsAreShown on the first page and in the API, with what they wait for and leave.
func TestMovesAndBudgetsAreShown(t *testing.T) {
	c, p := cycleOf(t, "group dear max=3 cpu=8 memory=32Gi\nnode d1 group=dear\n")
	p.Budgets = []budget.Budget{{Name: "slowly", Rate: &budget.Rate{Count: 5, Over: time.Hour}}}
	c.Plan.Worth = []model.WaitingMove{{Move: model.Move{Goes: []string{"d1"}, Reason: model.CheaperElsewhere, Before: 2,
		After: 1}, Waits: model.Verdict{Detail: "budget nights: nodes may begin to go in its windows only"}}}
	s := leading(t, c, p, nil)
	for path, wants := range map[string][]string{
		"/": {"1 node for room on others: waiting", "2.00 → 1.00 an hour; budget nights", "slowly: 5 more may go now",
			"0 of 5 begun in 1h0m0s"},
		"/api/v1/state": {`"moves":[{"text":"1 node for room on others"`, `"stage":"waiting"`, `"waitsFor":"budget nights`,
			`"budgets":[{"name":"slowly","counts":true,"going":0,"rate":5,"over":"1h0m0s","left":5}]`},
	} {
		_, body := get(t, s, path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q:\n%s", path, want, body)
			}
		}
	}
}

// A standby says who leads, and a leader without a decision that there is none.
func TestStandby(t *testing.T) {
	s := ui.New(ui.Settings{}, decisions.New(1, 1<<20, nil, prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
	s.Leader("other-1", false)
	if _, body := get(t, s, "/"); !strings.Contains(body, "<b>other-1</b> leads") {
		t.Error(body)
	}
	var e ui.Envelope
	if _, body := get(t, s, "/api/v1/state"); json.Unmarshal([]byte(body), &e) != nil || e.Leader != "other-1" || e.Leads {
		t.Error(body)
	}
	s.Leader("me-0", true)
	if _, body := get(t, s, "/"); !strings.Contains(body, "Nothing is decided yet") {
		t.Error(body)
	}
}

// A node that joined after the cloud was read is the ghost of its group, and not a second one of no group that is not
// ready.
func TestANodeThatHasJustJoinedIsShownOnce(t *testing.T) {
	for name, old := range map[string]time.Duration{"just now": 0, "long ago": time.Minute} {
		c, p := cycleOf(t, cluster)
		n := c.Snapshot.Nodes[1]
		n.Group, n.Kind, n.Object = -1, model.Unready, n.Object.DeepCopy()
		n.Object.CreationTimestamp.Time = c.Snapshot.AsOf.Add(-old)
		_, body := get(t, leading(t, c, p, nil), "/")
		if shown := strings.Contains(body, n.Name); shown != (old > 0) {
			t.Errorf("joined %s, it is shown: %t", name, shown)
		}
	}
}

// Every text that came from the cluster is escaped, in text, attributes and addresses.
func TestHostileNames(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>'javascript:alert(3)`
	c, p := cycleOf(t, cluster)
	snap := *c.Snapshot
	c.Snapshot = &snap
	for _, n := range snap.Nodes {
		n.Name += hostile
	}
	for i := range snap.Groups {
		snap.Groups[i].ID += hostile
	}
	for i := range snap.Pending {
		for _, pod := range snap.Pending[i].Pods {
			pod.Name = hostile + pod.Name
		}
	}
	for i := range c.Plan.Pending {
		v := &c.Plan.Pending[i]
		for j := range v.Groups {
			v.Groups[j].Group += hostile
			v.Groups[j].Detail, v.Groups[j].Fix = hostile, hostile
		}
	}
	for i := range c.Plan.Kept {
		v := &c.Plan.Kept[i]
		v.Node, v.Detail, v.Fix = v.Node+hostile, hostile, hostile
	}
	for i := range c.Plan.Calls {
		v := &c.Plan.Calls[i]
		v.Group, v.Why = v.Group+hostile, hostile
	}
	for i := range c.Plan.Grow {
		c.Plan.Grow[i].Group += hostile
	}
	snap.InventoryErr = hostile
	s := leading(t, c, p, nil)
	var pods ui.Envelope
	_, text := get(t, s, "/api/v1/pods")
	if err := json.Unmarshal([]byte(text), &pods); err != nil {
		t.Fatal(err)
	}
	href := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	for _, path := range []string{"/", "/pending", "/nodes", "/decisions", "/groups", "/cost", "/decision/last",
		"/class/" + pods.Pods[0].Digest, "/class/" + pods.Pods[1].Digest} {
		res, body := get(t, s, path)
		if res.StatusCode != http.StatusOK || !strings.Contains(body, "alert(") && path != "/decisions" {
			t.Errorf("%s: %s does not show the names", path, res.Status)
		}
		injected := strings.Contains(body, "<img") || strings.Contains(body, " onerror=alert(2)>")
		if injected || strings.Count(body, "<script") != 1 {
			t.Errorf("%s has what was injected:\n%s", path, body)
		}
		for _, m := range href.FindAllStringSubmatch(body, -1) {
			own := strings.HasPrefix(m[1], "/") || m[1] == "#main" || m[1] == "#waiting"
			if !own && !strings.HasPrefix(m[1], "https://github.com/plimsoll-dev/") {
				t.Errorf("%s leads to %q", path, m[1])
			}
		}
		if strings.Contains(body, "<style") || strings.Contains(body, " style=") {
			t.Errorf("%s has an inline style", path)
		}
	}
}

// What a browser must not do, and who must not ask, is refused.
func TestGuard(t *testing.T) {
	c, p := cycleOf(t, cluster)
	s := leading(t, c, p, nil)
	res, _ := get(t, s, "/")
	for header, want := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'", "X-Content-Type-Options": "nosniff",
		"X-Frame-Options": "DENY", "Cache-Control": "no-store",
	} {
		if got := res.Header.Get(header); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", header, got)
		}
	}
	if strings.Contains(res.Header.Get("Content-Security-Policy"), "unsafe") ||
		res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Error("the headers allow too much:", res.Header)
	}
	for host, want := range map[string]int{
		"127.0.0.1:8086": 200, "localhost:1": 200, "[::1]:8086": 200, "LOCALHOST": 200, "127.0.0.2": 200,
		"evil.example": 403, "evil.example:8086": 403, "127.0.0.1.evil.example": 403, "10.0.0.1:8086": 403, "": 403,
		"localhost.evil.example": 403, "0.0.0.0:8086": 403,
	} {
		for _, path := range []string{"/", "/api/v1/state", "/page.js"} {
			if res, _ := get(t, s, path, func(r *http.Request) { r.Host = host }); res.StatusCode != want {
				t.Errorf("Host %q, %s: %s", host, path, res.Status)
			}
		}
	}
	for from, want := range map[string]int{"": 200, "none": 200, "same-origin": 200, "same-site": 403, "cross-site": 403} {
		res, _ := get(t, s, "/class/none", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", from) })
		if refused := res.StatusCode == http.StatusForbidden; refused != (want == 403) {
			t.Errorf("asked for by %q: %s", from, res.Status)
		}
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		for _, path := range []string{"/", "/api/v1/state", "/api/v1/explain/pod/a/b"} {
			res, _ := get(t, s, path, func(r *http.Request) { r.Method = method })
			if res.StatusCode != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %s", method, path, res.Status)
			}
		}
	}
	for address, want := range map[string]bool{
		"127.0.0.1:8086": true, "localhost:0": true, "[::1]:1": true,
		":8086": false, "0.0.0.0:8086": false, "10.0.0.1:1": false,
	} {
		if got := ui.Loopback(address); got != want {
			t.Errorf("Loopback(%q) is %v", address, got)
		}
	}
}

// Soft colours are dark enough on their ground (WCAG AA), in both modes.
func TestContrast(t *testing.T) {
	css, err := os.ReadFile(filepath.Join("static", "page.css"))
	if err != nil {
		t.Fatal(err)
	}
	modes := regexp.MustCompile(`:root\{([^}]*)\}`).FindAllSubmatch(css, -1)
	if len(modes) != 2 {
		t.Fatalf("%d modes", len(modes))
	}
	for i, mode := range modes {
		colors := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z]+):#([0-9a-f]{6})`).FindAllSubmatch(mode[1], -1) {
			colors[string(m[1])] = luminance(string(m[2]))
		}
		for _, pair := range [][2]string{{"ink", "paper"}, {"ink", "card"}, {"soft", "paper"}, {"soft", "card"},
			{"warn", "paper"}, {"warn", "card"}, {"bad", "card"}, {"bad", "paper"}, {"ink", "fix"}} {
			if r := contrast(colors[pair[0]], colors[pair[1]]); r < 4.5 {
				t.Errorf("mode %d: %s on %s has %.2f", i, pair[0], pair[1], r)
			}
		}
		for _, shape := range []string{"cpu", "mem", "gpu", "bad", "ghost"} {
			if r := contrast(colors[shape], colors["card"]); r < 3 {
				t.Errorf("mode %d: the shape %s has %.2f", i, shape, r)
			}
		}
	}
}

func contrast(a, b float64) float64 { return (max(a, b) + 0.05) / (min(a, b) + 0.05) }

func luminance(hex string) (l float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		var v int
		if _, err := fmt.Sscanf(hex[2*i:2*i+2], "%02x", &v); err != nil {
			panic(err)
		}
		l += weight * linear(float64(v)/255)
	}
	return l
}

func linear(v float64) float64 {
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
