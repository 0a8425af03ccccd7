package workers

import (
	"encoding/json"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldManager is the name under which this controller applies. What stands under
// it is what the controller owns, and nothing else.
const FieldManager = "plimsoll-eks-anywhere"

// HandOverManager is the name under which the replicas of an autoscaled group are
// written, those few times when they must be. It is another name on purpose.
//
// A field that its only owner no longer applies is removed: if FieldManager wrote
// the replicas, its next apply without them would take them away, and the default
// might not be what the autoscaler had set. What HandOverManager wrote stays. The client that
// changes it next, such as the autoscaler, owns it from then on.
const HandOverManager = "plimsoll-eks-anywhere-handover"

// Fields are owned fields, as the API server notes them: a tree of keys like
// "f:spec". A leaf is owned with everything below it.
type Fields map[string]any

// appliedBy are the fields that a manager applied to an object and still owns;
// nil if there is none. What cannot be read counts as not owned: then it is
// applied once more, which does no harm.
func appliedBy(entries []metav1.ManagedFieldsEntry, manager string) Fields {
	for _, e := range entries {
		if e.Manager == manager && e.Operation == metav1.ManagedFieldsOperationApply && e.Subresource == "" {
			return parseFields(e.FieldsV1)
		}
	}
	return nil
}

func parseFields(raw *metav1.FieldsV1) Fields {
	if raw == nil {
		return nil
	}
	var fields Fields
	if err := json.Unmarshal(raw.GetRawBytes(), &fields); err != nil {
		return nil
	}
	return fields
}

// Has reports whether a field is owned, by itself or with all that is around it.
func (f Fields) Has(path ...string) bool {
	at := f
	if len(at) == 0 {
		return false
	}
	for _, name := range path {
		next, ok := at["f:"+name].(map[string]any)
		if !ok {
			return false
		}
		if len(next) == 0 {
			return true
		}
		at = next
	}
	return true
}

// exactly reports whether the owned fields are those of a body, no more and no less.
// Of a list only the length is compared.
func (f Fields) exactly(body map[string]any) bool {
	owned := 0
	for key, below := range f {
		name, isField := strings.CutPrefix(key, "f:")
		if !isField {
			continue // ".": the object around the fields itself
		}
		owned++
		value, wanted := body[name]
		if !wanted {
			return false
		}
		deeper, _ := below.(map[string]any)
		if len(deeper) == 0 {
			continue // owned as a whole
		}
		switch value := value.(type) {
		case map[string]any:
			if !Fields(deeper).exactly(value) {
				return false
			}
		case []any:
			if len(deeper) != len(value) {
				return false
			}
		default:
			return false
		}
	}
	return owned == len(body)
}

// contains reports whether a live value has everything that is wanted. Maps may have
// more.
func contains(live, want any) bool {
	fields, ok := want.(map[string]any)
	if !ok {
		return reflect.DeepEqual(live, want)
	}
	has, ok := live.(map[string]any)
	if !ok {
		return false
	}
	for key, value := range fields {
		if is, ok := has[key]; !ok || !contains(is, value) {
			return false
		}
	}
	return true
}
