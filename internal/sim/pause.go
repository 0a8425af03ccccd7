package sim

import (
	"errors"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// This file is processes that are stopped for a while, as by a hypervisor or a debugger, and do not
// know it. A lease does not wait for them: another process leads, and then there are two.

// Pause stops the leader's process for a while. What it has sent takes effect.
func (w *world) Pause(d time.Duration) {
	l := w.leader
	if l == nil || l.stopped {
		return
	}
	w.log.say("the leader's process is stopped")
	l.stopped = true
	l.renewed = w.now.Add(-Span{0, lease.RetryPeriod}.draw(w.dice.people))
	w.stopped = append(w.stopped, l)
	w.judge.stir()
	w.at(l.renewed.Add(lease.RenewDeadline), func() {
		if !l.renewed.IsZero() && !l.dead {
			w.judge.tell(check.Event{What: check.LeaseEnds, Process: l.jobs.name})
		}
	})
	w.at(l.renewed.Add(lease.LeaseDuration), func() {
		if l.stopped && w.leader == l {
			w.leader = nil
			w.followed()
			w.elect()
		}
	})
	w.after(d, func() { w.resume(l) })
}

// resume lets a process go on where it was stopped. It learns a moment later that its lease is lost.
func (w *world) resume(l *leader) {
	if l.dead {
		return
	}
	w.log.say("the process that was stopped goes on")
	l.stopped = false
	held := l.held
	l.held = nil
	if l.may() == nil {
		l.renewed = time.Time{}
	}
	for _, do := range held {
		do()
	}
	l.watch.catchUp()
	if l.may() == nil {
		return
	}
	w.after(lease.RetryPeriod, func() {
		if w.leader == l {
			w.Crash(0)
		} else {
			l.end()
		}
	})
}

// runs does something of the process's, once it is not stopped.
func (l *leader) runs(do func()) {
	if l.stopped {
		l.held = append(l.held, do)
		return
	}
	do()
}

// may says why the process must not write: by its clock, its lease may be another's.
func (l *leader) may() error {
	if !l.renewed.IsZero() && l.w.now.Sub(l.renewed) >= lease.RenewDeadline {
		return errors.New("its lease could not be renewed in time")
	}
	return nil
}
