package gardener

import (
	"fmt"
	"slices"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// The safety rule's margins, those that Gardener mcm.
const (
	safetyUp   = 2
	safetyDown = 1

	overshoot = "OverShootingReplicaCount"
)

// safety is the rule's word on a set with so many machines: it freezes, thaws, or
// stays as it is. The bound is the whole deployment's, with its surge. What a person
// orders to thaw, thaws, whatever there is.
func safety(frozen bool, machines, replicas, surge int, ordered bool) (freeze bool, message string) {
	bound := replicas + surge + safetyUp
	switch {
	case frozen && (ordered || machines <= bound-safetyDown):
		return false, ""
	case frozen || machines >= bound:
		return true, fmt.Sprintf("the set has %d machines; at %d it is frozen", machines, bound)
	}
	return false, ""
}

// setCondition sets a condition; its time changes with its status alone.
func setCondition(all []machinev1.Condition, c machinev1.Condition) []machinev1.Condition {
	all = slices.Clone(all)
	for i := range all {
		if all[i].Type != c.Type {
			continue
		}
		if all[i].Status == c.Status {
			c.LastTransitionTime = all[i].LastTransitionTime
			if all[i].Reason == c.Reason && all[i].Message == c.Message {
				c.LastUpdateTime = all[i].LastUpdateTime
			}
		}
		all[i] = c
		return all
	}
	return append(all, c)
}

func dropCondition(all []machinev1.Condition, kind string) []machinev1.Condition {
	return slices.DeleteFunc(slices.Clone(all), func(c machinev1.Condition) bool { return c.Type == kind })
}
