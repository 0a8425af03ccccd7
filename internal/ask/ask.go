// Package ask answers questions about a cluster by deciding on it as the loop does.
//
// What flows in: an observation, what a leader remembered, and a policy. What flows out: the cycle
// that the loop would have had, as a value, or all cycles until nothing changes any more, with the
// plans carried out in memory (UntilRest). Nothing is written, and no request is made.
//
// Who may import it: hosts (cmd) and tests. It turns the loop's own crank, so that its answers
// cannot differ from those of the loop.
package ask

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
)

// Decide is what a leader decides that begins with a memory and sees this first.
func Decide(seen model.Observation, memory model.Memory, p model.Policy) (model.Cycle, error) {
	var t turn
	t.seen = seen
	l := loop.New(&t, &t, &t, p, func() time.Time { return seen.Now }, ledger.Restore(p.Rules, memory))
	defer l.Close()
	if err := l.RunOnce(context.Background()); err != nil {
		return model.Cycle{}, err
	}
	return t.cycle, nil
}

// turn fills the loop's ports: it shows one observation, begins no call, and keeps the cycle.
type turn struct {
	seen  model.Observation
	cycle model.Cycle
}

func (t *turn) Observe(context.Context, time.Time) (model.Observation, error) { return t.seen, nil }
func (t *turn) Start(context.Context, []model.Call)                           {}
func (t *turn) Collect() []model.Outcome                                      { return nil }
func (t *turn) Report(_ context.Context, c model.Cycle) error {
	t.cycle = c
	return nil
}
