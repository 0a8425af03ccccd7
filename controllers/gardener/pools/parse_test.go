package pools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestNumbersThatDoNotFit are said to be too large or too small, and not to be no
// whole numbers.
func TestNumbersThatDoNotFit(t *testing.T) {
	const shoot = `{apiVersion: core.gardener.cloud/v1beta1, kind: Shoot, spec: {provider: {workers: [{name: a, minimum: 1, maximum: 2, %s}]}}}`
	tests := []struct{ fields, want string }{
		{"priority: 2147483648", "workers[0].priority: Invalid value: 2147483648: must not be more than 2147483647"},
		{"priority: -2147483649", "workers[0].priority: Invalid value: -2147483649: must not be less than -2147483648"},
		{"priority: 1e30", "workers[0].priority: Invalid value: 1e+30: must not be more than 2147483647"},
		{"priority: -1e30", "workers[0].priority: Invalid value: -1e+30: must not be less than -2147483648"},
		{"priority: -2147483649.5", "workers[0].priority: Invalid value: -2.1474836495e+09: must be a whole number"},
		{"maxSurge: -2147483649", "workers[0].maxSurge: Invalid value: -2147483649: must not be less than -2147483648"},
		{"priority: -2147483648", ""},
	}
	for _, tt := range tests {
		_, _, err := ParseShoot(fmt.Appendf(nil, shoot, tt.fields))
		if (err != nil) != (tt.want != "") || err != nil && !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.fields, err, tt.want)
		}
	}
}

// TestANameThatIsNoText: the library's words for it are known here, and are not shown.
func TestANameThatIsNoText(t *testing.T) {
	_, _, err := ParseShoot([]byte("kind: Shoot\nspec: {[provider]: x}\n"))
	if want := "read YAML: the name of a field is a list or an object, and must be text"; err == nil ||
		err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestAnd: what is wrong with the 0 that stands in for a missing value is not said,
// whatever else is said of its field.
func TestAnd(t *testing.T) {
	at, other := field.NewPath("maximum"), field.NewPath("minimum")
	required, invalid := field.Required(at, "must be said"), field.Invalid(at, "x", "is no number")
	elsewhere := field.Invalid(other, -1, "must not be negative")
	more := Findings{
		Errors:   field.ErrorList{field.Invalid(at, 0, "is less than the minimum"), elsewhere},
		Warnings: Warnings{{"name", "is odd"}},
	}
	for _, first := range []field.ErrorList{{required, invalid}, {invalid, required}} {
		got := Findings{Errors: first}.And(more)
		if diff := cmp.Diff(brief(append(first[:2:2], elsewhere)), brief(got.Errors)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(more.Warnings, got.Warnings); diff != "" {
			t.Error(diff)
		}
	}
}
