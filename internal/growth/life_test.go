package growth

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

var rewrite = flag.Bool("rewrite", false, "write the table in testdata/life.txt and docs/architecture.md")

// what is every unit that there can be, but for its times: a state, and what it has by then.
var what = []struct {
	name string
	unit model.Unit
}{
	{"asked", model.Unit{}},
	{"made", model.Unit{State: model.UnitMade, Instance: "i"}},
	{"registered", model.Unit{State: model.UnitRegistered, Instance: "i", Node: "n"}},
	{"ready", model.Unit{State: model.UnitReady, Instance: "i", Node: "n"}},
	{"given up", model.Unit{State: model.UnitGivenUp}},
	{"given up+instance", model.Unit{State: model.UnitGivenUp, Instance: "i"}},
	{"given up+node", model.Unit{State: model.UnitGivenUp, Instance: "i", Node: "n"}},
	{"kept", model.Unit{State: model.UnitKept}},
}

func event(k Kind, at time.Time) Event {
	return Event{Kind: k, At: at, Instance: "i", Node: "n", Exists: at, Why: "why"}
}

// nameOf says what a unit is.
func nameOf(t *testing.T, u model.Unit) string {
	for _, w := range what {
		if w.unit.State == u.State && w.unit.Instance == u.Instance && w.unit.Node == u.Node {
			return w.name
		}
	}
	t.Fatalf("there is no such unit: %+v", u)
	return ""
}

const legend = `States are columns, and rows are what happens: the state after it, or
  .     nothing changes
  -     cannot happen to a unit that has this
  over  the unit is no more

`

// TestTheTable prints the life of a unit, as Advance has it, for testdata/life.txt and
// docs/architecture.md.
func TestTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(legend)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, w := range what {
		fmt.Fprint(table, "\t", w.name)
	}
	for k := range kinds {
		fmt.Fprint(table, "\n", k)
		for _, w := range what {
			to := "."
			switch u, stands := Advance(w.unit, event(k, t0)); {
			case !possible(&w.unit, k):
				to = "-"
			case !stands:
				to = "over"
			case u != w.unit:
				to = nameOf(t, u)
			}
			fmt.Fprint(table, "\t", to)
		}
	}
	fmt.Fprintln(table)
	table.Flush()
	var lines []string
	for line := range strings.Lines(b.String()) {
		lines = append(lines, strings.TrimRight(line, " \n")+"\n")
	}
	got := strings.Join(lines, "")
	const golden, document = "testdata/life.txt", "../../docs/architecture.md"
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		doc = bytes.Replace(doc, want, []byte(got), 1)
		want = []byte(got)
		if err := errors.Join(os.WriteFile(golden, want, 0o644), os.WriteFile(document, doc, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if got != string(want) {
		t.Errorf("%s is not the table (-rewrite writes it):\n%s", golden, got)
	}
	if !strings.Contains(string(doc), got) {
		t.Errorf("%s does not have the table as it is:\n%s", document, got)
	}
}

// TestTheTableIsWhole: each state has an answer to each event, and each event means
// something to some state.
func TestTheTableIsWhole(t *testing.T) {
	if len(life) != len(model.UnitStates) {
		t.Fatalf("%d states have a row, want %v", len(life), model.UnitStates)
	}
	for k := range kinds {
		if kindNames[k] == "" {
			t.Errorf("event %d has no name", k)
		}
		matters := false
		for s, row := range life {
			if row[k] == 0 {
				t.Errorf("%s: nothing says what becomes of it when this happens: %s", model.UnitState(s), k)
			}
			matters = matters || row[k] != stays
		}
		if !matters {
			t.Errorf("%s: no unit minds", k)
		}
	}
}

// TestAnyLife: whatever happens, in any order, a unit has what its state says, says since
// when and why, and its time to register never began earlier than was known before,
// except for an instance that was made before it was asked for and had not been seen.
func TestAnyLife(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	reached := map[string]int{}
	for range 2000 {
		var u model.Unit
		now, history := t0, ""
		for range 30 {
			now = now.Add(time.Second)
			e := event(Kind(random.IntN(int(kinds))), now)
			if random.IntN(4) == 0 {
				u.Stop(now) // the clock stands still
			}
			before := u
			next, stands := Advance(u, e)
			history += fmt.Sprintf("%s, ", e.Kind)
			if !stands {
				reached["over"]++
				break
			}
			u = next
			name := nameOf(t, u)
			reached[name]++
			givenUp := u.State == model.UnitGivenUp || u.State == model.UnitKept
			switch {
			case (u.State == model.UnitAsked) != u.Entered.IsZero():
				t.Fatalf("%s%s since %s", history, name, u.Entered)
			case u.State != before.State && u.State != model.UnitAsked && u.Entered != now:
				t.Fatalf("%s%s since %s, and not since %s", history, name, u.Entered, now)
			case givenUp && u.Why == "", !givenUp && u.State != model.UnitReady && u.Why != "":
				t.Fatalf("%s%s, for %q", history, name, u.Why)
			case u.Open() && before.Open() && u.From(u.Exists).Before(before.From(before.Exists)):
				t.Fatalf("%sits time began at %s, and then at %s", history, before.From(before.Exists), u.From(u.Exists))
			case u.Stalled.Before(before.Stalled) && e.Kind != AskedAgain:
				t.Fatalf("%sits clock stood still until %s, and then until %s", history, before.Stalled, u.Stalled)
			}
		}
	}
	for _, w := range append(what, struct {
		name string
		unit model.Unit
	}{name: "over"}) {
		if reached[w.name] == 0 {
			t.Errorf("no life got to %q", w.name)
		}
	}
}
