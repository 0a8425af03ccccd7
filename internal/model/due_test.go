package model

import (
	"reflect"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// TestEveryFieldOfMovesCounts: what a policy says of moves arrives in what counts for its groups, field by field. A
// field that one of the two lists on the way leaves out is told.
func TestEveryFieldOfMovesCounts(t *testing.T) {
	said := policy.Moves{}
	fields := reflect.ValueOf(&said).Elem()
	for i := range fields.NumField() {
		fields.Field(i).Set(something(t, fields.Type().Field(i)))
	}
	set := policy.Set{Policies: []policy.Policy{{Name: "all", Moves: said}}}
	_, settled, _ := set.Groups([]provider.Group{{ID: "g"}}, time.Unix(0, 0))
	counts := MovePolicy{}.Of(&Group{Settled: settled[0]})
	for i := range fields.NumField() {
		name := fields.Type().Field(i).Name
		got, want := reflect.ValueOf(counts).FieldByName(name), fields.Field(i).Elem()
		switch {
		case reflect.ValueOf(settled[0].Moves).Field(i).IsNil():
			t.Errorf("%s of a policy is lost: add it to overlay in internal/policy/moves.go", name)
		case !got.IsValid():
			t.Errorf("MovePolicy has no %s, which policies have", name)
		case !reflect.DeepEqual(got.Interface(), want.Interface()):
			t.Errorf("%s is %v, the policy says %v: add it to MovePolicy.Of in due.go", name, got, want)
		}
	}
}

// something is a value that is not zero, behind a pointer.
func something(t *testing.T, f reflect.StructField) reflect.Value {
	p := reflect.New(f.Type.Elem())
	switch v := p.Elem(); v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint8:
		v.SetUint(1)
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	default:
		t.Fatalf("no value for %s, a %s: add its kind here", f.Name, f.Type)
	}
	return p
}
