package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// expendable: no node is bought for a pod of so low a priority, and none is kept
// for it.
var expendable = rule{
	name:   "Expendable",
	spec:   func(c *Cluster, s *model.Spec) bool { return s.Priority < c.expendableBelow },
	answer: stays,
}
