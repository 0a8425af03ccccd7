package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// stale is the age from which a document gets a warning. A running Plimsoll writes it each scan
// interval.
const stale = time.Minute

// Status renders what the status ConfigMap says. The table is for a person: the cluster, a line per
// group, the scale-ups in flight, the nodes that are being removed and those that stay, as of now;
// json and yaml are the bare document.
func Status(w io.Writer, m *corev1.ConfigMap, now time.Time, format Format) error {
	d, text, err := status.DocumentIn(m)
	if err != nil {
		return err
	}
	switch format {
	case JSON:
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			return fmt.Errorf("render the status as json: %w", err)
		}
		text = string(raw) + "\n"
	case YAML:
	default:
		// A memory that cannot be parsed does not affect the document.
		memory, unreadable := status.MemoryIn(m)
		text = statusText(d, memory, now)
		if unreadable != nil {
			text += "\nScale-ups in flight are unknown: " + oneLine(unreadable.Error()) + "\n"
		}
	}
	if _, err := io.WriteString(w, text); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

func statusText(d status.Document, memory model.Memory, now time.Time) string {
	var b strings.Builder
	// 1. The cluster.
	made := d.Made()
	written := ago(now, made)
	if d.AutoscalerStatus != status.Running {
		fmt.Fprintf(&b, "Autoscaler: %s, written %s\n", stateText(d.AutoscalerStatus), written)
	} else {
		c := d.ClusterWide
		fmt.Fprintf(&b, "Cluster: %s%s, written %s\n",
			stateText(c.Health.Status), forSoLong(now, c.Health.LastTransitionTime), written)
		fmt.Fprintf(&b, "Nodes: %s\n", countsText(c.Health.NodeCounts))
		fmt.Fprintf(&b, "Scale-up: %s%s; scale-down: %s%s\n",
			stateText(c.ScaleUp.Status), forSoLong(now, c.ScaleUp.LastTransitionTime),
			candidatesText(c.ScaleDown), forSoLong(now, c.ScaleDown.LastTransitionTime))
	}
	if d.Message != "" {
		fmt.Fprintf(&b, "Message: %s\n", oneLine(d.Message))
	}
	switch {
	case made.IsZero():
	case ahead(now, made):
		b.WriteString("Note: it was written in the future: check the clocks, here and where the autoscaler runs\n")
	case now.Sub(made) > stale:
		fmt.Fprintf(&b, "Note: it is %s old; is the autoscaler running?\n", age(now, made))
	}
	// 2. Pods that get no room, or that the scheduler refuses although we find that they fit. Then what is blocked.
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	pendingRows(table, d.Pending, now)
	disagreementRows(table, d.Disagreements, now)
	heldRows(table, d.NodeGroups, now)
	// 3. Groups, those with problems or activity first.
	if len(d.NodeGroups) > 0 {
		fmt.Fprintln(table,
			"\nGROUP\tTARGET\tREADY\tNOT STARTED\tUNREADY\tMISSING\tUNREGISTERED\tMIN-MAX\tHEALTH\tCANDIDATES\tSCALE-UP")
	}
	for _, g := range status.ByConcern(d.NodeGroups) {
		fmt.Fprintln(table, strings.Join(groupStatusRow(g, memory, now), "\t"))
	}
	// 4. Asks in flight.
	asks := slices.DeleteFunc(slices.Clone(memory.Asks), func(a model.Ask) bool {
		return status.Progress(a).Waiting() == 0
	})
	slices.SortFunc(asks, func(a, b model.Ask) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	if len(asks) > 0 {
		fmt.Fprintln(table, "\nASKED OF\tAGE\tNODES\tWITHOUT INSTANCE\tUNREGISTERED\tNOT READY\tREADY\tGIVEN UP\tBY")
	}
	for _, a := range asks {
		t, by := status.Progress(a), "Plimsoll"
		if a.Found {
			by = "others, or before a restart"
		}
		row := []string{oneLine(string(a.Group)), age(now, a.At)}
		for _, n := range []int{len(a.Units), t.Asked, t.Exist, t.Registered, t.Ready, t.GivenUp} {
			row = append(row, strconv.Itoa(n))
		}
		fmt.Fprintln(table, strings.Join(append(row, by), "\t"))
	}
	// 5. Nodes that are being removed, moves, what budgets leave, and nodes that stay.
	drainRows(table, d.Drains, now)
	if len(d.Moves) > 0 {
		row(table, "")
		moveHead(table)
	}
	for i := range d.Moves {
		moveRow(table, &d.Moves[i], now, false)
	}
	if len(d.Budgets) > 0 {
		row(table, "")
		budgetRows(table, d.Budgets, now)
	}
	stayRows(table, d.Stays, now)
	table.Flush()
	// 6. Notices on the configuration.
	noticeLines(&b, d.Notices.List, d.Notices.Total-len(d.Notices.List))
	return trimLines(b.String())
}

// pendingRows are the classes of pods that get no room, those with the most pods first.
func pendingRows(w io.Writer, p status.Pending, now time.Time) {
	if p.Classes == 0 {
		return
	}
	fmt.Fprintln(w, "\nPENDING\tPODS\tOLDEST\tBECAUSE\tFOR\tNEXT TRY\tWOULD CHANGE WITH")
	for i := range p.List {
		c := &p.List[i]
		why := withDetail(string(c.Reason), c.Detail)
		if c.Group != "" {
			why = c.Group + ": " + why
		}
		next := ""
		if c.NextTry != nil && c.NextTry.After(now) {
			next = "in " + duration.HumanDuration(c.NextTry.Sub(now))
		}
		row(w, c.Pods, fmt.Sprintf("%d of %d", c.Count, c.Of), age(now, c.Oldest.Time), why, age(now, c.Since.Time), next,
			c.Trial.Mark(c.Fix, ""))
	}
	if more := p.Classes - len(p.List); more > 0 {
		row(w, andMore(more)+" classes of pods")
	}
}

func disagreementRows(w io.Writer, list []status.Disagreement, now time.Time) {
	if len(list) > 0 {
		fmt.Fprintln(w, "\nREFUSED BY THE SCHEDULER\tPODS\tFOR\tWHY")
	}
	for _, r := range list {
		row(w, r.Pods, strconv.Itoa(r.Count), age(now, r.Since.Time), r.Message)
	}
}

// heldRows are the operations that the provider holds, the unhealthy groups, and the machines that
// are given up and stay, each with the reason.
func heldRows(w io.Writer, groups []status.NodeGroup, now time.Time) {
	var held, sick, stuck []string
	for _, g := range groups {
		name := oneLine(g.Name)
		for _, hold := range g.Holds {
			held = append(held, name+"\t"+oneLine(hold))
		}
		if g.Unhealthy != "" {
			sick = append(sick, name+"\t"+oneLine(g.Unhealthy))
		}
		for _, n := range g.NotRemoved {
			stuck = append(stuck, strings.Join(notRemovedRow(name, n, now), "\t"))
		}
	}
	for _, part := range []struct {
		head string
		rows []string
	}{{"HELD\tWHY", held}, {"UNHEALTHY\tWHY", sick}, {"NOT REMOVED\tGROUP\tFOR\tWHY", stuck}} {
		if len(part.rows) > 0 {
			fmt.Fprintf(w, "\n%s\n%s\n", part.head, strings.Join(part.rows, "\n"))
		}
	}
}

func notRemovedRow(group string, n status.NotRemoved, now time.Time) []string {
	what := oneLine(n.Instance)
	if what == "" {
		what = fmt.Sprintf("%d requested", n.Count)
	}
	since := ""
	if n.Since != nil {
		since = age(now, n.Since.Time)
	}
	why := oneLine(n.Reason)
	if n.Detail != "" {
		why += ": " + oneLine(n.Detail)
	}
	if n.Fix != "" {
		why += "; would change with: " + oneLine(n.Fix)
	}
	return []string{what, group, since, why}
}

func groupStatusRow(g status.NodeGroup, memory model.Memory, now time.Time) []string {
	n := g.Health.NodeCounts
	unregistered := strconv.Itoa(n.Unregistered)
	if n.LongUnregistered > 0 {
		unregistered = fmt.Sprintf("%d (%d too long)", n.Unregistered+n.LongUnregistered, n.LongUnregistered)
	}
	missing := strconv.Itoa(g.Missing.Nodes)
	if g.Missing.Nodes > 0 {
		missing += forSoLong(now, g.Missing.Since)
	}
	return []string{
		oneLine(g.Name), strconv.Itoa(g.Health.CloudProviderTarget), strconv.Itoa(n.Registered.Ready),
		strconv.Itoa(n.Registered.NotStarted),
		strconv.Itoa(n.Registered.Unready.Total), missing, unregistered,
		fmt.Sprintf("%d-%d", g.Health.MinSize, g.Health.MaxSize),
		stateText(g.Health.Status) + forSoLong(now, g.Health.LastTransitionTime), strconv.Itoa(g.ScaleDown.Candidates),
		scaleUpText(g, memory, now),
	}
}

// scaleUpText is a group's scale-up state, with the end of a backoff, if known, and its reason.
func scaleUpText(g status.NodeGroup, memory model.Memory, now time.Time) string {
	text := stateText(g.ScaleUp.Status)
	info := g.ScaleUp.BackoffInfo
	if info == (status.BackoffInfo{}) {
		return text
	}
	if g.ScaleUp.Status != status.Backoff {
		text += ", " + string(status.Backoff)
	}
	if until := memory.Backoffs[provider.GroupID(g.Name)].Until; until.After(now) {
		text += fmt.Sprintf(" until %s (in %s)", until.UTC().Format("15:04:05Z"), duration.HumanDuration(until.Sub(now)))
	}
	text += ": " + oneLine(info.ErrorCode)
	if message := oneLine(info.ErrorMessage); message != "" {
		for _, hold := range g.Holds {
			if strings.Contains(oneLine(hold), message) {
				return text + ", see HELD"
			}
		}
		text += ": " + message
	}
	return text
}

// stateText is a state as part of a line. The ConfigMap may have any text there.
func stateText(s status.State) string { return oneLine(string(s)) }

// oneLine is foreign text as part of a line. What cannot be printed, or would move the cursor or turn the text around,
// is a space.
func oneLine(message string) string {
	return strings.Join(
		strings.FieldsFunc(message, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }), " ",
	)
}

func countsText(n status.NodeCounts) string {
	r := n.Registered
	text := fmt.Sprintf("%d registered: %d ready, %d not started, %d unready",
		r.Total, r.Ready, r.NotStarted, r.Unready.Total)
	for _, part := range []struct {
		n    int
		what string
	}{{r.Suspended, "suspended"}, {r.BeingDeleted, "being deleted"}} {
		if part.n > 0 {
			text += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	text += fmt.Sprintf("; %d unregistered", n.Unregistered+n.LongUnregistered)
	if n.LongUnregistered > 0 {
		text += fmt.Sprintf(", %d of them for too long", n.LongUnregistered)
	}
	return text
}

func candidatesText(s status.ScaleDown) string {
	if s.Candidates == 0 {
		return stateText(s.Status)
	}
	return fmt.Sprintf("%s (%d)", stateText(s.Status), s.Candidates)
}

func forSoLong(now time.Time, since metav1.Time) string {
	switch {
	case since.IsZero():
		return ""
	case ahead(now, since.Time):
		return " since a time in the future"
	}
	return " for " + age(now, since.Time)
}

func ago(now, at time.Time) string {
	switch {
	case at.IsZero():
		return "at an unknown time"
	case ahead(now, at):
		return "in the future"
	}
	return age(now, at) + " ago"
}

// during is how long a state lasts, behind its name.
func during(now, since time.Time) string {
	if ahead(now, since) {
		return "since a time in the future"
	}
	return age(now, since)
}

// ahead reports whether a time lies in the future by more than clocks that are kept differ.
func ahead(now, at time.Time) bool { return at.Sub(now) > stale }

// age is rounded for a person, and empty if the time is not known.
func age(now, at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case ahead(now, at):
		return "in the future"
	}
	return duration.HumanDuration(max(0, now.Sub(at)))
}
