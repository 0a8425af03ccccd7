package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Course prints what comes of a cluster until nothing changes.
func Course(w io.Writer, c explain.Course, format Format) error {
	return printed(w, "plan until rest", c, format, func() string { return courseText(&c, format == Wide) })
}

func courseText(c *explain.Course, all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "From %s: %s, %s pending\n", c.Start.UTC().Format(time.RFC3339),
		spelling.Count(c.Before.Nodes, "node"), spelling.Count(c.Before.PendingPods, "pod"))
	last := planText{p: &c.Last, all: all}
	last.halted(&b)
	if len(c.Steps) > 0 {
		b.WriteString("\n")
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		row(table, "AFTER", "NODES", "PENDING", "BUY", "REMOVE")
		shown := last.shown(len(c.Steps))
		for i := range c.Steps[:shown] {
			s := &c.Steps[i]
			var buy, remove []string
			for _, g := range s.Buy {
				buy = append(buy, fmt.Sprintf("%s %d → %d", g.Group, g.From, g.To))
			}
			for _, r := range s.Remove {
				if r.When == explain.Ended {
					remove = append(remove, r.Node+" stays after all")
					continue
				}
				remove = append(remove, r.Node)
			}
			for _, g := range s.GiveUp {
				remove = append(remove, fmt.Sprintf("%s of %s does not come", spelling.Count(g.Count, "machine"), g.Group))
			}
			row(table, duration.HumanDuration(s.Time.Sub(c.Start)), fmt.Sprint(s.Before.Nodes), fmt.Sprint(s.Before.PendingPods),
				some(buy, all), some(remove, all))
		}
		last.more(table, len(c.Steps)-shown)
		table.Flush()
	}
	last.pending(&b)
	last.table(&b, last.kept)
	after := duration.HumanDuration(c.End.Sub(c.Start))
	switch {
	case c.AtRest && !c.Changes():
		fmt.Fprintf(&b, "\nNothing changes.\n")
	case c.AtRest:
		fmt.Fprintf(&b, "\nNothing changes any more after %s.\n", after)
	default:
		fmt.Fprintf(&b, "\nIt does not come to rest: plans still change something after %s.\n", after)
	}
	sizes := explain.Plan{Before: c.Before, After: c.Last.Before}
	fmt.Fprintf(&b, "Pending pods: %d → %d.\n%s", c.Before.PendingPods, c.Last.Before.PendingPods, sizeLine(&sizes))
	return b.String()
}

// some names a few of many, unless all are asked for.
func some(names []string, all bool) string {
	const few = 4
	if more := len(names) - few; more > 0 && !all {
		names = append(names[:few:few], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
