package ui

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// A fix that was tried stands with the reason of the group that it begins with, before all others, and not with that
// of a group which is nearer to a yes.
func TestATriedFixStandsWithItsReason(t *testing.T) {
	verdict := func(r model.Reason) model.Verdict { return model.Verdict{Reason: r, Fix: "words about " + string(r)} }
	said := func() model.PendingVerdict {
		v := model.PendingVerdict{Left: 1, Pods: 1}
		for _, g := range []provider.GroupID{"a", "b", "full"} {
			r := model.InsufficientResources
			if g == "full" {
				r = model.GroupAtMax
			}
			v.Groups = append(v.Groups, model.GroupVerdict{Group: g, Verdict: verdict(r)})
		}
		return v
	}
	for tried, want := range map[provider.GroupID]Answer{
		"b":    {Groups: []provider.GroupID{"b"}},
		"full": {Groups: []provider.GroupID{"full"}},
	} {
		v := said()
		v.Tried = &model.TriedFix{Group: tried, Text: "request less"}
		c := Class{Left: 1}
		c.answer(&v)
		first := c.Answers[0]
		reason := v.Groups[slices.IndexFunc(v.Groups, func(g model.GroupVerdict) bool { return g.Group == tried })].Reason
		if !slices.Equal(first.Groups, want.Groups) || first.Fix != "request less" || first.Reason != reason ||
			*c.Verdict() != first.Verdict || c.Tried != "request less" {
			t.Errorf("tried with %s: %+v", tried, c.Answers)
		}
		for _, other := range c.Answers[1:] {
			if other.Fix == "request less" {
				t.Errorf("%v has the fix of %s", other.Groups, tried)
			}
		}
	}
	v := said()
	c := Class{Left: 1}
	if c.answer(&v); c.Answers[0].Reason != model.GroupAtMax || len(c.Answers) != 2 || len(c.Answers[1].Groups) != 2 {
		t.Errorf("nothing was tried: %+v", c.Answers)
	}
}

// A group's rests are shown although no pod waits, each until it is over.
func TestRestsAreShown(t *testing.T) {
	s := served(t, true, "group general max=2 cpu=4 memory=16Gi")
	g, now := &s.now.cycle.Snapshot.Groups[0], s.now.cycle.Snapshot.Now
	g.Rests = model.Rests{
		{Cause: model.RestFailed, Until: now.Add(time.Minute), Since: now, Code: "NoCapacity"},
		{Cause: model.RestPaused, Until: now.Add(-time.Minute), Since: now, Code: "Over"},
		{Cause: model.RestRefused, Until: now.Add(time.Minute), Since: now, Code: "InUse"},
	}
	held := s.scene().View().Groups[0].Held
	if len(held) != 2 || held[0].Reason != model.GroupBackoff || !strings.Contains(held[0].Detail, "NoCapacity") ||
		!held[0].Until.Equal(now.Add(time.Minute)) || !strings.Contains(held[1].Detail, "InUse") {
		t.Errorf("%+v", held)
	}
	if w := asked(t.Context(), s, "/groups"); !strings.Contains(w.Body.String(), "NoCapacity") {
		t.Error("the page lacks it")
	}
}

// Of extended resources only accelerators are shown as such.
func TestAccelerators(t *testing.T) {
	for name, want := range map[corev1.ResourceName]float64{
		"nvidia.com/gpu": 1, "amd.com/gpu": 1, "nvidia.com/mig-1g.5gb": 1, "hugepages-2Mi": 0, "example.com/fpga": 0,
	} {
		one := model.Resources{MilliCPU: 1000, Memory: 1, Extended: []model.Amount{{Name: name, Value: 1}}}
		snap := &model.Snapshot{Classes: []model.Class{{Spec: &model.Spec{Requests: one}}}}
		m := maker{snap: snap, view: &View{}}
		out := Node{State: Ready}
		m.fill(&out, &model.Node{Batches: []model.Batch{{Count: 1}}}, &model.Shape{Allocatable: one})
		if out.Accelerators != want || m.used[2] != want {
			t.Errorf("%s: %v of accelerators, in all %v", name, out.Accelerators, m.used[2])
		}
	}
}

// Among many nodes the few that come, leave or are not ready have bars of their own, which say so.
func TestBarsTellStates(t *testing.T) {
	var nodes []Node
	for i := range 50 {
		nodes = append(nodes, Node{State: Ready, CPU: 0.5})
		if state := []NodeState{Coming, Leaving, Unready}; i < 3 {
			nodes = append(nodes, Node{State: state[i]})
		}
	}
	var b Block
	b.bars(nodes)
	var got []string
	for _, bar := range b.Bars {
		got = append(got, bar.Kind()+": "+bar.Words())
	}
	want := []string{
		"ready shade5: 20 nodes, 50 % full", "ready shade5: 20 nodes, 50 % full", "ready shade5: 10 nodes, 50 % full",
		"leaving shade0: 1 node leaving, 0 % full", "unready shade0: 1 node not ready", "coming shade0: 1 node on the way",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The pages of a class and of a node lead to each of their pods, and those are explained.
func TestPodsAreLinked(t *testing.T) {
	s := served(t, true, busy)
	for _, step := range [][3]string{
		{"/class/" + s.scene().View().Pods[0].Digest, "/pod/default/api-000012", "BLOCKED"},
		{"/node/n1", "/pod/default/web-000002", "On node n1"},
	} {
		if w := asked(t.Context(), s, step[0]); !strings.Contains(w.Body.String(), `href="`+step[1]+`"`) {
			t.Errorf("%s does not lead to %s:\n%s", step[0], step[1], w.Body)
		}
		if w := asked(t.Context(), s, step[1]); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), step[2]) {
			t.Errorf("%s: %d\n%s", step[1], w.Code, w.Body)
		}
	}
	p := Page{}
	for range shownPods + 7 {
		p.link(s.now.cycle.Snapshot, s.now.cycle.Snapshot.Pending[0].Pods[0])
	}
	if len(p.Pods) != shownPods || p.MorePods != 7 {
		t.Errorf("%d pods are linked, and %d more", len(p.Pods), p.MorePods)
	}
}

// The legend tells what is drawn: a box for each node, or bars where those would be too many.
func TestTheLegendTellsWhatIsDrawn(t *testing.T) {
	s := served(t, true, busy)
	p := &Page{scene: s.scene(), View: s.scene().View(), Title: "Now", Tab: "now"}
	p.Rows = rowsOf(p.View)
	if text := string(s.render(p)); !strings.Contains(text, "memory is<") || strings.Contains(text, "a bar is") {
		t.Errorf("boxes are drawn:\n%s", text)
	}
	p.View = &View{Nodes: make([]Node, mostSmall+1)}
	p.Rows = rowsOf(p.View)
	text := string(s.render(p))
	if strings.Contains(text, "memory is<") || !strings.Contains(text, "a bar is up to 20 of them") {
		t.Errorf("bars are drawn:\n%s", text[:1000])
	}
}

// Who walks through the page by keyboard gets past its nodes, however many there are.
func TestAWayPastTheNodes(t *testing.T) {
	s := served(t, true, busy)
	text := asked(t.Context(), s, "/").Body.String()
	skip, node := strings.Index(text, `href="#waiting"`), strings.Index(text, `class="node`)
	to := strings.Index(text, `id="waiting" tabindex="-1"`)
	if skip < 0 || skip > node || to < strings.LastIndex(text, `class="node`) || to > strings.Index(text, `id="h-p"`) {
		t.Errorf("the way past the nodes is at %d, the first node at %d, the end at %d:\n%s", skip, node, to, text)
	}
}

// On a phone the cells of a table stand below each other: each has its column's name, and each column a cell.
func TestCellsHaveTheirColumnsName(t *testing.T) {
	text, err := templateFiles.ReadFile("templates/more.html")
	if err != nil {
		t.Fatal(err)
	}
	tables := strings.Split(string(text), "<thead>")[1:]
	for _, table := range tables {
		table, _, _ = strings.Cut(table, "</tbody>")
		var columns, cells []string
		for _, m := range regexp.MustCompile(`<th[^>]*>([^<{]+)`).FindAllStringSubmatch(table, -1) {
			columns = append(columns, m[1])
		}
		for _, m := range regexp.MustCompile(`<td[^>]* data-l="([^"]*)"`).FindAllStringSubmatch(table, -1) {
			if !slices.Contains(cells, m[1]) {
				cells = append(cells, m[1])
			}
		}
		if !slices.Equal(cells, columns) {
			t.Errorf("columns %q have cells %q", columns, cells)
		}
	}
	if len(tables) < 10 {
		t.Errorf("%d tables", len(tables))
	}
}

// streamed is a response that may have a deadline, as those of real connections.
type streamed struct{ *httptest.ResponseRecorder }

func (streamed) SetWriteDeadline(time.Time) error { return nil }

// Who looks is told that another process leads now, and what is only looked at again is no change.
func TestAChangeOfLeaderIsAChange(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		s := served(t, true, busy)
		w := streamed{httptest.NewRecorder()}
		go func() {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/events", nil)
			r.Host = "localhost"
			s.Handler().ServeHTTP(w, r)
		}()
		look := func(after time.Duration) {
			calm := *s.now.cycle.Snapshot
			calm.Now = calm.Now.Add(after)
			if err := s.Report(t.Context(), model.Cycle{Snapshot: &calm}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * eventPace)
		}
		time.Sleep(2 * eventPace)
		look(10 * time.Second)
		// Another one leads, and not for long: a page that was read in between must be read again.
		synctest.Wait()
		s.Leader("other-1", false)
		s.Leader("leader-0", true)
		time.Sleep(2 * eventPace)
		look(20 * time.Second)
		s.Leader("other-1", false)
		time.Sleep(2 * eventPace)
		synctest.Wait()
		var got []string
		for line := range strings.Lines(w.Body.String()) {
			if text := strings.TrimSpace(line); text != "" {
				got = append(got, text)
			}
		}
		want := []string{
			"event: change", `data: {"number":2,"looked":"2026-01-01T00:00:00Z","leads":true,"leader":"leader-0"}`,
			"event: look", `data: {"number":2,"looked":"2026-01-01T00:00:10Z","leads":true,"leader":"leader-0"}`,
			"event: change", `data: {"number":4,"looked":"2026-01-01T00:00:10Z","leads":true,"leader":"leader-0"}`,
			"event: look", `data: {"number":4,"looked":"2026-01-01T00:00:20Z","leads":true,"leader":"leader-0"}`,
			"event: change", `data: {"number":5,"looked":"2026-01-01T00:00:20Z","leads":false,"leader":"other-1"}`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	})
}
