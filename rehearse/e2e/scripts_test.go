package e2e

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// planes is how many control planes the scripts of testdata are spread over. They
// wait for most of their time, so that two share two processors well.
const planes = 2

// TestScripts runs the scripts of testdata, as many at once as there are control
// planes: one Plimsoll acts on all pods of its own, so that two scripts on one would
// disturb each other.
func TestScripts(t *testing.T) {
	free := make(chan *rig, planes)
	free <- sharedRig(t)
	for range planes - 1 {
		free <- ownRig(t, reviving, kwokWorld)
	}
	runScripts(atOnce{t}, "testdata", func(t *testing.T, env *testscript.Env) *rig {
		r := <-free
		env.Defer(func() { free <- r }) // the last of all: it is clean by then
		return r
	})
}

// runner is a test that scripts are run in: oneByOne or atOnce.
type runner interface {
	testscript.T
	TempDir() string
	test() *testing.T
}

// runScripts runs the scripts of a folder, each on the control plane that it is
// given.
func runScripts(in runner, folder string, on func(*testing.T, *testscript.Env) *rig) {
	testscript.RunT(in, testscript.Params{
		Dir:         folder,
		WorkdirRoot: in.TempDir(), // which is removed however many of the scripts were chosen
		Setup: func(env *testscript.Env) error {
			t := env.T().(runner).test()
			return setUp(t, env, on(t, env))
		},
		Cmds:                commands,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// oneByOne runs scripts one after the other.
type oneByOne struct{ *testing.T }

func (s oneByOne) Parallel() {}

func (s oneByOne) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(oneByOne{t}) })
}

func (s oneByOne) Verbose() bool    { return testing.Verbose() }
func (s oneByOne) test() *testing.T { return s.T }

// atOnce runs scripts beside each other.
type atOnce struct{ *testing.T }

func (s atOnce) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(atOnce{t}) })
}

func (s atOnce) Verbose() bool    { return testing.Verbose() }
func (s atOnce) test() *testing.T { return s.T }
