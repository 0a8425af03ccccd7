package clusterfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
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
	if typed := (*json.UnmarshalTypeError)(nil); errors.As(why, &typed) {
		return &wrongType{path, typed.Value, typed.Type.Kind(), err}
	}
	return fmt.Errorf("%s: %w", path, why)
}

// wrongType is a value of another type than its field's. err is the whole document's, which knows the line.
type wrongType struct {
	path, value string
	want        reflect.Kind
	err         error
}

func (e *wrongType) Error() string {
	want := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Bool: "true or false", reflect.Struct: "an object", reflect.Map: "an object",
		reflect.Slice: "a list", reflect.Float64: "a number that fits into float64",
	}[e.want]
	if want == "" {
		want = fmt.Sprintf("a whole number that fits into %s", e.want)
	}
	if number, ok := strings.CutPrefix(e.value, "number "); ok {
		return fmt.Sprintf("%s: %s is not %s", e.path, number, want)
	}
	return fmt.Sprintf("%s: it is of type %s, and not %s", e.path, e.value, want)
}

func (e *wrongType) Unwrap() error { return e.err }

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
	return "", json.Unmarshal(data, reflect.New(t).Interface())
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
