// Package move is the life of a move: nodes that go for cheaper, newer or sounder ones that come.
//
//	Buying → Emptying → Done → (over)      all that was bought is ready, all that was to go is gone
//	Buying or Emptying → GivenUp → (over)  what was bought did not come, or what was to go did not go
//
// A move is a value, model.Move, which the ledger keeps. Advance has its whole life in one table, stage ×
// event → stage; testdata/life.txt is that table in print. Progress compares moves with what is seen and
// gives them what has happened. What a move does is done by others: its purchases are scale-ups
// (internal/growth), and its nodes go by removals (internal/removal), which ask each time whether the
// pods still have room. So nothing is lost if a move ends at any point: nodes that were bought and are
// not needed go like all such nodes, and nodes that have not gone stay.
//
// Who may import it: the ledger. It imports model and provider. It reads no clock and does no I/O.
package move

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Kind is what can happen to a move.
type Kind uint8

// The kinds of events.
const (
	// Came: all that was bought for it is ready.
	Came Kind = iota
	// Pressed: its old nodes of spot capacity cannot wait for what was bought: their machines are about to be taken.
	Pressed
	// Short: some of what was bought for it does not come.
	Short
	// Left: all of the nodes that were to go are gone.
	Left
	// Late: no node has left for as long as one may take.
	Late
	// Rested: its nodes have been left alone for long enough.
	Rested

	kinds
)

var kindNames = [kinds]string{"came", "pressed", "short", "left", "late", "rested"}

func (k Kind) String() string { return kindNames[k] }

// cell is an entry of the table. An empty one is a mistake, which a test finds.
type cell uint8

const (
	_     cell = iota
	stays      // the event changes nothing
	over       // the move is no more
	emptying
	done
	givenUp
)

var life = [model.MoveStages][kinds]cell{
	// Old nodes that are already gone were removed by others. Their pods wait, or run elsewhere.
	model.MoveBuying: {Came: emptying, Pressed: emptying, Short: givenUp, Left: givenUp, Late: stays, Rested: stays},
	// A new node that is lost now ends nothing: each removal asks for itself whether there is room.
	model.MoveEmptying: {Came: stays, Pressed: stays, Short: stays, Left: done, Late: givenUp, Rested: stays},
	model.MoveDone:     {Came: stays, Pressed: stays, Short: stays, Left: stays, Late: stays, Rested: over},
	model.MoveGivenUp:  {Came: stays, Pressed: stays, Short: stays, Left: stays, Late: stays, Rested: over},
}

// Event is something that happened to a move, at an instant.
type Event struct {
	Kind Kind
	At   time.Time
	// Why is for what ends a move before its time.
	Why string
}

// Advance is a move after an event, and whether there still is such a move.
func Advance(m model.Move, e Event) (_ model.Move, stands bool) {
	to := life[m.Stage][e.Kind]
	switch to {
	case stays:
		return m, true
	case over:
		return model.Move{}, false
	}
	m.Stage, m.Entered = model.MoveEmptying+model.MoveStage(to-emptying), e.At
	if m.Stage == model.MoveGivenUp {
		m.Why = e.Why
	}
	return m, true
}
