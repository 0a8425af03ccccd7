package explain

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/budget"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/window"
)

// Budgets is what each budget leaves now, and when its windows are open in the next days.
type Budgets struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Time       time.Time    `json:"time"`
	Budgets    []BudgetLine `json:"budgets"`
}

// BudgetLine is one budget.
type BudgetLine struct {
	Name string `json:"name"`
	// Policy is the one whose groups it covers, empty for the whole cluster; Reasons are empty for all.
	Policy  string          `json:"policy,omitempty"`
	Reasons []budget.Reason `json:"reasons,omitempty"`
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
	// Windows are when its nodes and rate count, and Allow the only times at which nodes may begin to go.
	Windows []Span `json:"windows,omitempty"`
	Allow   []Span `json:"allow,omitempty"`
}

// Span is one opening of a window, cut to the days that are looked at.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

const (
	// ahead is how far windows are shown, and mostSpans how many of one budget.
	ahead     = 7 * 24 * time.Hour
	mostSpans = 50
)

// BudgetsOf says what the budgets of a policy leave.
func BudgetsOf(s *model.Snapshot, all []budget.Budget) Budgets {
	out := Budgets{APIVersion: APIVersion, Kind: "Budgets", Time: s.Now.UTC(), Budgets: []BudgetLine{}}
	for _, l := range s.Book(all).Lines() {
		line := BudgetLine{Name: l.Name, Reasons: l.Reasons, Counts: l.Counts, Closed: l.Closed, Going: l.Going,
			Windows: spans(l.Windows, s.Now), Allow: spans(l.Allow, s.Now)}
		if l.Budget.Of != nil {
			line.Policy = l.Budget.Of.Name
		}
		if until := l.Ends; l.Closed || !until.IsZero() {
			if l.Closed {
				until = l.Opens
			}
			until = until.UTC()
			line.Until = &until
		}
		if l.Limit >= 0 {
			line.Limit = &l.Limit
		}
		if l.Rate != nil {
			line.Rate, line.Over, line.Began = &l.Rate.Count, l.Rate.Over.String(), l.Began()
		}
		out.Budgets = append(out.Budgets, line)
	}
	return out
}

func spans(all []window.Window, now time.Time) (out []Span) {
	for _, w := range all {
		for _, s := range w.Spans(now, now.Add(ahead), mostSpans) {
			out = append(out, Span{s.From.UTC(), s.To.UTC()})
		}
	}
	return out
}
