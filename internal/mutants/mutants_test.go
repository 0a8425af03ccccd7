// Package mutants breaks the product on purpose, one behaviour at a time, to see that its tests notice.
//
// What flows in: a table of behaviours, each with the text of a file that is replaced, and who must notice. Nothing is
// written to the tree: the broken file is laid over the real one (go test -overlay). `make mutants` plays the table.
package mutants

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var (
	shard = flag.String("mutants.shard", "", "play the table, or a part of it: 1/4 is every fourth mutant")
	named = flag.String("mutants.named", "", "play only mutants whose name matches this expression")
	asked = flag.Int("mutants.judges", int(unit|play|worlds), "ask only these judges, a sum: 1 unit, 2 play, 4 worlds")
	seeds = flag.Int("mutants.worlds", 200, "how many random worlds may pass before a mutant counts as not noticed")
)

// mutant is a behaviour, and how it is broken.
type mutant struct {
	name string
	file string // from the root
	by   judge  // who must notice
	old  string // stands in the file once
	new  string
}

// judge is a set of those who may notice.
type judge int

const (
	// unit is the tests of the file's own package, then those of all that is internal but the virtual world.
	unit judge = 1 << iota
	// play is the virtual world without chance: timelines, kills, calm days.
	play
	// worlds is the random worlds of `make test`, those drawn for rare matters and ordinary ones in turn.
	worlds
)

// worldsAtOnce is how many worlds of a kind are played before the next look at what failed.
const worldsAtOnce = 20

// The first seeds of the random worlds that `make test` plays.
const firstHard, firstWorld = 1, 700_001

// TestEveryMutantApplies: the text that each mutant replaces stands in its file, once.
func TestEveryMutantApplies(t *testing.T) {
	names := map[string]bool{}
	for _, m := range table {
		if _, err := m.broken(); err != nil || names[m.name] {
			t.Errorf("%s (another has the same name: %t): %v", m.name, names[m.name], err)
		}
		names[m.name] = true
	}
}

// TestMutants plays the table, if it is asked to.
func TestMutants(t *testing.T) {
	if *shard == "" {
		return
	}
	var first, of int
	if _, err := fmt.Sscanf(*shard, "%d/%d", &first, &of); err != nil || first < 1 || first > of {
		t.Fatalf("-mutants.shard=%s: want 1/4 or the like", *shard)
	}
	for i, m := range table {
		if i%of != first-1 || !regexp.MustCompile(*named).MatchString(m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			overlay, own := m.overlay(t), "./"+filepath.Join("../..", filepath.Dir(m.file))
			for _, j := range judges {
				if m.by&judge(*asked)&j.judge == 0 {
					continue
				}
				if by := j.ask(t, overlay, own); by == "" {
					t.Errorf("%s did not notice", j.name)
				} else {
					t.Logf("%s: noticed by %s", j.name, by)
				}
			}
		})
	}
}

// broken is the text of the mutant's file, with the behaviour broken.
func (m mutant) broken() (string, error) {
	text, err := os.ReadFile(filepath.Join("../..", m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(text), m.old); n != 1 || m.old == m.new {
		return "", fmt.Errorf("the old text stands in %s %d times; it must be there once, and the new text differ", m.file, n)
	}
	return strings.Replace(string(text), m.old, m.new, 1), nil
}

// overlay writes the broken file beside a note for the go command of what it replaces.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	text, err := m.broken()
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.Abs(filepath.Join("../..", m.file))
	if err != nil {
		t.Fatal(err)
	}
	file, note := filepath.Join(t.TempDir(), "mutant.go"), filepath.Join(t.TempDir(), "overlay.json")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {real: file}})
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string]string{file: text, note: string(replaced)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return note
}

// judges says how each is asked about an overlay; the answer is the first test that failed, or nothing.
var judges = []struct {
	judge judge
	name  string
	ask   func(t *testing.T, overlay, own string) string
}{
	{unit, "unit", func(t *testing.T, overlay, own string) string {
		// To build the tests of all takes a minute: the likeliest go first.
		for _, packages := range [][]string{{own}, {"../decide", "../ledger"}, others()} {
			if by := failed(t, append([]string{"-overlay", overlay}, packages...)...); by != "" {
				return by
			}
		}
		return ""
	}},
	{play, "play", func(t *testing.T, overlay, _ string) string {
		return failed(t, "-overlay", overlay, "-skip", "Random|Soak", "../sim")
	}},
	{worlds, "worlds", func(t *testing.T, overlay, _ string) string {
		binary := filepath.Join(t.TempDir(), "sim.test")
		if out, err := goCommand("test", "-overlay", overlay, "-c", "-o", binary, "../sim"); err != nil {
			t.Fatalf("it does not build: %v\n%s", err, out)
		}
		for n := 0; n < *seeds; n += 2 * worldsAtOnce {
			played := exec.Command(binary, "-test.timeout=20m", "-test.failfast", "-test.run=HardWorlds|RandomWorlds",
				"-sim.replays=0",
				fmt.Sprintf("-sim.hards=%d", worldsAtOnce), fmt.Sprintf("-sim.hardfirst=%d", firstHard+n/2),
				fmt.Sprintf("-sim.worlds=%d", worldsAtOnce), fmt.Sprintf("-sim.first=%d", firstWorld+n/2))
			played.Dir = "../sim"
			out, err := played.CombinedOutput()
			if by := firstFailure(string(out)); by != "" {
				return fmt.Sprintf("%s, among the first %d", by, n+2*worldsAtOnce)
			}
			if err != nil {
				t.Fatalf("no world failed, and yet: %v\n%s", err, out)
			}
		}
		return ""
	}},
}

// others lists all that is internal but the virtual world.
var others = sync.OnceValue(func() (out []string) {
	packages, _ := goCommand("list", "../...")
	for p := range strings.Lines(packages) {
		if !strings.Contains(p, "/internal/sim") && !strings.Contains(p, "/internal/mutants") {
			out = append(out, strings.TrimSpace(p))
		}
	}
	return out
})

// failed runs tests, and names the first that failed, empty if all passed.
func failed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := goCommand(append([]string{"test", "-vet=off", "-failfast"}, args...)...)
	if err == nil {
		return ""
	}
	by := firstFailure(out)
	if by == "" {
		t.Fatalf("no test failed, and yet: %v\n%s", err, out)
	}
	return by
}

var failure = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+) |^(panic: .*)`)

// firstFailure names the innermost test that failed first.
func firstFailure(out string) string {
	by := ""
	for _, m := range failure.FindAllStringSubmatch(out, -1) {
		name := m[1] + m[2]
		if by != "" && !strings.HasPrefix(name, by+"/") {
			break
		}
		by = name
	}
	return by
}

func goCommand(args ...string) (string, error) {
	out, err := exec.Command("go", args...).CombinedOutput()
	return string(out), err
}
