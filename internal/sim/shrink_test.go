package sim

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var replays = flag.Int("sim.replays", 150,
	"how often a failing world is played again at most, to find a smaller one that fails alike")

// shrunk is a smaller world that fails as the one with this script did, as a file for testdata.
func shrunk(text string, lasts time.Duration, failed error) string {
	kind := failureOf(failed)
	lines := reduce(strings.Split(strings.TrimSpace(text), "\n"), *replays, func(lines []string) bool {
		err := replay(strings.Join(lines, "\n"), lasts)
		return err != nil && failureOf(err) == kind
	})
	return fmt.Sprintf("# It fails: %s\n\nworld\n%s\n----\n\nquietly %s\n----\n\npeace %s\n----\n", kind,
		strings.Join(lines, "\n"), lasts, peaceful)
}

// replay plays a world to its end without a word, and returns how it failed.
func replay(text string, lasts time.Duration) (err error) {
	s := newScript()
	if err := s.Add(text); err != nil {
		return err
	}
	w := s.World()
	defer w.Close()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	w.Timeline().Quiet()
	if err := w.Run(lasts); err != nil {
		return err
	}
	return rested(w)
}

// rested plays a world on in peace, and again after people did what is to help the pods that wait then. The
// error says why it is not at rest in the end.
func rested(w *world) error {
	lacking, err := comesToRest(w, peaceful)
	if err == nil && len(lacking) == 0 {
		var mended bool
		if mended, err = w.Mend(); mended {
			lacking, err = comesToRest(w, peaceful)
		}
	}
	if err == nil && len(lacking) > 0 {
		err = fmt.Errorf("%s after the last fault the world is not at rest:\n  %s", peaceful, strings.Join(lacking, "\n  "))
	}
	return err
}

var aRule = regexp.MustCompile(`breach of "[^"]*"|breach of [A-Z0-9][-\w]*|panic|not at rest`)

// failureOf names what went wrong first, without what differs from world to world.
func failureOf(err error) string {
	if what := aRule.FindString(err.Error()); what != "" {
		return what
	}
	return err.Error()
}

// reduce leaves out lines, and makes numbers smaller, as long as what is left still fails. It asks so
// often at most.
func reduce(lines []string, tries int, fails func([]string) bool) []string {
	try := func(less []string) bool {
		if tries == 0 {
			return false
		}
		if tries--; !fails(less) {
			return false
		}
		lines = less
		return true
	}
	for size := max(1, len(lines)/2); size > 0; {
		was := len(lines)
		for from := was - size; from > -size; from -= size {
			if from = max(0, from); from < len(lines) {
				try(slices.Delete(slices.Clone(lines), from, min(len(lines), from+size)))
			}
		}
		if size > 1 || len(lines) == was || tries == 0 {
			size /= 2
		}
	}
	for i := range lines {
		for {
			less, smaller := slices.Clone(lines), halved(lines[i])
			if less[i] = smaller; smaller == lines[i] || !try(less) {
				break
			}
		}
	}
	return lines
}

var aNumber = regexp.MustCompile(` (count|target|max)=(\d+)`)

// halved is a line whose counts are half as large; the maximum of a group stays above its target.
func halved(line string) string {
	return aNumber.ReplaceAllStringFunc(line, func(word string) string {
		key, value, _ := strings.Cut(word, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 4 {
			return word
		}
		return fmt.Sprintf("%s=%d", key, (n+1)/2)
	})
}

// TestReduce: what does not matter goes, numbers become smaller, and the number of tries is bounded.
func TestReduce(t *testing.T) {
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("workload w%d count=40", i))
	}
	asked := 0
	fails := func(lines []string) bool {
		asked++
		text := strings.Join(lines, "\n")
		return strings.Contains(text, "w7 ") && strings.Contains(text, "w31 ") && !strings.Contains(text, "w31 count=5")
	}
	got := reduce(lines, 100, fails)
	if want := []string{"workload w7 count=3", "workload w31 count=10"}; !slices.Equal(got, want) || asked > 100 {
		t.Errorf("after %d tries %q is left, want %q", asked, got, want)
	}
	if reduce(lines, 3, fails); asked > 103 {
		t.Errorf("it was asked %d times of 103", asked)
	}
}

// TestShrunkPlays: what is left of a failing world can be played.
func TestShrunkPlays(t *testing.T) {
	text := "seed 1\ngroup general min=0 max=4 cpu=4 memory=16Gi\nworkload web count=4 cpu=1 memory=1Gi\n" +
		"fault boots=never-register group=general\nnode own cpu=4 memory=16Gi\nat 5m drop-group none"
	err := replay(text, 10*time.Minute)
	if err == nil {
		t.Fatal("a group that is not there was dropped")
	}
	_, world, _ := strings.Cut(shrunk(text, 10*time.Minute, err), "world\n")
	world, _, _ = strings.Cut(world, "\n----")
	if world != "at 5m drop-group none" {
		t.Errorf("left is %q", world)
	}
}
