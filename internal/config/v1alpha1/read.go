package v1alpha1

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// What a file says of itself.
const (
	APIVersion = "plimsoll.dev/v1alpha1"
	Kind       = "Configuration"
)

// Document is a file that was read.
type Document struct {
	Configuration
	// File is its name, for people.
	File string
	// Text is what it said.
	Text []byte
	// Values are all values in it, in their order.
	Values []Value
	lines  map[string]int
	root   *yaml.Node
}

// Value is a scalar in the file, or a list of scalars.
type Value struct {
	Path string
	// Flag is the flag that it is, empty if it is none.
	Flag string
	// Texts are the value, one for each element of a list.
	Texts []string
	List  bool
	Line  int
}

// String is the value for a person.
func (v Value) String() string {
	if v.List {
		return "[" + strings.Join(v.Texts, ", ") + "]"
	}
	return strings.Join(v.Texts, "")
}

// Wrong is an error about what stands at a path, or should.
func (d *Document) Wrong(path, format string, args ...any) error {
	return fmt.Errorf("%s: %s: %w", d.At(path), path, fmt.Errorf(format, args...))
}

// At is where a path stands, or the next thing above it.
func (d *Document) At(path string) string {
	for path != "" {
		if line, ok := d.lines[path]; ok {
			return fmt.Sprintf("%s:%d", d.File, line)
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return d.File
}

// Read reads the text of a file. An error lists everything that is wrong with its form.
func Read(file string, text []byte) (*Document, error) {
	d := &Document{File: file, Text: text, lines: map[string]int{}}
	var root, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	switch err := decoder.Decode(&root); {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: it is empty; want apiVersion: %s, kind: %s", file, APIVersion, Kind)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more than one YAML document in it; want one", file)
	}
	d.root = root.Content[0]
	r := reader{doc: d}
	r.read(root.Content[0], reflect.ValueOf(&d.Configuration).Elem(), place{})
	if len(r.errs) == 0 && d.APIVersion != APIVersion {
		r.wrong(root.Content[0], "apiVersion", "%q is not known; want %s", d.APIVersion, APIVersion)
	}
	if len(r.errs) == 0 && d.Kind != Kind {
		r.wrong(root.Content[0], "kind", "%q is not known; want %s", d.Kind, Kind)
	}
	return d, errors.Join(r.errs...)
}

// place is where a value stands: its path, and the flag that it is.
type place struct{ path, flag string }

func (p place) field(name, flag string) place {
	return place{strings.TrimPrefix(p.path+"."+name, "."), flag}
}

type reader struct {
	doc  *Document
	errs []error
}

func (r *reader) wrong(n *yaml.Node, path, format string, args ...any) {
	at := fmt.Sprintf("%s:%d", r.doc.File, n.Line)
	if path != "" {
		at += ": " + path
	}
	r.errs = append(r.errs, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

// read puts what stands at a node into a value of the types. Nothing, or null, leaves it as it is.
func (r *reader) read(n *yaml.Node, to reflect.Value, at place) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias // types are not deep, so that no alias can go round in a circle
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	r.doc.lines[at.path] = n.Line
	want := yaml.ScalarNode
	switch to.Kind() {
	case reflect.Struct, reflect.Map:
		want = yaml.MappingNode
	case reflect.Slice:
		want = yaml.SequenceNode
	}
	if n.Kind != want {
		r.wrong(n, at.path, "want %s, there is %s", nodeKinds[want], nodeKinds[n.Kind])
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		r.mapping(n, at, func(key, value *yaml.Node) {
			index, flag, ok := fieldOf(to.Type(), key.Value)
			if !ok {
				r.unknown(key, at, to.Type())
				return
			}
			r.read(value, to.FieldByIndex(index), at.field(key.Value, flag))
		})
	case reflect.Map:
		to.Set(reflect.MakeMap(to.Type()))
		r.mapping(n, at, func(key, value *yaml.Node) {
			text := reflect.New(to.Type().Elem()).Elem()
			r.read(value, text, at.field(key.Value, ""))
			to.SetMapIndex(reflect.ValueOf(key.Value), text)
		})
	case reflect.Slice:
		r.list(n, to, at)
	default:
		if r.scalar(n, to, at.path) {
			r.doc.Values = append(r.doc.Values, Value{Path: at.path, Flag: at.flag, Texts: []string{n.Value}, Line: n.Line})
		}
	}
}

// nodeKinds are the kinds of nodes, for a person.
var nodeKinds = map[yaml.Kind]string{
	yaml.MappingNode: "fields", yaml.SequenceNode: "a list", yaml.ScalarNode: "one value",
}

// mapping calls for each key with its value, and finds keys that are there twice.
func (r *reader) mapping(n *yaml.Node, at place, each func(key, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if seen[key.Value] {
			r.wrong(key, at.field(key.Value, "").path, "it is there twice")
			continue
		}
		seen[key.Value] = true
		each(key, n.Content[i+1])
	}
}

func (r *reader) unknown(key *yaml.Node, at place, in reflect.Type) {
	var known []string
	for _, f := range reflect.VisibleFields(in) {
		if name := nameOf(f); name != "" {
			known = append(known, name)
		}
	}
	if near := spelling.Nearest(key.Value, known); near != "" {
		r.wrong(key, at.field(key.Value, "").path, "there is no such field; did you mean %s?", near)
		return
	}
	slices.Sort(known)
	r.wrong(key, at.field(key.Value, "").path, "there is no such field; there are %s", strings.Join(known, ", "))
}

func (r *reader) list(n *yaml.Node, to reflect.Value, at place) {
	to.Set(reflect.MakeSlice(to.Type(), len(n.Content), len(n.Content)))
	whole := Value{Path: at.path, Flag: at.flag, List: true, Line: n.Line}
	for i, element := range n.Content {
		path := fmt.Sprintf("%s[%d]", at.path, i)
		if to.Type().Elem().Kind() != reflect.String {
			r.read(element, to.Index(i), place{path: path})
			continue
		}
		r.doc.lines[path] = element.Line
		if element.Kind != yaml.ScalarNode {
			r.wrong(element, path, "want one value, there is %s", nodeKinds[element.Kind])
		} else if r.scalar(element, to.Index(i), path) {
			whole.Texts = append(whole.Texts, element.Value)
		}
	}
	if to.Type().Elem().Kind() == reflect.String {
		r.doc.Values = append(r.doc.Values, whole)
	}
}

// scalar reads one value, and reports whether it is of the type.
func (r *reader) scalar(n *yaml.Node, to reflect.Value, path string) bool {
	fits := func(ok bool, want string) bool {
		if !ok {
			r.wrong(n, path, "%q is not %s", n.Value, want)
		}
		return ok
	}
	number := n.Tag == "!!int" || n.Tag == "!!float"
	switch to.Kind() {
	case reflect.String:
		to.SetString(n.Value)
		return fits(n.Tag == "!!str" || number || n.Tag == "!!timestamp", "a text; write it in quotes")
	case reflect.Bool:
		to.SetBool(n.Value == "true")
		return fits(n.Tag == "!!bool" && (n.Value == "true" || n.Value == "false"), "true or false")
	case reflect.Int64:
		v, err := strconv.ParseInt(n.Value, 10, 64)
		to.SetInt(v)
		return fits(err == nil && number, "a whole number")
	case reflect.Uint64:
		v, err := strconv.ParseUint(n.Value, 10, 64)
		to.SetUint(v)
		return fits(err == nil && number, "a whole number of at least 0")
	default:
		v, err := strconv.ParseFloat(n.Value, 64)
		to.SetFloat(v)
		return fits(err == nil && number && !math.IsNaN(v) && !math.IsInf(v, 0), "a number")
	}
}

// fieldOf finds a field of a type, or of those embedded in it, by its name in files.
func fieldOf(in reflect.Type, name string) (index []int, flag string, ok bool) {
	for _, f := range reflect.VisibleFields(in) {
		if n := nameOf(f); n != "" && n == name {
			return f.Index, f.Tag.Get("flag"), true
		}
	}
	return nil, "", false
}

// nameOf is what a field is called in files, empty for an embedded type.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
