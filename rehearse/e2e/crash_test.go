package e2e

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestCrashes runs the scripts that kill components, each on a control plane of
// its own.
func TestCrashes(t *testing.T) {
	runScripts(oneByOne{t}, "testdata/crash", func(t *testing.T, _ *testscript.Env) *rig {
		return ownRig(t, reviving, kwokWorld)
	})
}
