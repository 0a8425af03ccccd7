package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// sizeText is how many nodes a group has, of how many it may have.
func sizeText(g *explain.Group) string {
	most := "no maximum"
	if g.Max < math.MaxInt32 {
		most = fmt.Sprintf("maximum %d", g.Max)
	}
	return fmt.Sprintf("%s, minimum %d, %s", spelling.Count(g.Target, "node"), g.Min, most)
}

func groupText(g *explain.Group, all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Group %s  %s", oneLine(string(g.Group)), sizeText(g))
	if g.Pool != "" {
		fmt.Fprintf(&b, "  pool %s", oneLine(string(g.Pool)))
	}
	if g.PricePerHour != nil {
		fmt.Fprintf(&b, "  %.2f per node and hour", *g.PricePerHour)
	}
	b.WriteString("\n")
	parts := []string{fmt.Sprintf("%d ready", g.Ready)}
	for _, part := range []struct {
		n    int
		what string
	}{{g.Booting, "booting"}, {g.Coming, "on their way"}, {g.Unready, "not ready"}, {g.Leaving, "leaving"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	if g.Missing > 0 {
		parts = append(parts, fmt.Sprintf("%d missing for %s", g.Missing, age(g.Time, g.MissingSince)))
	}
	for _, last := range []struct {
		what string
		at   time.Time
	}{{"last grown", g.LastGrowth}, {"last removed from", g.LastRemoval}} {
		if !last.at.IsZero() {
			parts = append(parts, last.what+" "+ago(g.Time, last.at))
		}
	}
	fmt.Fprintf(&b, "Nodes: %s\n", strings.Join(parts, ", "))
	if last := g.BoughtLast; last != nil {
		fmt.Fprintf(&b, "Bought from last, and not for cheaper nodes: %s; %s more\n", last.Why,
			duration.HumanDuration(last.Until.Sub(g.Time)))
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	growthRows(table, g)
	cameRows(table, g, all)
	for _, part := range []struct {
		title string
		rows  []explain.GroupHold
	}{{"HELD", g.Holds}, {"NOT REMOVED", g.GivenUp}} {
		if len(part.rows) > 0 {
			row(table, "")
			row(table, part.title, "FOR", "WHY")
		}
		for _, h := range part.rows {
			row(table, h.What, age(g.Time, h.Since), verdict(&h.Verdict, g.Time))
		}
	}
	classRows(table, g, all)
	templateRows(table, g)
	table.Flush()
	return b.String()
}

func growthRows(w io.Writer, g *explain.Group) {
	if len(g.Growth) > 0 {
		row(w, "")
		row(w, "ASKED", "FOR PODS", "UNITS", "GIVEN UP BECAUSE")
	}
	for _, a := range g.Growth {
		var units []string
		for _, state := range slices.Sorted(maps.Keys(a.Units)) {
			units = append(units, fmt.Sprintf("%d %s", a.Units[state], state))
		}
		who := strings.Join(a.For, ", ")
		if a.Found {
			who = "asked for by others, or before a restart"
		}
		row(w, ago(g.Time, a.At), who, strings.Join(units, ", "), strings.Join(a.Why, "; "))
	}
}

func cameRows(w io.Writer, g *explain.Group, all bool) {
	if len(g.Came) > 0 {
		row(w, "")
		row(w, "CAME", "READY", "FOR PODS", "OF THEM IT RUNS")
	}
	listed(w, g.Came, most, all, func(c explain.Came) {
		row(w, c.Node, ago(g.Time, c.Ready), strings.Join(c.For, ", "), fmt.Sprint(c.Runs))
	})
}

func classRows(w io.Writer, g *explain.Group, all bool) {
	if len(g.Classes) > 0 {
		row(w, "")
		row(w, "PENDING PODS", "PODS", "REASON", "DETAIL", "WOULD WORK IF")
	}
	listed(w, g.Classes, most, all, func(c explain.ClassAnswer) {
		works := worksIf(&explain.GroupAnswer{Verdict: c.Verdict, WorksIf: c.WorksIf, Instead: c.Instead}, g.Time)
		if c.Reason == model.Fits {
			works = ""
		}
		row(w, c.Class, fmt.Sprint(c.Pods), string(c.Reason), c.Detail, works)
	})
}

func templateRows(w io.Writer, g *explain.Group) {
	t := g.Template
	row(w, "")
	switch {
	case t == nil:
		row(w, "The provider has no template for it.")
		return
	case t.Node == "":
		row(w, "It has no ready node to hold against its template.")
		return
	}
	row(w, "TEMPLATE AGAINST "+t.Node+" ("+age(g.Time, t.Since)+" old)", "PREDICTED", "ACTUAL")
	for _, p := range t.Parts {
		row(w, p.What, p.Predicted, p.Actual)
	}
}
