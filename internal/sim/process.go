package sim

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// process runs the jobs of one leader's actor in virtual time: it is an act.Runtime. A job is a
// coroutine. It runs until it sends a request, and goes on when the answer is there: of all jobs and
// the rest of the world exactly one runs, so that a world stays a function of its seed.
type process struct {
	w       *world
	name    string
	now     func() time.Time
	ran     func()       // is called when a job or a timer has run
	runs    func(func()) // does something once the process is not stopped
	running *task
	waiting []*task // those whose request is on its way
	dead    bool
}

// task is one job.
type task struct {
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
}

// errDead is what requests of a process get that has died meanwhile. It is never seen: the process
// that the job would report to is gone.
var errDead = errors.New("the process has died")

// Now is the time by the process's clock.
func (p *process) Now() time.Time { return p.now() }

// Go begins a job soon.
func (p *process) Go(job func()) {
	p.w.after(p.w.settings.Lags.Begin.draw(p.w.dice.api), func() {
		p.alive(func() {
			t := &task{}
			t.resume, t.stop = iter.Pull(func(yield func(struct{}) bool) {
				t.yield = yield
				job()
			})
			p.goOn(t)
		})
	})
}

// After calls do later, unless the process has died.
func (p *process) After(d time.Duration, do func()) (stop func()) {
	stopped := false
	p.w.after(d, func() {
		p.alive(func() {
			if !stopped {
				do()
				p.ran()
			}
		})
	})
	return func() { stopped = true }
}

// alive does something of the process's, unless it has died.
func (p *process) alive(do func()) {
	p.runs(func() {
		if !p.dead {
			do()
		}
	})
}

// WithDeadline is a context that ends at an instant by the process's clock.
func (p *process) WithDeadline(ctx context.Context, at time.Time) (context.Context, context.CancelFunc) {
	return deadline{ctx, p, at}, func() {}
}

// deadline is a context that ends in virtual time. Requests look up in it whose they are.
type deadline struct {
	context.Context
	of *process
	at time.Time
}

type deadlineKey struct{}

func (d deadline) Value(key any) any {
	if key == (deadlineKey{}) {
		return d
	}
	return d.Context.Value(key)
}

func (d deadline) Err() error {
	if !d.of.now().Before(d.at) {
		return context.DeadlineExceeded
	}
	return d.Context.Err()
}

// goOn lets a job run until its next request.
func (p *process) goOn(t *task) {
	p.running = t
	t.resume()
	p.running = nil
	p.ran()
}

// die ends all jobs. What they have sent may still take effect.
func (p *process) die() {
	p.dead = true
	for _, t := range p.waiting {
		t.stop()
	}
	p.waiting = nil
}

// request is what a job sends to the API server or to the cloud.
type request struct {
	took time.Duration
	// lost: the answer does not arrive.
	lost   bool
	writes bool
	// serve is the effect of the request, nil if it has none.
	serve func()
}

// send sends a request, which takes effect after half of its time and is answered after all of it,
// unless its deadline comes first. What a process has sent that dies meanwhile takes effect or does
// not. The error says why there is no answer.
func (d deadline) send(r request) error {
	p, w := d.of, d.of.w
	left := d.at.Sub(p.now())
	switch {
	case p.dead:
		return errDead
	case left <= 0:
		return context.DeadlineExceeded
	}
	t := p.running
	var err error
	goOn := func() {
		p.alive(func() {
			p.waiting = slices.DeleteFunc(p.waiting, func(other *task) bool { return other == t })
			p.goOn(t)
		})
	}
	if r.writes {
		w.judge.tell(check.Event{What: check.Writes, Process: p.name})
	}
	survives := w.dice.api.IntN(2) == 0 // should the process die
	if r.serve != nil {
		w.after(min(r.took/2, left), func() {
			if !p.dead || survives {
				r.serve()
			}
		})
	}
	if r.lost || r.took > left {
		err = context.DeadlineExceeded
		w.after(left, goOn)
	} else {
		w.after(r.took, goOn)
	}
	p.waiting = append(p.waiting, t)
	if !t.yield(struct{}{}) {
		return errDead
	}
	return err
}
