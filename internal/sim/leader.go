package sim

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/act"
	"github.com/plimsoll-dev/plimsoll/internal/ledger"
	"github.com/plimsoll-dev/plimsoll/internal/loop"
	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/internal/sim/check"
)

// leader is one process that leads: the production loop, with what it knows and what it has begun.
// Only its written memory survives it.
type leader struct {
	w      *world
	loop   *loop.Loop
	since  time.Time
	ahead  time.Duration // of its clock
	watch  *watch
	reader *reader
	jobs   *process
	actor  *act.Actor
	calls  []model.Call    // those under way
	ends   []model.Outcome // that the loop has not collected
	again  rethink
	ctx    context.Context
	stop   context.CancelFunc
	dead   bool

	stopped bool
	held    []func()  // what the process does when it goes on
	renewed time.Time // when the lease was last renewed; zero: all the time

	turning   bool
	nudgeable bool
	nudged    time.Time // the first nudge since the last turn, zero: none
	planned   int       // counts plans for the next turn: only the last one counts
}

// firstRead is how long a new leader waits for its first read of the cloud.
const firstRead = 30 * time.Second

// lead begins a new leader, with the memory as it was last written. Its first turn follows its
// first read of the cloud.
func (w *world) lead() {
	if w.reflag != nil {
		w.reflag()
	}
	l := &leader{w: w, since: w.now, ahead: w.ahead}
	l.ctx, l.stop = context.WithCancel(background)
	l.watch = newWatch(w, w.settings.Lags.Watch, l.ahead, l.nudge, func() bool { return l.stopped })
	l.reader = &reader{w: w, ahead: l.ahead, runs: l.runs, news: l.nudge, delivered: l.begin, ready: l.readyNodes}
	l.jobs = &process{w: w, now: l.now, ran: l.told, runs: l.runs}
	l.actor = act.New(cloudFront{l}, w.client, l.may, l.reader.refresh, l.jobs,
		slog.New(alarm{w: w}))
	w.leader = l
	w.judge.leaders++
	l.jobs.name = w.judge.process()
	w.judge.tell(check.Event{What: check.Leads, Process: l.jobs.name})
	l.loop = l.newLoop()
	l.reader.read()
	w.after(firstRead, func() { l.runs(l.begin) })
	w.log.say("a leader begins")
}

// newLoop is the production loop, as the live host makes it: it starts from the written memory, and
// does not act on reads of the cloud from before it led.
func (l *leader) newLoop() *loop.Loop {
	p := l.w.settings.Policy
	p.InventoryNotBefore = l.now()
	l.again = rethink{policy: p, book: l.restored()}
	return loop.New(l, judged{l}, l, p, l.now, l.restored())
}

// restored is a ledger from the written memory.
func (l *leader) restored() *ledger.Ledger {
	var remembered model.Memory
	text := l.w.saved
	if text == nil {
		return ledger.Restore(l.w.settings.Policy.Rules, remembered)
	}
	if err := json.Unmarshal(text, &remembered); err != nil {
		l.w.log.say("the memory cannot be read: %v", err)
		remembered = model.Memory{}
	}
	remembered.Written = l.w.remembered
	return ledger.Restore(l.w.settings.Policy.Rules, remembered)
}

// begin is the first turn.
func (l *leader) begin() {
	if l.planned == 0 && !l.dead {
		l.plan(0)
	}
}

// Start begins the calls and returns at once. A leader that must die between two calls dies here.
func (l *leader) Start(ctx context.Context, calls []model.Call) {
	dies := false
	for i, c := range calls {
		l.w.sayCall(c)
		if dies = l.w.doom.strikes(false, c.Verb); dies {
			calls = calls[:i+1]
			break
		}
	}
	l.calls = append(l.calls, calls...)
	l.actor.Start(ctx, calls)
	if dies {
		l.w.Crash(0)
	}
}

// told takes in the ends of calls as soon as they are reported.
func (l *leader) told() {
	select {
	case <-l.actor.Changed():
	default:
		return
	}
	for _, out := range l.actor.Collect() {
		l.calls = slices.DeleteFunc(l.calls, func(c model.Call) bool { return c.ID == out.Call.ID })
		l.ends = append(l.ends, out)
		if !l.dead {
			l.w.sayEnd(out)
		}
	}
	l.nudge()
}

// Collect gives the ends since it was last called.
func (l *leader) Collect() []model.Outcome {
	ends := l.ends
	l.ends, l.again.ended = nil, ends
	return ends
}

// callOf is the call of the leader's that makes a write.
func (l *leader) callOf(verb model.Verb, is func(*model.Call) bool) model.Call {
	if n := slices.IndexFunc(l.calls, func(c model.Call) bool { return c.Verb == verb && is(&c) }); n >= 0 {
		return l.calls[n]
	}
	return model.Call{Verb: verb}
}

// alarm takes act's log. What act calls an error is one of the world's: that it panicked.
type alarm struct {
	slog.Handler
	w *world
}

func (a alarm) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (a alarm) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(at slog.Attr) bool { text += "\n" + at.String(); return true })
	a.w.wrong(errors.New(text))
	return nil
}

// plan sets when the next turn is, in place of the one planned before.
func (l *leader) plan(in time.Duration) {
	l.planned++
	plan := l.planned
	l.w.after(in, func() {
		l.runs(func() {
			if plan == l.planned && !l.dead {
				l.turn()
			}
		})
	})
}

// turn is one turn of the loop.
func (l *leader) turn() {
	l.turning, l.nudged = true, time.Time{}
	err := l.loop.RunOnce(l.ctx)
	l.turning = false
	if l.dead {
		return
	}
	if err != nil {
		l.w.log.say("a turn failed: %v", err)
	}
	l.loop.Rest()
	due, nudgeable := l.loop.Next(l.triggers())
	l.nudgeable = nudgeable
	l.plan(due)
}

// nudge brings the next turn forward: when no nudge has come for a moment, or
// some moments after the first (rule L12).
func (l *leader) nudge() {
	if l.dead || l.turning || l.planned == 0 || !l.nudgeable {
		return
	}
	t := l.w.settings.Loop
	if l.nudged.IsZero() {
		l.nudged = l.w.now
	}
	l.plan(min(t.NudgeIdle, l.nudged.Add(t.NudgeMax).Sub(l.w.now)))
}

// triggers are the loop's.
func (l *leader) triggers() loop.Triggers {
	t := l.w.settings.Loop
	return loop.Triggers{Interval: t.ScanInterval, Idle: t.NudgeIdle, Longest: t.NudgeMax}
}

// end is a leader's death: what it knew is lost, waiting calls never begin, and the ends of open
// calls are not reported.
func (l *leader) end() {
	l.dead, l.watch.closed, l.reader.closed = true, true, true
	l.stop()
	l.jobs.die()
	l.loop.Close()
}

// Crash ends the leader at once; another one leads after a while, by default after Lags.Restart.
func (w *world) Crash(after time.Duration) {
	if w.leader == nil {
		return
	}
	w.log.say("the leader dies")
	w.leader.end()
	w.leader = nil
	w.followed()
	if after == 0 {
		after = w.settings.Lags.Restart.draw(w.dice.people)
	}
	w.after(after, w.elect)
}

// followed: the next leader does not know what the last leader had under way.
func (w *world) followed() {
	w.product.orphaned()
	w.judge.tell(check.Event{What: check.Dies, Process: w.judge.process()})
	w.lostUnseen()
}

// doom is when the leader dies: right after it has begun so many further calls, or right after so many
// of its writes took effect and before it has their answer. Zero: it lives.
type doom struct {
	after  int
	of     model.Verb // empty: any
	effect bool
}

// strikes counts one, and reports whether it was the last.
func (d *doom) strikes(effect bool, verb model.Verb) bool {
	if d.after == 0 || d.effect != effect || d.of != "" && d.of != verb {
		return false
	}
	d.after--
	return d.after == 0
}

// Report hands a cycle to the timeline, to the judge, and to the memory.
func (l *leader) Report(_ context.Context, c model.Cycle) error {
	w := l.w
	w.judge.cycle(c)
	if w.leader != l {
		return nil
	}
	w.sayCycle(c)
	switch found := l.again.cycle(c); {
	case found == "":
	case c.Decided:
		w.product.breach("what is kept from cycle to cycle changes no plan", found, "a plan from nothing differs")
	default:
		w.product.breach("a cycle that does not decide overlooks nothing", found, "the plan of %s is held",
			stamp(l.again.held.Snapshot.Now))
	}
	if c.Replay != nil && c.Replay.Refused != nil {
		no := c.Replay.Refused
		w.product.breach("the scheduler's filters allow what was planned", no.Pod, "not on %s: %s: %s", no.Node, no.Reason,
			no.Detail)
	}
	w.product.cycle(c)
	w.after(w.settings.Lags.Memory.draw(w.dice.watch), func() {
		if w.leader != l || w.suffers(apiDown) != nil {
			return
		}
		w.remembered = l.now()
		if c.Decided || len(c.Ended) > 0 {
			text, err := json.Marshal(c.Memory)
			w.wrong(err)
			w.saved = text
		}
	})
	return nil
}

// verdicts is what the timeline has said of each subject, so that it says changes only.
type verdicts map[string]string

// sayCycle writes what a cycle decided, and which verdicts are new.
func (w *world) sayCycle(c model.Cycle) {
	if !c.Decided || w.log.quiet {
		return
	}
	told := verdicts{}
	names := c.Snapshot.ClassNames()
	for _, v := range c.Plan.Pending {
		about := "pods " + names[v.Class]
		if v.Skipped != nil {
			told[about] = string(v.Skipped.Reason)
			continue
		}
		if v.Disagrees != nil {
			told[about] = string(v.Disagrees.Reason)
		}
		if v.Left == 0 {
			continue
		}
		for _, g := range v.Groups {
			told[about+" in "+string(g.Group)] = string(g.Reason)
		}
	}
	sayRegistry(c, told)
	for _, about := range sortedKeys(told) {
		if w.shown[about] != told[about] {
			w.log.say("%s: %s", about, told[about])
		}
	}
	for _, about := range sortedKeys(w.shown) {
		if _, still := told[about]; !still {
			w.log.say("%s: no longer %s", about, w.shown[about])
		}
	}
	w.shown = told
	for _, ch := range c.Changes {
		w.log.say("%s in %s: %s", ch.Kind, ch.Group, ch.Message)
	}
	for _, g := range c.Plan.Grow {
		what := batches(names, g.Pods)
		if what == "" {
			what = "no pod: " + g.Why
		}
		w.log.say("grow %s %d → %d for %s", g.Group, g.From, g.To, what)
	}
}

// sayRegistry adds the health of the cluster and its groups, and the repairs that are held back.
func sayRegistry(c model.Cycle, told verdicts) {
	if v := c.Snapshot.Unhealthy; v != nil {
		told["the cluster"] = string(v.Reason)
	}
	for i := range c.Snapshot.Groups {
		if g := &c.Snapshot.Groups[i]; g.Unhealthy != nil {
			told["group "+string(g.ID)] = string(g.Unhealthy.Reason)
		}
	}
	for _, n := range c.Snapshot.Notices {
		told["notice for "+string(n.Group)] = n.Code + ": " + n.Message
	}
	for _, v := range c.Plan.Repair {
		told["repair of "+string(v.Group)+" "+string(v.Instance)] = string(v.Reason)
	}
	for _, v := range c.Plan.Kept {
		if v.Reason.KeepsNode() {
			told["node "+v.Node] = string(v.Reason)
		}
	}
	for _, b := range c.Plan.Brakes {
		told["growth of "+string(b.Group)+" for class "+b.Class] = string(b.Reason) + ": " + b.Detail
	}
}

// sayCall writes a call that begins. Growths are written with their pods, evictions when they are
// granted, and marks on candidates not at all.
func (w *world) sayCall(c model.Call) {
	subject := c.Node
	if subject == "" {
		subject = string(c.Instance)
	}
	switch c.Verb {
	case model.Grow, model.Evict, model.Mark, model.Unmark, model.Annotate:
	case model.Taint, model.Untaint, model.Cordon, model.Remove:
		w.log.say("%s %s of %s: %s", verbWord[c.Verb], subject, c.Group, c.Why)
	default:
		w.log.say("%s %s %d → %d: %s", verbWord[c.Verb], c.Group, c.From, c.To, c.Why)
	}
}

// sayEnd writes the failure of a call.
func (w *world) sayEnd(out model.Outcome) {
	if out.Err != nil {
		w.log.say("%s", out.Err)
	}
}
