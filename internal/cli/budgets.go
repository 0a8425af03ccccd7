package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/explain"
)

// Budgets prints what each budget leaves, and its windows of the next days.
func Budgets(w io.Writer, all explain.Budgets, format Format) error {
	return printed(w, "budgets", all, format, func() string { return budgetsText(&all) })
}

// spanTime writes one end of a window, with the year where that is another one.
func spanTime(t, now time.Time) string {
	if t.Year() != now.Year() {
		return t.Format("Mon 02 Jan 2006 15:04Z")
	}
	return t.Format("Mon 02 Jan 15:04Z")
}

func budgetsText(all *explain.Budgets) string {
	if len(all.Budgets) == 0 {
		return "There are no budgets. The configuration file can have some; --max-scale-down-parallelism and " +
			"--max-drain-parallelism hold in any case.\n"
	}
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	states := make([]budget.State, len(all.Budgets))
	for i := range all.Budgets {
		states[i] = all.Budgets[i].State
	}
	budgetRows(table, states, all.Time)
	table.Flush()
	for i := range all.Budgets {
		l := &all.Budgets[i]
		for _, s := range l.Windows {
			fmt.Fprintf(&b, "%s counts from %s to %s\n", oneLine(l.Name), spanTime(s.From, all.Time), spanTime(s.To, all.Time))
		}
		for _, s := range l.Allow {
			fmt.Fprintf(&b, "%s lets nodes begin from %s to %s\n", oneLine(l.Name), spanTime(s.From, all.Time),
				spanTime(s.To, all.Time))
		}
		if l.More {
			fmt.Fprintf(&b, "%s has more windows in these seven days\n", oneLine(l.Name))
		}
	}
	return b.String()
}

// budgetRows has a row for each budget.
func budgetRows(w io.Writer, all []budget.State, at time.Time) {
	row(w, "BUDGET", "GROUPS OF", "REASONS", "ON THEIR WAY", "BEGUN", "LEFT", "NOW")
	for i := range all {
		l := &all[i]
		groups, reasons, going, began, left, now := "the cluster", "all", fmt.Sprint(l.Going), "", "any", "counts"
		if l.Policy != "" {
			groups = "policy " + l.Policy
		}
		if len(l.Reasons) > 0 {
			words := make([]string, len(l.Reasons))
			for j := range l.Reasons {
				words[j] = string(l.Reasons[j])
			}
			reasons = strings.Join(words, ", ")
		}
		if l.Limit != nil {
			going = fmt.Sprintf("%d of %d", l.Going, *l.Limit)
		}
		if l.Rate != nil {
			began = fmt.Sprintf("%d of %d in %s", l.Began, *l.Rate, strings.TrimSuffix(strings.TrimSuffix(l.Over, "0s"), "0m"))
		}
		if l.Left != nil {
			left = fmt.Sprint(*l.Left)
		}
		switch {
		case l.Closed:
			now = "nothing may begin"
		case !l.Counts:
			now = "does not count"
		}
		if l.Until != nil {
			now += " until " + spanTime(*l.Until, at)
		}
		row(w, l.Name, groups, reasons, going, began, left, now)
	}
}
