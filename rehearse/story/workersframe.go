package story

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// workersRows are the part of a frame that shows the worker groups of an EKS
// Anywhere Cluster, and what its condition says of them.
type workersRows struct {
	Version string // of Kubernetes, that all machines shall have
	Groups  []workersRow
	Ready   v1alpha1.Condition
}

// workersRow is one worker group: what the Cluster says, and what there is.
type workersRow struct {
	Name     string
	Count    int
	Range    *v1alpha1.AutoscalingConfiguration // nil: the count applies
	There    bool                               // it has a machine deployment
	Replicas int
	Ready    int
	Machines int
	Current  int // machines of the version that all shall have
	Nodes    stage.Nodes
}

// newWorkersRows picks the rows, in the order of the Cluster's spec.
func newWorkersRows(cluster string, w workerState, tally stage.Tally) workersRows {
	rows := workersRows{Version: machineVersion(w.spec.KubernetesVersion), Ready: w.ready}
	for _, g := range w.spec.WorkerNodeGroupConfigurations {
		name := cluster + "-" + g.Name
		d, there := w.deployments[name]
		row := workersRow{Name: g.Name, Count: 1, Range: g.AutoscalingConfiguration, There: there, Replicas: d.replicas,
			Ready: d.ready, Nodes: tally.Groups[name]}
		if g.Count != nil {
			row.Count = *g.Count
		}
		row.Machines, row.Current = w.of(name, rows.Version)
		rows.Groups = append(rows.Groups, row)
	}
	return rows
}

// machineVersion is EKS Anywhere's "1.36" as its machines have it.
func machineVersion(version string) string {
	if version == "" {
		return ""
	}
	return "v" + version + ".0"
}

func (w workersRows) width() int {
	names := 0
	for _, g := range w.Groups {
		names = max(names, len(g.Name))
	}
	return names
}

// count is what the Cluster says of the group's size, in two columns.
func (g workersRow) count() (count, bounds string) {
	if g.Range == nil {
		return fmt.Sprint(g.Count), ""
	}
	return fmt.Sprintf("%d ignored", g.Count), fmt.Sprintf("%d to %d", g.Range.MinCount, g.Range.MaxCount)
}

// lines renders the rows, with the names padded to so many columns.
func (w workersRows) lines(names int) []string {
	const row = "    %s  %9s  %10s  %8s  %5s  %8s   %s"
	lines := []string{
		"  worker groups   " + nodeLegend,
		fmt.Sprintf(row, pad("", names), "count", "autoscaled", "replicas", "ready", w.Version, "nodes"),
	}
	for _, g := range w.Groups {
		count, bounds := g.count()
		replicas, ready, current := "-", "-", "-"
		if g.There {
			replicas, ready, current = fmt.Sprint(g.Replicas), fmt.Sprint(g.Ready), fmt.Sprintf("%d of %d",
				g.Current, g.Machines)
		}
		line := fmt.Sprintf(row, pad(g.Name, names), count, bounds, replicas, ready, current, boxes(g.Nodes))
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return append(lines, "  WorkersReady   "+conditionText(w.Ready))
}

// line tells the rows in one line: of the condition, the reason alone.
func (w workersRows) line() string {
	var parts []string
	for _, g := range w.Groups {
		count, bounds := g.count()
		text := g.Name + " (count " + count
		if bounds != "" {
			text += ", " + bounds
		}
		text += "): "
		if g.There {
			text += fmt.Sprintf("replicas %d, ready %d", g.Replicas, g.Ready)
		} else {
			text += "not there yet"
		}
		if g.Current < g.Machines {
			text += fmt.Sprintf(", %s on %d of %d", w.Version, g.Current, g.Machines)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = []string{"no worker groups"}
	}
	ready := w.Ready
	ready.Message = ""
	return strings.Join(parts, "; ") + " | WorkersReady " + conditionText(ready)
}
