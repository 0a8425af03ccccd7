package rules

import (
	"slices"
	"testing"
)

// Documented is the order of the contract. TestOrder, beside it, holds that the
// rules decide in it.
var documented = []string{
	"Mirror", "Finished", "DaemonSet", "Expendable", "Terminating", "MinReplicas",
	"SafeToEvict", "OnCompletion", "Replicated", "System", "NotSafeToEvict", "LocalStorage", "Tolerant",
}

func TestListIsAsDocumented(t *testing.T) {
	var names []string
	for i := range list {
		names = append(names, list[i].name)
		if list[i].flags == 0 && list[i].spec == nil && list[i].facts == nil {
			t.Errorf("%s is about no pod", list[i].name)
		}
	}
	if !slices.Equal(names, documented) {
		t.Errorf("the rules are %v, want %v", names, documented)
	}
	if len(list) >= 31 {
		t.Errorf("%d rules do not fit into places", len(list))
	}
}
