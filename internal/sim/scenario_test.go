package sim

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

var playFrom = flag.String("sim.from", "testdata",
	"TestScenarios: the file or folder to play; large has those that take minutes")

// TestScenarios plays the files in testdata. `go test ./internal/sim -rewrite`
// writes what happens now into them: commit only a difference that you can
// explain.
//
//	world          makes a world, or adds to it (Script has the words)
//	run 30m        lets time pass, and prints what happened
//	quietly 3h     the same without a word, but for rules that were broken
//	show           the groups, and the pods of each workload
//	peace 90m      ends all faults, lets time pass quietly, and says whether
//	               everything has come to rest
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, *playFrom, func(t *testing.T, path string) {
		t.Parallel()
		s := newScript()
		defer func() { s.World().Close() }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "world":
				if err := s.Add(d.Input); err != nil {
					d.Fatalf(t, "%v", err)
				}
				return ""
			case "show":
				return s.World().Show()
			case "run", "quietly", "peace":
				return play(t, d, s.World())
			}
			d.Fatalf(t, "%q is none of world, run, quietly, show, peace", d.Cmd)
			return ""
		})
	})
}

func play(t *testing.T, d *datadriven.TestData, w *world) string {
	if len(d.CmdArgs) != 1 {
		d.Fatalf(t, "%s wants one duration", d.Cmd)
	}
	lasts, err := time.ParseDuration(d.CmdArgs[0].Key)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	if d.Cmd == "peace" {
		lacking, err := comesToRest(w, lasts)
		if err != nil {
			lacking = []string{strings.TrimRight(err.Error(), "\n")}
		}
		if len(lacking) == 0 {
			return "at rest\n"
		}
		return strings.Join(lacking, "\n") + "\n"
	}
	err = w.Run(lasts)
	out := w.Timeline().Take()
	if d.Cmd != "run" {
		out = ""
	}
	if err != nil {
		out += strings.TrimRight(err.Error(), "\n") + "\n"
	}
	return out
}
