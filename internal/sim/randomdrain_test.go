package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// This file draws what matters to drains.

// drawDrainFlags draws how nodes with pods may be removed; by default most of
// the time.
func drawDrainFlags(d drawn) (flags string) {
	maybe := func(in int, format string, args ...any) {
		if d.once(in) {
			flags += " " + fmt.Sprintf(format, args...)
		}
	}
	maybe(2, "--max-drain-parallelism=%d", d.in(2, 5))
	maybe(2, "--scale-down-utilization-threshold=0.%d", d.in(5, 9))
	maybe(3, "--skip-nodes-with-local-storage=false")
	maybe(4, "--skip-nodes-with-custom-controller-pods=false")
	maybe(3, "--daemonset-eviction-for-occupied-nodes=false")
	maybe(4, "--daemonset-eviction-for-empty-nodes=true")
	maybe(4, "--scale-down-delay-type-local")
	maybe(5, "--cordon-node-before-terminating=false")
	maybe(3, "--scale-down-delay-after-failure=%s", d.minutes(1, 5))
	maybe(4, "--max-pod-eviction-time=%s", d.minutes(1, 4))
	if d.once(4) {
		return flags + fmt.Sprintf(" --drain-priority-config=0:%d,1000:%d", d.in(10, 120), d.in(5, 60))
	}
	maybe(3, "--max-graceful-termination-sec=%d", d.in(5, 300))
	return flags
}

// drawFiller draws pods that take room on each node until all others have a place,
// and are gone then: what they leave is a cluster that is little used.
func drawFiller(d drawn, nodes int, line func(string, ...any)) {
	line("workload filler count=%d cpu=%s memory=1Gi apart=host tolerate=dedicated priority=3000", nodes,
		d.of("1", "1500m", "1800m"))
	line("at %s workload filler count=0", d.minutes(1, 8))
}

// drawTraits draws whether and how a workload's pods may be moved: most of them
// as pods of ReplicaSets are.
func drawTraits(d drawn) (words string) {
	switch d.in(0, 12) {
	case 0, 1, 2:
		words += " controller=StatefulSet"
	case 3:
		words += " controller=Rollout.example.com"
	case 4:
		words += " controller=none"
	}
	switch d.in(0, 12) {
	case 0:
		words += " evict=" + d.of("true", "false", "on-completion")
	case 1:
		words += " local=data"
	case 2:
		words += fmt.Sprintf(" grace=%ds stop=1s..%ds", d.in(1, 600), d.in(2, 900))
	case 3:
		words += fmt.Sprintf(" start=1s..%ds", d.in(2, 120))
	}
	if d.once(4) {
		words += fmt.Sprintf(" priority=%d", []int{-20, 100, 1000, 2000}[d.IntN(4)])
	}
	return words
}

// drawBudget draws a budget for every third workload; one of a few cannot be
// kept, one of a few is a second one about the same pods.
func drawBudget(d drawn, name string, count, minutes int, line func(string, ...any)) {
	if !d.once(3) {
		return
	}
	wish := func() string {
		if d.once(2) {
			return fmt.Sprintf("max=%d", d.in(0, 3))
		}
		return fmt.Sprintf("min=%d", max(0, count-d.in(0, 4)))
	}
	line("budget %s %s", name, wish())
	if d.once(6) {
		line("budget another-%s app=%s %s", name, name, wish())
	}
	if d.once(2) {
		line("at %s budget %s %s", d.minutes(1, minutes-1), name, wish())
	}
	if d.once(4) {
		line("at %s drop-budget %s", d.minutes(1, minutes-1), name)
	}
}

// TestCompanyShrinks: clusters of apps that are bound to each other by zone are emptied,
// several nodes at once. Nothing is bought on the way, and no pod that was evicted lacks
// a place: all are smaller than before, and every pod that runs has its room somewhere.
func TestCompanyShrinks(t *testing.T) {
	for seed := uint64(40); seed < 100; seed++ {
		s := newScript()
		if err := s.Add(drawCompany(drawn{rand.New(rand.NewPCG(seed, 3000))}, seed)); err != nil {
			t.Fatal(err)
		}
		w := s.World()
		err := w.Run(8 * time.Minute)
		w.Timeline().Take()
		if err == nil {
			err = w.Run(40 * time.Minute)
		}
		if told := fmt.Sprint(w.Timeline().Take()); err != nil || strings.Contains(told, "  grow ") {
			t.Errorf("seed %d: %v\n%s", seed, err, told)
		}
		w.Close()
	}
}

// drawCompany draws apps that follow others over zones, in a cluster that gets empty.
func drawCompany(d drawn, seed uint64) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("seed %d", seed)
	line("flags --scale-down-unneeded-time=%dm --scale-down-delay-after-add=0s --max-drain-parallelism=%d "+
		"--scale-down-utilization-threshold=0.7 --scale-down-delay-after-delete=0s --balance-similar-node-groups",
		d.in(1, 2), d.in(2, 5))
	for _, zone := range []string{"a", "b", "c"} {
		line("group g%s min=0 max=10 target=%d cpu=4 memory=16Gi zone=%s", zone, d.in(2, 4), zone)
	}
	line("workload filler count=%d cpu=%s memory=1Gi", d.in(4, 12), d.of("1", "1500m"))
	for i := range d.in(1, 3) {
		line("workload db%d count=%d cpu=%s memory=1Gi", i, d.in(1, 2), d.of("200m", "500m", "1"))
		line("workload web%d count=%d cpu=%s memory=1Gi together=zone with=db%d start=1s..%ds", i, d.in(2, 8),
			d.of("300m", "500m", "1"), i, d.in(2, 20))
	}
	line("at 8m workload filler count=%d", d.in(0, 2))
	return b.String()
}
