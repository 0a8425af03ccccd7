package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// This file draws any fault there is, for worlds in which two of them are in force at the same time.

// drawPair draws two faults for a hard world, the second while the first lasts. Which two follows from
// the seed, so that with enough worlds each one meets each other one.
func drawPair(seed uint64, h *hard) {
	d := drawn{rand.New(rand.NewPCG(seed, 4003))}
	all := slices.Sorted(slices.Values(slices.Concat(allKinds(), deeds)))
	n := uint64(len(all))
	a := seed % n
	b := (a + 1 + seed/n%(n-1)) % n
	from := d.in(3, h.minutes-25)
	h.any(d, all[a], from, d.in(15, 24))
	h.any(d, all[b], from+d.in(1, 8), d.in(8, 15))
}

// any draws a fault of a kind, or a deed, from a minute on.
func (h *hard) any(d drawn, what What, from, lasts int) {
	if slices.Contains(deeds, what) {
		h.deed(d, what, from)
		return
	}
	share, words := 0.1*float64(d.in(4, 9)), ""
	if where := h.where(d); covering(what) {
		words = where
	}
	if strings.HasPrefix(string(what), "boots=") {
		// Few machines boot while it lasts.
		words, share, lasts = "", 0.1*float64(d.in(6, 10)), max(lasts, h.minutes-from-1)
	}
	switch {
	case what == stockOut:
		what += What(fmt.Sprintf("=%d", d.in(0, 3)))
	case what == flippingStock:
		words += fmt.Sprintf(" n=%d every=%s", d.in(0, 3), d.minutes(1, 5))
	case what == failedBoot, what == retriedBoot:
		words += fmt.Sprintf(" n=%d error=%s every=25s", d.in(1, 5), d.of("NoCapacity", "Quota", "Transient"))
	case strings.HasPrefix(string(what), "calls="):
		words += " error=" + d.of("NoCapacity", "Quota", "Throttled", "Transient", "Conflict", "Unavailable")
	case what == readSlow:
		lasts, share = 40, 1
		words += fmt.Sprintf(" every=%ds", d.in(20, 80))
	case what == readError, what == readHang, what == readUnreadable:
		lasts = d.in(10, 40)
	case strings.HasPrefix(string(what), "reads=") && what != readPartial:
		lasts = d.in(3, 8) // a cloud that lies for longer is believed, as it must be
	case what == readPartial:
		share = 0.1 * float64(d.in(1, 5))
	case what == skewedClock, what == ownClock:
		words += fmt.Sprintf(" skew=%s%dm", d.of("", "-"), d.in(1, 60))
	case what == schedulerLate:
		words += fmt.Sprintf(" every=%ds", d.in(5, 240))
	case what == apiDown:
		words += " every=1s"
		lasts = d.in(1, 5)
	case what == apiStale:
		words += fmt.Sprintf(" every=%ds", d.in(1, 3))
	case what == apiConflict, what == usedNames:
		words, share, lasts = "", 1, max(lasts, h.minutes-from-1)
	case what == lossyWatch:
		words += fmt.Sprintf(" every=%ds", d.in(20, 400))
	case what == replacedBoot:
		words += fmt.Sprintf(" n=%d", d.in(3, 14))
	case what == takenMachine, what == flappingNode:
		words += " every=" + d.minutes(2, 6)
	}
	h.line("fault %s%s share=%.1f from=%dm for=%dm", what, words, share, from, lasts)
}

// covering reports whether a kind of fault may be about one group alone.
func covering(what What) bool {
	return !slices.Contains(slices.Concat(schedulerKinds, apiKinds, clusterKinds, clockKinds,
		[]What{readError, readHang, readStale, readEmpty, readSlow}), what)
}

// deed draws what a person or a process does.
func (h *hard) deed(d drawn, what What, at int) {
	words := ""
	switch what {
	case "crash":
		words = fmt.Sprintf(" for=%ds", d.in(1, 300))
	case "pause":
		words = fmt.Sprintf(" for=%ds", d.in(10, 600))
	case "flags":
		words = " " + d.of("--scale-down-unneeded-time="+d.minutes(2, 12), "--max-nodes-total="+fmt.Sprint(d.in(4, 14)),
			"--max-node-provision-time="+d.minutes(4, 15), "--scale-down-enabled=false")
	case "memory":
		words = " " + d.of(sortedKeys(overwritten)...)
	case "taint":
		words = " any team=other:NoSchedule"
	case "annotate":
		words = " any scale-down-disabled=true"
	case "target":
		words = fmt.Sprintf(" %s %d", d.of(h.groups...), d.in(0, 8))
	case "limits":
		words = fmt.Sprintf(" %s min=%d max=%d", d.of(h.groups...), d.in(0, 1), d.in(2, 8))
	case "zones":
		words = " " + d.of(h.groups...) + " a|b"
	default:
		words = " any"
	}
	h.line("at %dm %s%s", at, what, words)
	if what == "flags" || what == "memory" {
		h.line("at %dm crash for=%ds", at, d.in(5, 60))
	}
}

// large adds what few clusters have: many groups, and workloads of many pods.
func (h *hard) large(seed uint64) {
	d := drawn{rand.New(rand.NewPCG(seed, 4002))}
	for i := range 30 - len(h.groups) {
		id := fmt.Sprintf("more%d", i)
		cpu := 4 << d.in(0, 3)
		h.line("group %s min=0 max=%d cpu=%d memory=%dGi zone=%s", id, d.in(2, 12), cpu, 4*cpu, d.of("a", "b", "c"))
		h.groups = append(h.groups, id)
	}
	for range d.in(2, 4) {
		h.line("at %s workload %s count=%d", d.minutes(2, h.minutes-1), d.of(h.workloads...), d.in(200, 300))
	}
}
