package schedsim

// slab is memory for short lists that live as long as a world. The world after it has the same memory again, as far as
// it is not too much to be kept.
type slab[T any] struct {
	pieces [][]T
	next   int // the piece that lists come from when left is used up
	left   []T
}

// How many elements a piece has, and how many pieces are kept. What one world needs beyond them is its own. The first
// piece is small, and each one twice as large as the one before, so that a small world does not pay for a large one.
const (
	firstPiece = 1 << 10
	pieceSize  = 1 << 15
	mostPieces = 64
)

// list is an empty list with room for n elements. What is in that room is unknown.
func (s *slab[T]) list(n int) []T {
	if n > len(s.left) {
		if n > pieceSize || s.next == mostPieces {
			return make([]T, 0, n)
		}
		if s.next == len(s.pieces) {
			s.pieces = append(s.pieces, nil)
		}
		if len(s.pieces[s.next]) < n {
			s.pieces[s.next] = make([]T, max(n, min(firstPiece<<min(s.next, 10), pieceSize)))
		}
		s.left = s.pieces[s.next]
		s.next++
	}
	out := s.left[:0:n]
	s.left = s.left[n:]
	return out
}

// again is the same memory, from its beginning. The slab must not be used any more, nor any list of it.
func (s *slab[T]) again() slab[T] { return slab[T]{pieces: s.pieces} }
