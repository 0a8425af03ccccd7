package sim

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestFaultsAreCounted: a fault counts once it has had an effect, and beside those that are in force then.
func TestFaultsAreCounted(t *testing.T) {
	s := newScript()
	if err := s.Add(`
seed 1
group general min=0 max=4 cpu=4 memory=16Gi target=1
fault reads=slow every=5s from=1m for=10m
fault boots=never-register from=1m for=10m
fault controllers=down from=5m for=1m
fault api=stale every=1s from=20m for=1m
at 5m30s cordon any
`); err != nil {
		t.Fatal(err)
	}
	w := s.World()
	defer w.Close()
	if err := w.Run(30 * time.Minute); err != nil {
		t.Fatal(err)
	}
	h := w.happened
	if h.alone[readSlow] != 1 || h.alone[controllersDown] != 1 || h.alone["cordon"] != 1 || h.alone[neverRegister] != 0 {
		t.Errorf("counted %v; no machine has booted", h.alone)
	}
	beside := h.pairs[pairOf("cordon", controllersDown)] + h.pairs[pairOf("cordon", readSlow)]
	if beside != 2 || h.pairs[pairOf(readSlow, controllersDown)] != 1 || h.pairs[pairOf(readSlow, apiStale)] != 0 {
		t.Errorf("pairs %v", h.pairs)
	}
	row := "reads=slow                  1 times, beside 2 others: controllers=down 1, cordon 1\n"
	if table := h.String(); !strings.Contains(table, row) {
		t.Errorf("no row %q in\n%s", row, table)
	}
	alone, pairs := h.never()
	if !slices.Contains(alone, neverRegister) || slices.Contains(alone, readSlow) ||
		!slices.Contains(pairs, pairOf(readSlow, apiStale)) || slices.Contains(pairs, pairOf(readSlow, controllersDown)) {
		t.Errorf("never: %v; together: %v", alone, pairs)
	}
}
