package scaleup

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestEveryExpanderHasItsRow: the compiler counts the rows, and cannot see one that
// was left out between two others.
func TestEveryExpanderHasItsRow(t *testing.T) {
	for i, row := range expanders {
		if row.score == nil || row.show == nil {
			t.Errorf("expander %q rates no group: add its row to expanders in expander.go", model.Expander(i))
		}
	}
}
