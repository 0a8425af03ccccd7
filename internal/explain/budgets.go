package explain

import (
	"slices"
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
	budget.State `json:",inline"`
	// Windows are when its nodes and rate count, and Allow the only times at which nodes may begin to go.
	Windows []Span `json:"windows,omitempty"`
	Allow   []Span `json:"allow,omitempty"`
	// More: there are more openings within these days than are listed.
	More bool `json:"more,omitempty"`
}

// Span is one opening of a window, cut to the days that are looked at.
type Span struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

const (
	// ahead is how far windows are shown, and mostSpans how many of one budget.
	ahead     = 7 * 24 * time.Hour
	mostSpans = 200
)

// BudgetsOf says what the budgets of a policy leave.
func BudgetsOf(s *model.Snapshot, all []budget.Budget) Budgets {
	out := Budgets{APIVersion: APIVersion, Kind: "Budgets", Time: s.Now.UTC(), Budgets: []BudgetLine{}}
	for i, state := range s.Book(all).States() {
		windows, more := spans(all[i].Windows, s.Now)
		allow, moreAllow := spans(all[i].Allow, s.Now)
		out.Budgets = append(out.Budgets, BudgetLine{state, windows, allow, more || moreAllow})
	}
	return out
}

// spans is when at least one of the windows is open, in the order of time: where two overlap, they are one. It says
// whether there are more.
func spans(all []window.Window, now time.Time) (out []Span, more bool) {
	var each []window.Span
	for _, w := range all {
		its := w.Spans(now, now.Add(ahead), mostSpans+1)
		if len(its) > mostSpans {
			its, more = its[:mostSpans], true
		}
		each = append(each, its...)
	}
	slices.SortStableFunc(each, func(a, b window.Span) int { return a.From.Compare(b.From) })
	for _, s := range each {
		if last := len(out) - 1; last >= 0 && !s.From.After(out[last].To) {
			if s.To.After(out[last].To) {
				out[last].To = s.To.UTC()
			}
			continue
		}
		out = append(out, Span{s.From.UTC(), s.To.UTC()})
	}
	return out, more
}
