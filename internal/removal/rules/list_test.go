package rules

import (
	"slices"
	"testing"
)

// Documented is the order of the contract. TestOrder, beside it, holds that the
// rules decide in it.
var Documented = []string{
	"Mirror", "Finished", "DoNotDisrupt", "DaemonSet", "Expendable", "Terminating", "MinReplicas",
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
	if !slices.Equal(names, Documented) {
		t.Errorf("the rules of `list` (rules.go) are\n%v\nand `Documented` (list_test.go) has\n%v\n"+
			"add a new rule to `Documented`, at its place", names, Documented)
	}
	if len(list) >= 31 {
		t.Errorf("%d rules do not fit into places", len(list))
	}
}
