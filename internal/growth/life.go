// Package growth is the life of nodes that were asked for, from the request to a node that
// is ready, or until it is no longer waited for.
//
// A scale-up is a model.Ask, and each node of it a model.Unit. Advance has the whole life of
// a unit in one table, state × event → state; testdata/life.txt is that table in print.
// A Group is what is known of one group of nodes: its asks, its instances, what is missing,
// its health (S2), and what it rests from. Progress compares a group with a new observation
// and gives its units what has happened to them; Grown and Repaired take in the ends of
// calls.
//
// A unit has a deadline of its own. What stops the clock moves the deadline: while the
// group's machines cannot be made, while the cluster is unhealthy, or when an instance is
// left without its node. We err to waiting longer.
//
// Who may import it: the ledger, which keeps the groups. It imports model and provider. It
// reads no clock and does no I/O.
package growth

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Kind is what can happen to a unit.
type Kind uint8

// The kinds of events.
const (
	// Made: the cloud has made an instance for it.
	Made Kind = iota
	// Gone: its instance is gone, or on its way out.
	Gone
	// Registered: its instance has a node.
	Registered
	// NodeGone: its node is gone, and the instance is not.
	NodeGone
	// Ready: its node is ready.
	Ready
	// NeverReady: its node did not become ready in time, or broke before it was.
	NeverReady
	// Late: its time is over, or the cloud cannot make it.
	Late
	// NotCancelled: the cloud could not take the request for it back.
	NotCancelled
	// AskedAgain: the group may grow again, and the cloud may fill the old request.
	AskedAgain

	kinds
)

var kindNames = [kinds]string{
	"made", "gone", "registered", "node gone", "ready", "never ready", "late", "not cancelled", "asked again",
}

func (k Kind) String() string { return kindNames[k] }

// Event is something that happened to a unit, at an instant.
type Event struct {
	Kind Kind
	At   time.Time
	// Instance is the one that was made. Its time to register runs from From at the earliest, if that is set; so does
	// that of one which the cloud makes in its place.
	Instance provider.InstanceID
	From     time.Time
	// Exists is when that instance was made, or when one was left without its node.
	Exists time.Time
	// Node is the one that registered.
	Node string
	// Why is the reason to wait no longer.
	Why string
}

// cell is an entry of the table. An empty one is a mistake, which a test finds.
type cell uint8

const (
	_     cell = iota
	stays      // the event changes nothing
	over       // the unit is no more
	asked      // from here on, the states in their order
	made
	registered
	ready
	givenUp
	kept
)

// life is what becomes of a unit, by its state and what happens. Events that a unit cannot
// have, by the instance and the node that it has, never get here (see possible).
var life = [...][kinds]cell{
	// A request may be filled, or its time ends.
	model.UnitAsked: {
		Made: made, Gone: stays, Registered: stays, NodeGone: stays, Ready: stays,
		NeverReady: stays, Late: givenUp, NotCancelled: stays, AskedAgain: stays,
	},
	// Clouds replace machines that do not join. The time of the unit goes on then: else it
	// would never become known that no machine of the group joins.
	model.UnitMade: {
		Made: stays, Gone: asked, Registered: registered, NodeGone: stays, Ready: stays,
		NeverReady: stays, Late: givenUp, NotCancelled: stays, AskedAgain: stays,
	},
	// A machine that loses its node has all of its time again.
	model.UnitRegistered: {
		Made: stays, Gone: over, Registered: stays, NodeGone: made, Ready: ready,
		NeverReady: givenUp, Late: stays, NotCancelled: stays, AskedAgain: stays,
	},
	model.UnitReady: {
		Made: stays, Gone: over, Registered: stays, NodeGone: made, Ready: stays,
		NeverReady: stays, Late: stays, NotCancelled: stays, AskedAgain: stays,
	},
	// It may come all the same, and does the pods of its growth good if it does.
	model.UnitGivenUp: {
		Made: made, Gone: over, Registered: registered, NodeGone: givenUp, Ready: ready,
		NeverReady: stays, Late: stays, NotCancelled: kept, AskedAgain: asked,
	},
	model.UnitKept: {
		Made: made, Gone: stays, Registered: stays, NodeGone: stays, Ready: stays,
		NeverReady: stays, Late: stays, NotCancelled: stays, AskedAgain: asked,
	},
}

// possible reports whether an event can be one of a unit, by what the unit has.
func possible(u *model.Unit, k Kind) bool {
	switch k {
	case Made, NotCancelled, AskedAgain:
		return u.Instance == ""
	case Gone:
		return u.Instance != ""
	case Registered:
		return u.Instance != "" && u.Node == ""
	case NodeGone, Ready, NeverReady:
		return u.Node != ""
	}
	return true
}

// Advance is a unit after an event, and whether there still is such a unit. An event that
// means nothing to it leaves it as it is.
func Advance(was model.Unit, e Event) (u model.Unit, stands bool) {
	to := life[was.State][e.Kind]
	switch {
	case to == stays || !possible(&was, e.Kind):
		return was, true
	case to == over:
		return model.Unit{}, false
	}
	u = was
	switch e.Kind {
	case Made:
		u = model.Unit{Instance: e.Instance, Exists: e.Exists, Deadline: was.Deadline}
		u.Start(e.From)
	case Gone:
		u = model.Unit{Deadline: was.Deadline}
		if u.Since.IsZero() || !was.Lost.IsZero() { // one that lost its node had all of its time again
			u.Start(was.Exists)
		}
		u.Start(e.From)
	case AskedAgain:
		u = model.Unit{}
	case Registered:
		u.Node, u.Why = e.Node, ""
	case NodeGone:
		u.Node, u.Exists, u.Since = "", e.Exists, time.Time{}
		if to == made {
			u.Why = ""
		}
	case NeverReady, Late:
		u.Why = e.Why
	}
	if u.State = model.UnitState(to - asked); u.State == model.UnitAsked {
		u.Entered = time.Time{}
	} else if u.State != was.State {
		u.Entered = e.At
	}
	return u, true
}
