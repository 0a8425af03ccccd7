package spelling_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

func TestSomeAndAll(t *testing.T) {
	for _, x := range []struct {
		names     []string
		some, all string
	}{
		{nil, "", ""}, {[]string{"a"}, "a", "a"}, {[]string{"a", "b"}, "a and b", "a and b"},
		{[]string{"a", "b", "c"}, "a, b and c", "a, b and c"},
		{[]string{"a", "b", "c", "d", "e"}, "a, b and 3 others", "a, b, c, d and e"},
	} {
		if some, all := spelling.Some(x.names), spelling.All(x.names); some != x.some || all != x.all {
			t.Errorf("%v: %q and %q, want %q and %q", x.names, some, all, x.some, x.all)
		}
	}
}

func TestCount(t *testing.T) {
	for _, x := range []struct {
		n          int
		what, want string
	}{
		{0, "node", "0 nodes"}, {1, "node", "1 node"}, {2, "node", "2 nodes"}, {-1, "pod", "-1 pods"},
		{1, "class", "1 class"}, {3, "class", "3 classes"}, {2, "new node", "2 new nodes"},
	} {
		if got := spelling.Count(x.n, x.what); got != x.want {
			t.Errorf("Count(%d, %q) = %q, want %q", x.n, x.what, got, x.want)
		}
	}
	if got := spelling.Are(0) + spelling.Are(1) + spelling.Are(2); got != "areisare" {
		t.Errorf("Are(0, 1, 2) = %q", got)
	}
}
