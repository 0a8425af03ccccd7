package scaleup

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestEveryExpanderIsShown: a scenario shows what it does, and docs/flags.md names it where it has the flag.
func TestEveryExpanderIsShown(t *testing.T) {
	scenarios := textOf(t, "internal/decide/testdata/expanders.txt")
	row := regexp.MustCompile("(?m)^\\| `--expander` .*$").FindString(textOf(t, "docs/flags.md"))
	for _, name := range model.ExpanderNames() {
		word := `[=(,\s]` + regexp.QuoteMeta(name) + `($|[\s,;)])`
		if !regexp.MustCompile(`(?m)^plan .*\bexpander\S*` + word).MatchString(scenarios) {
			t.Errorf("add a plan with expander=%s to internal/decide/testdata/expanders.txt", name)
		}
		if !regexp.MustCompile(word).MatchString(row) {
			t.Errorf("add %s to docs/flags.md, in the row of --expander", name)
		}
	}
}

func textOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEveryExpanderHasItsRow: the compiler sees no row that is left out between two others.
func TestEveryExpanderHasItsRow(t *testing.T) {
	for i, row := range expanders {
		if row.score == nil || row.show == nil {
			t.Errorf("expander %q rates no group: add its row to expanders in expander.go", model.Expander(i))
		}
	}
}
