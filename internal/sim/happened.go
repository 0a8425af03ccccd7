package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// This file counts which faults had an effect, alone and in pairs. Two faults that were never in force
// together show nothing of what they do together.

// happened is how often each fault had an effect, and how often it did so first while another one was
// in force that had one.
type happened struct {
	alone map[What]int
	pairs map[[2]What]int
}

func newHappened() happened { return happened{alone: map[What]int{}, pairs: map[[2]What]int{}} }

// deeds are what people and processes do at an instant, by their words in a script, as far as they count
// as faults.
var deeds = []What{"crash", "pause", "flags", "memory", "taint", "cordon", "annotate", "delete-node", "kill", "target",
	"limits", "zones"}

// drawnKinds are faults that are drawn for each thing that they may affect. They have an effect when one
// is met; all others have it when they begin.
var drawnKinds = []What{
	neverRegister, neverReady, driftedNode, lessCPU, lostLabel, extraTaint, wrongZone, replacedBoot, neverRuns,
	usedNames, refuse, lose, hang, slow, readError, readHang, readSlow, readLies, readPartial, readEmpty, readUnreadable,
	readMissing, readBare, readDrift, skewedClock, apiSlow, apiConflict, lossyWatch, refusedPods,
}

// strikes counts a fault that has an effect, the first time that it has one.
func (w *world) strikes(f *fault) {
	if !f.struck {
		f.struck = true
		w.count(f.What, f)
	}
}

// count counts something that went wrong, beside all that goes wrong now.
func (w *world) count(what What, own *fault) {
	w.happened.alone[what]++
	for _, f := range w.faults {
		if f.on && f.struck && f != own && f.What != what {
			w.happened.pairs[pairOf(what, f.What)]++
		}
	}
}

func pairOf(a, b What) [2]What { return [2]What{min(a, b), max(a, b)} }

// add adds the counts of another world.
func (h happened) add(of happened) {
	for what, n := range of.alone {
		h.alone[what] += n
	}
	for pair, n := range of.pairs {
		h.pairs[pair] += n
	}
}

// never lists the faults that never happened, and the pairs of those that did which never happened
// together.
func (h happened) never() (alone []What, pairs [][2]What) {
	for _, a := range dueDeeds { // they are drawn apart, in few worlds
		if h.alone[a] == 0 {
			alone = append(alone, a)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(allKinds(), deeds)))
	for i, a := range all {
		if h.alone[a] == 0 {
			alone = append(alone, a)
			continue
		}
		for _, b := range all[i+1:] {
			// Two deeds are at two instants.
			deed := slices.Contains(deeds, a) && slices.Contains(deeds, b)
			if h.alone[b] > 0 && h.pairs[pairOf(a, b)] == 0 && !deed {
				pairs = append(pairs, pairOf(a, b))
			}
		}
	}
	return alone, pairs
}

// String is a table: each fault, how often it happened, and how often beside each of the others.
func (h happened) String() string {
	var b strings.Builder
	beside := map[What]map[What]int{}
	for pair, n := range h.pairs {
		for i, what := range pair {
			if beside[what] == nil {
				beside[what] = map[What]int{}
			}
			beside[what][pair[1-i]] += n
		}
	}
	for _, what := range mostFirst(h.alone) {
		fmt.Fprintf(&b, "%-22s %6d times, beside %d others", what, h.alone[what], len(beside[what]))
		for i, other := range mostFirst(beside[what]) {
			fmt.Fprintf(&b, "%s %s %d", [...]string{":", ","}[min(i, 1)], other, beside[what][other])
		}
		b.WriteString("\n")
	}
	return b.String()
}

// mostFirst lists what was counted, what happened most often first.
func mostFirst(counts map[What]int) []What {
	return slices.SortedFunc(maps.Keys(counts), func(a, b What) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
