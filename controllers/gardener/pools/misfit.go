package pools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
)

// blame finds the innermost part of a JSON tree that does not fit into a Shoot, and
// says what would; nil: all of it fits. A decoder would say it in the words of its
// language, and of durations and the like not even where. t is the type that the value
// is for; around is the whole tree with another value in this one's place.
func blame(value any, at *field.Path, t reflect.Type, around func(any) any) *field.Error {
	if fits(around(value)) {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		if !fits(around(map[string]any{})) {
			break // no object is wanted here, whatever is in it
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			inside := func(v any) any { return around(map[string]any{key: v}) }
			if wrong := blame(value[key], childOf(at, t, key), typeOf(t, key), inside); wrong != nil {
				return wrong
			}
		}
	case []any:
		if !fits(around([]any{})) {
			break
		}
		for i, item := range value {
			inside := func(v any) any { return around([]any{v}) }
			if wrong := blame(item, at.Index(i), typeOf(t, ""), inside); wrong != nil {
				return wrong
			}
		}
	}
	return misfit(value, at, t)
}

func fits(tree any) bool {
	raw, err := json.Marshal(tree)
	return err == nil && json.Unmarshal(raw, &v1beta1.Shoot{}) == nil
}

// misfit says what a value is and what should be in its place.
func misfit(value any, at *field.Path, t reflect.Type) *field.Error {
	wanted := "must be " + wantedFor(t)
	switch v := value.(type) {
	case float64:
		whole := v == math.Trunc(v)
		switch {
		case whole && isInt32(t) && v > math.MaxInt32:
			wanted = fmt.Sprintf("must not be more than %d", math.MaxInt32)
		case whole && isInt32(t) && v < math.MinInt32:
			wanted = fmt.Sprintf("must not be less than %d", math.MinInt32)
		}
		if whole && math.Abs(v) < math.MaxInt64 {
			return field.Invalid(at, int64(v), quoted(wanted, t))
		}
		return field.Invalid(at, v, quoted(wanted, t))
	case string:
		return field.Invalid(at, v, wanted)
	case bool:
		return field.Invalid(at, v, quoted(wanted, t))
	}
	return field.Invalid(at, field.OmitValueType{}, wanted+", and is "+kindOf(value))
}

// quoted adds what helps where text looks like something else to YAML.
func quoted(wanted string, t reflect.Type) string {
	if t != nil && t.Kind() == reflect.String {
		return wanted + ": put it in quotes"
	}
	return wanted
}

// wantedFor is a type in the words of those who write Shoots.
func wantedFor(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[metav1.Duration]():
		return "a duration such as 10m or 1h30m"
	case reflect.TypeFor[metav1.Time]():
		return "a time such as 2026-01-02T15:04:05Z"
	case reflect.TypeFor[intstr.IntOrString]():
		return "a whole number or a percentage such as 25%"
	case nil:
		return "something else" // of a field that is not known, anything fits
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}

// isInt32 reports whether the whole numbers of a type have 32 bits.
func isInt32(t reflect.Type) bool {
	return t == reflect.TypeFor[intstr.IntOrString]() || t != nil && t.Kind() == reflect.Int32
}

// kindOf is what a value of a JSON tree is.
func kindOf(value any) string {
	switch value.(type) {
	case string:
		return "text"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "nothing"
}

// typeOf is the type of what is in a value of type t: under a key, or an item of a
// list; nil, if that is not known.
func typeOf(t reflect.Type, key string) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		return deref(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch {
			case name != "" && strings.EqualFold(name, key):
				return deref(f.Type)
			case name == "" && f.Anonymous:
				if inner := typeOf(deref(f.Type), key); inner != nil {
					return inner
				}
			}
		}
	}
	return nil
}

func deref(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

func childOf(at *field.Path, t reflect.Type, key string) *field.Path {
	switch {
	case at == nil:
		return field.NewPath(key)
	case t != nil && t.Kind() == reflect.Map:
		return at.Key(key)
	}
	return at.Child(key)
}
