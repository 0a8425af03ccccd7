package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Chart is nodes by group over time, stacked, with the pods that waited and the decisions.
type Chart struct {
	Width, Height float64 // of the plot, without its labels
	Left          float64
	Areas         []Area
	Waiting       string // a path; empty if no pod waited
	Lines         []Tick // across, by number of nodes
	Times         []Tick
	Moments       []Moment
	Marks         []Mark
	From, To      time.Time
}

// Moment is what one sees of a time by pointing at it: the strip from X on says the numbers of a sample.
type Moment struct {
	X, Width float64
	Time     time.Time
	Words    string
}

// Area is one group.
type Area struct {
	Name  string
	Path  string
	Color int
}

// Tick is a label at a place.
type Tick struct {
	At    float64
	Label string
	Time  time.Time
}

// Mark is a decision that bought or removed something. Label is by how many nodes, where there is room for it.
type Mark struct {
	X        float64
	Label    string
	Decision *decisions.Decision
}

const (
	chartWidth, chartHeight, chartLeft = 760.0, 150.0, 34.0
	chartTop                           = 14.0
	chartRight                         = 8.0
	mostAreas                          = 8 // the smaller groups are one area
	mostMarks                          = 60
	mostMoments                        = 60
	labelWidth                         = 34.0 // of a mark
)

// chartOf draws samples; nil where there are too few.
func chartOf(samples []sample, made []decisions.Decision) *Chart {
	if len(samples) < 2 {
		return nil
	}
	c := &Chart{Width: chartWidth, Height: chartHeight, Left: chartLeft,
		From: samples[0].at, To: samples[len(samples)-1].at}
	names, columns := stacked(samples)
	most := 1.0
	for i := range samples {
		sum := 0.0
		for _, col := range columns {
			sum += col[i]
		}
		most = max(most, sum, float64(samples[i].waiting))
	}
	step := niceStep(most)
	most = math.Ceil(most/step) * step
	x := func(t time.Time) float64 {
		return part(chartLeft + (chartWidth-chartLeft-chartRight)*float64(t.Sub(c.From))/float64(max(1, c.To.Sub(c.From))))
	}
	y := func(v float64) float64 { return part(chartHeight - v*(chartHeight-chartTop)/most) }
	for v := 0.0; v <= most; v += step {
		c.Lines = append(c.Lines, Tick{At: y(v), Label: number(int(v))})
	}
	base := make([]float64, len(samples))
	for k, col := range columns {
		c.Areas = append(c.Areas, Area{Name: names[k], Color: k, Path: steps(samples, col, base, x, y)})
		for i := range base {
			base[i] += col[i]
		}
	}
	c.Waiting = waitingLine(samples, x, y)
	c.Moments = momentsOf(samples, x)
	const ticks = 4
	for i := range ticks + 1 {
		t := c.From.Add(c.To.Sub(c.From) * time.Duration(i) / ticks)
		c.Times = append(c.Times, Tick{At: x(t), Label: t.UTC().Format("15:04"), Time: t})
	}
	c.mark(made, x)
	return c
}

// waitingLine is how many pods waited.
func waitingLine(samples []sample, x func(time.Time) float64, y func(float64) float64) string {
	if !slices.ContainsFunc(samples, func(s sample) bool { return s.waiting > 0 }) {
		return ""
	}
	var b strings.Builder
	for i := range samples {
		fmt.Fprintf(&b, "%s%v %v", map[bool]string{true: "M", false: "L"}[i == 0], x(samples[i].at),
			y(float64(samples[i].waiting)))
	}
	return b.String()
}

// momentsOf are strips that leave no gap, each about the sample in its middle.
func momentsOf(samples []sample, x func(time.Time) float64) (out []Moment) {
	each := (len(samples) + mostMoments - 1) / mostMoments
	for i := 0; i < len(samples)-1; i += each {
		s, end := &samples[min(i+each/2, len(samples)-1)], min(i+each, len(samples)-1)
		nodes := 0
		for _, g := range s.sizes {
			nodes += int(g.nodes)
		}
		words := plural(nodes, "node", "nodes")
		if s.waiting > 0 {
			words += ", " + plural(int(s.waiting), "pod waits", "pods wait")
		}
		from := x(samples[i].at)
		out = append(out, Moment{X: from, Width: part(x(samples[end].at) - from), Time: s.at, Words: words})
	}
	return out
}

// mark adds the decisions of the chart's time, given with the newest first. Labels stand to the left of their marks.
func (c *Chart) mark(made []decisions.Decision, x func(time.Time) float64) {
	for i := range made {
		d := &made[i]
		if d.Nodes == 0 && len(d.Calls) == 0 || d.Time.Before(c.From) || d.Time.After(c.To) || len(c.Marks) == mostMarks {
			continue
		}
		m := Mark{X: x(d.Time), Decision: d}
		if m.X >= c.Left+labelWidth {
			m.Label = changeOf(d)
		}
		if n := len(c.Marks); n > 0 && c.Marks[n-1].X < m.X+labelWidth {
			c.Marks[n-1].Label = ""
		}
		c.Marks = append(c.Marks, m)
	}
}

// changeOf is by how many nodes a decision changed the cluster; empty if by none.
func changeOf(d *decisions.Decision) string {
	removed := 0
	for i := range d.Calls {
		if d.Calls[i].Verb == model.Remove {
			removed++
		}
	}
	var parts []string
	if d.Nodes > 0 {
		parts = append(parts, "+"+number(d.Nodes))
	}
	if removed > 0 {
		parts = append(parts, "−"+number(removed))
	}
	return strings.Join(parts, " ")
}

// steps is the outline of an area over another one.
func steps(samples []sample, col, base []float64, x func(time.Time) float64, y func(float64) float64) string {
	var b strings.Builder
	last := len(samples) - 1
	fmt.Fprintf(&b, "M%v %v", x(samples[0].at), y(base[0]+col[0]))
	for i := 1; i <= last; i++ {
		fmt.Fprintf(&b, "H%vV%v", x(samples[i].at), y(base[i]+col[i]))
	}
	fmt.Fprintf(&b, "V%v", y(base[last]))
	for i := last; i > 0; i-- { // a size holds until the next sample, below as above
		fmt.Fprintf(&b, "V%vH%v", y(base[i-1]), x(samples[i-1].at))
	}
	return b.String() + "Z"
}

// stacked gives the groups, the largest first, and their sizes at each sample. Small ones are one.
func stacked(samples []sample) (names []string, columns [][]float64) {
	most := map[provider.GroupID]int32{}
	for _, s := range samples {
		for _, g := range s.sizes {
			most[g.group] = max(most[g.group], g.nodes)
		}
	}
	var ids []provider.GroupID
	for id := range most {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b provider.GroupID) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a, b))
	})
	at := map[provider.GroupID]int{}
	for i, id := range ids {
		k := min(i, mostAreas-1)
		at[id] = k
		switch {
		case k == len(names):
			names = append(names, string(id))
			columns = append(columns, make([]float64, len(samples)))
		default:
			names[k] = fmt.Sprintf("%d other groups", len(ids)-mostAreas+1)
		}
	}
	for i, s := range samples {
		for _, g := range s.sizes {
			columns[at[g.group]][i] += float64(g.nodes)
		}
	}
	return names, columns
}

// niceStep is the distance between lines: 1, 2 or 5 times a power of ten, at most five lines.
func niceStep(most float64) float64 {
	step := 1.0
	for i := 0; most/step > 5; i++ {
		step *= [...]float64{2, 2.5, 2}[i%3]
	}
	return step
}
