package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// warm starts what the scheduler's plugins start once in a process, which must not end with a bubble.
func warm(t *testing.T) { served(t, true, busy) }

// asked is what a server answers to a request for a path, which ends with ctx.
func asked(ctx context.Context, s *Server, path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// All who ask for the same of one moment share one answer, and all who look at a page share the page.
func TestWhatManyAskForIsComputedOnce(t *testing.T) {
	s := served(t, true, busy)
	giant := s.scene().View().Pods[1]
	for _, paths := range [][2]string{
		{"/class/" + giant.Digest, "/api/v1/explain/pod/" + giant.Pod()}, {"/node/n1", "/api/v1/explain/node/n1"},
		{"/group/general", "/api/v1/explain/group/general"},
	} {
		for range 3 {
			for _, path := range paths {
				if w := asked(t.Context(), s, path); w.Code != http.StatusOK {
					t.Fatal(path, w.Code, w.Body)
				}
			}
		}
	}
	m := s.scene().moment
	if len(m.asked) != 3 || len(m.answers) != 3 {
		t.Errorf("answers to %v", m.asked)
	}
	for q, a := range m.answers {
		if again, err := s.desk.join(m, q); err != nil || again != a || a.wanted != 5 {
			t.Errorf("%v was computed again (%v), and asked for %d times", q, err, a.wanted)
		}
	}
	text := func(path string) *byte {
		g := glance{s.number, s.looked}
		_, text := s.shelf.take(g, path, func() (int, []byte) { return http.StatusOK, []byte("made again") })
		return &text[0]
	}
	for path := range s.shelf.pages {
		if first, second := text(path), text(path); first != second || *first != '<' {
			t.Errorf("%s is made again", path)
		}
	}
	if asked(t.Context(), s, "/node/none"); len(s.shelf.pages) != 3 {
		t.Errorf("%d pages are kept, of 3 that are there", len(s.shelf.pages))
	}
}

// Neither pages nor answers of one moment grow without end.
func TestWhatIsKeptIsBounded(t *testing.T) {
	var f shelf
	of := func(name string, size int) {
		f.take(glance{}, name, func() (int, []byte) { return http.StatusOK, make([]byte, size) })
	}
	for i := range 10 {
		of(fmt.Sprint(i), mostShelved/4)
		if len(f.pages) > 4 || f.bytes > mostShelved {
			t.Fatalf("%d pages of %d bytes", len(f.pages), f.bytes)
		}
	}
	if of("large", mostShelved+1); f.pages["large"] != nil || f.bytes > mostShelved {
		t.Error("a page is kept that is larger than all may be")
	}
	f.take(glance{number: 2}, "new", func() (int, []byte) { return http.StatusOK, []byte("new") })
	if len(f.pages) != 1 || f.bytes != 3 {
		t.Errorf("after a decision there are %d pages of %d bytes", len(f.pages), f.bytes)
	}
	s := served(t, true, busy)
	for i := range mostAnswered + 9 {
		asked(t.Context(), s, fmt.Sprintf("/api/v1/explain/node/none-%d", i))
	}
	if m := s.scene().moment; len(m.answers) != mostAnswered || len(m.asked) != mostAnswered {
		t.Errorf("%d answers are kept", len(m.answers))
	}
}

// So many questions wait for their turn; the next one is refused until later, as JSON or on the page. What all who
// asked have given up is not computed.
func TestQuestionsWaitInALineThatEnds(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		s := served(t, true, busy)
		s.desk.turn <- struct{}{} // an answer is being computed
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		for i := range mostOpen {
			go asked(ctx, s, fmt.Sprintf("/api/v1/explain/pod/default/p-%d", i))
		}
		stays := make(chan int, 1)
		go func() { stays <- asked(t.Context(), s, "/api/v1/explain/pod/default/p-3").Code }()
		synctest.Wait()
		w := asked(t.Context(), s, "/api/v1/explain/node/n1")
		var failure Failure
		err := json.Unmarshal(w.Body.Bytes(), &failure)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "2" || err != nil ||
			failure.Code != Busy || failure.Hint == "" {
			t.Errorf("one more question: %d %v %s", w.Code, w.Header(), w.Body)
		}
		w = asked(t.Context(), s, "/node/n1")
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "questions wait for an answer") ||
			!strings.Contains(w.Body.String(), "Stays because") {
			t.Errorf("a page that lacks what explain says: %d\n%s", w.Code, w.Body)
		}
		leave()
		synctest.Wait()
		<-s.desk.turn
		if code := <-stays; code != http.StatusNotFound {
			t.Error("who stays is told", code)
		}
		synctest.Wait()
		m := s.scene().moment
		if len(m.answers) != 1 || m.answers[question{"pod", "default/p-3"}] == nil || s.desk.open != 0 {
			t.Errorf("computed, though all have left: %v; %d open", m.asked, s.desk.open)
		}
	})
}

// A node and its pods say which decision bought it and for whom, as long as that is recorded, and not to those who may
// see one namespace.
func TestADecisionSaysForWhomANodeWasBought(t *testing.T) {
	const group = "group g max=10 cpu=4 memory=16Gi\n"
	s := served(t, true, group+"pods web count=3 cpu=3 memory=1Gi")
	bought, _ := s.book.Find(decisions.Last)
	s.turned(t, group+"node n1 group=g\npods web count=1 cpu=3 memory=1Gi node=n1")
	want := []string{`"boughtFor":["default/web`, `"boughtBy":{"decision":"` + bought.ID}
	const node, pod = "/api/v1/explain/node/n1", "/api/v1/explain/pod/default/web-000001"
	for path, want := range map[string][]string{
		node: want, pod: want, "/node/n1": {"Bought for default/web", "by decision " + bought.ID},
	} {
		for _, part := range want {
			got := asked(t.Context(), s, path).Body.String()
			if !strings.Contains(got, part) || strings.Contains(got, "not known") {
				t.Errorf("%s lacks %s:\n%s", path, part, got)
			}
		}
	}
	s.settings.Allow = func(*http.Request) (string, error) { return "default", nil }
	if got := asked(t.Context(), s, pod).Body.String(); strings.Contains(got, "boughtBy") {
		t.Errorf("who may see one namespace sees the decision:\n%s", got)
	}
}

// A decision that bought from two groups does not say which of them was for which pods.
func TestADecisionForSeveralGroupsDoesNotGuess(t *testing.T) {
	const groups = "group g max=10 cpu=4 memory=16Gi zone=a\ngroup h max=10 cpu=4 memory=16Gi zone=b\n"
	s := served(t, true, groups+"pods web count=3 cpu=3 memory=1Gi select=zone:a\n"+
		"pods db count=3 cpu=3 memory=1Gi select=zone:b")
	s.turned(t, groups+"node n1 group=g zone=a\npods web count=1 cpu=3 memory=1Gi node=n1 select=zone:a")
	got := asked(t.Context(), s, "/api/v1/explain/node/n1").Body.String()
	if strings.Contains(got, "boughtFor\"") || !strings.Contains(got, "boughtBy") {
		t.Errorf("it says %s", got)
	}
}

// A fault in explaining is told, and ends nothing.
func TestAFaultInExplaining(t *testing.T) {
	s := served(t, true, busy)
	s.now.cycle.Snapshot = nil
	w := asked(t.Context(), s, "/api/v1/explain/node/n1")
	if w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), `"code":"Internal"`) {
		t.Error(w.Code, w.Body)
	}
}

// An answer is masked by the cluster that it is about, though another one was seen before it was there.
func TestTheMaskIsOfTheAnswersMoment(t *testing.T) {
	warm(t)
	synctest.Test(t, func(t *testing.T) {
		s := served(t, true, `
			group general max=2 cpu=4 memory=16Gi
			node n1 group=general
			pods web count=1 cpu=100m memory=1Gi node=n1 namespace=shop
			pods db count=1 cpu=100m memory=1Gi node=n1 namespace=other evict=false
		`)
		s.settings.Allow = func(*http.Request) (string, error) { return "shop", nil }
		s.desk.turn <- struct{}{}
		var w *httptest.ResponseRecorder
		go func() { w = asked(t.Context(), s, "/api/v1/explain/pod/shop/web-000001") }()
		synctest.Wait()
		empty := &model.Snapshot{Now: s.looked}
		if err := s.Report(t.Context(), model.Cycle{Snapshot: empty, Decided: true}); err != nil {
			t.Fatal(err)
		}
		<-s.desk.turn
		synctest.Wait()
		if text := w.Body.String(); strings.Contains(text, "other/db") || !strings.Contains(text, "(another namespace's)") {
			t.Errorf("the tenant sees %s", text)
		}
	})
}

// Every refusal below /api is JSON with a code, and says what to do; elsewhere it is text.
func TestRefusals(t *testing.T) {
	s, standby, young := served(t, true, busy), served(t, false, busy), served(t, true, busy)
	young.now = nil
	denied := served(t, true, busy)
	var err error
	denied.settings.Allow = func(*http.Request) (string, error) { return "", err }
	full := served(t, true, busy)
	full.lookers = mostLookers
	for _, step := range []struct {
		of           *Server
		method, path string
		host         string
		err          error
		status       int
		code         Code
		header       string
	}{
		{s, "GET", "/api/v1/none", "localhost", nil, 404, NotFound, ""},
		{s, "GET", "/api/", "localhost", nil, 404, NotFound, ""},
		{s, "GET", "/api/v1/decisions?limit=x", "localhost", nil, 400, BadRequest, ""},
		{s, "GET", "/api/v1/decisions?at=x", "localhost", nil, 400, BadRequest, ""},
		{s, "GET", "/api/v1/decisions?at=1999-01-02T15:04:05Z", "localhost", nil, 404, NotFound, ""},
		{s, "GET", "/api/v1/decisions/none", "localhost", nil, 404, NotFound, ""},
		{s, "GET", "/api/v1/explain/pod/x", "localhost", nil, 400, BadRequest, ""},
		{s, "GET", "/api/v1/explain/pod/x/y", "localhost", nil, 404, NotFound, ""},
		{s, "GET", "/api/v1/explain/cat/x", "localhost", nil, 404, NotFound, ""},
		{s, "GET", "/api/v1/state", "evil.example", nil, 403, WrongHost, ""},
		{s, "POST", "/api/v1/state", "localhost", nil, 405, MethodNotAllowed, "Allow"},
		{standby, "GET", "/api/v1/explain/node/n1", "localhost", nil, 503, NotLeading, ""},
		{young, "GET", "/api/v1/explain/node/n1", "localhost", nil, 503, NothingDecided, "Retry-After"},
		{full, "GET", "/api/v1/events", "localhost", nil, 503, Busy, "Retry-After"},
		{denied, "GET", "/api/v1/state", "x", unauthenticated("no"), 401, Unauthenticated, "Www-Authenticate"},
		{denied, "GET", "/api/v1/state", "x", fmt.Errorf("no answer"), 503, Unreachable, "Retry-After"},
	} {
		err = step.err
		for _, path := range []string{step.path, "/node/none"} {
			r := httptest.NewRequest(step.method, path, nil)
			r.Host = step.host
			w := httptest.NewRecorder()
			step.of.Handler().ServeHTTP(w, r)
			if path != step.path {
				if strings.HasPrefix(w.Body.String(), "{") {
					t.Errorf("%s %s has JSON: %s", step.method, path, w.Body)
				}
				continue
			}
			var f Failure
			if err := json.Unmarshal(w.Body.Bytes(), &f); err != nil {
				t.Errorf("%s %s is no JSON: %s", step.method, path, w.Body)
			}
			if w.Code != step.status || f.Code != step.code || f.Message == "" || f.Hint == "" ||
				w.Header().Get("Content-Type") != "application/json" || step.header != "" && w.Header().Get(step.header) == "" {
				t.Errorf("%s %s: %d %+v %v", step.method, path, w.Code, f, w.Header())
			}
		}
	}
}
