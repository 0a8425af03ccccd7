package story

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// Frame is one look at a cluster while something happens.
type Frame struct {
	Title     string
	Elapsed   time.Duration
	Workloads []WorkloadRow
	Columns   columns
}

// columns are the part of a frame below the pods: node groups, the worker groups of a
// Cluster of EKS Anywhere, or worker pools of Gardener.
type columns interface {
	// width is that of the longest name.
	width() int
	// lines renders the rows, with the names padded to so many columns.
	lines(names int) []string
	// line tells the rows in one line.
	line() string
}

// WorkloadRow is the progress of one workload.
type WorkloadRow struct {
	Name string
	Want int
	Pods stage.Pods
}

// groupRow is the state of one node group.
type groupRow struct {
	Name  string
	Max   int
	Nodes stage.Nodes
}

// groupRows are node groups, in the story's order.
type groupRows []groupRow

// groupsOf shows node groups.
func groupsOf(groups []stage.Group) func(stage.Tally) columns {
	return func(t stage.Tally) columns {
		var rows groupRows
		for _, g := range groups {
			rows = append(rows, groupRow{Name: g.Name, Max: g.Max, Nodes: t.Groups[g.Name]})
		}
		return rows
	}
}

// newFrame picks the rows of a tally, in the story's order.
func newFrame(
	title string, elapsed time.Duration, tally stage.Tally, workloads []stage.Workload, columns columns,
) Frame {
	f := Frame{Title: title, Elapsed: elapsed, Columns: columns}
	for _, w := range workloads {
		f.Workloads = append(f.Workloads, WorkloadRow{Name: w.Name, Want: w.Replicas, Pods: tally.Workloads[w.Name]})
	}
	return f
}

const (
	barWidth   = 30
	mostBoxes  = 45
	nodeReady  = "■"
	nodeLeaves = "▨"
	nodeStarts = "□"
	nodeLegend = nodeReady + " ready  " + nodeStarts + " starting  " + nodeLeaves + " leaving"
)

// Lines renders the frame for a terminal of so many columns.
func (f Frame) Lines(width int) []string {
	lines := []string{fmt.Sprintf("── %s ── %.1f s", f.Title, f.Elapsed.Seconds())}
	names := f.Columns.width()
	for _, w := range f.Workloads {
		names = max(names, len(w.Name))
	}
	lines = append(lines, "  pods")
	for _, w := range f.Workloads {
		lines = append(lines, "    "+pad(w.Name, names)+"  "+bar(w)+"  "+w.text(3))
	}
	lines = append(lines, f.Columns.lines(names)...)
	for i := range lines {
		lines[i] = clip(lines[i], width)
	}
	return lines
}

// bar shows what runs and what has a node, of what is wanted or still there.
func bar(w WorkloadRow) string {
	whole := max(w.Want, w.Pods.All, 1)
	running := w.Pods.Running * barWidth / whole
	bound := max(running, w.Pods.Bound*barWidth/whole)
	return strings.Repeat("█", running) + strings.Repeat("▒", bound-running) + strings.Repeat("·", barWidth-bound)
}

// text tells the row, its numbers at least so wide.
func (w WorkloadRow) text(width int) string {
	text := fmt.Sprintf("%*d of %*d run", width, w.Pods.Running, width, w.Want)
	if w.Want == 0 {
		text = fmt.Sprintf("%*d run", width, w.Pods.Running)
	}
	if w.Pods.Refused > 0 {
		text += fmt.Sprintf(", %d find no node", w.Pods.Refused)
	}
	if over := w.Pods.All - w.Want; over > 0 {
		text += fmt.Sprintf(", %d end", over)
	}
	return text
}

// boxes draws one box per node, and a number for those that find no room.
func boxes(n stage.Nodes) string {
	leaving := min(n.Leaving, n.All)
	ready := min(n.Ready, n.All-leaving)
	all := strings.Repeat(nodeReady, ready) + strings.Repeat(nodeStarts,
		n.All-leaving-ready) + strings.Repeat(nodeLeaves, leaving)
	if n.All <= mostBoxes {
		return all
	}
	return string([]rune(all)[:mostBoxes]) + fmt.Sprintf(" and %d more", n.All-mostBoxes)
}

// Line tells the frame in one line, without the time.
func (f Frame) Line() string {
	var parts []string
	for _, w := range f.Workloads {
		parts = append(parts, w.Name+" "+w.text(0))
	}
	return "pods: " + strings.Join(parts, "; ") + " | " + f.Columns.line()
}

func (rows groupRows) width() int {
	names := 0
	for _, g := range rows {
		names = max(names, len(g.Name))
	}
	return names
}

func (rows groupRows) lines(names int) []string {
	lines := []string{"  nodes   " + nodeLegend}
	for _, g := range rows {
		lines = append(lines, fmt.Sprintf("    %s  %3d of %3d  %s", pad(g.Name, names), g.Nodes.All, g.Max, boxes(g.Nodes)))
	}
	return lines
}

func (rows groupRows) line() string {
	var parts []string
	for _, g := range rows {
		n := g.Nodes
		if n.All == 0 {
			continue
		}
		text := fmt.Sprintf("%s %d", g.Name, n.All)
		if starting := n.All - n.Ready; starting > 0 {
			text += fmt.Sprintf(" (%d starting)", starting)
		}
		if n.Leaving > 0 {
			text += fmt.Sprintf(" (%d leaving)", n.Leaving)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "nodes: none"
	}
	return "nodes: " + strings.Join(parts, ", ")
}
