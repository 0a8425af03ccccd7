package host_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

func TestEnd(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "a", errors.New("changed"))
	for _, tt := range []struct {
		err  error
		want string
	}{
		{nil, "done"}, {conflict, "conflict"}, {fmt.Errorf("write: %w", conflict), "conflict"}, {errors.New("no"), "failed"},
	} {
		if got := host.End(tt.err); got != tt.want {
			t.Errorf("%v: got %s", tt.err, got)
		}
	}
}

func TestJoin(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "x"}, "a", errors.New("changed"))
	a, b := errors.New("a"), errors.New("b")
	for _, tt := range []struct {
		problem, more error
		want          []error // all that is in it; nil: no problem
	}{
		{nil, nil, nil}, {a, nil, []error{a}}, {nil, b, []error{b}}, {a, b, []error{a, b}},
		{conflict, nil, []error{conflict}}, {conflict, b, []error{b}}, {a, conflict, []error{a}},
		{conflict, conflict, []error{conflict}},
	} {
		got := host.Join(tt.problem, tt.more)
		if (got == nil) != (tt.want == nil) {
			t.Errorf("%v and %v: got %v", tt.problem, tt.more, got)
		}
		for _, want := range []error{a, b, conflict} {
			if errors.Is(got, want) != slices.Contains(tt.want, want) {
				t.Errorf("%v and %v: got %v", tt.problem, tt.more, got)
			}
		}
	}
}
