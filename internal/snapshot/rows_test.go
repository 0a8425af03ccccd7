package snapshot

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestSameRow: a row is shared only if no field differs, whichever there are, but for those that were taken from it.
func TestSameRow(t *testing.T) {
	full := func() *model.Node {
		return &model.Node{
			Object: &corev1.Node{}, Bound: []model.Pod{{}}, Generation: 3, Group: 1, Standing: model.NodeStanding{Held: "x"},
		}
	}
	row := full()
	same := full()
	same.Object, same.Bound = row.Object, row.Bound
	if !sameRow(row, same) || rowOf(row, same) != row || rowOf(nil, same) == same {
		t.Error("a row that is the same is not shared, or the draft is handed out")
	}
	taken := []string{"Name", "Marked", "Annotated", "Note", // of the object
		"Batches", "MilliCPU", "Memory", "Expendable", "Occupants", "FirstOccupant"}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[model.Node]()) {
		if slices.Contains(taken, field.Name) {
			continue
		}
		other := *same
		change(reflect.ValueOf(&other).Elem().FieldByIndex(field.Index))
		if sameRow(row, &other) {
			t.Errorf("a row with another %s is shared", field.Name)
		}
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[model.NodeStanding]()) {
		other := *same
		change(reflect.ValueOf(&other.Standing).Elem().FieldByIndex(field.Index))
		if sameRow(row, &other) {
			t.Errorf("a row of which the ledger says another %s is shared", field.Name)
		}
	}
}

// change gives a field another value than it has.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.String:
		v.SetString(v.String() + "+")
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(v.Uint() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = at.Add(time.Second)
			return
		}
		change(v.Field(0))
	default:
		panic("a row has a field of a kind that this test does not know: " + v.Kind().String())
	}
}
