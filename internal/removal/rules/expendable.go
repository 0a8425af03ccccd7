package rules

import "github.com/plimsoll-dev/plimsoll/internal/model"

// expendable: the pod's priority is so low that no node is bought or kept for it.
var expendable = rule{
	name:   "Expendable",
	spec:   func(c *Cluster, s *model.Spec) bool { return s.Priority < c.expendableBelow },
	answer: stays,
}
