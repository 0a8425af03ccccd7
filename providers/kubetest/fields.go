package kubetest

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Object is one object, as its JSON is read; whole numbers are int64.
type Object = map[string]any

// Clone is a copy.
func Clone(o Object) Object { return (&unstructured.Unstructured{Object: o}).DeepCopy().Object }

// Set writes a field, and what is missing on the way to it.
func Set(o Object, value any, path ...string) {
	for _, field := range path[:len(path)-1] {
		next, ok := o[field].(Object)
		if !ok {
			next = Object{}
			o[field] = next
		}
		o = next
	}
	o[path[len(path)-1]] = value
}

// Get is a field's value, nil if it is not there.
func Get(o Object, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o, path...)
	return v
}

// Text is a field's text, empty if it has none.
func Text(o Object, path ...string) string { v, _ := Get(o, path...).(string); return v }

// Int is a field's number, 0 if it has none.
func Int(o Object, path ...string) int { v, _ := Get(o, path...).(int64); return int(v) }

// Deleting reports whether the object's deletion has begun.
func Deleting(o Object) bool { return Text(o, "metadata", "deletionTimestamp") != "" }

// Decode reads an object's JSON.
func Decode(body []byte) (Object, error) {
	var o Object
	if err := json.Unmarshal(body, &o); err != nil {
		return nil, err
	}
	numbers(o)
	return o, nil
}

// numbers makes whole numbers of JSON what they are in unstructured objects.
func numbers(v any) any {
	switch v := v.(type) {
	case Object:
		for name := range maps.Clone(v) {
			v[name] = numbers(v[name])
		}
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case float64:
		if v == float64(int64(v)) {
			return int64(v)
		}
	}
	return v
}
