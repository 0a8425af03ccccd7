package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/report/status"
)

// perReason is how many nodes the table shows for each reason that nodes stay
// for.
const perReason = 10

// drainRows writes the nodes that are being removed.
func drainRows(w io.Writer, d status.Drains, now time.Time) {
	if d.Total == 0 {
		return
	}
	fmt.Fprintln(w, "\nLEAVES\tGROUP\tSTAGE\tFOR\tPODS LEFT\tBLOCKED BY")
	for i := range d.Nodes {
		n := &d.Nodes[i]
		row(w, n.Node, n.Group, string(n.Stage), age(now, n.Since.Time), fmt.Sprint(n.PodsLeft), heldUp(n, now))
	}
	if more := d.Total - len(d.Nodes); more > 0 {
		row(w, andMore(more))
	}
}

// heldUp says what blocks a drain.
func heldUp(n *status.Drain, now time.Time) string {
	switch {
	case n.Reason != "" || n.Why != "":
		return "rolled back: " + withDetail(string(n.Reason), n.Why)
	case n.Refused != nil:
		return fmt.Sprintf("%s, asked for %s: %s", n.Refused.Pod, ago(now, n.Refused.Since.Time), n.Refused.Why)
	}
	return ""
}

// stayRows writes the nodes that stay, some for each reason.
func stayRows(w io.Writer, s status.Stays, now time.Time) {
	if s.Total == 0 {
		return
	}
	byReason := map[model.Reason][]*status.Stay{}
	for i := range s.Nodes {
		byReason[s.Nodes[i].Reason] = append(byReason[s.Nodes[i].Reason], &s.Nodes[i])
	}
	fmt.Fprintln(w, "\nSTAYS BECAUSE\tNODE\tGROUP\tUSE\tFOR\tUNNEEDED FOR\tDETAIL")
	shown := 0
	for _, r := range s.Reasons {
		title := fmt.Sprintf("%s (%d)", r.Reason, r.Nodes)
		nodes := byReason[r.Reason]
		nodes = nodes[:min(perReason, len(nodes))]
		if len(nodes) == 0 {
			row(w, title, "", "", "", "", "", "")
			continue
		}
		shown += len(nodes)
		for _, n := range nodes {
			row(w, title, n.Node, n.Group, useText(n.Use), age(now, n.Since.Time), age(now, n.UnneededSince.Time),
				detailText(n, now))
			title = ""
		}
		if more := r.Nodes - len(nodes); more > 0 {
			row(w, "", andMore(more), "", "", "", "", "")
		}
	}
	if shown == s.Total {
		return
	}
	fmt.Fprintln(w)
	if shown < len(s.Nodes) {
		fmt.Fprintf(w, "-o yaml lists %d of the %d. ", len(s.Nodes), s.Total)
	}
	fmt.Fprintf(w, "With --annotate-nodes, each node says it itself, in the annotation %s.\n", model.AnnotationStays)
}

// row writes cells of foreign text, each as one line.
func row(w io.Writer, cells ...string) {
	for i := range cells {
		cells[i] = oneLine(cells[i])
	}
	fmt.Fprintln(w, strings.Join(cells, "\t"))
}

// listed writes the first rows of a list, all of them for -o wide, and says how many are left out.
func listed[T any](w io.Writer, list []T, first int, all bool, each func(T)) {
	if all {
		first = len(list)
	}
	for _, one := range list[:min(first, len(list))] {
		each(one)
	}
	if more := len(list) - first; more > 0 {
		row(w, andMore(more)+"; -o wide has all")
	}
}

// Rows prints a table.
func Rows(w io.Writer, rows [][]string) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		row(table, cells...)
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

func andMore(n int) string { return fmt.Sprintf("and %d more", n) }

// detailText has the numbers, when the reason ends by itself, and what would change it.
func detailText(n *status.Stay, now time.Time) string {
	var parts []string
	if n.Detail != "" {
		parts = append(parts, n.Detail)
	}
	if n.Until.After(now) {
		parts = append(parts, "ends in "+duration.HumanDuration(n.Until.Sub(now)))
	}
	if n.Fix != "" {
		parts = append(parts, "would change with: "+n.Fix)
	}
	return strings.Join(parts, "; ")
}

func withDetail(reason, detail string) string {
	if reason == "" || detail == "" {
		return reason + detail
	}
	return reason + ": " + detail
}

// useText is empty where the use is unknown.
func useText(use float64) string {
	if use == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f%%", 100*use)
}
