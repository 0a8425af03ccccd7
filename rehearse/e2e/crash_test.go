package e2e

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCrashes runs the scripts that kill components, each on a control plane of
// its own.
func TestCrashes(t *testing.T) {
	runScripts(oneByOne{t}, "testdata/crash", func(t *testing.T, _ *testscript.Env) *rig {
		r := startRig(t)
		t.Cleanup(func() {
			if err := r.stop(); err != nil {
				t.Error("stop the control plane:", err)
			}
		})
		return r
	})
}
