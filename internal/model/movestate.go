package model

import (
	"slices"
	"time"
)

// WaitingMove is a move that would be worth it and does not begin now, and what it waits for.
type WaitingMove struct {
	Move
	Waits Verdict
}

// MoveState is a move as people are told of it.
type MoveState struct {
	// Text says what goes for what, such as "3 nodes for 2 of small".
	Text   string `json:"text"`
	Reason Reason `json:"reason"`
	// Stage is waiting, buying, emptying, done or givenUp.
	Stage string `json:"stage"`
	// Goes are nodes, of which Left are gone. Comes is what is bought for their pods, with the nodes that are ready.
	Goes  []string   `json:"goes"`
	Left  int        `json:"left,omitempty"`
	Comes []Purchase `json:"comes,omitempty"`
	// Pods is how many are evicted for it. Before and After are what both sides cost by the hour.
	Pods   int     `json:"pods"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Began is when it was decided; none of a move that waits.
	Began time.Time `json:"began,omitzero"`
	// WaitsFor is what a move waits for, or what ended it before its time; Until is when that is over, if that is a
	// matter of time, and Fix what would change it. The nodes of a move that is over rest until then.
	WaitsFor string    `json:"waitsFor,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	Fix      string    `json:"fix,omitempty"`
}

// MoveWaits is the stage of a move that has not begun.
const MoveWaits = "waiting"

// Saves is what a move saves by the hour; nothing where it is not for money.
func (m *MoveState) Saves() float64 { return m.Before - m.After }

// Over reports whether nothing comes of the move any more, but for the rest of its nodes.
func (m *MoveState) Over() bool {
	return m.Stage == MoveDone.String() || m.Stage == MoveGivenUp.String()
}

// MoveStates are the moves under way, those that would be worth it, and those that are over and whose nodes rest.
func (c *Cycle) MoveStates() (out []MoveState) {
	under := append(slices.Clone(c.Snapshot.Moves), c.Plan.Moves...)
	for i := range under {
		if under[i].Open() {
			out = append(out, under[i].state())
		}
	}
	for i := range c.Plan.Worth {
		m := &c.Plan.Worth[i]
		s := m.state()
		s.Stage, s.Began = MoveWaits, time.Time{}
		s.WaitsFor, s.Until, s.Fix = m.Waits.Detail, m.Waits.Until.UTC(), m.Waits.Fix
		out = append(out, s)
	}
	for i := range under {
		if m := &under[i]; !m.Open() {
			s := m.state()
			s.Until = m.Rests().UTC()
			out = append(out, s)
		}
	}
	return out
}

func (m *Move) state() MoveState {
	s := MoveState{Text: m.Text(), Reason: m.Reason, Stage: m.Stage.String(), Goes: m.Goes, Left: len(m.Gone),
		Comes: m.Comes, Pods: m.Pods, Before: m.Before, After: m.After, Began: m.Began.UTC(), WaitsFor: m.Why}
	switch m.Stage {
	case MoveBuying:
		s.WaitsFor, s.Fix = "what was bought is not ready yet", "it is ready"
	case MoveEmptying:
		s.WaitsFor, s.Fix = "its nodes are drained, one by one", "they are gone"
	}
	return s
}
