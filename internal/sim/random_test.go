package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
	"github.com/plimsoll-dev/plimsoll/internal/testkit"
)

var (
	oneSeed = flag.Uint64("sim.seed", 0, "play only the random world with this seed, and print its script and timeline")
	worlds  = flag.Int("sim.worlds", 200, "how many random worlds to play")
	first   = flag.Uint64("sim.first", 700_001, "the first random world's seed")
)

// peaceful is how long a world may take to come to rest once nothing fails and people change nothing any more.
const peaceful = 90 * time.Minute

// TestRandomWorlds plays small worlds in which everything goes wrong at times.
// In each, no rule of safety is ever broken, and once there is peace, all comes
// to rest. A failing one is played again, with its timeline, by
//
//	go test ./internal/sim -run RandomWorlds -sim.seed=N
func TestRandomWorlds(t *testing.T) {
	if *oneSeed != 0 {
		if _, err := playRandom(t, *oneSeed, true, drawOrdinary); err != nil {
			t.Fatal(err)
		}
		return
	}
	var drained, drains, evictions, late atomic.Int64
	tested.sums = nil
	t.Run("worlds", func(t *testing.T) {
		for seed := *first; seed < *first+uint64(*worlds); seed++ {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				moves, err := playRandom(t, seed, false, drawOrdinary)
				if err != nil {
					t.Errorf("%v\nplay it again: go test ./internal/sim -run RandomWorlds -sim.seed=%d", err, seed)
				}
				evictions.Add(int64(moves.Pods))
				late.Add(int64(moves.Late))
				drains.Add(int64(moves.Nodes))
				drained.Add(int64(min(1, moves.Nodes)))
			})
		}
	})
	t.Logf("in %d of %d worlds pods were evicted: %d pods from %d nodes; %d of them did not find room at once",
		drained.Load(), *worlds, evictions.Load(), drains.Load(), late.Load())
	t.Logf("never put to the test: %q", neverTested())
	if 50*late.Load() > evictions.Load() {
		t.Errorf("plans are to know where pods find room, whichever node the scheduler chooses")
	}
	if *worlds >= 100 && (3*int(drained.Load()) < *worlds || 2*int(evictions.Load()) < 3**worlds) {
		t.Errorf("that is too little to show anything: draw worlds that are less used")
	}
}

// TestWorldsThatFailed plays worlds that failed for a reason of the world's or the judge's own, or
// in so long a way that no short script shows it.
func TestWorldsThatFailed(t *testing.T) {
	for seed, why := range map[uint64]string{
		3856173913: "a node was bought while the evicted pod ended whose room was free then",
		145173314:  "of two growths at a time the node of the first was taken for one of the second",
		145170183:  "a node whose time had ended was tried after others, and nothing woke the loop",
		145173303:  "the scheduler drove out important pods where unimportant ones would have sufficed",
		843605700:  "three classes were tried again each hour, at times of their own",
		990000471:  "pods waited for the end of expendable ones, and counted as left alone beside a node that they fit",
		990000824:  "evicted pods moved from one node that nothing needs to the next, four times in two minutes",
		3597839252: "a node was bought while the evicted pod ended, its removal rolled back",
		3597840596: "nodes that never started are what a pool's strategy leaves a group",
		3597841043: "the owner of a deleted node whose id had drifted is unknown",
		145169816:  "nodes that came back no longer counted, and nothing woke the loop",
		145171632:  "a read from before nodes were lost does not show that their machines are there",
		145173455:  "a machine whose removal was under way counted no longer once its node was gone",
		145172265:  "a removal of unknown end was believed to have lowered what was expected",
		777100068:  "a node whose id drifts came again and again, and was never judged by its pods",
		777200129:  "a machine went when the pause before many of them was over, and counted as late",
		777200160:  "a fix for 14 pods was to help two more of another name",
		122344322:  "a pod that no node is bought for ended on a new node, which counted as of no use",
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if _, err := playRandom(t, seed, false, drawScript); err != nil {
				t.Errorf("%s: %v", why, err)
			}
		})
	}
}

// TestOrdinaryWorldsThatFailed does so with worlds that have rare matters in them.
func TestOrdinaryWorldsThatFailed(t *testing.T) {
	for seed, why := range map[uint64]string{
		5100015178: "answers under drifted ids show no machine's node, and were told as those that do",
		5100067142: "nodes went one after the other, by the delay after a removal, and the last as rest was asked for",
	} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if _, err := playRandom(t, seed, false, drawOrdinary); err != nil {
				t.Errorf("%s: %v", why, err)
			}
		})
	}
}

// playRandom plays one world to its end.
func playRandom(t *testing.T, seed uint64, tell bool,
	script func(seed uint64) (string, time.Duration)) (moves check.Moves, err error) {
	text, lasts := script(seed)
	if tell {
		t.Logf("the script:\n%s", text)
	}
	s := newScript()
	if err := s.Add(text); err != nil {
		return moves, err
	}
	w := s.World()
	defer w.Close()
	defer func() {
		moves = w.judge.Moves()
		tested.add(w.judge.Tested())
		faulty.add(w.happened)
		if p := recover(); p != nil {
			t.Errorf("seed %d panicked at %s", seed, w.Now())
			panic(p)
		}
	}()
	if !tell {
		w.Timeline().Quiet()
		defer func() {
			if err != nil && *replays > 0 {
				err = fmt.Errorf("%w\na smaller world that fails alike:\n%s", err, shrunk(text, lasts, err))
			}
		}()
	} else {
		defer func() { t.Logf("the timeline:\n%s", w.Timeline().Take()) }()
	}
	if err := w.Run(lasts); err != nil {
		return moves, err
	}
	return moves, rested(w)
}

// A world that is not at rest for now is looked at again after a while, for so long at most.
const (
	aWhile = 5 * time.Minute
	aDay   = 24 * time.Hour
)

// comesToRest plays a world on in peace, and says what keeps it from being at rest then. Where delays follow each
// other, moves are given up one after the other, or a budget lets one node go each half hour, rest comes after hours.
// It must last then: a world that turns in circles is at rest now and then. It need not where something is tried again,
// held back or renewed without end, each at a time of its own.
func comesToRest(w *world, within time.Duration) ([]string, error) {
	w.Peace()
	if err := w.Run(within); err != nil {
		return nil, err
	}
	lacking, renews := w.Unrest(), w.judge.Renews()
	calm := within
	if len(lacking) > 0 {
		calm = 0
	}
	for left := aDay; calm < within; left -= aWhile {
		if left <= 0 {
			return append(lacking, fmt.Sprintf("for %s it was at rest for a while only, now for %s", aDay, calm)), nil
		}
		if err := w.Run(aWhile); err != nil {
			return nil, err
		}
		if lacking = w.Lacks(); len(lacking) > 0 {
			calm = 0
			continue
		}
		if calm += aWhile; renews || w.judge.TriesAgain() || w.judge.HeldBack() {
			break
		}
	}
	return lacking, nil
}

// TestSameSeedSameBytes: a world depends on its seed and on nothing else.
func TestSameSeedSameBytes(t *testing.T) {
	for seed := uint64(1); seed <= 5; seed++ {
		var told []string
		for range 2 {
			text, lasts := drawScript(seed)
			s := newScript()
			if err := s.Add(text); err != nil {
				t.Fatal(err)
			}
			err := s.World().Run(lasts)
			told = append(told, fmt.Sprintf("%s%sbroken: %v", s.World().Timeline().Take(), s.World().Show(), err))
			s.World().Close()
		}
		if told[0] != told[1] {
			a, b := strings.Split(told[0], "\n"), strings.Split(told[1], "\n")
			for i := range min(len(a), len(b)) {
				if a[i] != b[i] {
					t.Fatalf("seed %d: line %d was %q, and then %q", seed, i+1, a[i], b[i])
				}
			}
			t.Fatalf("seed %d: %d lines, and then %d", seed, len(a), len(b))
		}
	}
}

// drawn is chance with a few words for it.
type drawn struct{ *rand.Rand }

func (d drawn) in(least, most int) int { return least + d.IntN(most-least+1) }
func (d drawn) once(in int) bool       { return d.IntN(in) == 0 }
func (d drawn) of(words ...string) string {
	return words[d.IntN(len(words))]
}
func (d drawn) expander() model.Expander {
	return testkit.DrawnExpanders[d.IntN(len(testkit.DrawnExpanders))]
}
func (d drawn) minutes(least, most int) string { return fmt.Sprintf("%dm", d.in(least, most)) }

// drawScript writes the script of a random world, and says how long its troubles
// last.
func drawScript(seed uint64) (text string, lasts time.Duration) {
	d := drawn{rand.New(rand.NewPCG(seed, 1000))}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	minutes := d.in(40, 90)
	line("seed %d", seed)
	flags := fmt.Sprintf("flags --scale-down-unneeded-time=%s --scale-down-delay-after-add=%s --expander=%s",
		d.minutes(2, 10), d.minutes(1, 10), d.expander())
	flags += fmt.Sprintf(" --max-node-startup-time=%s", d.minutes(5, 15))
	if d.once(3) {
		flags += " --balance-similar-node-groups"
	}
	if d.once(3) {
		flags += fmt.Sprintf(" --max-nodes-total=%d", d.in(10, 40))
	}
	if d.once(4) {
		flags += fmt.Sprintf(" --cores-total=0:%d", d.in(30, 120))
	}
	line("%s%s", flags, drawDrainFlags(d))
	line("lags watch=10ms..%dms read=100ms..%dms", d.in(20, 1500), d.in(200, 8000))
	// What came later is drawn from a stream of its own, so that worlds stay what they were.
	later, rare := drawn{rand.New(rand.NewPCG(seed, 1003))}, drawn{rand.New(rand.NewPCG(seed, 1004))}
	groups, nodes := drawGroups(d, func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if strings.Contains(text, " zones=") && later.once(3) {
			text += " scattered"
		}
		if strings.HasPrefix(text, "group ") {
			text += drawClouds(rare, text)
		}
		line("%s", text)
	})
	if nodes > 0 && d.once(2) {
		drawFiller(d, nodes, line)
	}
	workloads := drawWorkloads(d, minutes, line)
	for range d.in(1, 6) {
		drawFault(d, groups, minutes, line)
	}
	for range d.in(0, 5) {
		drawHappening(d, groups, workloads, minutes, line)
	}
	drawRare(rare, groups, minutes, line)
	drawScheduler(drawn{rand.New(rand.NewPCG(seed, 1005))}, groups, minutes, line)
	drawAPI(drawn{rand.New(rand.NewPCG(seed, 1006))}, minutes, line)
	return b.String(), time.Duration(minutes) * time.Minute
}

// drawClouds draws what few clouds do with a group: to end machines that run where a
// target is lowered, or to choose who goes.
func drawClouds(d drawn, group string) (words string) {
	if d.once(10) {
		words += " kills-to-lower"
	}
	if d.once(12) && strings.Contains(group, " min=0 ") && !strings.Contains(group, " pool=") {
		words += " chooses"
	}
	return words
}

// drawRare draws faults that few worlds have: Node objects that are deleted, and a clock
// of the cloud that is off.
func drawRare(d drawn, groups []string, minutes int, line func(string, ...any)) {
	where := func() string {
		if d.once(2) {
			return ""
		}
		return " group=" + d.of(groups...)
	}
	if d.once(6) {
		// What is lost before anybody has looked cannot be told from what never was.
		line("fault nodes=lost%s from=%dm for=1m share=%.1f", where(), d.in(2, minutes-1), 0.1*float64(d.in(2, 10)))
	}
	if d.once(6) {
		line("fault clock=skewed%s skew=%s%dm from=%dm for=%dm", where(), d.of("", "-"), d.in(1, 40),
			d.in(0, minutes-1), d.in(5, 90))
	}
}

// drawScheduler draws the scheduler's faults.
func drawScheduler(d drawn, groups []string, minutes int, line func(string, ...any)) {
	if !d.once(3) {
		return
	}
	for range d.in(1, 2) {
		f := fmt.Sprintf("fault %s from=%dm for=%dm", schedulerKinds[d.IntN(len(schedulerKinds))], d.in(0, minutes-1),
			d.in(2, 40))
		switch {
		case strings.Contains(f, string(schedulerLate)):
			f += fmt.Sprintf(" every=%ds", d.in(5, 240))
		case strings.Contains(f, string(schedulerPicky)):
			f += fmt.Sprintf(" share=%.1f", 0.1*float64(d.in(2, 10)))
			if d.once(2) {
				f += " group=" + d.of(groups...)
			}
		}
		line("%s", f)
	}
}

func drawGroups(d drawn, line func(string, ...any)) (ids []string, nodes int) {
	pooled := d.once(4)
	if pooled {
		most := d.in(4, 15)
		line("pool shared min=%d max=%d%s", d.in(0, 4), most,
			d.of("", " sizing=Equitable", " sizing=Lax-Greedy", " sizing=Backward-Compatible"))
	}
	for i := range d.in(2, 6) {
		id := fmt.Sprintf("g%d", i)
		ids = append(ids, id)
		cpu := 1 << d.in(1, 3)
		least := max(0, d.in(-2, 2))
		target := least + max(0, d.in(-2, 4))
		nodes += target
		g := fmt.Sprintf("group %s min=%d max=%d target=%d cpu=%d memory=%dGi", id, least,
			target+d.in(1, 10), target, cpu, 4*cpu)
		if d.once(4) {
			g += " zones=a|b|c"
		} else {
			g += " zone=" + d.of("a", "b", "c")
		}
		if d.once(4) {
			g += " taint=dedicated=x:NoSchedule"
		}
		if pooled && d.once(2) && target <= 3 {
			g += " pool=shared"
		}
		if d.once(5) {
			g += d.of(" keeps-requests", " tells-stock-out", " keeps-requests tells-stock-out")
		}
		g += fmt.Sprintf(" find=%ds boot=%ds end=%ds spread=0.%d register=1s..%ds ready=1s..%ds", d.in(0, 20),
			d.in(5, 200), d.in(0, 90), d.in(0, 9), d.in(2, 40), d.in(2, 60))
		line("%s", g)
	}
	if d.once(3) {
		line("node own cpu=4 memory=16Gi zone=a age=24h")
	}
	if d.once(2) {
		line("daemonset agent cpu=200m memory=100Mi")
	}
	return ids, nodes
}

func drawWorkloads(d drawn, minutes int, line func(string, ...any)) (names []string) {
	for i := range d.in(2, 6) {
		name := []string{"web", "api", "batch", "cache", "queue", "search"}[i]
		names = append(names, name)
		count := d.in(0, 15)
		pod := fmt.Sprintf("count=%d cpu=%s memory=%s", count, d.of("300m", "500m", "1", "1500m"),
			d.of("256Mi", "1Gi", "3Gi"))
		switch d.in(0, 11) {
		case 0, 1, 2, 3:
			pod += " tolerate=dedicated"
		case 4:
			pod += " tolerate=ToBeDeletedByClusterAutoscaler"
		}
		switch d.in(0, 7) {
		case 0:
			pod += " apart=host"
		case 1:
			pod += " spread=zone"
		case 2:
			pod += " select=zone:" + d.of("a", "b", "c")
		}
		line("workload %s %s%s", name, pod, drawTraits(d))
		for range d.in(0, 4) {
			line("at %s workload %s count=%d", d.minutes(1, minutes-1), name, d.in(0, 25))
		}
		drawBudget(d, name, count, minutes, line)
	}
	return names
}

func drawFault(d drawn, groups []string, minutes int, line func(string, ...any)) {
	from := d.in(0, minutes-1)
	lasts := d.in(2, 40)
	kind := string(kinds[d.IntN(len(kinds))])
	f := ""
	if d.once(4) {
		// Growth in vain shows only where nodes come up wrong for long.
		kind, lasts = d.of(string(lessCPU), string(lostLabel), string(extraTaint)), d.in(30, 90)
	}
	switch {
	case strings.HasPrefix(kind, "reads="):
		lasts = min(lasts, 8) // a cloud that lies for longer is believed, as it must be
	case kind == string(stockOut):
		kind = fmt.Sprintf("stock=%d", d.in(0, 3))
	case kind == string(failedBoot):
		n, err := d.in(1, 5), d.of("NoCapacity", "Quota", "Credentials", "Transient")
		f = fmt.Sprintf(" n=%d error=%s", n, err)
		if err == "Transient" { // such a cloud tries again
			kind, f = string(retriedBoot), f+" every=25s"
		}
	case strings.HasPrefix(kind, "calls="):
		if d.once(2) {
			f = " call=" + d.of("Grow", "Grow", "Remove", "Taint", "Untaint", "Cancel", "Cordon", "Evict", "Evict")
		}
		f += " error=" + d.of("NoCapacity", "Quota", "Throttled", "Transient", "Conflict", "Unavailable")
	}
	if !d.once(4) {
		f += " group=" + d.of(groups...)
	} else if d.once(2) {
		f += " zone=" + d.of("a", "b", "c")
	}
	line("fault %s%s from=%dm for=%dm share=%.1f every=%s", kind, f, from, lasts,
		0.1*float64(d.in(2, 10)), d.minutes(1, 9))
}

func drawHappening(d drawn, groups, workloads []string, minutes int, line func(string, ...any)) {
	at, group := d.minutes(1, minutes-1), d.of(groups...)
	switch d.in(0, 10) {
	case 9, 10:
		key := d.of("scale-down-disabled", "delay-deletion/backup")
		line("at %s annotate any %s=true", at, key)
	case 0:
		line("at %s crash", at)
	case 1:
		line("at %s crash calls=%d", at, d.in(1, 4))
	case 2:
		line("at %s target %s %d", at, group, d.in(0, 6))
	case 3:
		line("at %s limits %s min=%d max=%d", at, group, d.in(0, 1), d.in(2, 12))
	case 4:
		line("at %s workload %s count=0", at, d.of(workloads...))
	case 6, 7, 8:
		line("at %s %s any", at, d.of("delete-node", "cordon", "kill"))
	case 5:
		line("at %s crash for=%ds", at, d.in(1, 300))
	}
}

// drawAPI draws faults of the API server, and leaders that die when a write of theirs took effect.
func drawAPI(d drawn, minutes int, line func(string, ...any)) {
	if d.once(3) {
		for range d.in(1, 2) {
			line("fault %s from=%dm for=%ds share=%.1f every=%ds", apiKinds[d.IntN(len(apiKinds))], d.in(0, minutes-1),
				[]int{d.in(2, 60), d.in(60, 2400)}[d.IntN(2)], 0.1*float64(d.in(2, 10)), d.in(1, 3))
		}
	}
	if d.once(4) {
		line("at %s crash writes=%d%s", d.minutes(1, minutes-1), d.in(1, 3),
			d.of("", "", " of=Taint", " of=Cordon", " of=Evict", " of=Remove", " of=Grow", " of=Untaint"))
	}
	if d.once(5) {
		line("at %s pause for=%ds", d.minutes(1, minutes-1), []int{d.in(1, 60), d.in(60, 600)}[d.IntN(2)])
	}
}
