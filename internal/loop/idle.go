package loop

import (
	"fmt"
	"maps"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// This file is what the loop does in idle time: it doubts its own decisions, in two ways. Neither changes what has been
// decided. Where a doubt was right, what it was about is not used any more, and the next turn decides.

// recheckEvery is how often a turn that has nothing to decide holds what is kept from turn to turn against a decision
// from nothing.
const recheckEvery = time.Hour

// recheck decides twice on what is seen: with all that earlier turns have left to save work, and from nothing.
// Neither plan is acted on. Where they differ, what was kept is wrong: it is dropped, and the next turn decides. It
// returns nil where it is too early, or a replay is still to end, which needs what is kept.
func (l *Loop) recheck(seen model.Observation) *model.Recheck {
	if l.rechecked.IsZero() {
		l.rechecked = seen.Now
	}
	if seen.Now.Sub(l.rechecked) < recheckEvery || l.replay != nil {
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

// Rest does at once what there is to do in idle time. It is for hosts with a clock of their own.
func (l *Loop) Rest() {
	for l.replay != nil {
		l.doubt()
	}
}

// doubt puts one more pod of the last plan before the scheduler's plugins, after the plan's calls have begun. Where
// they do not allow what the plan has found, they alone say from now on where pods of that class may go (ADR 65).
func (l *Loop) doubt() {
	if l.replay.Step() {
		return
	}
	l.endReplay(true)
	no := l.replayed.Refused
	if no == nil {
		return
	}
	said := maps.Clone(l.policy.Disallowed)
	if said == nil {
		said = map[string]string{}
	}
	said[no.Class] = fmt.Sprintf("a plan had room for pod %s on %s, and the scheduler's filters do not allow it: "+
		"%s (%s); they alone say from now on where pods like it may go", no.Pod, no.Node, no.Reason, no.Detail)
	l.policy.Disallowed = said
	l.decider.Close() // what is kept may come of the same fault
	l.decided = false
}

// replayPause is how long no other replay begins after one that took all of its steps, and a part of it after one that
// took a part. A replay may take the time of a decision, two seconds as a rule, so all together take a twentieth of the
// time of one processor at most, where plan follows plan.
const replayPause = 40 * time.Second

// beginReplay begins that of a plan whose calls have begun, if the one before was long enough ago.
func (l *Loop) beginReplay() {
	if !l.snap.Now.Before(l.replayAfter) {
		l.replay = l.decider.Replay(l.snap, l.policy, &l.plan)
	}
}

// endReplay ends a replay that there may be: it has come to its end, or another plan is made.
func (l *Loop) endReplay(ended bool) {
	if l.replay == nil {
		return
	}
	l.replayed, l.replay = l.replay.Result(), nil
	l.replayed.Ended = ended
	if most := decide.ReplaySteps(l.policy); most > 0 {
		pause := time.Duration(min(1, float64(l.replayed.Steps)/float64(most)) * float64(replayPause))
		l.replayAfter = l.snap.Now.Add(pause.Truncate(time.Millisecond))
	}
}

// tellReplay hands out once what came of a replay.
func (l *Loop) tellReplay() *model.Replay {
	out := l.replayed
	l.replayed = nil
	return out
}
