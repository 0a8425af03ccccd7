package sim

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// This file sums over all shards of a soak what went wrong in their worlds. A shard alone plays too few worlds for
// each two faults to meet.

// enoughSoaked is how many hard worlds have each two faults meet.
const enoughSoaked = 2000

// How many worlds there were stands in the sum as if it were a fault.
const (
	hardWorlds     What = "worlds=hard"
	ordinaryWorlds What = "worlds=ordinary"
)

// sumFaults adds what a shard met to the file that has what all before it met, and returns the sum. A line is a
// number and the fault, or the two, that happened so often.
func sumFaults(file string, kind What, played int, met happened) (happened, error) {
	sum := newHappened()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return sum, fmt.Errorf("read what shards met: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		n, err := strconv.Atoi(words[0])
		switch {
		case err == nil && len(words) == 2:
			sum.alone[What(words[1])] += n
		case err == nil && len(words) == 3:
			sum.pairs[pairOf(What(words[1]), What(words[2]))] += n
		default:
			return sum, fmt.Errorf("%s has the line %q: want a number and one or two faults", file, line)
		}
	}
	sum.add(met)
	sum.alone[kind] += played
	var lines []string
	for what, n := range sum.alone {
		lines = append(lines, fmt.Sprintf("%d %s\n", n, what))
	}
	for pair, n := range sum.pairs {
		lines = append(lines, fmt.Sprintf("%d %s %s\n", n, pair[0], pair[1]))
	}
	slices.SortFunc(lines, func(a, b string) int {
		return strings.Compare(a[strings.Index(a, " "):], b[strings.Index(b, " "):])
	})
	// #nosec G306 -- it is committed
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o644); err != nil {
		return sum, fmt.Errorf("write what shards met: %w", err)
	}
	return sum, nil
}

// neverInAll says what never happened in all shards, once they have played enough.
func (h happened) neverInAll() string {
	alone, pairs := h.never()
	if n := h.alone[hardWorlds]; n >= enoughSoaked && len(alone)+len(pairs) > 0 {
		return fmt.Sprintf("in %d hard worlds of all shards these never happened: %v; these never happened together: %v",
			n, alone, pairs)
	}
	return ""
}

// TestFaultsOfShardsAreSummed: what one shard met counts in the next, and two faults that never met are told once
// enough hard worlds were played in all.
func TestFaultsOfShardsAreSummed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "worlds.faults")
	shard := func(kind What, played int, alone []What, pairs ...[2]What) string {
		t.Helper()
		h := newHappened()
		for _, what := range alone {
			h.alone[what]++
		}
		for _, pair := range pairs {
			h.pairs[pair]++
		}
		sum, err := sumFaults(file, kind, played, h)
		if err != nil {
			t.Fatal(err)
		}
		return sum.neverInAll()
	}
	all := slices.Sorted(slices.Values(slices.Concat(allKinds(), deeds)))
	var pairs [][2]What
	for i, a := range all {
		for _, b := range all[i+1:] {
			pairs = append(pairs, pairOf(a, b))
		}
	}
	last := pairOf(readSlow, "crash")
	some := slices.DeleteFunc(slices.Clone(pairs), func(p [2]What) bool { return p == last })
	if never := shard(hardWorlds, 1500, slices.Concat(all, dueDeeds), some[:700]...); never != "" {
		t.Errorf("1,500 worlds are not enough to say %q", never)
	}
	if never := shard(ordinaryWorlds, 5000, nil, some[700:]...); never != "" {
		t.Errorf("ordinary worlds do not count: %q", never)
	}
	want := "in 2000 hard worlds of all shards these never happened: []; these never happened together: " +
		"[[crash reads=slow]]"
	if never := shard(hardWorlds, 500, nil); never != want {
		t.Errorf("got %q, want %q", never, want)
	}
	if never := shard(hardWorlds, 1, nil, last); never != "" {
		t.Errorf("all met, and yet: %s", never)
	}
	if err := os.WriteFile(file, []byte("many crash\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sumFaults(file, hardWorlds, 1, newHappened())
	if err == nil || !strings.Contains(err.Error(), "many crash") {
		t.Errorf("a line that is no count: %v", err)
	}
}
