package move

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

var rewrite = flag.Bool("rewrite", false, "write the table in testdata/life.txt and docs/architecture.md")

var t0 = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return t0.Add(time.Duration(minutes) * time.Minute) }

const legend = `Stages are columns, and rows are what happens: the stage after it, or
  .     nothing changes
  over  the move is forgotten

`

// TestTheTable prints the life of a move for testdata/life.txt and docs/architecture.md.
func TestTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(legend)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for s := range model.MoveStages {
		fmt.Fprint(table, "\t", s)
	}
	for k := range kinds {
		fmt.Fprint(table, "\n", k)
		for s := range model.MoveStages {
			if life[s][k] == 0 {
				t.Errorf("%q in stage %q: no answer", k, s)
				continue
			}
			to := "over"
			if m, stands := Advance(model.Move{Stage: s}, Event{Kind: k, At: t0, Why: "why"}); stands {
				if to = m.Stage.String(); m.Stage == s {
					to = "."
				}
			}
			fmt.Fprint(table, "\t", to)
		}
	}
	table.Flush()
	printed := tidy(b.String())
	golden, document := "testdata/life.txt", "../../docs/architecture.md"
	want, err := os.ReadFile(golden)
	doc, docErr := os.ReadFile(document)
	if *rewrite {
		err = os.WriteFile(golden, []byte(printed), 0o644)
		if len(want) > 0 {
			err = errors.Join(err, os.WriteFile(document, bytes.Replace(doc, want, []byte(printed), 1), 0o644))
		}
		want, doc = []byte(printed), bytes.Replace(doc, want, []byte(printed), 1)
	}
	if err := errors.Join(err, docErr); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), printed); diff != "" {
		t.Errorf("the life is not that of %s (-file +is): go test ./internal/move -rewrite\n%s", golden, diff)
	}
	if !bytes.Contains(doc, []byte(printed)) {
		t.Errorf("%s has not the table of %s", document, golden)
	}
}

// tidy has no blanks at the ends of lines, and one line break at the end.
func tidy(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// cluster is what a move is compared with, minute by minute.
type cluster struct {
	asks  map[string]model.Ask
	nodes map[string]bool
	// younger are the nodes of the group that were made since the move began, and are ready.
	younger []string
	held    string // a node that a budget keeps
}

func (c *cluster) seen(minute int) Seen {
	return Seen{
		Held: func(name string) bool { return name == c.held },
		Now:  at(minute), HasNode: func(name string) bool { return c.nodes[name] },
		Ready: func(provider.GroupID, time.Time) []string { return c.younger },
		Ask:   func(_ provider.GroupID, id string) (model.Ask, bool) { a, ok := c.asks[id]; return a, ok },
	}
}

func (c *cluster) ask(id string, units ...model.Unit) { c.asks[id] = model.Ask{ID: id, Units: units} }

// two is a move of two nodes to one that is asked for.
func two() (*cluster, []model.Move) {
	c := &cluster{asks: map[string]model.Ask{}, nodes: map[string]bool{"a": true, "b": true}}
	c.ask("grow", model.Unit{})
	return c, []model.Move{{
		ID: "m", Goes: []string{"a", "b"}, Comes: []model.Purchase{{Group: "g", Count: 1, Ask: "grow"}},
		Began: t0, Entered: t0, Patience: 30 * time.Minute, Stay: time.Hour,
	}}
}

// TestAMove plays moves to their ends: after each change of the cluster, the stage.
func TestAMove(t *testing.T) {
	ready := model.Unit{State: model.UnitReady, Node: "new", Instance: "i"}
	type step struct {
		minute int
		change func(*cluster)
		want   string // the stage, or over
	}
	go1 := func(name string) func(*cluster) { return func(c *cluster) { delete(c.nodes, name) } }
	none := func(*cluster) {}
	for name, steps := range map[string][]step{
		"it comes, and they go": {
			{1, none, "buying"},
			{2, func(c *cluster) { c.ask("grow", model.Unit{State: model.UnitMade}) }, "buying"},
			{3, func(c *cluster) { c.ask("grow", ready) }, "emptying"},
			{4, func(c *cluster) { delete(c.asks, "grow") }, "emptying"},
			{20, go1("a"), "emptying"},
			{40, none, "emptying"}, // the time runs from the node that left
			{41, go1("b"), "done"},
			{100, none, "done"},
			{101, none, "over"},
		},
		"a name is used again": {
			{1, func(c *cluster) { c.ask("grow", ready) }, "emptying"},
			{4, go1("a"), "emptying"},
			{5, func(c *cluster) { c.nodes["a"] = true }, "emptying"},
			{6, go1("b"), "done"}, // the new one is none of its nodes
		},
		"all at once":         {{1, func(c *cluster) { c.ask("grow", ready); clear(c.nodes) }, "done"}},
		"it is given up":      {{1, func(c *cluster) { c.ask("grow", model.Unit{State: model.UnitGivenUp}) }, "givenUp"}, {61, none, "over"}},
		"it cannot be taken":  {{1, func(c *cluster) { c.ask("grow", model.Unit{State: model.UnitKept}) }, "givenUp"}},
		"it is granted less":  {{1, func(c *cluster) { c.ask("grow") }, "givenUp"}},
		"it is refused":       {{1, func(c *cluster) { clear(c.asks) }, "givenUp"}},
		"it came unseen":      {{1, func(c *cluster) { clear(c.asks); c.younger = []string{"x"} }, "emptying"}},
		"others end them all": {{1, func(c *cluster) { clear(c.nodes) }, "givenUp"}},
		"they do not go": {
			{1, func(c *cluster) { c.ask("grow", ready) }, "emptying"},
			{30, none, "emptying"},
			{31, none, "givenUp"},
			{32, func(c *cluster) { clear(c.nodes) }, "givenUp"},
		},
		"a budget holds one": {
			{1, func(c *cluster) { c.ask("grow", ready); c.held = "b" }, "emptying"},
			{20, none, "emptying"},
			{49, none, "emptying"},
			{50, func(c *cluster) { c.held = "" }, "emptying"}, // from when it was last given time
			{78, none, "emptying"},
			{79, none, "givenUp"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, list := two()
			for _, s := range steps {
				s.change(c)
				before := list
				var ended []model.Move
				var changed bool
				list, ended, changed = Progress(list, c.seen(s.minute))
				is := "over"
				if len(list) > 0 {
					is = list[0].Stage.String()
				}
				if is != s.want {
					t.Fatalf("minute %d: %s, want %s", s.minute, is, s.want)
				}
				if moved := is != before[0].Stage.String(); moved && !changed {
					t.Errorf("minute %d: %s → %s is no change", s.minute, before[0].Stage, is)
				}
				if over := before[0].Open() && (is == "done" || is == "givenUp"); over != (len(ended) == 1) {
					t.Errorf("minute %d: %s → %s, and %d ended", s.minute, before[0].Stage, is, len(ended))
				}
				if is == "givenUp" && list[0].Why == "" {
					t.Errorf("minute %d: it does not say why", s.minute)
				}
			}
		})
	}
}

// TestPressed: the notice of what is about to be taken runs out before what was bought has come.
func TestPressed(t *testing.T) {
	for name, unit := range map[string]model.Unit{
		"on its way": {State: model.UnitMade}, "given up at that time": {State: model.UnitGivenUp},
	} {
		c, list := two()
		list[0].DrainAt = at(2)
		look := func(minute int, want model.MoveStage) {
			t.Helper()
			if list, _, _ = Progress(list, c.seen(minute)); list[0].Stage != want {
				t.Errorf("%s, minute %d: %s, want %s", name, minute, list[0].Stage, want)
			}
		}
		look(1, model.MoveBuying)
		c.ask("grow", unit)
		look(2, model.MoveEmptying)
		c.ask("grow", model.Unit{State: model.UnitReady, Node: "new"})
		look(3, model.MoveEmptying)
		if got := list[0].Bought(); len(got) != 1 {
			t.Errorf("%s: %v has come for it, want one node", name, got)
		}
		clear(c.nodes)
		look(4, model.MoveDone)
	}
}

// TestProgressLeavesItsInputAlone: the ledger hands out what it has.
func TestProgressLeavesItsInputAlone(t *testing.T) {
	c, list := two()
	c.ask("grow", model.Unit{State: model.UnitReady, Node: "new"})
	was := model.CopyMoves(list)
	if Progress(list, c.seen(1)); cmp.Diff(was, list) != "" {
		t.Error(cmp.Diff(was, list))
	}
}

// TestMended: times that lie ahead are of another clock.
func TestMended(t *testing.T) {
	m := model.Move{Began: at(5), Entered: at(50), Last: at(60), DrainAt: at(60)}
	got := Mended([]model.Move{m}, at(10))[0]
	if want := (model.Move{Began: at(5), Entered: at(10), Last: at(10),
		DrainAt: at(10).Add(model.SpotNotice)}); cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
}
