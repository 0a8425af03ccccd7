package schedsim

import (
	"slices"
	"testing"
)

// TestSlab: lists share no memory, and the next world has the same memory again.
func TestSlab(t *testing.T) {
	var s slab[int]
	fill := func() (lists [][]int) {
		for i := range 200 {
			size := i * 37 % 2000
			if i == 7 {
				size = pieceSize + 1
			}
			list := s.list(size)
			if len(list) != 0 || cap(list) < size {
				t.Fatalf("a list of %d with room for %d, want %d", len(list), cap(list), size)
			}
			lists = append(lists, append(list, slices.Repeat([]int{i}, size)...))
		}
		for i, list := range lists {
			if at := slices.IndexFunc(list, func(x int) bool { return x != i }); at >= 0 {
				t.Fatalf("list %d has %d at %d", i, list[at], at)
			}
		}
		return lists
	}
	first := fill()
	s = s.again()
	if second := fill(); &first[1][0] != &second[1][0] {
		t.Error("other memory than before")
	}
	if used := len(s.pieces); used > 10 {
		t.Errorf("%d pieces are kept", used)
	}
}

// TestSlabOfASmallWorld: what needs little memory takes little.
func TestSlabOfASmallWorld(t *testing.T) {
	var s slab[int]
	for range 100 {
		s.list(10)
	}
	if len(s.pieces) != 1 || len(s.pieces[0]) > pieceSize/16 {
		t.Errorf("%d pieces, and the first has room for %d; one of %d suffices", len(s.pieces), len(s.pieces[0]), firstPiece)
	}
}
