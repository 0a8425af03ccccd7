package ui

import (
	"fmt"
	"html/template"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// day is when the samples of these tests begin.
var day = time.Date(2026, 1, 2, 14, 0, 0, 0, time.UTC)

// sizesAt are samples a minute apart, each with the sizes of the groups a, b and so on.
func sizesAt(waiting int32, sizes ...[]int32) (out []sample) {
	for i, list := range sizes {
		s := sample{at: day.Add(time.Duration(i) * time.Minute), waiting: waiting}
		for k, n := range list {
			s.sizes = append(s.sizes, size{provider.GroupID(rune('a' + k)), n})
		}
		out = append(out, s)
	}
	return out
}

// edges are an outline's heights by the pieces of time that they hold for: above, and below.
func edges(path string) (above, below map[string]float64) {
	above, below = map[string]float64{}, map[string]float64{}
	var x, y float64
	for _, step := range regexp.MustCompile(`([MHV])([\d.]+)(?: ([\d.]+))?`).FindAllStringSubmatch(path, -1) {
		v, _ := strconv.ParseFloat(step[2], 64)
		switch step[1] {
		case "M":
			x = v
			y, _ = strconv.ParseFloat(step[3], 64)
		case "V":
			y = v
		case "H":
			if v > x {
				above[fmt.Sprint(x, v)] = y
			} else {
				below[fmt.Sprint(v, x)] = y
			}
			x = v
		}
	}
	return above, below
}

// Areas lie on each other without a gap or an overlap, also where a group has changed its size.
func TestAreasLieOnEachOther(t *testing.T) {
	c := chartOf(sizesAt(0, []int32{9, 4, 2}, []int32{12, 4, 2}, []int32{10, 7, 1}, []int32{10, 7, 1}), nil)
	_, floor := edges(c.Areas[0].Path)
	for piece, y := range floor {
		if y != chartHeight {
			t.Errorf("the lowest area is at %v from %s", y, piece)
		}
	}
	for i := range c.Areas[1:] {
		above, _ := edges(c.Areas[i].Path)
		_, below := edges(c.Areas[i+1].Path)
		if len(above) != 3 || !maps.Equal(above, below) {
			t.Errorf("%s ends at %v, and %s begins at %v", c.Areas[i].Name, above, c.Areas[i+1].Name, below)
		}
	}
}

// Each time of the chart says its numbers to who points at it, in sixty pieces at most and without a gap.
func TestMomentsOfAChart(t *testing.T) {
	var sizes [][]int32
	for i := range 150 {
		sizes = append(sizes, []int32{int32(i), 1})
	}
	c := chartOf(sizesAt(3, sizes...), nil)
	if n := len(c.Moments); n < mostMoments/2 || n > mostMoments {
		t.Fatalf("%d moments", n)
	}
	at := chartLeft
	for _, m := range c.Moments {
		if part(m.X-at) != 0 || m.Width <= 0 {
			t.Errorf("a moment begins at %v, and the one before ends at %v", m.X, at)
		}
		at = m.X + m.Width
	}
	first := c.Moments[0]
	if part(at) != chartWidth-chartRight || first.Words != "2 nodes, 3 pods wait" ||
		!first.Time.Equal(day.Add(time.Minute)) {
		t.Errorf("the first is %+v, the last ends at %v", first, at)
	}
	if c := chartOf(sizesAt(0, []int32{1}, []int32{1}), nil); c.Waiting != "" || c.Moments[0].Words != "1 node" {
		t.Errorf("no pod waits, and the chart has %q and %q", c.Waiting, c.Moments[0].Words)
	}
}

// A decision's mark says by how many nodes it changes the cluster, unless the mark before is too near.
func TestMarksSayWhatChanged(t *testing.T) {
	call := func(v model.Verb) decisions.Call { return decisions.Call{Verb: v} }
	at := func(minute int, nodes int, verbs ...model.Verb) decisions.Decision {
		d := decisions.Decision{Time: day.Add(time.Duration(minute) * time.Minute), Nodes: nodes}
		for _, v := range verbs {
			d.Calls = append(d.Calls, call(v))
		}
		return d
	}
	samples := sizesAt(0, make([][]int32, 61)...)
	c := chartOf(samples, []decisions.Decision{at(60, 2, model.Grow, model.Remove), at(40, 0, model.Remove, model.Remove),
		at(31, 0, model.Remove), at(30, 1200, model.Grow), at(20, 0), at(0, 1, model.Grow)})
	var got []string
	for _, m := range c.Marks {
		got = append(got, m.Label)
	}
	if want := "+2 −1|−2||+1\u202f200|"; strings.Join(got, "|") != want {
		t.Errorf("%q, not %q", strings.Join(got, "|"), want)
	}
}

// Numbers are read at a glance: thousands are grouped, and a time has no fraction that tells nothing.
func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		money(2686.064): "2\u202f686.06", money(19.7): "19.70", millis(4.796): "5 ms", millis(0.141): "0.1 ms",
		millis(1234.5): "1\u202f235 ms", number(1001): "1\u202f001",
	} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// Without script, a time of these hours is short, and another one has its date.
func TestTimesHaveTheirDate(t *testing.T) {
	near, far := time.Now().UTC().Add(-time.Hour), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for got, want := range map[template.HTML]string{
		clock(near): near.Format(">15:04:05 UTC<"), clock(far): ">2026-01-02 03:04:05 UTC<",
		ago(near): near.Format(">since 15:04:05 UTC<"), at(far): ">at 2026-01-02 03:04:05 UTC<",
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s, not %s", got, want)
		}
	}
}

// Groups of a decision with the same verdict stand together, the nearest first.
func TestAlikeGroups(t *testing.T) {
	got := fmt.Sprint(alike([]decisions.GroupVerdict{{Group: "a", Verdict: 1}, {Verdict: 2}, {Group: "b", Verdict: 0},
		{Group: "c", Verdict: 1}}))
	if want := "[{[a c] 1} {[] 2} {[b] 0}]"; got != want {
		t.Errorf("%s, not %s", got, want)
	}
}
