package sim

import (
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is what changes with a process: its clock and its flags.

// ownClock: the clock of the machine that the autoscaler runs on is off by skew, from the fault's
// beginning to its end. A process measures by the clock that only goes forward, which a jump does not
// change; it takes the wrong time as it begins, and meets dates of others that the jump has moved.
const ownClock What = "clock=jumps"

// clockKinds are the faults of this file.
var clockKinds = []What{ownClock}

// now is the time by the process's own clock.
func (l *leader) now() time.Time { return l.w.now.Add(l.ahead) }

// dated is an answer as the process reads it: when it asked by its own clock, and the dates of others as
// far off as its machine's clock has jumped since the process began.
func (r *reader) dated(answer provider.Inventory) provider.Inventory {
	if r.ahead == 0 && r.w.ahead == 0 {
		return answer
	}
	answer.AsOf = answer.AsOf.Add(r.ahead)
	answer.Groups = slices.Clone(answer.Groups)
	for i := range answer.Groups {
		g := &answer.Groups[i]
		g.Instances, g.Holds = slices.Clone(g.Instances), slices.Clone(g.Holds)
		redate(g, r.ahead-r.w.ahead)
	}
	return answer
}

// truly is when something happened that the process has dated.
func (l *leader) truly(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-l.ahead)
}

// Reflag changes the flags: words are added to those before. The next process has them.
func (w *world) Reflag(words []string, c config.Config) {
	w.log.say("from the next leader on the flags are others: %v", words)
	w.reflag = func() {
		w.reflag = nil
		w.settings.Policy, w.settings.Loop, w.settings.Flags = c.Policy, c.Loop, words
		clear(w.contents)
		w.judge.reflag()
	}
}
