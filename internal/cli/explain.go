package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/plimsoll-dev/plimsoll/internal/explain"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// Pod prints why a pod has no node, or where it runs and what would move it.
func Pod(w io.Writer, p explain.Pod, format Format) error {
	return printed(w, "pod", p, format, func() string { return podText(&p, format == Wide) })
}

// Node prints what keeps a node.
func Node(w io.Writer, n explain.Node, format Format) error {
	return printed(w, "node", n, format, func() string { return nodeText(&n, format == Wide) })
}

// Group prints how a node group stands.
func Group(w io.Writer, g explain.Group, format Format) error {
	return printed(w, "group", g, format, func() string { return groupText(&g, format == Wide) })
}

func podText(p *explain.Pod, all bool) string {
	var b strings.Builder
	state := strings.TrimSpace(string(p.State) + " " + during(p.Time, p.Since))
	fmt.Fprintf(&b, "Pod %s  %s  %s", oneLine(p.Pod), state, cmp.Or(oneLine(p.Requests), "no requests"))
	switch {
	case p.Equal > 1:
		fmt.Fprintf(&b, "  (one of %d equal pods", p.Equal)
		if names := workloads(p, all); names != "" {
			fmt.Fprintf(&b, " of %s", oneLine(names))
		}
		b.WriteString(")")
	case p.Workload != "":
		fmt.Fprintf(&b, "  (of %s)", oneLine(p.Workload))
	}
	b.WriteString("\n")
	switch {
	case p.Pending != nil:
		pendingText(&b, p, all)
	case p.Running != nil:
		runningText(&b, p.Running, p.Time)
	case p.Why != "":
		fmt.Fprintln(&b, oneLine(p.Why))
	}
	return b.String()
}

// workloads are what made a pod and those that are equal to it.
func workloads(p *explain.Pod, all bool) string {
	switch {
	case len(p.Workloads) == 0:
		return p.Workload
	case all:
		return spelling.All(p.Workloads)
	}
	return spelling.Some(p.Workloads)
}

// noGroup is said of pods that get no room, and for which no group has an answer.
const noGroup = "There is no node group that could take them."

// pendingText is the outlook, the groups' answers and those of the nodes that are there.
func pendingText(b *strings.Builder, p *explain.Pod, all bool) {
	q := p.Pending
	fmt.Fprintf(b, "%s  ", q.Outlook)
	switch {
	case q.Verdict != nil && q.Outlook == explain.Blocked:
		if q.Fix == nil && len(q.Groups) == 0 {
			fmt.Fprintln(b, verdict(q.Verdict, p.Time))
			break
		}
		fix := "no fix was found"
		switch {
		case q.Fix != nil:
			fix = "nearest fix: " + oneLine(q.Fix.Text)
		case explain.Helpless(q.Groups):
			fix = oneLine(q.Groups[0].Instead)
		}
		fmt.Fprintf(b, "%s: %s\n", q.Verdict.Reason, fix)
	case q.Verdict != nil && q.Fix != nil:
		fmt.Fprintf(b, "%s; nearest fix: %s\n", oneLine(withDetail(string(q.Verdict.Reason), q.Verdict.Detail)),
			oneLine(q.Fix.Text))
	case q.Verdict != nil:
		fmt.Fprintln(b, verdict(q.Verdict, p.Time))
	case q.Outlook == explain.Blocked:
		fmt.Fprintln(b, noGroup)
	}
	largerLine(b, q.Larger)
	served := rooms{q.FitNow, q.FitSoon, q.FitBought, q.Left, q.Delayed}.String()
	switch with := p.Equal - q.Left; {
	case q.Outlook == explain.Blocked && with > 0:
		fmt.Fprintf(b, "In part: of %d equal pods %s; the scheduler picks which.\n", p.Equal, served)
	case q.Outlook == explain.Served || with > 0:
		fmt.Fprintln(b, served)
	}
	answersTable(b, q.Groups, p.Time, all)
	fmt.Fprintf(b, "existing %s", spelling.Count(q.Existing.Nodes, "node"))
	for i, r := range q.Existing.Reasons {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(b, "%s%d %s", sep, r.Nodes, r.Reason)
		if r.Closest != "" {
			fmt.Fprintf(b, " (closest: %s %s)", oneLine(r.Closest), oneLine(r.Detail))
		}
	}
	b.WriteString("\n")
	if q.Unsearched {
		b.WriteString(unsearched)
	}
	if q.Verdict != nil {
		if !q.Verdict.Since.IsZero() {
			fmt.Fprintf(b, "Same verdict since %s. ", clock(p.Time, q.Verdict.Since))
		}
		fmt.Fprintln(b, q.Verdict.Reason.Page())
	}
}

// largerLine says what a new group must have for pods that are too large for all.
func largerLine(b *strings.Builder, larger *explain.Fix) {
	if larger != nil {
		fmt.Fprintf(b, "With the requests as they are: %s\n", oneLine(larger.Text))
	}
}

// rooms are where pods get room, by how many.
type rooms struct{ now, soon, bought, left, delayed int }

func (r rooms) String() string {
	var out []string
	for _, part := range []struct {
		n          int
		verb, rest string
	}{
		{r.now, "fit", "on nodes that are there"}, {r.soon, "fit", "on nodes on their way"},
		{r.bought, "fit", "on new nodes"}, {r.left, "get", "no node"}, {r.delayed, "wish", "to wait"},
	} {
		switch {
		case part.n == 1:
			out = append(out, "1 "+spelling.Plural(part.verb)+" "+part.rest)
		case part.n > 1:
			out = append(out, fmt.Sprintf("%d %s %s", part.n, part.verb, part.rest))
		}
	}
	return strings.Join(out, ", ")
}

// unsearched is what is said where the search for fixes has ended early.
const unsearched = "Not every fix was tried: there are too many groups, or too large a cluster.\n"

// worksIf says what would let the pods in.
func worksIf(g *explain.GroupAnswer, now time.Time) string {
	switch {
	case g.WorksIf != nil:
		return g.WorksIf.Short
	case g.Instead != "":
		return g.Instead
	case g.Until.After(now):
		return "wait " + duration.HumanDuration(g.Until.Sub(now))
	}
	return "–"
}

// answersTable has a row for each group; groups that say the same, with the same fix, are one, unless all are asked
// for.
func answersTable(b *strings.Builder, groups []explain.GroupAnswer, now time.Time, all bool) {
	if len(groups) == 0 {
		return
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row(table, "GROUP", "RESULT", "REASON", "DETAIL", "WOULD WORK IF")
	type line struct {
		groups []string
		cells  []string
	}
	var lines []*line
	at := map[string]*line{}
	for i := range groups {
		g := &groups[i]
		result := "no"
		switch {
		case g.Fits:
			result = "fits"
		case g.Unknown:
			result = "unknown"
		}
		cells := []string{result, string(g.Reason), g.Detail, worksIf(g, now)}
		key := strings.Join(cells, "\x00")
		if same := at[key]; same != nil && !all {
			same.groups = append(same.groups, string(g.Group))
			continue
		}
		at[key] = &line{[]string{string(g.Group)}, cells}
		lines = append(lines, at[key])
	}
	listed(table, lines, most, all, func(l *line) {
		who := strings.Join(l.groups[:min(3, len(l.groups))], ", ")
		if more := len(l.groups) - 3; more > 0 {
			who += fmt.Sprintf(" and %d more", more)
		}
		row(table, append([]string{who}, l.cells...)...)
	})
	table.Flush()
}

// clock is a time of the day, with the date if that is another one.
func clock(now, at time.Time) string {
	if at.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return at.UTC().Format("15:04:05Z")
	}
	return at.UTC().Format("2006-01-02 15:04:05Z")
}

func runningText(b *strings.Builder, r *explain.RunningPod, now time.Time) {
	fmt.Fprintf(b, "On node %s", oneLine(r.Node))
	if r.Group != "" {
		fmt.Fprintf(b, " of group %s", oneLine(string(r.Group)))
	}
	fmt.Fprintf(b, ".\n%s", bought("Its node was bought", "its node", &r.Bought, now))
	switch {
	case r.Verdict != nil:
		fmt.Fprintf(b, "It keeps its node: %s\n", untried(r.Verdict, now))
	case r.Moves:
		b.WriteString("It is evicted when its node goes.\n")
	default:
		b.WriteString("It ends with its node, and does not keep it.\n")
	}
	switch {
	case r.NodeFate == explain.Leaves || r.NodeFate == explain.Goes:
		b.WriteString("Its node is on the way out: plimsoll explain node has more.\n")
	case r.NodeHold != nil:
		fmt.Fprintf(b, "Its node stays: %s\n", untried(r.NodeHold, now))
	}
}

// mostRunning is how many of the pods on a node the text shows: those that make up most of its use.
const mostRunning = 3

func nodeText(n *explain.Node, all bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Node %s  %s", oneLine(n.Node), strings.TrimSpace(n.State+" "+during(n.Time, n.Since)))
	if n.Group != "" {
		fmt.Fprintf(&b, "  group %s", oneLine(string(n.Group)))
	}
	if n.Use > 0 {
		fmt.Fprintf(&b, "  %s used", useText(n.Use))
	}
	if n.SavesPerHour != nil {
		fmt.Fprintf(&b, "  %.2f per hour", *n.SavesPerHour)
	}
	b.WriteString("\n")
	b.WriteString(bought("Bought", "it", &n.Bought, n.Time))
	fmt.Fprintf(&b, "%s", n.Fate)
	if v := n.Hold; v != nil {
		if n.Fate == explain.Keep && n.Tried == "" {
			fmt.Fprintf(&b, "  %s", untried(v, n.Time))
		} else {
			fmt.Fprintf(&b, "  %s", verdict(v, n.Time))
		}
		if !v.Since.IsZero() {
			fmt.Fprintf(&b, " (since %s)", clock(n.Time, v.Since))
		}
	}
	b.WriteString("\n")
	if !n.UnneededSince.IsZero() {
		fmt.Fprintf(&b, "Nothing needs it since %s.\n", clock(n.Time, n.UnneededSince))
	}
	if d := n.Drain; d != nil {
		fmt.Fprintf(&b, "Removal: %s for %s, begun %s\n", d.Stage, age(n.Time, d.Since), ago(n.Time, d.Began))
		if d.Why != "" {
			fmt.Fprintf(&b, "Rolled back: %s\n", oneLine(d.Why))
		}
	}
	if m := n.Move; m != nil {
		fmt.Fprintf(&b, "Move: %s (%s), %s, %.2f → %.2f per hour", oneLine(m.Text), m.Reason, m.Stage, m.Before, m.After)
		if waits := moveWaits(m, n.Time); waits != "" {
			fmt.Fprintf(&b, "; %s", oneLine(waits))
		}
		b.WriteString(".\n")
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	if d := n.Drain; d != nil && len(d.Waiting) > 0 {
		row(table, "STILL THERE", "ASKED", "REFUSED BECAUSE")
		for _, r := range d.Waiting {
			row(table, r.Pod, ago(n.Time, r.Since), r.Why)
		}
	}
	reservedRows(table, n.ReservedFor, all)
	if len(n.Pods) > 0 {
		row(table, "KEPT BY POD", "RULE", "REASON", "DETAIL", "WOULD CHANGE WITH (NOT TRIED)")
	}
	listed(table, n.Pods, 2*most, all, func(p explain.PodHold) {
		row(table, p.Pod, p.Rule, string(p.Reason), p.Detail, fixText(&p.Verdict, n.Time))
	})
	table.Flush()
	removalLines(&b, n)
	runsTable(&b, n.Runs, all)
	return b.String()
}

// bought says for whom a node was bought, by which decision, and what of that is not known. was is "Bought" or "Its
// node was bought", it is "it" or "its node".
func bought(was, it string, by *explain.Bought, now time.Time) string {
	var b strings.Builder
	if len(by.For) > 0 {
		was += " for " + oneLine(strings.Join(by.For, ", "))
	}
	if d := by.By; d != nil {
		fmt.Fprintf(&b, "%s at %s by decision %s", was, clock(now, d.Time), oneLine(d.Decision))
		if d.Why != "" {
			fmt.Fprintf(&b, ", %s", oneLine(d.Why))
		}
		b.WriteString(".\n")
	} else if len(by.For) > 0 {
		fmt.Fprintf(&b, "%s.\n", was)
	}
	if by.Unknown != "" {
		fmt.Fprintf(&b, "For whom %s was bought is not known: %s.\n", it, oneLine(by.Unknown))
	}
	return b.String()
}

// removalLines say what else keeps a node, and what its removal moves and saves.
func removalLines(b *strings.Builder, n *explain.Node) {
	without := map[string]string{
		"Rules": "these pods' rules", "Minimum": "that minimum", "Threshold": "that threshold",
	}[n.Tried]
	switch {
	case n.Then != nil:
		fmt.Fprintf(b, "Without %s: %s\n", without, verdict(n.Then, n.Time))
	case n.Tried != "":
		fmt.Fprintf(b, "Without %s nothing would keep it.\n", without)
	}
	fmt.Fprintf(b, "Its removal moves %s", spelling.Count(n.Evict, "pod"))
	if n.SavesPerHour != nil {
		fmt.Fprintf(b, " and saves %.2f per hour", *n.SavesPerHour)
		if n.Fate == explain.Keep && n.Evict+len(n.ReservedFor) > 0 {
			b.WriteString(", less what is bought for pods that then find no room")
		}
	}
	b.WriteString(".\n")
}

// reservedRows are the pods that a node is kept for.
func reservedRows(w io.Writer, list []explain.Reserved, all bool) {
	if len(list) == 0 {
		return
	}
	row(w, "KEPT FOR", "PODS", "ONE OF THEM")
	listed(w, list, most, all, func(r explain.Reserved) {
		if r.Waiting == 0 {
			row(w, r.For, fmt.Sprint(r.Count), "on a node that leaves")
			return
		}
		row(w, r.For, fmt.Sprintf("%d of %d pending", r.Count, r.Waiting), r.Pod)
	})
}

// runsTable has the pods on a node, the largest first.
func runsTable(b *strings.Builder, list []explain.NodePod, all bool) {
	if len(list) == 0 {
		return
	}
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	row(table, "RUNS", "OF", "REQUESTS", "SHARE")
	listed(table, list, mostRunning, all, func(p explain.NodePod) {
		row(table, p.Pod, p.Workload, cmp.Or(p.Requests, "no requests"), useText(p.Share))
	})
	table.Flush()
}
