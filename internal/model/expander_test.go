package model

import "testing"

// TestExpandersHaveNames: the compiler counts them, and cannot see two that are equal,
// nor one that was left out between two others.
func TestExpandersHaveNames(t *testing.T) {
	for i, name := range ExpanderNames() {
		if e, ok := ExpanderNamed(name); name == "" || !ok || int(e) != i {
			t.Errorf("expander %d has no name of its own, but %q: add it to expanderNames in expander.go", i, name)
		}
	}
}
