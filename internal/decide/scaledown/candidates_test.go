package scaledown

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// TestAsBefore: candidates come in the order of the search before, and none is lost, whatever places searches long ago
// have left.
func TestAsBefore(t *testing.T) {
	dice := rand.New(rand.NewPCG(12, 1))
	for range 1000 {
		list := make([]*candidate, dice.IntN(8))
		for i := range list {
			list[i] = &candidate{node: model.NodeID(i), judgement: &judgement{tried: dice.IntN(10)}}
		}
		got := slices.Clone(list)
		asBefore(got)
		first := map[int]*candidate{} // of those with a place, that which was listed first
		for _, c := range list {
			if c.tried > 0 && c.tried <= len(list) && first[c.tried] == nil {
				first[c.tried] = c
			}
		}
		var want []*candidate
		for at := range len(list) + 1 {
			if c := first[at]; c != nil {
				want = append(want, c)
			}
		}
		for _, c := range list {
			if !slices.Contains(want, c) {
				want = append(want, c)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d candidates are not in the order of the search before", len(list))
		}
	}
}
