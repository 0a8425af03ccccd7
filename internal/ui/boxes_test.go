package ui

import (
	"strings"
	"testing"
)

// A node's box tells its state, by what it is drawn with and in words, and which resource is the fullest.
func TestBoxes(t *testing.T) {
	for name, step := range map[string]struct {
		node        Node
		kind, words string
		fill        float64
	}{
		"full of pods":   {Node{State: Ready, CPU: 0.5, Memory: 0.2}, "ready cpu", "50 % of CPU requested", 16},
		"by memory":      {Node{State: Ready, CPU: 0.5, Memory: 0.75}, "ready memory", "75 % of memory requested", 24},
		"by accelerator": {Node{State: Ready, CPU: 1, Accelerators: 1}, "ready accelerators", "100 % of accelerators requested", 32},
		"overcommitted":  {Node{State: Ready, CPU: 1.5}, "ready cpu", "150 % of CPU requested", 32},
		"on its way":     {Node{State: Coming}, "coming cpu", "on its way", 0},
		"leaving":        {Node{State: Leaving, CPU: 0.25}, "leaving cpu", "25 % of CPU requested; leaving", 8},
		"not ready":      {Node{State: Unready}, "unready cpu", "not ready", 0},
	} {
		step.node.Name = "n"
		rows := rowsOf(&View{Nodes: []Node{step.node}})
		b := rows[0].Blocks[0].Boxes[0]
		if b.Kind() != step.kind || b.Words() != "n: "+step.words || b.Fill != step.fill {
			t.Errorf("%s: %q, %q, filled by %v", name, b.Kind(), b.Words(), b.Fill)
		}
	}
}

// Where prices are known, the page says what an hour costs, what of it is idle, and what no pod can use.
func TestCost(t *testing.T) {
	s := served(t, true, `
		group general max=4 cpu=4 memory=16Gi price=1
		node n1 group=general
		node n2 group=general
		pods web count=1 cpu=4 memory=4Gi node=n1
	`)
	c := s.scene().View().State.Cost
	// n1 has no CPU left, so that its 12 GiB, worth 0.375, are stranded; all of n2 is idle.
	if want := (Cost{PerHour: 2, Idle: 1.375, Stranded: 0.375}); c != want {
		t.Errorf("%+v, not %+v", c, want)
	}
	page := &Page{scene: s.scene(), Title: "Cost", Tab: "cost", View: s.scene().View()}
	text := string(s.render(page))
	for _, want := range []string{"<b>2.00</b>", "idle, 69 %", "<b>0.38</b>", "stranded, 19 %", `1.38 <span class="soft">69 %`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
}
