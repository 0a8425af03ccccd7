package e2e

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs the scripts of testdata, one after the other, on one control
// plane.
func TestScripts(t *testing.T) {
	r := sharedRig(t)
	runScripts(t, "testdata", func(*testing.T) *rig { return r })
}

func runScripts(t *testing.T, folder string, on func(*testing.T) *rig) {
	testscript.RunT(sequential{t}, testscript.Params{
		Dir:         folder,
		WorkdirRoot: t.TempDir(), // which is removed however many of the scripts were chosen
		Setup: func(env *testscript.Env) error {
			t := env.T().(sequential).T
			return setUp(t, env, on(t))
		},
		Cmds:                commands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// sequential runs scripts one after the other: one Plimsoll acts on all pods of a
// control plane, so that two scripts at once would disturb each other.
type sequential struct{ *testing.T }

func (s sequential) Parallel() {}

func (s sequential) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(sequential{t}) })
}

func (s sequential) Verbose() bool { return testing.Verbose() }
