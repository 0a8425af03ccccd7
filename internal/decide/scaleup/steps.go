package scaleup

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/spelling"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about a cycle that ends because its steps are used up: what it did
// not look at is reported, and comes first in the next.

// pace is how soon a cycle that ended early is followed by the next.
const pace = 10 * time.Second

// forWords is the part of the limit on steps that is kept for saying why pods
// wait, where less is left.
const forWords = 10

// looksPerGroup is how many cheap looks take as long as to score a group for a class, or to say why the class is not
// on it.
const looksPerGroup = 8

// stepsLeft is how many steps the cycle has left. Placing pods on nodes that are
// there may use half of them, what spreads over domains half of the rest, and what is
// packed has all that is left then: no kind of pod can leave another without any.
func (pl *planner) stepsLeft() int { return max(0, pl.end-pl.w.Work().Steps) }

// turns are the places of classes, by key, among those that earlier cycles had no
// steps for, the longest unseen first; others come after all of them.
func (pl *planner) turns(list []*waiting) map[string]int {
	if len(pl.s.Unseen) == 0 {
		return nil
	}
	at := make(map[string]int, len(pl.s.Unseen))
	for i, digest := range pl.s.Unseen {
		at[digest] = i - len(pl.s.Unseen)
	}
	out := make(map[string]int, len(list))
	for _, q := range list {
		c := &pl.s.Classes[q.Class]
		out[c.Key] = at[c.Digest()]
	}
	return out
}

// cut notes which of the classes whose turn has come have not had it, since the
// steps are used up, and reports whether they are.
func (pl *planner) cut(list []*waiting) bool {
	if !pl.w.Exhausted() {
		return false
	}
	for _, q := range list {
		if q.left > 0 && !q.outOfSteps {
			q.outOfSteps, q.unseen = true, true
		}
	}
	return true
}

// endEarly tells what the cycle had no steps for, and lets the words about what it
// did look at have some of their own.
func (pl *planner) endEarly(list []*waiting, r *Result) {
	pl.w.Allow(max(pl.p.SpreadStepLimit/forWords, pl.stepsLeft()))
	pods := 0
	for _, q := range list {
		if q.unseen && q.left > 0 {
			r.Unseen = append(r.Unseen, pl.s.Classes[q.Class].Digest())
			pods += q.left
		}
	}
	if len(r.Unseen) == 0 {
		return
	}
	r.Wake = earliest(r.Wake, pl.s.Now.Add(pace))
	r.Notices = append(r.Notices, provider.Notice{Code: "StepsUsedUp", Message: fmt.Sprintf(
		"the cycle has used up its %d steps; not looked at to the end, and first in the next: %s of %s",
		pl.p.SpreadStepLimit, spelling.Count(pods, "pod"), spelling.Count(len(r.Unseen), "class"))})
}

// stepBudget is the verdict on a class that the cycle had no steps for.
func (pl *planner) stepBudget(q *waiting) *model.Verdict {
	placed := spelling.Count(q.planned+q.existing+q.upcoming, "pod") + " placed in this cycle"
	if q.unseen {
		placed += ", whose steps are used up; it is first in the next"
	}
	return &model.Verdict{Reason: model.StepBudget, Detail: placed, Fix: "the next cycle"}
}
