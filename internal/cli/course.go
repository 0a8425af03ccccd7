package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
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
	b.WriteString(guessLine(c.Last.GuessedFrom))
	if len(c.Steps) > 0 {
		b.WriteString("\n")
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		head := []string{"AFTER", "NODES", "PENDING", "BUY", "REMOVE"}
		moves := slices.ContainsFunc(c.Steps, func(s explain.CourseStep) bool { return len(s.Moves) > 0 })
		if moves {
			head = append(head, "MOVE")
		}
		row(table, head...)
		listed(table, c.Steps, most, all, func(s explain.CourseStep) {
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
			cells := []string{duration.HumanDuration(s.Time.Sub(c.Start)), fmt.Sprint(s.Before.Nodes),
				fmt.Sprint(s.Before.PendingPods), some(buy, all), some(remove, all)}
			if moves {
				cells = append(cells, some(moved(s.Moves), all))
			}
			row(table, cells...)
		})
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
		fmt.Fprintf(&b, "\nNot at rest: it was ended at the limit of %s, after %s, and plans still change something.\n",
			c.Limit, after)
		b.WriteString(underWay(c.Last.Moves))
	}
	sizes := explain.Plan{Before: c.Before, After: c.Last.Before}
	fmt.Fprintf(&b, "Pending pods: %d → %d.\n%s", c.Before.PendingPods, c.Last.Before.PendingPods, sizeLine(&sizes))
	return b.String()
}

// moved says what goes for what in the moves that begin.
func moved(list []model.MoveState) (out []string) {
	for i := range list {
		out = append(out, list[i].Text)
	}
	return out
}

// underWay says of moves that have not ended that both sides of them are in the sums.
func underWay(list []model.MoveState) string {
	n, more := 0, 0.0
	for i := range list {
		if m := &list[i]; !m.Over() && m.Stage != model.MoveWaits {
			n, more = n+1, more+m.Before*(1-float64(m.Left)/float64(max(1, len(m.Goes))))
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s under way. In the sums is what is bought for that, beside nodes for %.2f per hour that are "+
		"still to go.\n", spelling.Count(n, "move"), spelling.Are(n), more)
}

// some names a few of many, unless all are asked for.
func some(names []string, all bool) string {
	const few = 4
	if more := len(names) - few; more > 0 && !all {
		names = append(names[:few:few], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
