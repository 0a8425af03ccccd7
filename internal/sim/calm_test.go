package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestCalmWorlds: worlds in which nothing fails and, once the load has gone down,
// no person changes anything. At the end the cluster is about as small as a plain
// packing of its pods, nothing has been bought, and nothing goes any more. One is
// played again by -sim.seed.
func TestCalmWorlds(t *testing.T) {
	if *oneSeed != 0 {
		if _, err := playCalm(t, *oneSeed, true); err != nil {
			t.Fatal(err)
		}
		return
	}
	var all [20]sizes
	t.Run("worlds", func(t *testing.T) {
		for i := range all {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				var err error
				if all[i], err = playCalm(t, uint64(i+1), false); err != nil {
					t.Errorf("%v\nplay it again: go test ./internal/sim -run CalmWorlds -sim.seed=%d", err, i+1)
				}
			})
		}
	})
	nodes, packed, before, evicted := 0, 0, 0, 0
	for _, n := range all {
		nodes, packed, before, evicted = nodes+n.after, packed+n.packed, before+n.before, evicted+n.evicted
	}
	t.Logf("%d worlds had %d nodes, and in the end %d; a plain packing needs %d; %d pods were evicted", len(all), before,
		nodes, packed, evicted)
	if nodes > packed+packed/20 {
		t.Errorf("%d nodes are left of %d, and a plain packing needs %d", nodes, before, packed)
	}
}

// sizes are how many nodes a calm world had before anything went, has at the end,
// and needs; and how many pods were evicted on the way.
type sizes struct{ before, after, packed, evicted int }

func playCalm(t *testing.T, seed uint64, tell bool) (n sizes, err error) {
	text := drawCalm(seed)
	s := newScript()
	if err := s.Add(text); err != nil {
		return n, err
	}
	w := s.World()
	defer w.Close()
	if tell {
		t.Logf("the script:\n%s", text)
		defer func() { t.Logf("the timeline:\n%s%s", w.Timeline().Take(), w.Show()) }()
	} else {
		w.Timeline().Quiet()
	}
	if err := w.Run(calmFrom); err != nil {
		return n, err
	}
	asked := w.targets()
	n.before = len(w.truth.observed())
	if err := w.Run(4 * time.Hour); err != nil {
		return n, err
	}
	lacking, moves, fleet := w.Unrest(), w.judge.Moves(), w.judge.Fleet()
	n.after, n.packed, n.evicted = fleet.Nodes, fleet.Needed, moves.Pods
	if now := w.targets(); now > asked {
		return n, fmt.Errorf("the targets have gone up, from %d to %d", asked, now)
	}
	if moves.Late > 0 {
		return n, fmt.Errorf("%d of %d evicted pods did not find room at once", moves.Late, n.evicted)
	}
	if len(lacking) > 0 {
		return n, fmt.Errorf("the world is not at rest:\n  %s", strings.Join(lacking, "\n  "))
	}
	return n, nil
}

// targets sums what is asked of the cloud.
func (w *world) targets() (sum int) {
	for _, g := range w.cloud.Truth().Groups {
		sum += g.Target
	}
	return sum
}

// calmFrom is when a calm world is left alone.
const calmFrom = 5 * time.Minute

// drawCalm draws a world whose nodes are all there, each with something on it;
// most of it goes at once.
func drawCalm(seed uint64) string {
	d := drawn{rand.New(rand.NewPCG(seed, 2000))}
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("seed %d", seed)
	line("flags --scale-down-unneeded-time=2m --scale-down-delay-after-add=1m --scale-down-utilization-threshold=1 "+
		"--max-drain-parallelism=%d --expander=%s",
		d.in(1, 4), d.expander())
	nodes := 0
	for i := range d.in(1, 3) {
		cpu, target := 4<<d.in(0, 1), d.in(2, 7)
		nodes += target
		line("group g%d min=%d max=%d target=%d cpu=%d memory=%dGi zone=%s", i, d.in(0, 1), target+3, target, cpu,
			4*cpu, d.of("a", "b", "c"))
	}
	if d.once(2) {
		line("daemonset agent cpu=200m memory=100Mi dsevict=%s", d.of("true", "false"))
	}
	// Two cores of each node are taken until everything has a place.
	line("workload filler count=%d cpu=2 apart=host", nodes)
	line("at 2m workload filler count=0")
	room := 1.5 * float64(nodes)
	for i := range d.in(2, 5) {
		cpu := []float64{0.1, 0.2, 0.3, 0.5, 0.7, 1}[d.IntN(6)]
		count := min(d.in(1, 12), int(room/cpu))
		room -= cpu * float64(count)
		words := ""
		switch d.in(0, 6) {
		case 0, 1:
			words = " controller=StatefulSet"
		case 2:
			words = " grace=90s stop=1s..90s"
		case 3:
			words = " priority=1000"
		}
		if d.once(8) {
			words += d.of(" evict=false", " local=data")
			count = min(count, 2)
		}
		name := fmt.Sprintf("w%d", i)
		line("at 20s workload %s count=%d cpu=%.0fm memory=%s%s", name, count, 1000*cpu,
			d.of("256Mi", "1Gi", "2Gi"), words)
		if d.once(3) {
			line("budget %s max=%d", name, d.in(2, 6))
		}
	}
	return b.String()
}
