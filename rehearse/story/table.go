package story

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// table renders rows in columns, the first row being the head. The first column
// is to the left, all others to the right.
func table(rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	names := 0
	for _, row := range rows {
		names = max(names, len([]rune(row[0])))
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	for i, row := range rows {
		fmt.Fprintf(w, "  %s\t%s\t\n", pad(row[0], names), strings.Join(row[1:], "\t"))
		if i == 0 {
			rule := make([]string, len(row)-1)
			for j, head := range row[1:] {
				rule[j] = strings.Repeat("-", len([]rune(head)))
			}
			fmt.Fprintf(w, "  %s\t%s\t\n", strings.Repeat("-", names), strings.Join(rule, "\t"))
		}
	}
	// A strings.Builder takes everything.
	_ = w.Flush()
	lines := strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
