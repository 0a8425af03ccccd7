// Package cli is what the commands print: each function renders one given value as text, and
// neither reads nor decides anything. What flows in comes from the contract of package provider, or
// is the status ConfigMap; what flows out are bytes for a terminal or a file. The product's command
// imports it, and nothing else does.
package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Groups renders the node groups as the provider reads them. The table is for
// a person's first look; json and yaml are the whole inventory, with each
// group's template node and the source of each of its labels, taints and
// resources. shares are what the groups may have of their pools.
func Groups(w io.Writer, inv provider.Inventory, shares []model.PoolShareOf, format Format) error {
	inv.Groups = slices.SortedFunc(slices.Values(inv.Groups), func(a, b provider.Group) int {
		return cmp.Compare(a.ID, b.ID)
	})
	if inv.Groups == nil {
		inv.Groups = []provider.Group{} // an empty list in JSON, not null
	}
	var text []byte
	var err error
	switch format {
	case JSON:
		text, err = json.MarshalIndent(inv, "", "  ")
		text = append(text, '\n')
	case YAML:
		text, err = yaml.Marshal(inv)
	default:
		return groupsTable(w, inv, shares)
	}
	if err != nil {
		return fmt.Errorf("render the node groups as %s: %w", format, err)
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the node groups: %w", err)
	}
	return nil
}

// groupsTable is one line per group, then pools and notices, if any. REQUESTED
// are the units that the cloud has not named yet; SHARE, where a pool names a sizing, is
// the minimum and maximum that this gives the group.
func groupsTable(w io.Writer, inv provider.Inventory, shares []model.PoolShareOf) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	share := shareColumn(shares)
	row(table, slices.Insert([]string{"NAME", "MIN", "MAX", "TARGET", "RUNNING", "CREATING", "DELETING", "REQUESTED",
		"ZONE", "CPU", "MEMORY", "PODS", "OTHER", "STATUS"}, 3, share("SHARE", "")...)...)
	for _, g := range inv.Groups {
		row(table, groupRow(g, share)...)
	}
	if len(inv.Groups) == 0 {
		fmt.Fprintln(table, "(the provider has no node groups)")
	}
	if len(inv.Pools) > 0 {
		fmt.Fprintln(table, "\nPOOL\tMIN\tMAX\tTARGET\tGROUPS")
		for _, p := range inv.Pools {
			row(table, poolRow(p, inv.Groups)...)
		}
	}
	table.Flush()
	noticeLines(&b, inv.Notices, 0)
	if _, err := io.WriteString(w, trimLines(b.String())); err != nil {
		return fmt.Errorf("write the node groups: %w", err)
	}
	return nil
}

// noticeLines writes one line per notice, and the number of the rest.
func noticeLines(w io.Writer, notices []provider.Notice, more int) {
	if len(notices)+more == 0 {
		return
	}
	fmt.Fprintln(w, "\nNOTICES")
	for _, n := range notices {
		about := oneLine(n.Code)
		if n.Group != "" {
			about += ", group " + oneLine(string(n.Group))
		}
		fmt.Fprintf(w, "%s: %s\n", about, oneLine(n.Message))
	}
	if more > 0 {
		fmt.Fprintf(w, "and %d more\n", more)
	}
}

// shareColumn is the cell of a group's SHARE column, or the column's name; none if no group has a share.
func shareColumn(shares []model.PoolShareOf) func(name string, id provider.GroupID) []string {
	return func(name string, id provider.GroupID) []string {
		cell := cmp.Or(name, "-")
		for _, s := range shares {
			if name == "" && s.Group == id {
				cell = fmt.Sprintf("%d..%d", s.Min, s.Max)
			}
		}
		if len(shares) == 0 {
			return nil
		}
		return []string{cell}
	}
}

func groupRow(g provider.Group, share func(name string, id provider.GroupID) []string) []string {
	if g.Err != nil {
		// Unread values are shown as unknown, never as zero.
		row := append([]string{string(g.ID)}, slices.Repeat([]string{"?"}, 12)...)
		return append(slices.Insert(row, 3, share("?", "")...), groupStatus(g))
	}
	count := map[provider.State]int{}
	for _, i := range g.Instances {
		count[i.State]++
	}
	// A rollout has more machines than its group asks for.
	requested := max(0, g.Target-count[provider.Running]-count[provider.Creating])
	row := []string{string(g.ID)}
	for _, n := range []int{
		g.Min, g.Max, g.Target, count[provider.Running], count[provider.Creating], count[provider.Deleting], requested,
	} {
		row = append(row, strconv.Itoa(n))
	}
	row[2] = limit(g.Max)
	row = slices.Insert(row, 3, share("", g.ID)...)
	row = append(row, zoneCell(g.Template))
	row = append(row, templateCells(g.Template)...)
	return append(row, groupStatus(g))
}

// zoneCell is where a new node of the group comes up; where there are several zones, the cloud picks
// one.
func zoneCell(t *provider.Template) string {
	if t == nil || t.Node == nil {
		return "?"
	}
	if len(t.Places) > 0 {
		var zones []string
		for _, p := range t.Places {
			zones = append(zones, p.Zone)
		}
		return strings.Join(zones, "|")
	}
	return cmp.Or(t.Node.Labels[corev1.LabelTopologyZone], t.Node.Labels[corev1.LabelFailureDomainBetaZone], "-")
}

// templateCells are what a node of the group offers: CPU, memory, pods, other.
func templateCells(t *provider.Template) []string {
	if t == nil || t.Node == nil {
		return []string{"?", "?", "?", "?"}
	}
	have := t.Node.Status.Allocatable
	shown := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
	var cells, other []string
	for _, name := range shown {
		cell := "-"
		if q, ok := have[name]; ok {
			cell = q.String()
		}
		cells = append(cells, cell)
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		// Every node has storage, which would push out rare resources.
		if q := have[name]; !slices.Contains(shown, name) && name != corev1.ResourceEphemeralStorage && !q.IsZero() {
			other = append(other, fmt.Sprintf("%s=%s", name, q.String()))
		}
	}
	return append(cells, cmp.Or(strings.Join(other, ","), "-"))
}

// groupStatus is what prevents the use of the group, or "ok".
func groupStatus(g provider.Group) string {
	if g.Err != nil {
		return "unreadable: " + problem(g.Err)
	}
	var parts []string
	if g.TemplateErr != nil {
		parts = append(parts, "no template: "+problem(g.TemplateErr))
	}
	for _, h := range g.Holds {
		part := fmt.Sprintf("no %s: %s", strings.ToLower(string(h.Op)), h.Reason)
		if h.Message != "" {
			part += " (" + h.Message + ")"
		}
		parts = append(parts, part)
	}
	failed := map[string]int{}
	for _, i := range g.Instances {
		if i.Err == nil {
			continue
		}
		how := string(i.Err.Kind)
		if i.Retry > 0 {
			how += fmt.Sprintf(", tried again every %s", i.Retry)
		}
		failed[how]++
	}
	for _, how := range slices.Sorted(maps.Keys(failed)) {
		parts = append(parts, fmt.Sprintf("%d failed: %s", failed[how], how))
	}
	return cmp.Or(strings.Join(parts, "; "), "ok")
}

// problem is an error without its operation and group, which the row has already.
func problem(e *provider.Error) string {
	if e.Message == "" {
		return string(e.Kind)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func poolRow(p provider.Pool, groups []provider.Group) []string {
	target, unknown := 0, false
	var members []string
	for _, g := range groups {
		if g.Pool != p.ID {
			continue
		}
		members = append(members, string(g.ID))
		target += g.Target
		unknown = unknown || g.Err != nil
	}
	sum := strconv.Itoa(target)
	if unknown {
		sum = "?"
	}
	return []string{string(p.ID), strconv.Itoa(p.Min), strconv.Itoa(p.Max), sum, cmp.Or(strings.Join(members, ","), "-")}
}

func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}
