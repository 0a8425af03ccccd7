package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// most is how many rows of one kind a table has, unless all are asked for.
const most = 10

// Plan prints what would be done now, and why the rest would not.
func Plan(w io.Writer, p explain.Plan, format Format) error {
	return printed(w, "plan", p, format, func() string {
		out := planText{p: &p, all: format == Wide}
		return out.text()
	})
}

// printed writes an answer as JSON or YAML, else as text.
func printed(w io.Writer, what string, answer any, format Format, text func() string) error {
	var out []byte
	var err error
	switch format {
	case JSON:
		out, err = json.MarshalIndent(answer, "", "  ")
		out = append(out, '\n')
	case YAML:
		out, err = yaml.Marshal(answer)
	default:
		out = []byte(trimLines(text()))
	}
	if err != nil {
		return fmt.Errorf("render the %s as %s: %w", what, format, err)
	}
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("write the %s: %w", what, err)
	}
	return nil
}

// planText makes the text of a plan.
type planText struct {
	p   *explain.Plan
	all bool
}

func (t *planText) text() string {
	var b strings.Builder
	p := t.p
	fmt.Fprintf(&b, "Plan at %s: %s, %s pending\n", p.Time.UTC().Format(time.RFC3339),
		spelling.Count(p.Before.Nodes, "node"), spelling.Count(p.Before.PendingPods, "pod"))
	t.halted(&b)
	b.WriteString(guessLine(p.GuessedFrom))
	t.table(&b, t.buy)
	t.table(&b, t.remove)
	t.table(&b, t.moves)
	t.table(&b, t.giveUp)
	t.pending(&b)
	t.table(&b, t.kept)
	noticeLines(&b, p.Notices, 0)
	fmt.Fprintf(&b, "\n%s", t.sum())
	return b.String()
}

// guessLine says that node groups are a guess.
func guessLine(labels []string) string {
	if len(labels) == 0 {
		return ""
	}
	return fmt.Sprintf("Its node groups are guessed from the label %s: minimum 0, no maximum.\n",
		strings.Join(labels, " or "))
}

// halted says why nothing is decided, or why nothing is bought and removed.
func (t *planText) halted(b *strings.Builder) {
	p := t.p
	if p.Unhealthy != nil {
		fmt.Fprintf(b, "Nothing is decided: %s\n", verdict(p.Unhealthy, p.Time))
	}
	if p.InventoryError != "" {
		fmt.Fprintf(b, "Nothing is bought or removed: the node groups could not be read: %s\n", oneLine(p.InventoryError))
	}
}

// table writes the rows of one part, and nothing where there are none.
func (t *planText) table(b *strings.Builder, rows func(io.Writer)) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	rows(table)
	table.Flush()
	if text.Len() > 0 {
		b.WriteString("\n" + text.String())
	}
}

func (t *planText) buy(w io.Writer) {
	if len(t.p.Buy) == 0 {
		return
	}
	row(w, "BUY", "NODES", "MAX", "FOR PODS", "COST/H", "WHY")
	for _, g := range t.p.Buy {
		pods := 0
		counts := map[string]int{} // several classes may be of one name
		for _, c := range g.Pods {
			pods += c.Count
			counts[c.Class] += c.Count
		}
		var classes []string
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			classes = append(classes, fmt.Sprintf("%s x%d", name, counts[name]))
		}
		cells := []string{string(g.Group), fmt.Sprintf("%d → %d", g.From, g.To), limit(g.Max), fmt.Sprint(pods),
			signed(g.PricePerHour, g.To-g.From), g.Why}
		if t.all && len(classes) > 0 {
			cells[3] += " (" + strings.Join(classes, ", ") + ")"
		}
		row(w, cells...)
	}
}

func (t *planText) remove(w io.Writer) {
	if len(t.p.Remove) == 0 {
		return
	}
	row(w, "REMOVE", "GROUP", "WHEN", "USE", "PODS TO MOVE", "COST/H", "WHY NOT NOW")
	listed(w, t.p.Remove, most, t.all, func(r explain.Removal) {
		when, why := map[explain.When]string{
			explain.Now: "now", explain.UnderWay: "under way", explain.Later: "later", explain.Ended: "stays after all",
		}[r.When], ""
		if r.When == explain.UnderWay {
			when += " (" + string(r.Stage) + ")"
		}
		if r.Verdict != nil {
			why = verdict(r.Verdict, t.p.Time)
		}
		pods := fmt.Sprint(len(r.Moves))
		if t.all && len(r.Moves) > 0 {
			pods += " (" + strings.Join(r.Moves, ", ") + ")"
		}
		row(w, r.Node, string(r.Group), when, useText(r.Use), pods, signed(r.PricePerHour, -1), why)
	})
}

func (t *planText) moves(w io.Writer) {
	if len(t.p.Moves) == 0 {
		return
	}
	moveHead(w)
	listed(w, t.p.Moves, most, t.all, func(m model.MoveState) {
		moveRow(w, &m, t.p.Time, t.all)
	})
}

func (t *planText) giveUp(w io.Writer) {
	if len(t.p.GiveUp) == 0 {
		return
	}
	row(w, "GIVE UP", "GROUP", "WHEN", "WHY")
	listed(w, t.p.GiveUp, most, t.all, func(g explain.GivenUp) {
		when := "later"
		if g.Now {
			when = "now"
		}
		row(w, cmp.Or(string(g.Instance), fmt.Sprintf("%d requested", g.Count)), string(g.Group), when,
			verdict(&g.Verdict, t.p.Time))
	})
}

// pending says of each class of pods that stays pending what every group says, the nearest first.
func (t *planText) pending(b *strings.Builder) {
	waiting := slices.DeleteFunc(slices.Clone(t.p.Pending), func(w explain.Waiting) bool { return !w.Stays() })
	shown := len(waiting)
	if !t.all {
		shown = min(shown, most)
	}
	for i := range waiting[:shown] {
		v := &waiting[i]
		pods := v.Left
		if pods == 0 {
			pods = v.FitNow // the scheduler leaves them waiting
		}
		fmt.Fprintf(b, "\nSTAYS PENDING: %d of %s of %s%s (%s)\n", pods, spelling.Count(v.Pods, "pod"), oneLine(v.Class),
			waitedFor(t.p.Time, v.Since), cmp.Or(oneLine(v.Requests), "no requests"))
		if t.all && len(v.Workloads) > 1 {
			fmt.Fprintf(b, "These are the pods of %s.\n", oneLine(spelling.All(v.Workloads)))
		}
		for _, why := range []*explain.Verdict{v.Skipped, v.Disagrees} {
			if why != nil {
				fmt.Fprintln(b, verdict(why, t.p.Time))
			}
		}
		switch {
		case v.Fix != nil:
			fmt.Fprintf(b, "Nearest fix: %s\n", oneLine(v.Fix.Text))
		case len(v.Groups) > 0 && !v.Untried && !explain.Helpless(v.Groups):
			b.WriteString("No fix was found.\n")
		case len(v.Groups) == 0 && v.Left > 0 && v.Skipped == nil && v.Disagrees == nil && t.p.InventoryError == "":
			fmt.Fprintln(b, noGroup)
		}
		largerLine(b, v.Larger)
		answersTable(b, v.Groups, t.p.Time, t.all)
		if v.Unsearched {
			b.WriteString(unsearched)
		}
	}
	if more := len(waiting) - shown; more > 0 {
		fmt.Fprintf(b, "\n%s classes of pods stay pending; -o wide has all\n", andMore(more))
	}
}

// waitedFor says how long pods have waited, if that is known.
func waitedFor(now, since time.Time) string {
	if since.Unix() <= 0 {
		return ""
	}
	if ahead(now, since) {
		return ", since a time in the future"
	}
	return ", for " + age(now, since)
}

// kept counts the nodes that stay, by reason.
func (t *planText) kept(w io.Writer) {
	if !t.all || len(t.p.Kept) == 0 {
		return
	}
	row(w, "NODES STAY", "BECAUSE")
	for _, k := range t.p.Kept {
		row(w, fmt.Sprint(k.Nodes), string(k.Reason))
	}
}

// sum is what comes of it in all.
func (t *planText) sum() string {
	p := t.p
	var b strings.Builder
	switch {
	case p.InventoryError != "":
		b.WriteString("What would change is not known without the node groups.\n")
	case !p.Changes:
		b.WriteString("Nothing would change now.\n")
	}
	if p.Bound != nil {
		b.WriteString(boundText(p.Bound))
	}
	b.WriteString(t.places())
	b.WriteString(sizeLine(p))
	b.WriteString(costLine(p.Costs))
	return b.String()
}

// sizeLine is the cluster before and after.
func sizeLine(p *explain.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Nodes: %d → %d.", p.Before.Nodes, p.After.Nodes)
	if p.Before.CostPerHour != nil || p.After.CostPerHour != nil {
		before, after := amount(p.Before.CostPerHour), amount(p.After.CostPerHour)
		fmt.Fprintf(&b, " Cost per hour: %.2f → %.2f (%+.2f)", before, after, after-before)
		if n := p.After.Unpriced; n > 0 {
			fmt.Fprintf(&b, ", without %s of unknown price", spelling.Count(n, "node"))
		}
		b.WriteString(".")
	}
	b.WriteString("\n")
	return b.String()
}

// costLine is what the fleet costs now and then, and what no fleet is below.
func costLine(o *explain.Costs) string {
	if o == nil {
		return ""
	}
	text := fmt.Sprintf("Cost per hour: %.2f now, %.2f after purchases and removals, %.2f after these moves (%+.2f)",
		o.Now, o.AfterRemovals, o.AfterMoves, o.AfterMoves-o.AfterRemovals)
	if o.AtLeast != nil {
		text += fmt.Sprintf("; no fleet for these pods is below %.2f", *o.AtLeast)
	}
	return text + ".\n"
}

// places says where the pods go that have no node.
func (t *planText) places() string {
	if t.p.Before.PendingPods == 0 {
		return ""
	}
	var r rooms
	for i := range t.p.Pending {
		w := &t.p.Pending[i]
		r.now, r.soon, r.bought = r.now+w.FitNow, r.soon+w.FitSoon, r.bought+w.FitBought
		r.left, r.delayed = r.left+w.Left, r.delayed+w.Delayed
	}
	return fmt.Sprintf("Pending pods: %d, of which %s.\n", t.p.Before.PendingPods, r)
}

func boundText(b *explain.Bound) string {
	text := fmt.Sprintf("%s %s bought for pods; any plan buys at least %d for them", spelling.Count(b.Nodes, "node"),
		spelling.Are(b.Nodes), b.AtLeast)
	if gap := b.Nodes - b.AtLeast; gap > 0 && b.AtLeast > 0 {
		text += fmt.Sprintf(" (this one is at most %.0f%% above the best)", 100*float64(gap)/float64(b.AtLeast))
	}
	if b.CostPerHour != nil {
		text += fmt.Sprintf(". They cost %.2f per hour; any plan costs at least %.2f", *b.CostPerHour, *b.AtLeastPerHour)
	}
	if b.CostPerPod != nil {
		text += fmt.Sprintf(". That is %.4f for each pod, and at least %.4f", *b.CostPerPod, *b.AtLeastPerPod)
	}
	text += ".\n"
	if len(b.Gap) > 0 {
		text += "Between the two: " + strings.Join(b.Gap, "; ") + ".\n"
	}
	return text
}

// verdict writes a reason with its numbers, its end, and what would change it.
func verdict(v *explain.Verdict, now time.Time) string {
	text := withDetail(string(v.Reason), v.Detail)
	if fix := fixText(v, now); fix != "" {
		text += "; would change with: " + fix
	}
	return oneLine(text)
}

// untried is a verdict whose fix nothing but its words speak for.
func untried(v *explain.Verdict, now time.Time) string {
	text := verdict(v, now)
	if v.Fix != "" && !v.Until.After(now) {
		text += " (not tried)"
	}
	return text
}

// fixText says what would change a verdict: time, or an act of a person.
func fixText(v *explain.Verdict, now time.Time) string {
	var parts []string
	if v.Until.After(now) {
		parts = append(parts, "wait "+duration.HumanDuration(v.Until.Sub(now)))
	}
	if v.Fix != "" {
		parts = append(parts, v.Fix)
	}
	return strings.Join(parts, "; ")
}

// limit is a group's maximum, which may be none.
func limit(n int) string {
	if n >= math.MaxInt32 {
		return "-"
	}
	return fmt.Sprint(n)
}

// signed is what some nodes cost more, or less.
func signed(price *float64, nodes int) string {
	if price == nil {
		return "?"
	}
	return fmt.Sprintf("%+.2f", *price*float64(nodes))
}

func amount(x *float64) float64 {
	if x == nil {
		return 0
	}
	return *x
}
