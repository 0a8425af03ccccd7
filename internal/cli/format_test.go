package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// A wrong format is refused where flags are read, by the flag's name and with those
// that there are.
func TestFormatFlag(t *testing.T) {
	format := Table
	set := pflag.NewFlagSet("groups", pflag.ContinueOnError)
	set.VarP(&format, "output", "o", "")
	if err := set.Parse([]string{"-o", "yaml"}); err != nil || format != YAML {
		t.Errorf("%s, %v", format, err)
	}
	err := set.Parse([]string{"-o", "foo"})
	if err == nil || !strings.Contains(err.Error(), "--output") || format != YAML ||
		!strings.Contains(err.Error(), "text, wide, json, yaml") {
		t.Errorf("%s, %v", format, err)
	}
}
