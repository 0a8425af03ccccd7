package ui

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/testkit/schema"
)

var rewrite = flag.Bool("rewrite", false, "write docs/schema")

var docs = filepath.Join("..", "..", "docs")

// schemas are those of the API's answers, by the name of their file: an envelope with one content, and what
// is no envelope.
func schemas(said map[string]string) map[string]schema.Schema {
	contents := []string{"state", "pods", "nodes", "groups", "decisions"}
	out := map[string]schema.Schema{
		"events":  schema.Of(reflect.TypeFor[News](), said),
		"failure": schema.Of(reflect.TypeFor[Failure](), said),
	}
	for _, name := range contents {
		s := schema.Of(reflect.TypeFor[Envelope](), said)
		maps.DeleteFunc(s["properties"].(schema.Schema), func(field string, _ any) bool {
			return field != name && slices.Contains(contents, field)
		})
		out[name] = s
	}
	return out
}

// docs/schema says what the API answers. `go test ./internal/ui -run Schemas -rewrite` writes it.
func TestSchemas(t *testing.T) {
	said := schema.Comments(t, ".", filepath.Join("..", "decisions"), filepath.Join("..", "budget"),
		filepath.Join("..", "model"), filepath.Join("..", "..", "provider"))
	for name, s := range schemas(said) {
		schema.Keep(t, docs, name, s, *rewrite)
	}
}

// Every path of the API answers as its schema says, where there is much to tell, where there is nothing, and
// where another process leads; and docs/ui.md has each path and each schema.
func TestAnswersAreWhatTheirSchemasSay(t *testing.T) {
	known := schemas(nil)
	for name, of := range map[string]reflect.Type{"explain pod": reflect.TypeFor[explain.Pod](),
		"explain node": reflect.TypeFor[explain.Node](), "explain group": reflect.TypeFor[explain.Group]()} {
		known[name] = schema.Of(of, nil)
	}
	asked := map[string]map[string]string{ // by pattern, what is asked for and the schema
		"/api/v1/state": {"": "state"}, "/api/v1/pods": {"": "pods"}, "/api/v1/nodes": {"": "nodes"},
		"/api/v1/groups":            {"": "groups"},
		"/api/v1/decisions":         {"": "decisions", "?limit=0": "failure"},
		"/api/v1/decisions/{id}":    {"/api/v1/decisions/last": "decisions", "/api/v1/decisions/none": "failure"},
		"/api/v1/explain/plan/{id}": {"/api/v1/explain/plan/last": "decisions"},
		"/api/v1/explain/{kind}/{name...}": {
			"/api/v1/explain/pod/default/giant-000001": "explain pod", "/api/v1/explain/node/n1": "explain node",
			"/api/v1/explain/group/general": "explain group", "/api/v1/explain/node/none": "failure",
		},
		"/api/v1/events": {},
	}
	page, err := os.ReadFile(filepath.Join(docs, "ui.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range known {
		if file := "schema/" + name[strings.LastIndex(name, " ")+1:] + ".json"; !strings.Contains(string(page), file) {
			t.Errorf("docs/ui.md does not lead to %s", file)
		}
	}
	full, empty, standby := served(t, true, busy), served(t, true, ""), served(t, false, busy)
	for pattern := range full.routes() {
		said := strings.NewReplacer("{id}", "ID", "{kind}/{name...}", "pod/NS/NAME").Replace(pattern)
		if !strings.Contains(string(page), said) {
			t.Errorf("docs/ui.md does not have %s", said)
		}
		paths, ok := asked[pattern]
		if !ok {
			t.Errorf("nothing asks for %s", pattern)
		}
		for path, name := range paths {
			if !strings.HasPrefix(path, "/") {
				path = pattern + path
			}
			for of, s := range map[string]*Server{"a full cluster": full, "an empty one": empty, "a standby": standby} {
				r := httptest.NewRequest(http.MethodGet, path, nil)
				r.Host = "localhost"
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, r)
				want := name
				if of != "a full cluster" && w.Code != http.StatusOK {
					want = "failure"
				}
				for _, wrong := range schema.Wrong(known[want], w.Body.Bytes()) {
					t.Errorf("%s of %s is not what %s.json says: %s\n%s", path, of, want, wrong, w.Body)
				}
			}
		}
	}
	text, err := json.Marshal(News{})
	if wrong := schema.Wrong(known["events"], text); err != nil || len(wrong) > 0 {
		t.Error(err, wrong)
	}
}

const busy = `
group general max=2 cpu=4 memory=16Gi zone=a
group gpu max=2 cpu=8 memory=64Gi zone=b
node n1 group=general
node n2 group=general
pods web count=2 cpu=3 memory=1Gi node=n1
pods api count=12 cpu=3 memory=1Gi
pods giant count=1 cpu=30 memory=1Gi
`

// served shows a cluster in the words of scenarios.
func served(t *testing.T, leads bool, text string) *Server {
	t.Helper()
	book := decisions.New(10, 1<<20, nil, prometheus.NewRegistry())
	s := New(Settings{Version: "test"}, book, slog.New(slog.DiscardHandler))
	s.Leader("leader-0", leads)
	s.turned(t, text)
	return s
}

// turned takes in one turn of the loop, on the cluster of a text.
func (s *Server) turned(t *testing.T, text string) {
	t.Helper()
	scenario := testkit.NewScenario()
	if err := scenario.Add(text); err != nil {
		t.Fatal(err)
	}
	snap := scenario.Snapshot(scenario.Policy)
	var d decide.Decider
	defer d.Close()
	c := model.Cycle{Snapshot: snap, Plan: d.Decide(snap, scenario.Policy), Policy: scenario.Policy, Decided: true}
	for _, to := range []interface {
		Report(context.Context, model.Cycle) error
	}{s.book, s} {
		if err := to.Report(context.Background(), c); err != nil {
			t.Fatal(err)
		}
	}
}
