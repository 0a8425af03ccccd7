// Package schema says what JSON answers look like, for tests: made of Go types and of the comments on
// them, kept in docs/schema, and held against real answers.
//
// In flow types and the folders of their packages, out flow JSON schemas and what is wrong with an answer.
// Tests alone import it.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Schema is a JSON schema.
type Schema = map[string]any

// Keep compares a schema with its file in docs/schema, or writes it there. From is the folder of docs.
func Keep(t *testing.T, docs, name string, s Schema, rewrite bool) {
	t.Helper()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	file := filepath.Join(docs, "schema", name+".json")
	if rewrite {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), string(text)); diff != "" {
		t.Errorf("%s is stale; this test with -rewrite writes it:\n%s", file, diff)
	}
}

// Wrong is what of an answer is not as its schema says: a field that is missing, unknown or of another type.
func Wrong(s Schema, answer []byte) []string {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return []string{"it is not JSON: " + err.Error()}
	}
	return wrong(s, value, "")
}

func wrong(s Schema, value any, at string) (out []string) {
	is := "object"
	switch v := value.(type) {
	case nil:
		is = "null"
	case bool:
		is = "boolean"
	case string:
		is = "string"
	case json.Number:
		is = "number"
		if _, err := v.Int64(); err == nil && s["type"] == "integer" {
			is = "integer"
		}
	case []any:
		is = "array"
		for i, v := range v {
			if inner, ok := s["items"].(Schema); ok {
				out = append(out, wrong(inner, v, fmt.Sprintf("%s[%d]", at, i))...)
			}
		}
	case map[string]any:
		fields, _ := s["properties"].(Schema)
		rest, open := s["additionalProperties"].(Schema)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, known := fields[name].(Schema)
			if !known && !open {
				out = append(out, at+"."+name+" is not in the schema")
				continue
			}
			if !known {
				inner = rest
			}
			out = append(out, wrong(inner, v[name], at+"."+name)...)
		}
		required, _ := s["required"].([]string)
		for _, name := range required {
			if _, ok := v[name]; !ok {
				out = append(out, at+"."+name+" is missing")
			}
		}
	}
	if is != s["type"] {
		out = append(out, fmt.Sprintf("%s is of type %s, not %v", at, is, s["type"]))
	}
	return out
}

// Of describes a type as JSON has it. Fields that are left out when empty are not required.
func Of(of reflect.Type, said map[string]string) Schema {
	switch of.Kind() {
	case reflect.Pointer:
		return Of(of.Elem(), said)
	case reflect.String:
		return Schema{"type": "string"}
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Float64:
		return Schema{"type": "number"}
	case reflect.Slice:
		return Schema{"type": "array", "items": Of(of.Elem(), said)}
	case reflect.Map:
		return Schema{"type": "object", "additionalProperties": Of(of.Elem(), said)}
	case reflect.Struct:
		if of == reflect.TypeFor[time.Time]() {
			return Schema{"type": "string", "format": "date-time"}
		}
	default:
		return Schema{"type": "integer"}
	}
	typeName := path.Base(of.PkgPath()) + "." + of.Name()
	fields, required := Schema{}, []string{}
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		inner := Of(f.Type, said)
		if options == "inline" {
			for name, field := range inner["properties"].(Schema) {
				fields[name] = field
			}
			required = append(required, inner["required"].([]string)...)
			continue
		}
		if text := said[typeName+"."+f.Name]; text != "" {
			inner["description"] = text
		}
		fields[name] = inner
		if options == "" {
			required = append(required, name)
		}
	}
	out := Schema{"type": "object", "properties": fields, "required": required}
	if text := said[typeName]; text != "" {
		out["description"] = text
	}
	return out
}

// Comments are those of types and of their fields, by package and name. One comment may stand for several fields.
func Comments(t *testing.T, folders ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
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
					name := file.Name.Name + "." + spec.Name.Name
					out[name] = words(decl.Doc)
					body, ok := spec.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, f := range body.Fields.List {
						for _, field := range f.Names {
							out[name+"."+field.Name] = words(f.Doc)
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
