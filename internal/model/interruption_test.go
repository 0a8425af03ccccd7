package model

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// interruptions plays turns of the loop: each has what the last one left.
type interruptions struct {
	p    MovePolicy
	now  time.Time
	list []Interruption
}

func (x *interruptions) turn(nodes ...*corev1.Node) {
	s := &Snapshot{Now: x.now, Interruptions: x.list, Groups: []Group{{Group: provider.Group{ID: "g"}}}}
	for _, n := range nodes {
		s.Nodes = append(s.Nodes, &Node{Name: n.Name, Object: n})
	}
	x.list = s.InterruptionsOf(&x.p)
}

// distrusted says until when the group is, in minutes after the first turn; -1 if it is not.
func (x *interruptions) distrusted() int {
	for _, d := range x.p.Distrusts(x.list, x.now) {
		return int(d.Until.Sub(time.Unix(0, 0)) / time.Minute)
	}
	return -1
}

func leaving(name string, uid types.UID) *corev1.Node {
	says := map[string]string{"leaves": "soon"}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: uid, Annotations: says}}
}

// TestInterruptionsCountForAWhile: each node once, from when it was first seen, also under a name that comes again; and
// one that stays for longer than that is not a new one then.
func TestInterruptionsCountForAWhile(t *testing.T) {
	x := interruptions{now: time.Unix(0, 0), p: MovePolicy{Interrupted: []string{"leaves"}, MaxInterruptions: 2,
		InterruptionSpan: time.Hour}}
	stays, calm := leaving("a", "1"), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "c"}}
	for i, c := range []struct {
		minute int
		nodes  []*corev1.Node
		until  int
	}{
		{0, []*corev1.Node{stays, calm}, -1},
		{10, []*corev1.Node{stays, leaving("b", "2")}, 60},
		{20, []*corev1.Node{stays, calm}, 60},
		{30, []*corev1.Node{stays, leaving("b", "3")}, 70},
		{65, []*corev1.Node{stays}, 70},
		{70, []*corev1.Node{stays}, -1},
		{200, []*corev1.Node{stays}, -1},
	} {
		x.now = time.Unix(0, 0).Add(time.Duration(c.minute) * time.Minute)
		if x.turn(c.nodes...); x.distrusted() != c.until {
			t.Errorf("turn %d: distrusted until %d, want %d: %+v", i, x.distrusted(), c.until, x.list)
		}
	}
	if len(x.list) != 1 {
		t.Errorf("%+v are remembered, want the one that is there", x.list)
	}
	for i := range mostInterruptions + 50 {
		x.turn(stays, leaving(fmt.Sprintf("n%d", i), "x"))
	}
	if len(x.list) != mostInterruptions || x.list[0].Node != "a" {
		t.Errorf("%d are remembered, the first of %s", len(x.list), x.list[0].Node)
	}
	x.p.MaxInterruptions = 0
	if x.turn(stays); len(x.list) > 0 {
		t.Errorf("%+v are remembered where none is too many", x.list)
	}
}
