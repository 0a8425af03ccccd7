package sim

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	soakFor    = flag.Duration("sim.for", 0, "TestSoakWorlds: how long to play random worlds, from -sim.first on")
	soakHarder = flag.Bool("sim.harder", false, "TestSoakWorlds: play hard worlds")
	soakTally  = flag.String("sim.tally", "", "TestSoakWorlds: the file (.md) that gets a row about what was played; "+
		"what went wrong in all shards is summed beside it (.faults)")
	soakCommit = flag.String("sim.commit", "", "TestSoakWorlds: the commit that the row names")
)

// TestSoakWorlds plays random worlds for as long as -sim.for says, all of a range
// without gaps, and writes a row into the tally: the commit, the seeds, how many
// worlds, and which failed. Without -sim.for it checks the row alone.
func TestSoakWorlds(t *testing.T) {
	if *soakFor == 0 {
		row := shard{commit: "abc", first: 5, played: 7, failed: []uint64{9, 6}}.row()
		if want := "| abc | 5 to 11 | 7 | 6, 9 |\n"; row != want {
			t.Errorf("got %q, want %q", row, want)
		}
		return
	}
	s := shard{commit: *soakCommit, first: *first}
	script, again := drawOrdinary, "RandomWorlds -sim.seed"
	if *soakHarder {
		script, again = drawHard, "HardWorlds -sim.hard"
	}
	ends := time.Now().Add(*soakFor)
	var mu sync.Mutex
	var players sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		players.Go(func() {
			for {
				mu.Lock()
				seed := s.first + uint64(s.played)
				over := !time.Now().Before(ends)
				if !over {
					s.played++
				}
				mu.Unlock()
				if over {
					return
				}
				if _, err := playRandom(t, seed, false, script); err != nil {
					mu.Lock()
					s.failed = append(s.failed, seed)
					mu.Unlock()
					t.Errorf("%v\nplay it again: go test ./internal/sim -run %s=%d", err, again, seed)
				}
			}
		})
	}
	players.Wait()
	faulty.check(t)
	for _, c := range tested.counts() {
		t.Logf("%-12s was put to the test %d times", c.Rule, c.Times)
	}
	if never := neverTested(); len(never) > 0 && s.played >= 2000 {
		t.Errorf("%q were never put to the test", never)
	}
	t.Logf("tally: %s", s.row())
	if *soakTally == "" {
		*soakTally = filepath.Join(t.TempDir(), "worlds.md")
	}
	s.tell(t)
	kind := ordinaryWorlds
	if *soakHarder {
		kind = hardWorlds
	}
	sum, err := sumFaults(strings.TrimSuffix(*soakTally, ".md")+".faults", kind, s.played, faulty.sum)
	if err != nil {
		t.Fatalf("sum the faults of all shards: %v", err)
	}
	if never := sum.neverInAll(); never != "" {
		t.Error(never)
	}
}

// shard is what one run of a soak played.
type shard struct {
	commit string
	first  uint64
	played int
	failed []uint64
}

// tell adds the shard's row to the tally.
func (s shard) tell(t *testing.T) {
	f, err := os.OpenFile(*soakTally, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatalf("open the tally: %v", err)
	}
	if _, err := f.WriteString(s.row()); err != nil {
		t.Errorf("write the tally: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Errorf("close the tally: %v", err)
	}
}

// row is the shard's line in the tally.
func (s shard) row() string {
	failed := "none"
	if len(s.failed) > 0 {
		var seeds []string
		for _, seed := range slices.Sorted(slices.Values(s.failed)) {
			seeds = append(seeds, fmt.Sprint(seed))
		}
		failed = strings.Join(seeds, ", ")
	}
	return fmt.Sprintf("| %s | %d to %d | %d | %s |\n", s.commit, s.first, s.first+uint64(s.played)-1, s.played, failed)
}
