package exact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// A fault is played again by its seed alone.
func TestDrawIsTheSameForASeed(t *testing.T) {
	text := func(seed uint64) string {
		out, err := json.Marshal(Draw(seed))
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if text(7) != text(7) {
		t.Error("two draws of a seed differ")
	}
	if text(7) == text(8) {
		t.Error("two seeds draw the same")
	}
}

// drawn counts what some rounds draw.
func drawn(first, rounds uint64) map[string]int {
	count := map[string]int{}
	for seed := range rounds {
		r := Draw(first + seed)
		for _, w := range r.Workloads {
			for _, trait := range w.Traits {
				count[trait]++
			}
			if len(w.Needs) > 0 {
				count["needs"]++
			}
		}
		if len(r.Daemons) > 0 {
			count["daemons"]++
		}
	}
	return count
}

// Where this is red since the draw has changed, another Seed is wanted.
func TestEachTraitIsInTheFixedRounds(t *testing.T) {
	count := drawn(Seed, Rounds)
	for _, all := range [][]trait{sizes, places, neighbours, others} {
		for _, trait := range all {
			if count[trait.name] == 0 {
				t.Errorf("%s is not drawn", trait.name)
			}
		}
	}
	if count["daemons"] == 0 || count["needs"] == 0 {
		t.Errorf("no daemons or no budgets: %v", count)
	}
}

func TestEachRiddleIsDrawn(t *testing.T) {
	count := drawn(1, 100)
	for _, r := range impossible {
		if count[r.name] == 0 {
			t.Errorf("%s is never drawn", r.name)
		}
	}
}

// What the judge knows of a round must be true of it: all that is wanted can be had on new nodes.
func TestWhatIsDrawnCanBeHad(t *testing.T) {
	for seed := range uint64(300) {
		r := Draw(seed)
		names := map[string]bool{}
		for _, w := range r.Workloads {
			if names[w.Name] {
				t.Errorf("seed %d: two workloads are %s", seed, w.Name)
			}
			names[w.Name] = true
			if w.Stays == 0 && (w.Pods < 1 || w.Pods > w.Most || w.Least > w.Most) {
				t.Errorf("seed %d: %s has at least %d and at most %d", seed, w, w.Least, w.Most)
			}
			if w.Gated && w.Least > 0 {
				t.Errorf("seed %d: others wait for %s, which has a gate", seed, w)
			}
		}
		for _, zone := range r.Zones {
			if !slices.ContainsFunc(r.Groups, func(g stage.Group) bool {
				return g.Zone == zone && g.Max >= generous && g.Taints == nil && g.Labels == nil
			}) {
				t.Errorf("seed %d: %s has no group for all", seed, zone)
			}
		}
	}
}

func TestResultSaysHowFarAboveTheBound(t *testing.T) {
	r := Result{Seed: 3, Nodes: 6, Bound: 5, Pending: []string{"b 1 (NodeAffinity)", "a 2 (GroupAtMax)"}}
	for _, want := range []string{
		"seed 3: ", "nodes 6, bound 5, gap 20%", "pending: a 2 (GroupAtMax), b 1 (NodeAffinity)",
	} {
		if !strings.Contains(r.String(), want) {
			t.Errorf("%q is not in %q", want, r)
		}
	}
	if text := (Result{}).String(); !strings.Contains(text, "gap 0%") || !strings.Contains(text, "pending: none") {
		t.Errorf("of nothing: %q", text)
	}
}
