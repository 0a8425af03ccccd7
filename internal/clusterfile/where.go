package clusterfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// errUnknownField is a field that a document of Plimsoll's own cannot have.
var errUnknownField = errors.New("there is no such field")

// exactly reads a document of Plimsoll's own. The error names the field that is wrong.
func exactly(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return located(dec.Decode(into), data, into, true)
}

// located gives an error of json.Unmarshal the path of the field, if it does not name it itself: errors of
// quantities and times do not.
func located(err error, data []byte, into any, exact bool) error {
	if err == nil {
		return nil
	}
	path, why := firstWrong(reflect.TypeOf(into), data, exact)
	if why == nil || path == "" {
		return err
	}
	return &wrongField{path, why, err}
}

// unknownField is an error about a field that a type does not have, below a path. What is supposed is written by hand:
// a field with a slip in its name would count as not said.
func unknownField(path string, t reflect.Type, data []byte) error {
	at, err := firstWrong(t, data, true)
	if !errors.Is(err, errUnknownField) {
		return nil
	}
	return &wrongField{strings.TrimPrefix(below(path, at), "."), err, err}
}

// wrongField is a field whose value cannot be read. err is the whole document's, which knows the line.
type wrongField struct {
	path     string
	why, err error
}

func (e *wrongField) Error() string {
	if typed := (*json.UnmarshalTypeError)(nil); errors.As(e.why, &typed) {
		return e.path + ": " + spelling.Mistyped(typed)
	}
	return fmt.Sprintf("%s: %v", e.path, e.why)
}

func (e *wrongField) Unwrap() []error { return []error{e.err, e.why} }

// firstWrong finds the field of a type that data cannot be read as.
func firstWrong(t reflect.Type, data []byte, exact bool) (path string, err error) {
	for t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	switch {
	case string(bytes.TrimSpace(data)) == "null":
		return "", nil
	case readsItself(reflect.PointerTo(t)) || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
	case t.Kind() == reflect.Struct:
		return inFields(t, data, exact)
	case t.Kind() == reflect.Slice:
		var items []json.RawMessage
		if err := json.Unmarshal(data, &items); err != nil {
			return "", err
		}
		for i, item := range items {
			if at, err := firstWrong(t.Elem(), item, exact); err != nil {
				return below(fmt.Sprintf("[%d]", i), at), err
			}
		}
		return "", nil
	case t.Kind() == reflect.Map:
		var items map[string]json.RawMessage
		if err := json.Unmarshal(data, &items); err != nil {
			return "", err
		}
		for _, key := range sortedKeys(items) {
			if at, err := firstWrong(t.Elem(), items[key], exact); err != nil {
				return below("["+key+"]", at), err
			}
		}
		return "", nil
	}
	return "", inWords(t, data, json.Unmarshal(data, reflect.New(t).Interface()))
}

// inWords is an error about a value of a type that reads itself, without the words of its reader.
func inWords(t reflect.Type, data []byte, err error) error {
	const aTime = "no time, such as 2026-01-31T12:00:00Z"
	is := map[reflect.Type]string{
		reflect.TypeFor[resource.Quantity]():  "no quantity, such as 2, 500m or 4Gi",
		reflect.TypeFor[time.Time]():          aTime,
		reflect.TypeFor[metav1.Time]():        aTime,
		reflect.TypeFor[metav1.MicroTime]():   aTime,
		reflect.TypeFor[intstr.IntOrString](): "neither a whole number nor a share, such as 25%",
	}[t]
	if err == nil || is == "" {
		return err
	}
	return fmt.Errorf("%s is %s", bytes.TrimSpace(data), is)
}

func inFields(t reflect.Type, data []byte, exact bool) (path string, err error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	types := fieldTypes(t)
	for _, key := range sortedKeys(fields) {
		of, known := types[key]
		switch {
		case !known && exact:
			return key, errUnknownField
		case !known:
			continue
		}
		if at, err := firstWrong(of, fields[key], exact); err != nil {
			return below(key, at), err
		}
	}
	return "", nil
}

// fieldTypes are the types of a struct's fields by their names in JSON, those of embedded structs among them.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous:
		case name != "":
			out[name] = f.Type
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			for name, of := range fieldTypes(f.Type) {
				out[name] = of
			}
		default:
			out[f.Name] = f.Type
		}
	}
	return out
}

func readsItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Unmarshaler]())
}

func sortedKeys(m map[string]json.RawMessage) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

func below(path, rest string) string {
	if rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}
