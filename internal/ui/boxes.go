package ui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Row is a group's nodes, in blocks by zone. The row without a group has the nodes of none.
type Row struct {
	Group  *Group
	Blocks []Block
}

// Name is the row's name.
func (r *Row) Name() string {
	if r.Group == nil {
		return "no group"
	}
	return string(r.Group.ID)
}

// Block is the nodes of a zone: boxes, or bars where there are too many.
type Block struct {
	Zone  string
	Boxes []Box
	Bars  []Bar
}

// Box is a node, drawn.
type Box struct {
	*Node
	W, H    int
	Y, Fill float64 // of the load
	Of      string  // CPU, memory, accelerators
	Line    float64 // the load line
}

// Bar is some nodes of one state, drawn as one: Shade from 0 to 9 is their mean load.
type Bar struct {
	Key   string
	State NodeState
	Nodes int
	Mean  float64
	Shade int
}

// Kind is the class of a bar.
func (b *Bar) Kind() string {
	return strings.ToLower(string(b.State)) + " shade" + strconv.Itoa(b.Shade)
}

// Words describe the nodes.
func (b *Bar) Words() string {
	text := plural(b.Nodes, "node", "nodes")
	switch b.State {
	case Coming:
		return text + " on the way"
	case Unready:
		return text + " not ready"
	case Leaving:
		return text + " leaving, " + percent(b.Mean) + " full"
	}
	return text + ", " + percent(b.Mean) + " full"
}

// Up to so many nodes are drawn large, and small; more are drawn as bars.
const (
	mostLarge = 300
	mostSmall = 1500
	perBar    = 20
)

func barred(v *View) bool { return len(v.Nodes) > mostSmall }

// rowsOf lays out the nodes of a view. Groups without nodes are rows, too.
func rowsOf(v *View) []Row {
	w, h := 15, 34
	if len(v.Nodes) > mostLarge {
		w, h = 9, 20
	}
	var rows []Row
	at := map[provider.GroupID]int{}
	for i := range v.Groups {
		at[v.Groups[i].ID] = len(rows)
		rows = append(rows, Row{Group: &v.Groups[i]})
	}
	for i := 0; i < len(v.Nodes); {
		end := i
		for end < len(v.Nodes) && v.Nodes[end].Group == v.Nodes[i].Group && v.Nodes[end].Zone == v.Nodes[i].Zone {
			end++
		}
		k, ok := at[v.Nodes[i].Group]
		if !ok {
			k = len(rows)
			at[v.Nodes[i].Group] = k
			rows = append(rows, Row{})
		}
		block := Block{Zone: v.Nodes[i].Zone}
		if barred(v) {
			block.bars(v.Nodes[i:end])
		} else {
			block.boxes(v.Nodes[i:end], w, h)
		}
		rows[k].Blocks = append(rows[k].Blocks, block)
		i = end
	}
	return rows
}

func (b *Block) boxes(nodes []Node, w, h int) {
	for i := range nodes {
		n := &nodes[i]
		share, of := n.Load()
		fill := math.Round(math.Min(share, 1)*float64(h-2)*10) / 10
		b.Boxes = append(b.Boxes, Box{Node: n, W: w, H: h, Fill: fill, Y: float64(h-1) - fill, Of: of})
	}
}

// bars draws nodes of one state together, so that the few that come, leave or are not ready are seen among the many.
func (b *Block) bars(nodes []Node) {
	for _, state := range []NodeState{Ready, Leaving, Unready, Coming} {
		var some []*Node
		for i := range nodes {
			if nodes[i].State == state {
				some = append(some, &nodes[i])
			}
		}
		for part := range slices.Chunk(some, perBar) {
			bar := Bar{Key: fmt.Sprintf("%s/%s/%s/%d", part[0].Group, part[0].Zone, state, len(b.Bars)), State: state,
				Nodes: len(part)}
			for _, n := range part {
				share, _ := n.Load()
				bar.Mean += math.Min(share, 1)
			}
			bar.Mean /= float64(len(part))
			bar.Shade = min(9, int(bar.Mean*10))
			b.Bars = append(b.Bars, bar)
		}
	}
}

// Sizes of what is drawn within the box.
func (b *Box) HullW() float64 { return float64(b.W) - 1.2 }
func (b *Box) HullH() float64 { return float64(b.H) - 1.2 }
func (b *Box) LoadW() float64 { return float64(b.W) - 2.8 }
func (b *Box) DotX() float64  { return float64(b.W) - 3.5 }

// Kind is the class of a box: its state, and what is full.
func (b *Box) Kind() string {
	return strings.ToLower(string(b.State)) + " " + strings.ToLower(b.Of)
}

// Words describe the node to a person who points at it, or hears it read.
func (b *Box) Words() string {
	switch b.State {
	case Coming:
		return b.Name + ": on its way"
	case Unready:
		return b.Name + ": not ready"
	}
	share, of := b.Load()
	text := fmt.Sprintf("%s: %s of %s requested", b.Name, percent(share), of)
	if b.State == Leaving {
		text += "; leaving"
	}
	return text
}

// box gives a node's box the page's load line.
func box(b Box, threshold float64) *Box {
	b.Line = math.Round((float64(b.H)-1-threshold*float64(b.H-2))*10) / 10
	return &b
}

// part is a length in a chart.
func part(v float64) float64 { return math.Round(v*10) / 10 }
