package ui

import (
	"fmt"
	"math"
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

// Bar is some nodes, drawn as one: X is where, Shade from 0 to 9 their mean load.
type Bar struct {
	Key     string
	Nodes   int
	Mean    float64
	Shade   int
	Trouble bool // one of them is not ready
	Coming  bool
}

// Up to so many nodes are drawn large, and small; more are drawn as bars.
const (
	mostLarge = 300
	mostSmall = 1500
	perBar    = 20
)

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
		if len(v.Nodes) > mostSmall {
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

func (b *Block) bars(nodes []Node) {
	for i := 0; i < len(nodes); i += perBar {
		some := nodes[i:min(i+perBar, len(nodes))]
		bar := Bar{Key: fmt.Sprintf("%s/%s/%d", some[0].Group, some[0].Zone, i), Nodes: len(some)}
		coming := 0
		for j := range some {
			share, _ := some[j].Load()
			bar.Mean += math.Min(share, 1) / float64(len(some))
			bar.Trouble = bar.Trouble || some[j].State == Unready
			if some[j].State == Coming {
				coming++
			}
		}
		bar.Coming = coming == len(some)
		bar.Shade = min(9, int(bar.Mean*10))
		b.Bars = append(b.Bars, bar)
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
