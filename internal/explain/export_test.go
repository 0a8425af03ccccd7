package explain

import (
	"maps"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Fixable are the reasons for which something is tried.
func Fixable() []model.Reason { return slices.Sorted(maps.Keys(relaxations)) }

// Recast is recast.
var Recast = recast

// LimitPlanning bounds the search for fixes of a plan, until what it returns is called.
func LimitPlanning(most Effort) (end func()) {
	was := planning
	planning = most
	return func() { planning = was }
}
