package spelling

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Mistyped says of a value of a document what its field wants, and what it is: want a list, not a text.
func Mistyped(e *json.UnmarshalTypeError) string {
	is := map[string]string{
		"array": "a list", "object": "a map of fields", "string": "a text", "number": "a number", "bool": "true or false",
	}[e.Value]
	number, itself := strings.CutPrefix(e.Value, "number ") // one that does not fit
	if is == "" {
		is = number
	}
	kind := e.Type.Kind()
	want := map[reflect.Kind]string{
		reflect.Slice: "a list", reflect.Map: "a map of fields", reflect.Struct: "a map of fields",
		reflect.Bool: "true or false", reflect.String: "a text", reflect.Float64: "a number",
	}[kind]
	switch {
	case want != "":
	case itself && !strings.ContainsAny(number, ".eE") && reflect.Int <= kind && kind <= reflect.Int64:
		want = fmt.Sprintf("a whole number up to %d", uint64(1)<<(e.Type.Bits()-1)-1)
	default:
		want = "a whole number"
	}
	if itself && kind == reflect.Float64 {
		want = "a smaller number"
	}
	if kind == reflect.String && e.Value == "bool" {
		is += " (in YAML, n, y, no, yes, on and off are such unless quoted)"
	}
	return fmt.Sprintf("want %s, not %s", want, is)
}
