package browser_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/ui"
	"github.com/plimsoll-dev/plimsoll/rehearse/browser"
)

// leader is a page whose cluster is given in the words of scenarios.
type leader struct {
	t    *testing.T
	book *decisions.Book
	page *ui.Server
	url  string
	at   time.Duration
}

func lead(t *testing.T) *leader {
	book := decisions.New(100, 1<<20, nil, prometheus.NewRegistry())
	l := &leader{t: t, book: book,
		page: ui.New(ui.Settings{Version: "test"}, book, slog.New(slog.DiscardHandler))}
	l.page.Leader("plimsoll-0", true)
	server := httptest.NewServer(l.page.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	l.url = server.URL
	return l
}

// shows has the leader see and decide on a cluster.
func (l *leader) shows(text string, change ...func(*model.Cycle)) {
	l.t.Helper()
	s := testkit.NewScenario()
	if err := s.Add(text); err != nil {
		l.t.Fatal(err)
	}
	snap := s.Snapshot(s.Policy)
	l.at += time.Minute
	snap.Now = snap.Now.Add(l.at)
	var d decide.Decider
	defer d.Close()
	c := model.Cycle{Snapshot: snap, Plan: d.Decide(snap, s.Policy), Policy: s.Policy, Decided: true}
	for _, change := range change {
		change(&c)
	}
	for _, to := range []interface {
		Report(context.Context, model.Cycle) error
	}{l.book, l.page} {
		if err := to.Report(context.Background(), c); err != nil {
			l.t.Fatal(err)
		}
	}
}

const calm = `
group general max=2 cpu=4 memory=16Gi zone=a
group batch max=4 cpu=8 memory=64Gi zone=b
node n1 group=general
pods web count=1 cpu=3 memory=1Gi node=n1
`

// Pods that begin to wait are on the page within two seconds, without a reload; a click shows the fix.
func TestPendingPodsAndTheirFix(t *testing.T) {
	l := lead(t)
	l.shows(calm)
	b := browser.Open(t, l.url)
	b.Go("/")
	b.Await("the calm page", `document.body.innerText.includes("No pod waits.")`, 5*time.Second)
	l.shows(calm + "pods giant count=2 cpu=30 memory=1Gi\n")
	b.Await("the class that waits", `document.querySelector(".q")?.innerText.includes("default/giant")`, 2*time.Second)
	b.Picture("now")
	browser.Eval[bool](b, `(document.querySelector(".q a").click(), true)`)
	b.Await("the fix", `document.querySelector("#fix")?.innerText.includes("smaller requests")`, 5*time.Second)
	b.Picture("class")
}

// A node that was asked for is a ghost, and then a box; the element stays the same.
func TestGhostsBecomeBoxes(t *testing.T) {
	l := lead(t)
	l.shows(calm + "node n2 group=general notready age=1m")
	b := browser.Open(t, l.url)
	b.Go("/")
	b.Await("the ghost", `document.querySelector('.node.coming[data-k="n2"]')`, 5*time.Second)
	browser.Eval[bool](b, `(window.ghost = document.querySelector('[data-k="n2"]'), true)`)
	l.shows(calm + "node n2 group=general\npods db count=1 cpu=3 memory=1Gi node=n2")
	b.Await("the box", `document.querySelector('.node.ready[data-k="n2"]') === window.ghost`, 3*time.Second)
}

// A page that is open says that its process leads no longer, and shows the cluster when it does again.
func TestAnotherLeads(t *testing.T) {
	l := lead(t)
	l.shows(calm)
	b := browser.Open(t, l.url)
	b.Go("/groups")
	b.Await("the groups", `document.querySelector("main table")`, 5*time.Second)
	l.page.Leader("plimsoll-1", false)
	b.Await("who leads", `document.querySelector("main").innerText.includes("plimsoll-1 leads")`, 5*time.Second)
	l.page.Leader("plimsoll-0", true)
	b.Await("the groups again", `document.querySelector("main table")`, 5*time.Second)
}

// A page whose leader does not answer says so and tries again, also where a proxy refuses its stream for good.
func TestTheLeaderIsAway(t *testing.T) {
	l := lead(t)
	l.shows(calm)
	var away atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			http.Error(w, "no leader is known", http.StatusServiceUnavailable)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/events") { // ends in the middle, as with a leader that ends
			ctx, cancel := context.WithTimeout(r.Context(), 500*time.Millisecond)
			defer cancel()
			r = r.WithContext(ctx)
		}
		l.page.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	b := browser.Open(t, server.URL)
	b.Go("/")
	b.Await("the calm page", `document.body.innerText.includes("No pod waits.")`, 5*time.Second)
	b.Expect("503 (Service Unavailable)")
	away.Store(true)
	b.Await("what is wrong", `!document.querySelector("#lost").hidden`, 10*time.Second)
	l.shows(calm + "pods giant count=2 cpu=30 memory=1Gi\n")
	away.Store(false)
	b.Await("the class that waits", `document.querySelector(".q")?.innerText.includes("default/giant") && `+
		`document.querySelector("#lost").hidden`, 20*time.Second)
}

// many is a cluster of so many nodes in three groups, and pods on a fifth of them.
func many(nodes int) string {
	var text strings.Builder
	for _, zone := range []string{"a", "b", "c"} {
		fmt.Fprintf(&text, "group g-%s max=3000 cpu=4 memory=16Gi zone=%s\n", zone, zone)
	}
	for i := range nodes {
		fmt.Fprintf(&text, "node n%04d group=g-%c\n", i, 'a'+i%3)
	}
	for i := range nodes / 5 {
		fmt.Fprintf(&text, "pods p%04d count=1 cpu=3 memory=1Gi node=n%04d\n", i, i)
	}
	return text.String()
}

// 5,000 nodes are readable, and an update of them costs a frame less than 100 ms of scripting.
func TestManyNodes(t *testing.T) {
	l := lead(t)
	text := many(5000)
	l.shows(text)
	b := browser.Open(t, l.url)
	b.Go("/")
	b.Await("the bars", `document.querySelectorAll(".bar").length >= 250`, 10*time.Second)
	if n := browser.Eval[int](b, `document.querySelectorAll("*").length`); n > 2000 {
		t.Errorf("the page has %d elements", n)
	}
	if over := browser.Eval[bool](b, `document.documentElement.scrollHeight > 4000`); over {
		t.Error("one has to scroll for long")
	}
	browser.Eval[bool](b, `(window.long = 0, new PerformanceObserver(l => { for (const e of l.getEntries()) `+
		`window.long = Math.max(window.long, e.duration) }).observe({type: "longtask"}), true)`)
	l.shows(text + "pods late count=3 cpu=30 memory=1Gi\n")
	b.Await("the update", `document.querySelector(".q")?.innerText.includes("default/late")`, 5*time.Second)
	if long := browser.Eval[float64](b, "window.long"); long > 100 {
		t.Errorf("an update takes %v ms of a frame", long)
	}
	b.Picture("5000-nodes")
}

// A place in the chart says the numbers of its time, and a dot what was decided; a click opens the decision.
func TestTheChartIsPointedAt(t *testing.T) {
	l := lead(t)
	l.shows(calm)
	l.shows(calm + "pods api count=6 cpu=3 memory=1Gi\n")
	l.shows(calm + "pods giant count=2 cpu=30 memory=1Gi\n")
	b := browser.Open(t, l.url)
	b.Go("/")
	at := browser.Eval[string](b, `(() => { const r = document.querySelector(".moment:nth-of-type(2)").getBoundingClientRect(); `+
		`return document.elementFromPoint(r.x + r.width / 4, r.y + r.height / 2).textContent })()`)
	if !strings.HasSuffix(at, ": 1 node, 6 pods wait") || strings.Contains(at, "UTC") {
		t.Errorf("the chart says %q", at)
	}
	browser.Eval[bool](b, `(document.querySelector(".chart circle").parentElement.dispatchEvent(new MouseEvent("click", `+
		`{bubbles: true})), true)`)
	b.Await("the decision", `document.querySelector("h1").innerText.startsWith("Buys")`, 5*time.Second)
}

// Names that are made to break out of the page are text on it; every view of it stays whole.
func TestHostileNames(t *testing.T) {
	const hostile = `"><script>window.hacked=1</script><img src=x onerror="window.hacked=1">`
	l := lead(t)
	l.shows(calm+"pods giant count=2 cpu=30 memory=1Gi\n", func(c *model.Cycle) {
		for i := range c.Snapshot.Nodes {
			c.Snapshot.Nodes[i].Name += hostile
		}
		for i := range c.Snapshot.Groups {
			c.Snapshot.Groups[i].ID += hostile
		}
		for i := range c.Plan.Pending {
			for j := range c.Plan.Pending[i].Groups {
				g := &c.Plan.Pending[i].Groups[j]
				g.Group, g.Detail, g.Fix = g.Group+hostile, hostile, hostile
			}
		}
		for _, q := range c.Snapshot.Pending {
			for _, p := range q.Pods {
				p.Name = hostile + p.Name
			}
		}
	})
	b := browser.Open(t, l.url)
	for _, path := range []string{"/", "/pending", "/nodes", "/decisions", "/groups", "/cost", "/decision/last"} {
		b.Go(path)
		if !strings.Contains(b.Text(), "<script>") && path != "/decisions" && path != "/decision/last" {
			t.Errorf("%s does not show the names:\n%s", path, b.Text())
		}
		if browser.Eval[bool](b, "Boolean(window.hacked)") {
			t.Errorf("%s was broken out of", path)
		}
	}
}

// Every view fits a phone, and can be walked through by keyboard: what can be clicked has a name.
func TestPhoneAndKeyboard(t *testing.T) {
	l := lead(t)
	for range 3 {
		l.shows(calm + "pods giant count=2 cpu=30 memory=1Gi\n")
	}
	b := browser.Open(t, l.url)
	b.Size(360, 740)
	for _, path := range []string{"/", "/pending", "/nodes", "/decisions", "/groups", "/cost", "/node/n1",
		"/group/general"} {
		b.Go(path)
		if w := browser.Eval[int](b, "document.documentElement.scrollWidth"); w > 360 {
			t.Errorf("%s is %d wide on a phone", path, w)
		}
		if n := browser.Eval[int](b, `[...document.querySelectorAll("a[href]")].filter(a => `+
			`a.tabIndex < 0 || !(a.innerText || a.getAttribute("aria-label"))).length`); n > 0 {
			t.Errorf("%s has %d links without a name or out of the keyboard's reach", path, n)
		}
	}
	b.Go("/")
	b.Picture("phone")
}
