package sim

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestCalmWorlds: worlds in which nothing fails and, once the load has gone down,
// nobody does anything. At the end the cluster is about as small as a plain
// packing of its pods, nothing has been bought, and nothing goes any more. One is
// played again by -sim.seed.
func TestCalmWorlds(t *testing.T) {
	if *oneSeed != 0 {
		if _, err := playCalm(t, *oneSeed, true); err != nil {
			t.Fatal(err)
		}
		return
	}
	const count = 40
	nodes, packed, before, evicted := 0, 0, 0, 0
	for seed := range uint64(count) {
		sizes, err := playCalm(t, seed+1, false)
		if err != nil {
			t.Errorf("%v\nplay it again: go test ./internal/sim -run CalmWorlds -sim.seed=%d", err, seed+1)
		}
		nodes, packed, before, evicted = nodes+sizes.after, packed+sizes.packed, before+sizes.before,
			evicted+sizes.evicted
	}
	t.Logf("%d worlds had %d nodes, and in the end %d; a plain packing needs %d; %d pods were evicted", count, before,
		nodes, packed, evicted)
	if nodes > packed+packed/10 {
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
	n.after, n.packed, n.evicted = len(w.truth.observed()), w.packed(), w.checker.drains.evictions
	if now := w.targets(); now > asked {
		return n, fmt.Errorf("the targets have gone up, from %d to %d", asked, now)
	}
	if late := w.checker.drains.late; late > 0 {
		return n, fmt.Errorf("%d of %d evicted pods did not find room at once", late, n.evicted)
	}
	if lacking := w.Unrest(); len(lacking) > 0 {
		return n, fmt.Errorf("the world is not at rest:\n  %s", strings.Join(lacking, "\n  "))
	}
	if slack := 1 + n.packed/4; n.after > n.packed+slack {
		return n, fmt.Errorf("%d nodes are left of %d, and a plain packing needs %d", n.after, n.before, n.packed)
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

// packed is how many of the nodes there are a plain packing needs: those that must
// stay, and then the largest until all other pods, largest first, have a place.
func (w *world) packed() int {
	type bin struct {
		name     string
		free     model.Resources
		stays    bool
		occupied bool
	}
	specs := w.catalog.Contents().Specs
	var bins []*bin
	var loose []model.Resources
	kept := map[string]int{} // by group
	groups := map[string]string{}
	for _, m := range w.sortedMachines("") {
		groups[m.node] = string(m.group.id)
	}
	for _, o := range w.truth.observed() {
		b := &bin{name: o.Object.Name, free: model.ResourcesOf(o.Object.Status.Allocatable)}
		var mine []model.Resources
		covered := map[*budget]int{}
		for _, p := range o.Pods {
			s := w.truth.seats[podName{specs[p.Spec].Pod.Namespace, p.Name}]
			requests := specs[p.Spec].Requests
			if s.of == "" {
				b.free = b.free.Plus(requests, -1)
				continue
			}
			mine = append(mine, requests)
			b.stays = b.stays || w.workloads[s.of].stays(w.settings.Policy.ScaleDown.Drain, false, 0) != ""
			for _, c := range w.covering(s) {
				covered[c]++
				b.stays = b.stays || covered[c] > c.allowed
			}
		}
		if b.stays {
			kept[groups[b.name]]++
			for _, r := range mine {
				b.free = b.free.Plus(r, -1)
			}
		} else {
			loose = append(loose, mine...)
		}
		bins = append(bins, b)
	}
	slices.SortStableFunc(bins, func(a, b *bin) int { return -cmp.Compare(a.free.MilliCPU, b.free.MilliCPU) })
	for _, g := range w.cloud.Truth().Groups {
		for _, b := range bins {
			if groups[b.name] == string(g.ID) && !b.stays && kept[string(g.ID)] < g.Min {
				b.stays = true
				kept[string(g.ID)]++
			}
		}
	}
	slices.SortStableFunc(bins, func(a, b *bin) int { return boolOrder(a.stays, b.stays) })
	slices.SortFunc(loose, func(a, b model.Resources) int { return -cmp.Compare(a.MilliCPU, b.MilliCPU) })
	for _, r := range loose {
		for _, b := range bins {
			if b.free.MilliCPU >= r.MilliCPU && b.free.Memory >= r.Memory {
				b.free, b.occupied = b.free.Plus(r, -1), true
				break
			}
		}
	}
	needed := 0
	for _, b := range bins {
		if b.stays || b.occupied {
			needed++
		}
	}
	return needed
}

// boolOrder puts what is true first.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
