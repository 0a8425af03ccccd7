package explain

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Course is what comes of a cluster if each plan is carried out, until nothing changes.
type Course struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Start is the time of the first plan, and End that of the last.
	Start time.Time `json:"start"`
	End   time.Time `json:"end"`
	// AtRest: nothing changes any more. Otherwise the search ended before that.
	AtRest bool `json:"atRest"`
	// Limit is what ended it before it was at rest.
	Limit string `json:"limit,omitempty"`
	// Steps are the plans that bought, removed, gave up or began to move something, in order.
	Steps []CourseStep `json:"steps"`
	// Before is the cluster at the start. Last is the plan at the end.
	Before Size `json:"before"`
	Last   Plan `json:"last"`

	changed bool
}

// Changes reports whether any plan changed something: one that only goes on with a removal has no step.
func (c *Course) Changes() bool { return c.changed }

// CourseStep is what one plan began.
type CourseStep struct {
	Time   time.Time  `json:"time"`
	Buy    []Purchase `json:"buy"`
	Remove []Removal  `json:"remove"`
	GiveUp []GivenUp  `json:"giveUp"`
	// Moves are those that begin, with what is bought for them.
	Moves []model.MoveState `json:"moves,omitempty"`
	// Before is the cluster as the plan found it.
	Before Size `json:"before"`
}

// Add takes in the next cycle.
func (c *Course) Add(cycle model.Cycle, p model.Policy) {
	plan := PlanOf(cycle, p)
	if c.Kind == "" {
		*c = Course{APIVersion: APIVersion, Kind: "PlanUntilRest", Start: plan.Time, Before: plan.Before,
			Steps: []CourseStep{}}
	}
	c.End, c.Last = plan.Time, plan
	if !plan.Changes {
		return
	}
	c.changed = true
	goesOn := func(r Removal) bool { return r.When != Now && r.When != Ended }
	step := CourseStep{Time: plan.Time, Buy: plan.Buy, Before: plan.Before,
		Remove: slices.DeleteFunc(slices.Clone(plan.Remove), goesOn),
		GiveUp: slices.DeleteFunc(slices.Clone(plan.GiveUp), func(g GivenUp) bool { return !g.Now }),
	}
	for i := range plan.Moves {
		if m := &plan.Moves[i]; !m.Over() && m.Began.Equal(plan.Time) {
			step.Moves = append(step.Moves, *m)
		}
	}
	if len(step.Buy)+len(step.Remove)+len(step.GiveUp)+len(step.Moves) > 0 {
		c.Steps = append(c.Steps, step)
	}
}
