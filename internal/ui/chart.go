package ui

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Chart is nodes by group over time, stacked, with the pods that waited and the decisions.
type Chart struct {
	Width, Height float64 // of the plot, without its labels
	Left          float64
	Areas         []Area
	Waiting       string // a path
	Lines         []Tick // across, by number of nodes
	Times         []Tick
	Marks         []Mark
	From, To      time.Time
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

// Mark is a decision that bought or removed something.
type Mark struct {
	X        float64
	Decision *decisions.Decision
}

const (
	chartWidth, chartHeight, chartLeft = 760.0, 150.0, 34.0
	chartTop                           = 14.0
	chartRight                         = 8.0
	mostAreas                          = 8 // the smaller groups are one area
	mostMarks                          = 60
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
	var waiting strings.Builder
	for i := range samples {
		fmt.Fprintf(&waiting, "%s%v %v", map[bool]string{true: "M", false: "L"}[i == 0], x(samples[i].at),
			y(float64(samples[i].waiting)))
	}
	c.Waiting = waiting.String()
	const ticks = 4
	for i := range ticks + 1 {
		t := c.From.Add(c.To.Sub(c.From) * time.Duration(i) / ticks)
		c.Times = append(c.Times, Tick{At: x(t), Label: t.UTC().Format("15:04"), Time: t})
	}
	for i := range made {
		d := &made[i]
		if (d.Nodes > 0 || len(d.Calls) > 0) && !d.Time.Before(c.From) && !d.Time.After(c.To) && len(c.Marks) < mostMarks {
			c.Marks = append(c.Marks, Mark{x(d.Time), d})
		}
	}
	return c
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
	for i := last; i > 0; i-- {
		fmt.Fprintf(&b, "V%vH%v", y(base[i]), x(samples[i-1].at))
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
