package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

var weeks = flag.Uint64("sim.weeks", 6, "TestAWeekOfMoves: how many weeks to play")

// TestAWeekOfMoves: at a steady load nodes go for cheaper ones, whatever a move must save, until none is worth it.
// That is so within a day; nothing is moved for the rest of the week, and the nodes cost no more than at first. What is
// spent over the week, while old and new nodes are there together too, is no more than without moves.
func TestAWeekOfMoves(t *testing.T) {
	worlds := *weeks
	var moved atomic.Uint64
	t.Run("worlds", func(t *testing.T) {
		for seed := range worlds {
			t.Run(fmt.Sprint(seed+1), func(t *testing.T) {
				t.Parallel()
				if playWeek(t, drawSteady(seed+1)) {
					moved.Add(1)
				}
			})
		}
	})
	if n := moved.Load(); n < worlds/2 {
		t.Errorf("in %d of %d worlds nodes went for cheaper ones: that is too little to show anything", n, worlds)
	}
}

// playWeek plays a week, and reports whether nodes went for cheaper ones on its first day.
func playWeek(t *testing.T, text string) (moved bool) {
	const most, week = 24 * time.Hour, 7 * 24 * time.Hour
	w := settledWorld(t, text)
	defer w.Close()
	before := w.cost()
	spent, err := w.spend(most)
	if err != nil {
		t.Fatalf("%v\nof\n%s", err, text)
	}
	evicted, nodes, cost := w.judge.Moves().Pods, w.byGroup(), w.cost()
	more, err := w.spend(week - most)
	if err != nil {
		t.Errorf("%v\nof\n%s", err, text)
	}
	if spent, without := spent+more, withoutMoves(t, text, week); spent > without*(1+1e-9) {
		t.Errorf("%.8g was spent over the week, and is %.8g without moves, of\n%s", spent, without, text)
	}
	if again := w.judge.Moves().Pods; again != evicted {
		t.Errorf("%d pods were evicted on the first day, and %d in the week, of\n%s", evicted, again, text)
	}
	if now := w.byGroup(); now != nodes || w.cost() > before {
		t.Errorf("the nodes were%s after a day and are%s, and cost %.4g, %.4g and %.4g, of\n%s", nodes, now, before, cost,
			w.cost(), text)
	}
	return cost < before
}

// settledWorld is a world at the time at which a week begins.
func settledWorld(t *testing.T, text string) *world {
	s := newScript()
	if err := s.Add(text); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	w.Timeline().Quiet()
	if err := w.Run(calmFrom); err != nil {
		t.Fatal(err)
	}
	return w
}

// withoutMoves is what the same world spends where nodes go that nothing needs, and none for cheaper ones.
func withoutMoves(t *testing.T, text string, lasts time.Duration) float64 {
	before, after, found := strings.Cut(text, "--consolidation=WhenCheaper")
	if !found {
		t.Fatalf("no moves are asked for in\n%s", text)
	}
	w := settledWorld(t, before+"--consolidation=WhenUnneeded"+after)
	defer w.Close()
	spent, err := w.spend(lasts)
	if err != nil {
		t.Fatalf("without moves: %v\nof\n%s", err, text)
	}
	return spent
}

// spend plays a world, and sums what the machines cost that there are, looked at each five minutes.
func (w *world) spend(lasts time.Duration) (sum float64, err error) {
	const step = 5 * time.Minute
	for ; lasts > 0; lasts -= step {
		for _, g := range w.cloud.Truth().Groups {
			sum += price(g) * float64(len(g.Instances)) * step.Hours()
		}
		if err := w.Run(step); err != nil {
			return sum, err
		}
	}
	return sum, nil
}

// byGroup is how many nodes each group is asked to have.
func (w *world) byGroup() string {
	var b strings.Builder
	for _, g := range w.cloud.Truth().Groups {
		fmt.Fprintf(&b, " %s:%d", g.ID, g.Target)
	}
	return b.String()
}

// cost is what they cost by the hour.
func (w *world) cost() (sum float64) {
	for _, g := range w.cloud.Truth().Groups {
		sum += price(g) * float64(g.Target)
	}
	return sum
}

func price(g provider.Group) float64 {
	if g.PricePerHour == nil {
		return 0
	}
	return *g.PricePerHour
}

// drawSteady draws a world in which nothing happens, whose nodes are of the dearer groups, and what a move must save.
func drawSteady(seed uint64) string {
	d := drawn{rand.New(rand.NewPCG(seed, 2100))}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("seed %d", seed)
	line("flags --scan-interval=5m --inventory-max-age=11m --scale-down-unneeded-time=10m "+
		"--scale-down-delay-after-add=10m --consolidation=WhenCheaper --max-drain-parallelism=%d --expander=%s "+
		"--min-savings-share=%s --min-savings-per-hour=%s --min-savings-per-disruption=%s --move-stay=%s",
		d.in(1, 4), d.expander(), d.of("0", "0.1", "0.3"), d.of("0", "0", "0.2"), d.of("0", "0", "0.01"),
		d.of("0s", "10m", "1h"))
	groups, pods := d.in(2, 4), 0
	for i := range groups {
		cpu, target := 4<<d.in(0, 2), 0
		if i == 0 {
			target = d.in(3, 8)
			pods = target * cpu / 2
		}
		// A core costs 0.10 in the first group, and less in others.
		line("group g%d min=0 max=40 target=%d cpu=%d memory=%dGi price=%.3f", i, target, cpu, cpu*d.in(2, 6),
			float64(cpu)*0.1*float64(10-i*d.in(1, 3))/10)
	}
	// Of several sizes, the scheduler may leave small pods where a large one was to be. A move stops before its last node
	// then, if too little was bought for it.
	mixed, cpu, memory := d.once(2), d.in(2, 14)*100, d.in(2, 30)*100
	for i := range d.in(1, 4) {
		if mixed {
			cpu, memory = d.in(2, 14)*100, d.in(2, 30)*100
		}
		line("workload w%d count=%d cpu=%dm memory=%dMi", i, max(1, pods/3), cpu, memory)
	}
	return b.String()
}
