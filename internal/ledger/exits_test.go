package ledger

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// exits is how many nodes are on record that began to go.
func exits(l *Ledger) (n int) {
	for _, e := range l.Standing().Exits {
		n += e.Count
	}
	return n
}

// TestWhatBeganIsRemembered: a removal is on record from its taint on, and through restarts, once. One that an earlier
// leader began and could not write down is found by its taint. Where no budget counts, nothing is on record.
func TestWhatBeganIsRemembered(t *testing.T) {
	e := newEmptying(t)
	e.l.rules.RateSpan = time.Hour
	e.call(taintCall())
	e.taint()
	e.look()
	want(t, "begun", e.l.Standing().Exits, []budget.Exit{{Group: "g", Reason: budget.Underutilized, At: at(1), Count: 1}})
	e.restart()
	e.restart()
	want(t, "after restarts", exits(e.l), 1)

	for span, found := range map[time.Duration]int{0: 0, time.Hour: 1} {
		e.l = empty()
		e.l.rules.RateSpan = span
		e.look()
		e.look()
		want(t, "found by its taint", exits(e.l), found)
	}
}

// TestCheaperIsOnRecord: a node that goes for a move counts as one.
func TestCheaperIsOnRecord(t *testing.T) {
	e := newEmptying(t)
	e.l.rules.RateSpan = time.Hour
	c := taintCall()
	c.Reason = model.CheaperElsewhere
	e.note(c)
	want(t, "reason", e.l.Standing().Exits[0].Reason, budget.Cheaper)
}
