package chart

import (
	"strings"
	"testing"
)

// TestMemoryIsBounded: the autoscaler has a memory limit. The program reads it itself (cmd/plimsoll/memory.go).
func TestMemoryIsBounded(t *testing.T) {
	manifests, err := Manifests(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range manifests {
		if !strings.Contains(text, "limits:\n            memory: 2Gi") {
			t.Errorf("%s has no memory limit", name)
		}
	}
}
