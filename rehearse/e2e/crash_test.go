package e2e

import "testing"

// TestCrashes runs the scripts that kill components, each on a control plane of
// its own.
func TestCrashes(t *testing.T) {
	runScripts(t, "testdata/crash", func(t *testing.T) *rig {
		r := startRig(t)
		t.Cleanup(func() {
			if err := r.stop(); err != nil {
				t.Error("stop the control plane:", err)
			}
		})
		return r
	})
}
