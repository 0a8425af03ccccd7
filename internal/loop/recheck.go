package loop

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// recheckEvery is how often a turn that has nothing to decide holds what is kept from turn to turn against a decision
// from nothing.
const recheckEvery = time.Hour

// recheck decides twice on what is seen: with all that earlier turns have left to save work, and from nothing.
// Neither plan is acted on. Where they differ, what was kept is wrong: it is dropped, and the next turn decides. It
// returns nil where it is too early.
func (l *Loop) recheck(seen model.Observation) *model.Recheck {
	if l.rechecked.IsZero() {
		l.rechecked = seen.Now
	}
	if seen.Now.Sub(l.rechecked) < recheckEvery {
		return nil
	}
	l.rechecked = seen.Now
	standing := l.ledger.Standing()
	warm := l.decider.Decide(snapshot.New(l.snap, seen, standing, l.policy.Rules), l.policy)
	afresh := snapshot.New(nil, seen, standing, l.policy.Rules)
	cold := decide.Decide(afresh, l.policy)
	out := &model.Recheck{Differs: decide.Differences(warm, cold)}
	if len(out.Differs) > 0 {
		l.decider.Close()
		l.snap, l.decided = afresh, false
	}
	return out
}
