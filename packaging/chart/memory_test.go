package chart

import (
	"strings"
	"testing"
)

// TestMemoryIsBounded: the autoscaler has a memory limit, and Go is told of one
// below it, so that it collects garbage before it is ended for it.
func TestMemoryIsBounded(t *testing.T) {
	manifests, err := Manifests(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range manifests {
		if !strings.Contains(text, "limits:\n            memory: 2Gi") ||
			!strings.Contains(text, "- name: GOMEMLIMIT\n          value: 1792MiB") {
			t.Errorf("%s has no memory limit, or does not tell Go of it", name)
		}
	}
}
