package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/component"
)

const (
	megabyte = 1_000_000

	// What the proposal of the kwok provider measured.
	seedFigure = "385 nodes for 0.122 cores and 521 MiB: 3,155 per core"
)

// verdict sets a figure beside what is aimed at.
func verdict(value, aim float64) string {
	if value <= aim {
		return "met"
	}
	return "MISSED"
}

func (f GrowthFigures) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d pending one-core pods, 8-core nodes bought by Plimsoll\n", f.Pods)
	fmt.Fprintf(&text,
		"  scale command until all are bound   %.1f s   (at most %.0f s: %s; the Cluster Autoscaler: %.0f s)\n",
		f.Bound.Seconds(), growthAim.Seconds(), verdict(f.Bound.Seconds(), growthAim.Seconds()), growthUpstream.Seconds())
	fmt.Fprintf(&text, "    of it, until there is a node      %.1f s\n", f.FirstNode.Seconds())
	fmt.Fprintf(&text, "    until all nodes are ready         %.1f s\n", f.EnoughRoom.Seconds())
	fmt.Fprintf(&text, "  control plane alone, nodes there    %.1f s   (ratio %.2f)\n",
		f.Alone.Seconds(), f.Bound.Seconds()/f.Alone.Seconds())
	fmt.Fprintf(&text, "  nodes bought                        %d     (no plan needs fewer than %d)\n",
		f.Nodes, (f.Pods+7)/8)
	fmt.Fprintf(&text, "  plan_divergence_total               %d\n", f.Divergence)
	fmt.Fprintf(&text,
		"  Plimsoll's processor time           %.2f s  (at most %.0f s: %s; the Cluster Autoscaler: %.0f s)\n",
		f.Plimsoll.CPU.Seconds(), cpuAim.Seconds(), verdict(f.Plimsoll.CPU.Seconds(), cpuAim.Seconds()),
		cpuUpstream.Seconds())
	peak := float64(f.Plimsoll.Peak) / megabyte
	fmt.Fprintf(&text,
		"  Plimsoll's peak memory              %.0f MB  (at most %d MB: %s; the Cluster Autoscaler: %d MB)\n",
		peak, peakAim, verdict(peak, peakAim), peakUpstream)
	fmt.Fprintf(&text, "  other programs took of the machine  %.0f %% in the first pass, %.0f %% in the second\n",
		100*f.Foreign, 100*f.ForeignToo)
	text.WriteString("  processor time of each process meanwhile:")
	for _, name := range slices.Sorted(maps.Keys(f.Components)) {
		fmt.Fprintf(&text, " %s %.1f s;", name, f.Components[name].Seconds())
	}
	return strings.TrimSuffix(text.String(), ";")
}

func (f MotiveFigures) String() string {
	return fmt.Sprintf(`1 to %d pods of 1 core and 2 GiB, groups of 12 cores and 31 GiB, %d groups in all
  scale command until all are bound   %.1f s
  nodes bought                        %d     (no plan needs fewer than %d more)
  plan_divergence_total               %d
  Plimsoll's processor time           %.2f s meanwhile, %.2f s since its start
  Plimsoll's peak memory              %.0f MB
  other programs took of the machine  %.0f %%`,
		f.Pods, f.Groups, f.Bound.Seconds(), f.Nodes, (f.Pods+11)/12-1, f.Divergence,
		f.Growing.Seconds(), f.Plimsoll.CPU.Seconds(), float64(f.Plimsoll.Peak)/megabyte, 100*f.Foreign)
}

func (f IdleFigures) String() string {
	row := func(name string, spent time.Duration, memory int64) string {
		return fmt.Sprintf("  %-17s %.3f cores, %.0f MB, %.0f nodes per core\n", name,
			spent.Seconds()/f.Window.Seconds(), float64(memory)/megabyte, nodesPerCore(f.Nodes, spent, f.Window))
	}
	return fmt.Sprintf("%d idle nodes (all ready %.1f s after Plimsoll's start), over %.0f s\n",
		f.Nodes, f.Ready.Seconds(), f.Window.Seconds()) +
		row("kwok controller", f.Kwok, f.KwokMem) +
		row("Plimsoll", f.Plimsoll, f.OwnMem) +
		row("both", f.Kwok+f.Plimsoll, f.KwokMem+f.OwnMem) +
		fmt.Sprintf("  the proposal of the kwok provider: %s\n", seedFigure) +
		fmt.Sprintf("  the whole control plane with Plimsoll: %.3f cores", f.All.Seconds()/f.Window.Seconds()) +
		fmt.Sprintf("\n  each node reports at least every %.0f s, as a kubelet does of an unchanged node; there are "+
			"no leases", component.NodeHeartbeat.Seconds())
}
