package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/cli"
	"github.com/plimsoll-dev/plimsoll/internal/clusterfile"
	"github.com/plimsoll-dev/plimsoll/internal/policy"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// tellMatches prints which policies of a file match which groups of a cluster, and what the groups are by them at
// the cluster's time. What matches nothing is a warning.
func tellMatches(out, told io.Writer, set policy.Set, c *clusterfile.Cluster) error {
	if c.Inventory == nil || len(set.Policies) == 0 && set.Pause == nil {
		return nil
	}
	before := c.Inventory.Groups
	after, settled, _ := set.Groups(before, c.Time)
	rows := [][]string{{"GROUP", "POLICIES", "MIN", "MAX", "PRIORITY", "PRICE/H", "PAUSED", "ALSO"}}
	for i := range after {
		g, r := &after[i], &settled[i]
		var names []string
		for j := range set.Policies {
			if set.Policies[j].Matches(&before[i]) {
				names = append(names, set.Policies[j].Name)
			}
		}
		paused := ""
		if r.Pause != nil {
			paused = strings.TrimSpace("yes " + r.Pause.Reason)
		}
		rows = append(rows, []string{string(g.ID), orDash(strings.Join(names, ", ")), bound(before[i].Min, g.Min, r.MinFrom),
			bound(before[i].Max, g.Max, r.MaxFrom), orDash(said(r.Priority)), orDash(said(g.PricePerHour)), orDash(paused),
			orDash(also(&g.Options, &r.Moves))})
	}
	if err := cli.Rows(out, rows); err != nil {
		return err
	}
	for _, n := range set.Notices(before) {
		cli.Tell(told, "warning", n.Message)
	}
	return nil
}

// bound is a minimum or maximum of the cloud, and what the policy that is named makes of it.
func bound(there, is int, from string) string {
	if from == "" || there == is {
		return fmt.Sprint(is)
	}
	return fmt.Sprintf("%d → %d (%s)", there, is, from)
}

// also are options of a group that differ from those of the cluster.
func also(o *provider.Options, m *policy.Moves) string {
	var out []string
	for _, option := range []struct{ name, value string }{
		{"unneededTime", said(o.ScaleDownUnneededTime)}, {"unreadyTime", said(o.ScaleDownUnreadyTime)},
		{"utilizationThreshold", said(o.ScaleDownUtilizationThreshold)},
		{"gpuUtilizationThreshold", said(o.ScaleDownGPUUtilizationThreshold)},
		{"maxNodeProvisionTime", said(o.MaxNodeProvisionTime)}, {"maxNodeStartupTime", said(o.MaxNodeStartupTime)},
		{"consolidation", said(m.Consolidation)},
	} {
		if option.value != "" {
			out = append(out, option.name+" "+option.value)
		}
	}
	return strings.Join(out, ", ")
}

// said is the text of a value, empty where it is left out.
func said[T any](value *T) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(*value)
}
