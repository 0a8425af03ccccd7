package explain

import (
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Fixable are the reasons for which something is tried.
func Fixable() []model.Reason { return slices.Sorted(maps.Keys(relaxations)) }
