package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	poolSeed = flag.Uint64("sim.pool", 0,
		"play only the random pool with this seed, and print its script and timeline")
	poolsUpTo = flag.Uint64("sim.pools", 20, "play the random pools with the seeds from 1 to this")
)

// TestRandomPools plays worker pools over two to four zones, under each sizing, in
// worlds like those of TestRandomWorlds: zones without stock, machines that never
// register, writes that fail, people who edit targets and limits, leaders that die. In
// some, zones have limits of their own, or are on their way out for a while; machines
// that do not register are kept for people to look at, or replaced by the cloud; or no machines are made for a while.
// What we ask of the cloud never takes a pool above its maximum or below its minimum, and in the end it has its
// minimum. A failing one is played again by
//
//	go test ./internal/sim -run RandomPools -sim.pool=N
func TestRandomPools(t *testing.T) {
	if *poolSeed != 0 {
		if _, err := playRandom(t, *poolSeed, true, drawPoolScript); err != nil {
			t.Fatal(err)
		}
		return
	}
	for seed := uint64(1); seed <= *poolsUpTo; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			if _, err := playRandom(t, seed, false, drawPoolScript); err != nil {
				t.Errorf("%v\nplay it again: go test ./internal/sim -run RandomPools -sim.pool=%d", err, seed)
			}
		})
	}
}

// drawPoolScript writes the script of a world with one pool, and says how long its
// troubles last.
func drawPoolScript(seed uint64) (text string, lasts time.Duration) {
	d := drawn{rand.New(rand.NewPCG(seed, 2000))}
	more := drawn{rand.New(rand.NewPCG(seed, 2001))}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	minutes := d.in(30, 60)
	line("seed %d", seed)
	line("flags --scale-down-unneeded-time=%s --scale-down-delay-after-add=%s --balance-similar-node-groups=%t",
		d.minutes(2, 10), d.minutes(1, 10), d.once(2))
	line("lags watch=10ms..%dms read=100ms..%dms", d.in(20, 1500), d.in(200, 8000))
	zones, least := d.in(2, 4), d.in(0, 12)
	most := least + d.in(0, 6)
	line("pool workers min=%d max=%d sizing=%s", least, most, d.of("Equitable", "Lax-Greedy", "Backward-Compatible"))
	var groups []string
	spare := most // of the pool's maximum, beyond the zones' minimums
	for i := range zones {
		own := drawZoneLimits(more, &spare, most)
		id := fmt.Sprintf("workers-z%d", i+1)
		groups = append(groups, id)
		line("group %s %s cpu=4 memory=16Gi zone=%s pool=workers find=%ds boot=%ds end=%ds spread=0.%d", id, own,
			"abcd"[i:i+1], d.in(0, 20), d.in(5, 120), d.in(0, 60), d.in(0, 9))
	}
	workloads := drawWorkloads(d, minutes, line)
	for range d.in(1, 5) {
		drawFault(d, groups, minutes, line)
	}
	for range d.in(0, 5) {
		drawHappening(d, groups, workloads, minutes, line)
	}
	drawHolds(more, groups, minutes, line)
	return b.String(), time.Duration(minutes) * time.Minute
}

// drawZoneLimits draws what one zone may have beside its pool: mostly all of that.
func drawZoneLimits(d drawn, spare *int, most int) string {
	least, own := 0, most
	if d.once(4) {
		least = min(*spare, d.in(1, 2))
		*spare -= least
	}
	if d.once(3) {
		own = max(least, d.in(0, most))
	}
	return fmt.Sprintf("min=%d max=%d", least, own)
}

// drawHolds draws what is between us and the cloud. At most one of a kind.
func drawHolds(d drawn, groups []string, minutes int, line func(string, ...any)) {
	from := func() int { return d.in(0, minutes-1) }
	if d.once(2) {
		line("fault boots=replaced n=%d group=%s from=%dm for=%dm share=0.%d", d.in(3, 14), d.of(groups...), from(),
			d.in(10, 60), d.in(3, 9))
	}
	if d.once(3) {
		line("fault instances=held group=%s from=%dm for=%dm every=1m", d.of(groups...), from(), d.in(10, 60))
	}
	if d.once(3) {
		line("fault groups=leaving group=%s from=%dm for=%dm", d.of(groups...), from(), d.in(5, 40))
	}
	if d.once(3) {
		line("fault groups=stalled from=%dm for=%dm", from(), d.in(1, 40))
	}
}
