package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/decisions"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
)

// decisionTime is how a table writes the time of a decision: with the date, for the list may be days long.
const decisionTime = "2006-01-02 15:04:05Z"

// Decisions renders a line for each decision; as JSON and YAML, each whole: JSON has a line for each.
func Decisions(w io.Writer, list []decisions.Decision, format Format) error {
	var b strings.Builder
	switch format {
	case JSON:
		for i := range list {
			text, err := json.Marshal(list[i])
			if err != nil {
				return fmt.Errorf("render a decision as json: %w", err)
			}
			b.Write(append(text, '\n'))
		}
	case YAML:
		for i := range list {
			text, err := yaml.Marshal(list[i])
			if err != nil {
				return fmt.Errorf("render a decision as yaml: %w", err)
			}
			fmt.Fprintf(&b, "---\n%s", text)
		}
	default:
		for i := range list {
			d := &list[i]
			fmt.Fprintf(&b, "%s  %s  %s  (%s)\n", d.Time.UTC().Format(decisionTime), d.ID, oneLine(d.Summary),
				joined(d.Triggers))
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write decisions: %w", err)
	}
	return nil
}

// Decision renders all of one decision.
func Decision(w io.Writer, d decisions.Decision, format Format) error {
	if format == JSON || format == YAML {
		return Decisions(w, []decisions.Decision{d}, format)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Decision %s: %s\n", d.ID, oneLine(d.Summary))
	fmt.Fprintf(&b, "Made %s in %v ms because of %s", d.Time.UTC().Format(decisionTime), d.TookMillis, joined(d.Triggers))
	if d.Nodes > 0 {
		fmt.Fprintf(&b, "; buys %s (lower bound %d)", spelling.Count(d.Nodes, "node"), d.LowerBound)
	}
	b.WriteString("\n")
	section := func(header string, rows [][]string, more int) { writeSection(&b, header, rows, more) }
	var rows [][]string
	for _, g := range d.Grow {
		rows = append(rows, []string{string(g.Group), fmt.Sprintf("%d -> %d", g.From, g.To), fmt.Sprint(g.Max),
			fmt.Sprint(g.Pods), g.Why})
	}
	section("GROUP\tNODES\tMAX\tPODS\tWHY", rows, 0)
	rows = nil
	for i := range d.Moves {
		m := &d.Moves[i]
		rows = append(rows, []string{m.Text, someNames(m.Goes, false), string(m.Reason), fmt.Sprint(m.Pods),
			fmt.Sprintf("%.2f → %.2f", m.Before, m.After)})
	}
	section("MOVE THAT BEGINS\tNODES THAT GO\tREASON\tPODS\tCOST/H", rows, 0)
	rows = nil
	for i := range d.Calls {
		c := &d.Calls[i]
		end := string(c.End)
		if end == "" {
			end = "under way"
		}
		rows = append(rows, []string{string(c.Verb), c.Subject(), string(c.Reason), end + " " + c.Error})
	}
	section("CALL\tON\tREASON\tEND", rows, d.MoreCalls)
	rows = nil
	for _, m := range d.Made {
		differs := strings.Join(m.Differs, "; ")
		if differs == "" {
			differs = "-"
		}
		rows = append(rows, []string{m.Node, string(m.Group), room(m.Predicted), room(m.Actual), differs})
	}
	section("NEW NODE\tGROUP\tEXPECTED\tREAL\tDIFFERS", rows, 0)
	rows = nil
	for _, p := range d.Pending {
		for i, g := range p.Groups {
			v := d.Verdicts[g.Verdict]
			row := []string{"", "", string(g.Group), string(v.Reason), v.Detail, v.Fix}
			if i == 0 {
				row[0], row[1] = p.Class, fmt.Sprintf("%d of %d", p.Left, p.Pods)
			}
			rows = append(rows, row)
		}
		if len(p.Groups) == 0 {
			rows = append(rows, []string{p.Class, fmt.Sprintf("%d of %d", p.Left, p.Pods), "", "", "", ""})
		}
	}
	section("PODS\tWITHOUT ROOM\tGROUP\tREASON\tDETAIL\tWOULD CHANGE WITH", rows, d.MoreClass)
	rows = nil
	for _, n := range d.Changed {
		v := d.Verdicts[n.Verdict]
		rows = append(rows, []string{n.Node, string(n.Group), string(v.Reason), v.Detail, v.Fix})
	}
	section("OTHER VERDICT\tGROUP\tREASON\tDETAIL\tWOULD CHANGE WITH", rows, d.MoreChanged)
	rows = nil
	for _, reason := range slices.Sorted(maps.Keys(d.Stays)) {
		rows = append(rows, []string{string(reason), fmt.Sprint(d.Stays[reason])})
	}
	section("STAYS BECAUSE\tNODES", rows, 0)
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write a decision: %w", err)
	}
	return nil
}

// writeSection writes a table after an empty line, and how many rows it lacks; nothing, where it has no rows.
func writeSection(b *strings.Builder, header string, rows [][]string, more int) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\n")
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, header)
	for _, row := range rows {
		for i := range row {
			row[i] = oneLine(row[i])
		}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	table.Flush() // into memory
	if more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

func joined(triggers []decisions.Trigger) string {
	var out []string
	for _, t := range triggers {
		out = append(out, string(t))
	}
	return strings.Join(out, ", ")
}

// room is what a node offers, in short.
func room(r decisions.Room) string {
	return fmt.Sprintf("cpu %v, memory %v, pods %d", float64(r.MilliCPU)/1000, memoryText(r.Memory), r.Pods)
}

func memoryText(bytes int64) string { return fmt.Sprintf("%.4gGi", float64(bytes)/(1<<30)) }
