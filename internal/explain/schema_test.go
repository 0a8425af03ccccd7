package explain_test

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
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
	said := comments(t, ".", filepath.Join("..", "..", "provider"))
	for name, of := range answers {
		schema := schemaOf(of, said)
		schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
		file := filepath.Join("..", "..", "docs", "schema", name+".json")
		if *rewrite {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		have, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(have), string(text)); diff != "" {
			t.Errorf("%s is stale; go test ./internal/explain -run Schemas -rewrite writes it:\n%s", file, diff)
		}
	}
}

// TestAPlanIsWhatItsSchemaSays: an empty plan has every field that is required, and lists are never null.
func TestAPlanIsWhatItsSchemaSays(t *testing.T) {
	text, err := json.Marshal(planOf(t, testkit.New().Observation(), model.Memory{}, testkit.Policy()))
	if err != nil {
		t.Fatal(err)
	}
	var plan map[string]any
	if err := json.Unmarshal(text, &plan); err != nil {
		t.Fatal(err)
	}
	schema := schemaOf(answers["plan"], nil)
	for _, field := range schema["required"].([]string) {
		if plan[field] == nil {
			t.Errorf("an empty plan has no %s:\n%s", field, text)
		}
	}
	for field := range plan {
		if schema["properties"].(map[string]any)[field] == nil {
			t.Errorf("the schema has no %s", field)
		}
	}
}

// schemaOf describes a type as JSON has it. Fields that are left out when empty are not required.
func schemaOf(of reflect.Type, said map[string]string) map[string]any {
	switch of.Kind() {
	case reflect.Pointer:
		return schemaOf(of.Elem(), said)
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(of.Elem(), said)}
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return map[string]any{"type": "string", "format": "date-time"}
		}
	default:
		return map[string]any{"type": "integer"}
	}
	fields, required := map[string]any{}, []string{}
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		inner := schemaOf(f.Type, said)
		if options == "inline" {
			for name, field := range inner["properties"].(map[string]any) {
				fields[name] = field
			}
			required = append(required, inner["required"].([]string)...)
			continue
		}
		if text := said[of.Name()+"."+f.Name]; text != "" {
			inner["description"] = text
		}
		fields[name] = inner
		if options == "" {
			required = append(required, name)
		}
	}
	out := map[string]any{"type": "object", "properties": fields, "required": required}
	if text := said[of.Name()]; text != "" {
		out["description"] = text
	}
	return out
}

// comments are those of types and of their fields, by name. One comment may stand for several fields.
func comments(t *testing.T, folders ...string) map[string]string {
	out := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				decl, ok := n.(*ast.GenDecl)
				if !ok {
					return true
				}
				for _, s := range decl.Specs {
					spec, ok := s.(*ast.TypeSpec)
					if !ok {
						continue
					}
					out[spec.Name.Name] = words(decl.Doc)
					body, ok := spec.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, f := range body.Fields.List {
						for _, name := range f.Names {
							out[spec.Name.Name+"."+name.Name] = words(f.Doc)
						}
					}
				}
				return false
			})
		}
	}
	return out
}

func words(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
