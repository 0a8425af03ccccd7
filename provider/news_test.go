package provider

import (
	"slices"
	"testing"
)

// A notice is reported once, and again if it was over in between.
func TestNews(t *testing.T) {
	var news News
	a, b := Notice{Group: "g", Code: "A", Message: "a"}, Notice{Group: "g", Code: "B", Message: "b"}
	for i, c := range []struct{ hold, want []Notice }{
		{[]Notice{a, a}, []Notice{a}},
		{[]Notice{b, a}, []Notice{b}},
		{[]Notice{b}, nil},
		{[]Notice{a, b}, []Notice{a}},
	} {
		if got := news.Among(c.hold); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
}
