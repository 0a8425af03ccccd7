package check

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Budget bounds the nodes that go, of one group or of all. It is the world's own way to say it: three flags that the
// product does not have.
type Budget struct {
	Group string // empty: all
	// Nodes is how many may be on their way out at once, Rate how many may begin within Over; -1: any number.
	Nodes, Rate int
	Over        time.Duration
	// Allow: nodes may begin to go in the first part of each hour only; 0: always.
	Allow time.Duration
}

// BudgetFlag begins the flags of a budget.
const BudgetFlag = "--budget-"

// any reports whether the budget says something.
func (b *Budget) any() bool { return b.Nodes >= 0 || b.Rate >= 0 || b.Allow > 0 }

// ParseBudget reads the flags of a budget among others; ok is false if there are none.
func ParseBudget(words []string) (b Budget, ok bool, err error) {
	set := pflag.NewFlagSet("budget", pflag.ContinueOnError)
	set.ParseErrorsAllowlist.UnknownFlags = true
	set.StringVar(&b.Group, "budget-group", "", "")
	set.IntVar(&b.Nodes, "budget-nodes", -1, "")
	set.DurationVar(&b.Allow, "budget-allow", 0, "")
	rate := set.String("budget-rate", "", "")
	if err := set.Parse(words); err != nil {
		return b, false, fmt.Errorf("read the budget in %q: %w", words, err)
	}
	b.Rate = -1
	if count, over, is := strings.Cut(*rate, "/"); is {
		if b.Rate, err = strconv.Atoi(count); err == nil {
			b.Over, err = time.ParseDuration(over)
		}
		if err != nil {
			return b, false, fmt.Errorf("read --budget-rate=%s: %w", *rate, err)
		}
	}
	return b, b.any(), nil
}

// exit is a node that began to go.
type exit struct {
	at    time.Time
	group string
}

const heldByBudget = "HeldByBudget"

// HeldBack reports whether a budget held nodes when the world was last to be at rest, let one go a short while ago, or
// lets some go right now: it may take hours until all have gone that nothing needs.
func (j *Judge) HeldBack() bool {
	t, n := &j.truth, len(j.truth.exits)
	open := j.flags.Budget.Allow > 0 && j.now.Sub(j.now.Truncate(time.Hour)) < j.flags.Budget.Allow
	return open || t.heldBack || n > 0 && j.since(t.exits[n-1].at) < time.Hour
}

// budgeted holds each removal that begins against the budget, by the machines and nodes that there are. When a write
// was asked for counts, and not when it took effect.
func budgeted(j *Judge, e *Event) {
	t, b := &j.truth, &j.flags.Budget
	n := j.begins(e)
	if n == nil || !b.any() || j.hurried(n) { // what the cloud takes is neither held nor counted
		return
	}
	group := t.machineOf(n).group
	at := j.now
	if w := t.writes[e.Call]; w != nil {
		at = w.began
	}
	t.exits = append(t.exits, exit{at, group})
	if b.Group != "" && b.Group != group {
		return
	}
	if b.Nodes >= 0 {
		going := 1
		for _, m := range t.machines {
			if o := t.nodeOf(m); o != nil && o.tainted != "" && !m.ending && !j.hurried(o) &&
				(b.Group == "" || b.Group == m.group) {
				going++
			}
		}
		j.test(going <= b.Nodes, e, "going", "%d nodes are on their way out", going)
	}
	if b.Rate >= 0 {
		count := j.most(at)
		j.test(count <= b.Rate, e, "rate", "%d nodes began to go within %s", count, b.Over)
	}
	if b.Allow > 0 && t.onTime() {
		into := at.Sub(at.Truncate(time.Hour))
		j.test(into < b.Allow+rounding, e, "window", "%s of the hour are over", into)
	}
}

// most is how many nodes began to go within the budget's time, of all such times with an instant in it the worst: what
// was asked for later may have taken effect before.
func (j *Judge) most(at time.Time) (most int) {
	b := &j.flags.Budget
	for _, last := range j.truth.exits {
		if last.at.Before(at) {
			continue
		}
		count, has := 0, false
		for _, x := range j.truth.exits {
			if before := last.at.Sub(x.at); (b.Group == "" || b.Group == x.group) && before >= 0 &&
				before < b.Over-rounding && !j.forgotten(x.at) {
				count, has = count+1, has || x.at.Equal(at)
			}
		}
		if has {
			most = max(most, count)
		}
	}
	return most
}
