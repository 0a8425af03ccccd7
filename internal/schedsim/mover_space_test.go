package schedsim

import "testing"

// TestSpaceIsThatOfNow: a host that moves have filled is passed over, and takes pods again when they are taken back.
func TestSpaceIsThatOfNow(t *testing.T) {
	s := newStand("a1", "a2", "a3")
	s.Bound(app("web", "1"), 3, "a1")
	s.Bound(app("big", "2"), 1, "a2")
	x := s.load(t, 1000, "a3")
	mark := x.m.Mark()
	x.want(x.move("a1"), "3 to a3")
	x.want(x.move("a2"), "InsufficientResources on 1 node; cpu 2 > 1 on the roomiest")
	if space, want := x.m.space[0], spaceOf(&x.w.nodes[x.node("a3")]); space != want {
		t.Errorf("the host's space is %v, want %v", space, want)
	}
	x.m.Undo(mark)
	x.want(x.move("a2"), "1 to a3")
	x.check()
}
