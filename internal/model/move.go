package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Move is nodes that go for others that come, as one decision: what comes is bought first, and no
// pod leaves its node before all of it is ready (ADR 60). internal/move moves it from stage to stage.
type Move struct {
	ID string `json:"id"`
	// Reason is why it is worth it.
	Reason Reason `json:"reason"`
	// Goes are nodes, sorted by name; Comes what is bought for their pods, sorted by group.
	Goes  []string   `json:"goes"`
	Comes []Purchase `json:"comes"`
	// Pods is how many are evicted for it.
	Pods int `json:"pods"`
	// Before and After are what both cost, by the hour.
	Before float64 `json:"before"`
	After  float64 `json:"after"`

	Stage MoveStage `json:"stage,omitzero"`
	// Began is when it was decided, and Entered when it came into its stage. Last is when one of its nodes
	// last left, or a budget last held one; zero if neither was.
	Began   time.Time `json:"began"`
	Entered time.Time `json:"entered"`
	Last    time.Time `json:"last,omitzero"`
	// Gone are those of Goes that have left. A node that comes under the name of one of them is another.
	Gone []string `json:"gone,omitempty"`
	// Patience is how long its nodes may take to leave, from one to the next, and Stay how long the nodes
	// of a move that is over are left alone by others.
	Patience time.Duration `json:"patience"`
	Stay     time.Duration `json:"stay"`
	// DrainAt is when its old nodes of spot capacity are drained whatever has come by then, since their machines are
	// about to be taken; zero: what comes is waited for.
	DrainAt time.Time `json:"drainAt,omitzero"`
	// Why is what ended it before its time.
	Why string `json:"why,omitempty"`
}

// Purchase is nodes of one group that are bought for a move.
type Purchase struct {
	Group provider.GroupID `json:"group"`
	Count int              `json:"count"`
	// Ask is the call that asks for them, and Nodes those that are ready.
	Ask   string   `json:"ask,omitempty"`
	Nodes []string `json:"nodes,omitempty"`
}

// OfMove reports whether it is why a move replaces nodes.
func (r Reason) OfMove() bool {
	return r == CheaperElsewhere || r == PreferredElsewhere || r == NodeInterrupted || r == NodeUnready ||
		r == NodeUnsound || r == NodeDrifted || r == NodeExpired
}

// MoveStage is how far a move is.
type MoveStage uint8

// The stages of a move.
const (
	// MoveBuying: its nodes are asked for, and not all of them are ready.
	MoveBuying MoveStage = iota
	// MoveEmptying: the old nodes are drained, one by one.
	MoveEmptying
	// MoveDone: all of the old nodes are gone. The new ones are left alone for a while.
	MoveDone
	// MoveGivenUp: what is left of the old nodes stays. They are left alone for a while.
	MoveGivenUp
	// MoveStages is how many there are.
	MoveStages
)

var moveStages = [MoveStages]string{"buying", "emptying", "done", "givenUp"}

func (s MoveStage) String() string {
	if s < MoveStages {
		return moveStages[s]
	}
	return fmt.Sprintf("MoveStage(%d)", uint8(s))
}

// MarshalText is for the memory.
func (s MoveStage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText is for the memory.
func (s *MoveStage) UnmarshalText(text []byte) error {
	i := slices.Index(moveStages[:], string(text))
	if i < 0 {
		return fmt.Errorf("read the stage of a move: %q is none of %v", text, moveStages)
	}
	*s = MoveStage(i)
	return nil
}

// Open reports whether something is still to come of it.
func (m *Move) Open() bool { return m.Stage == MoveBuying || m.Stage == MoveEmptying }

// Going lists the nodes that are still to leave.
func (m *Move) Going() []string {
	if len(m.Gone) == 0 {
		return m.Goes
	}
	return slices.DeleteFunc(slices.Clone(m.Goes), func(name string) bool { return slices.Contains(m.Gone, name) })
}

// Presses reports whether its old nodes of spot capacity are drained whatever has come.
func (m *Move) Presses(now time.Time) bool { return !m.DrainAt.IsZero() && !now.Before(m.DrainAt) }

// Rests is until when the nodes of a move that is over are left alone.
func (m *Move) Rests() time.Time { return m.Entered.Add(m.Stay) }

// Savings are what it saves by the hour.
func (m *Move) Savings() float64 { return m.Before - m.After }

// ByPriority reports whether it goes by the priorities alone: prices of it are not known, or come to nothing.
func (m *Move) ByPriority() bool { return m.Reason == PreferredElsewhere && m.Before == m.After }

// Bought lists the nodes that have come for it.
func (m *Move) Bought() (nodes []string) {
	for i := range m.Comes {
		nodes = append(nodes, m.Comes[i].Nodes...)
	}
	return nodes
}

// Text says what goes for what: "3 nodes for 2 of small, 1 of spot".
func (m *Move) Text() string {
	parts := make([]string, len(m.Comes))
	for i, p := range m.Comes {
		parts[i] = fmt.Sprintf("%d of %s", p.Count, p.Group)
	}
	nodes := "nodes"
	if len(m.Goes) == 1 {
		nodes = "node"
	}
	if len(parts) == 0 {
		return fmt.Sprintf("%d %s for room on others", len(m.Goes), nodes)
	}
	return fmt.Sprintf("%d %s for %s", len(m.Goes), nodes, strings.Join(parts, ", "))
}

// CopyMoves is a list of moves that shares nothing with the first.
func CopyMoves(list []Move) []Move {
	out := slices.Clone(list)
	for i := range out {
		out[i].Goes = slices.Clone(out[i].Goes)
		out[i].Gone = slices.Clone(out[i].Gone)
		out[i].Comes = slices.Clone(out[i].Comes)
		for j := range out[i].Comes {
			out[i].Comes[j].Nodes = slices.Clone(out[i].Comes[j].Nodes)
		}
	}
	return out
}
