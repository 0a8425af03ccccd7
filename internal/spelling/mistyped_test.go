package spelling_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

func TestMistyped(t *testing.T) {
	var into struct {
		Text    string
		List    []string
		Map     map[string]string
		Switch  bool
		Number  float64
		Whole   int32
		Pointer *int64
	}
	for text, want := range map[string]string{
		`{"Text": 1}`:                      "want a text, not a number",
		`{"Text": false}`:                  "want a text, not true or false (in YAML, n, y, no, yes, on and off are such unless quoted)",
		`{"Text": []}`:                     "want a text, not a list",
		`{"List": {}}`:                     "want a list, not a map of fields",
		`{"Map": "a"}`:                     "want a map of fields, not a text",
		`{"Switch": "a"}`:                  "want true or false, not a text",
		`{"Number": true}`:                 "want a number, not true or false",
		`{"Number": 1e999}`:                "want a smaller number, not 1e999",
		`{"Whole": "a"}`:                   "want a whole number, not a text",
		`{"Whole": 1.5}`:                   "want a whole number, not 1.5",
		`{"Whole": 1e9}`:                   "want a whole number, not 1e9",
		`{"Whole": 9999999999}`:            "want a whole number up to 2147483647, not 9999999999",
		`{"Pointer": 9999999999999999999}`: "want a whole number up to 9223372036854775807, not 9999999999999999999",
	} {
		wrong := (*json.UnmarshalTypeError)(nil)
		if err := json.Unmarshal([]byte(text), &into); !errors.As(err, &wrong) || spelling.Mistyped(wrong) != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
