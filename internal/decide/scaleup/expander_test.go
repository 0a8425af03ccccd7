package scaleup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestEveryExpanderIsShown: a scenario shows what it does, and the README names it.
func TestEveryExpanderIsShown(t *testing.T) {
	for file, what := range map[string]string{
		"internal/decide/testdata/expanders.txt": "a plan with expander=%s", "README.md": "%s in the row of --expander",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range model.ExpanderNames() {
			if !strings.Contains(string(text), name) {
				t.Errorf("add "+what+" to %s", name, file)
			}
		}
	}
}

// TestEveryExpanderHasItsRow: the compiler counts the rows, and cannot see one that
// was left out between two others.
func TestEveryExpanderHasItsRow(t *testing.T) {
	for i, row := range expanders {
		if row.score == nil || row.show == nil {
			t.Errorf("expander %q rates no group: add its row to expanders in expander.go", model.Expander(i))
		}
	}
}
