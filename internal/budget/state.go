package budget

import "time"

// State is what a budget leaves, for people.
type State struct {
	Name string `json:"name"`
	// Policy is the one whose groups it covers, empty for the whole cluster; Reasons are empty for all.
	Policy  string   `json:"policy,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"`
	// Counts: its nodes and rate count now; Closed: nothing may begin to go now. Until is when either ends.
	Counts bool       `json:"counts"`
	Closed bool       `json:"closed,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	// Going is how many nodes are on their way out, of at most Limit.
	Going int  `json:"going"`
	Limit *int `json:"limit,omitempty"`
	// Began is how many have begun to go within Over, of at most Rate.
	Began int    `json:"began,omitempty"`
	Rate  *int   `json:"rate,omitempty"`
	Over  string `json:"over,omitempty"`
	// Left is how many more may begin to go now; nil: any number.
	Left *int `json:"left,omitempty"`
}

// States says what each budget leaves, in their order.
func (b *Book) States() (out []State) {
	for i := range b.lines {
		out = append(out, b.lines[i].state())
	}
	return out
}

func (l *Line) state() State {
	out := State{Name: l.Name, Reasons: l.Reasons, Counts: l.Counts, Closed: l.Closed, Going: l.Going}
	if l.Budget.Of != nil {
		out.Policy = l.Budget.Of.Name
	}
	if until := l.Ends; l.Closed || !until.IsZero() {
		if l.Closed {
			until = l.Opens
		}
		if until = until.UTC(); !until.IsZero() {
			out.Until = &until
		}
	}
	left := -1
	least := func(n int) {
		if n = max(n, 0); left < 0 || n < left {
			left = n
		}
	}
	if l.Limit >= 0 {
		out.Limit = &l.Limit
		if l.Counts {
			least(l.Limit - l.Going)
		}
	}
	if l.Rate != nil {
		out.Rate, out.Over, out.Began = &l.Rate.Count, l.Rate.Over.String(), l.Began()
		if l.Counts {
			least(l.Rate.Count - out.Began)
		}
	}
	if l.Closed {
		least(0)
	}
	if left >= 0 {
		out.Left = &left
	}
	return out
}
