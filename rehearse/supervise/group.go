package supervise

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	defaultGrace = 10 * time.Second
	pollEvery    = 20 * time.Millisecond

	// A process that dies at once, again and again, must not eat the machine; one
	// that lived for a while was killed for a test and should be back at once.
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	longLife   = 5 * time.Second
)

// Group is a set of running child processes. All methods may be called from any
// goroutine. It is over after Stop.
type Group struct {
	log     *slog.Logger
	threads *threadKeeper
	failed  chan error
	ending  chan struct{} // closed by Stop
	watches sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	members []*member // in the order of their first start
}

type member struct {
	process Process
	run     *run
	starts  int
	asked   bool // it was asked to end: its end is no failure
}

// NewGroup returns an empty group that logs deaths and new starts.
func NewGroup(log *slog.Logger) *Group {
	return &Group{
		log:     log,
		threads: newThreadKeeper(),
		failed:  make(chan error, 1),
		ending:  make(chan struct{}),
	}
}

// Failed delivers the first unexpected death of a process that is not revived, a
// *DeathError. It is never closed.
func (g *Group) Failed() <-chan error { return g.failed }

// Launch starts a process and returns at once. A name can be used again after
// its process has ended.
func (g *Group) Launch(p Process) error {
	if p.Grace == 0 {
		p.Grace = defaultGrace
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped {
		return fmt.Errorf("start %s: the group is stopped", p.Name)
	}
	if at := g.index(p.Name); at >= 0 {
		if old := g.members[at]; old.run.alive() || !old.over() {
			return fmt.Errorf("start %s: it is running already", p.Name)
		}
		g.members = slices.Delete(g.members, at, at+1)
	}
	r, err := launch(g.threads, p)
	if err != nil {
		return err
	}
	m := &member{process: p, run: r, starts: 1}
	g.members = append(g.members, m)
	g.watches.Go(func() { g.watch(m, r) })
	return nil
}

// over reports whether nothing will start this member again.
func (m *member) over() bool { return m.asked || !m.process.Revive }

// watch waits for the end of a member's runs, one after the other, and decides
// what each end means.
func (g *Group) watch(m *member, r *run) {
	for pause := firstPause; ; {
		born := time.Now()
		<-r.ended
		death := &DeathError{Name: m.process.Name, How: r.how(), Log: m.process.Log, LogTail: logTail(m.process.Log)}
		g.mu.Lock()
		expected := g.stopped || m.asked
		g.mu.Unlock()
		if expected {
			return
		}
		if !m.process.Revive {
			g.report(death)
			return
		}
		if time.Since(born) > longLife {
			pause = firstPause
		}
		g.log.Warn("a process ended; starting it again", "process", m.process.Name, "how", r.how(), "pause", pause)
		select {
		case <-time.After(pause):
		case <-g.ending:
			return
		}
		pause = min(2*pause, maxPause)
		var err error
		if r, err = g.revive(m); err != nil {
			g.report(fmt.Errorf("%w; then: %w", death, err))
			return
		}
		if r == nil {
			return
		}
	}
}

// revive starts the next run of a member; nil without an error when it was asked
// to end in the meantime.
func (g *Group) revive(m *member) (*run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stopped || m.asked {
		return nil, nil
	}
	r, err := launch(g.threads, m.process)
	if err != nil {
		return nil, err
	}
	m.run = r
	m.starts++
	return r, nil
}

// report keeps the first failure: later ones are its consequences.
func (g *Group) report(err error) {
	select {
	case g.failed <- err:
	default:
	}
}

// WaitReady returns once the named processes run and their Ready probes pass. It
// gives up when ctx ends, or when one of them has died for good.
func (g *Group) WaitReady(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := g.waitReady(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) waitReady(ctx context.Context, name string) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		m, r, err := g.look(name)
		if err != nil {
			return err
		}
		switch {
		case r.alive():
			if m.process.Ready == nil {
				return nil
			}
			if last = m.process.Ready(ctx); last == nil {
				return nil
			}
		case m.over():
			return &DeathError{Name: name, How: r.how(), Log: m.process.Log, LogTail: logTail(m.process.Log)}
		default:
			last = errors.New("it ended and is to be started again")
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until %s is ready: %w (the last probe said: %v)", name, context.Cause(ctx), last)
		}
	}
}

// look returns a copy of a member, and its newest run.
func (g *Group) look(name string) (member, *run, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.index(name)
	if at < 0 {
		return member{}, nil, fmt.Errorf("no process is named %q", name)
	}
	return *g.members[at], g.members[at].run, nil
}

func (g *Group) index(name string) int {
	return slices.IndexFunc(g.members, func(m *member) bool { return m.process.Name == name })
}

// Kill ends a process without warning, as a crash would, and returns once it is
// gone. It is revived, or reported as a failure, as after any other death.
func (g *Group) Kill(name string) error {
	_, r, err := g.look(name)
	if err != nil {
		return err
	}
	if !r.alive() {
		return fmt.Errorf("kill %s: it is not running", name)
	}
	if err := r.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %s: %w", name, err)
	}
	<-r.ended
	return nil
}

// End asks a process to end and returns how it did, once it is gone. It is not
// revived. It is an error if the process had to be killed in the end, and none
// that it exits with another code than zero: some components always do.
func (g *Group) End(name string) (*os.ProcessState, error) {
	g.mu.Lock()
	at := g.index(name)
	if at < 0 {
		g.mu.Unlock()
		return nil, fmt.Errorf("no process is named %q", name)
	}
	m := g.members[at]
	m.asked = true
	r := m.run
	g.mu.Unlock()
	if err := end(m.process, r); err != nil {
		return nil, err
	}
	return r.cmd.ProcessState, nil
}

func end(p Process, r *run) error {
	if err := r.signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end %s: %w", p.Name, err)
	}
	select {
	case <-r.ended:
	case <-time.After(p.Grace):
		if err := r.signal(syscall.SIGKILL); err != nil {
			return fmt.Errorf("kill %s: %w", p.Name, err)
		}
		<-r.ended
		return fmt.Errorf("%s did not end within %s and was killed", p.Name, p.Grace)
	}
	return nil
}

// Stop ends all processes, the newest first, and returns once they are gone.
func (g *Group) Stop() error {
	g.mu.Lock()
	if g.stopped {
		g.mu.Unlock()
		return nil
	}
	g.stopped = true
	close(g.ending)
	members := slices.Clone(g.members)
	g.mu.Unlock()

	var errs []error
	for _, m := range slices.Backward(members) {
		// Nothing writes m.run any more: revive looks at stopped first.
		if !m.run.alive() {
			continue
		}
		if err := end(m.process, m.run); err != nil {
			errs = append(errs, err)
		}
	}
	g.watches.Wait()
	g.threads.close()
	return errors.Join(errs...)
}

// Processes lists what was launched, in that order.
func (g *Group) Processes() []Status {
	g.mu.Lock()
	defer g.mu.Unlock()
	statuses := make([]Status, 0, len(g.members))
	for _, m := range g.members {
		statuses = append(statuses, Status{
			Name:    m.process.Name,
			PID:     m.run.pid(),
			Running: m.run.alive(),
			Starts:  m.starts,
			Log:     m.process.Log,
		})
	}
	return statuses
}
