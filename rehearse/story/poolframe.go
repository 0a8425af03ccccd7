package story

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/rehearse/story/stage"
)

// poolsRows are the part of a frame that shows worker pools over their zones.
type poolsRows struct {
	Zones []string // what stands over their columns
	Pools []poolsRow
}

// poolsRow is one worker pool.
type poolsRow struct {
	Name     string
	Min, Max int
	Zones    []poolZone
}

// poolZone is a pool's part in one zone.
type poolZone struct {
	Asked int
	Nodes stage.Nodes
}

// sum is the pool's, over its zones.
func (r poolsRow) sum() poolZone {
	var sum poolZone
	for _, z := range r.Zones {
		sum.Asked += z.Asked
		sum.Nodes.All += z.Nodes.All
		sum.Nodes.Ready += z.Nodes.Ready
		sum.Nodes.Leaving += z.Nodes.Leaving
	}
	return sum
}

// text draws the zone's nodes, and as dots what it asks for beyond them.
func (z poolZone) text() string {
	return boxes(z.Nodes) + strings.Repeat("·", max(0, z.Asked-z.Nodes.All))
}

func (p poolsRows) width() int {
	names := 0
	for _, row := range p.Pools {
		names = max(names, len(row.Name))
	}
	return names
}

// lines renders the rows, with the names padded to so many columns.
func (p poolsRows) lines(names int) []string {
	const zoneWidth = 12
	head := "    " + pad("", names)
	for _, zone := range p.Zones {
		head += "  " + pad(zone, max(zoneWidth, len(zone)))
	}
	lines := []string{"  pools   " + nodeLegend + "  · asked for", head + "  asked  nodes  limits"}
	for _, row := range p.Pools {
		line := "    " + pad(row.Name, names)
		for i, zone := range row.Zones {
			line += "  " + pad(zone.text(), max(zoneWidth, len(p.Zones[i])))
		}
		sum := row.sum()
		lines = append(lines, line+fmt.Sprintf("  %5d  %5d  %d to %d", sum.Asked, sum.Nodes.All, row.Min, row.Max))
	}
	return lines
}

// line tells the rows in one line.
func (p poolsRows) line() string {
	var parts []string
	for _, row := range p.Pools {
		var zones []string
		for _, z := range row.Zones {
			text := fmt.Sprint(z.Nodes.Ready)
			if z.Asked != z.Nodes.Ready {
				text += fmt.Sprintf("(asked %d)", z.Asked)
			}
			zones = append(zones, text)
		}
		parts = append(parts, row.Name+" "+strings.Join(zones, "+"))
	}
	return "nodes by zone: " + strings.Join(parts, ", ")
}
