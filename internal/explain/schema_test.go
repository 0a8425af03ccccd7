package explain_test

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
	"github.com/plimsoll-dev/plimsoll/internal/testkit/schema"
)

var rewrite = flag.Bool("rewrite", false, "write docs/schema")

// answers are what commands print as JSON, by the name of their schema.
var answers = map[string]reflect.Type{
	"plan": reflect.TypeFor[explain.Plan](), "course": reflect.TypeFor[explain.Course](),
	"pod":  reflect.TypeFor[explain.Pod](),
	"node": reflect.TypeFor[explain.Node](), "group": reflect.TypeFor[explain.Group](),
}

// TestSchemas: docs/schema says what the answers look like; their fields, and what the code says of them.
// `go test ./internal/explain -run Schemas -rewrite` writes it.
func TestSchemas(t *testing.T) {
	said := schema.Comments(t, ".", filepath.Join("..", "model"), filepath.Join("..", "..", "provider"))
	for name, of := range answers {
		schema.Keep(t, filepath.Join("..", "..", "docs"), name, schema.Of(of, said), *rewrite)
	}
}

// TestAPlanIsWhatItsSchemaSays: an empty plan has every field that is required, and lists are never null.
func TestAPlanIsWhatItsSchemaSays(t *testing.T) {
	text, err := json.Marshal(planOf(t, testkit.New().Observation(), model.Memory{}, testkit.Policy()))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range schema.Wrong(schema.Of(answers["plan"], nil), text) {
		t.Error(w)
	}
}
