package scaleup

import (
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/pack"
)

// TestBinding: what finds no place depends on the order, on the scores, and on what shares no node.
func TestBinding(t *testing.T) {
	p := &purchase{Problem: pack.Problem{
		Types: []pack.Type{{Capacity: []int64{4, 4}, Holds: pack.Set{7}}, {Capacity: []int64{8, 8}, Holds: pack.Set{2}}},
		Classes: []pack.Class{
			{Request: []int64{4, 4}, PerNode: pack.NoLimit},
			{Request: []int64{1, 1}, PerNode: pack.NoLimit},
			{Request: []int64{1, 1}, PerNode: 1},
		},
	}}
	for _, at := range []struct {
		name  string
		order []run
		nodes []int
		left  []int
	}{
		{"the largest first", []run{{0, 1}, {1, 4}}, []int{2, 0}, []int{0, 0, 0}},
		{"small ones take the room of a large one", []run{{1, 4}, {0, 1}}, []int{2, 0}, []int{1, 0, 0}},
		{"the node with more room is taken first", []run{{1, 1}, {0, 1}}, []int{1, 1}, []int{0, 0, 0}},
		{"a node is not for all pods", []run{{0, 1}}, []int{0, 1}, []int{1, 0, 0}},
		{"one a node, in several runs", []run{{2, 1}, {1, 1}, {2, 2}}, []int{2, 0}, []int{0, 0, 1}},
	} {
		if left := p.bind(at.order, at.nodes); !slices.Equal(left, at.left) {
			t.Errorf("%s: %v are left, not %v", at.name, left, at.left)
		}
	}
}
