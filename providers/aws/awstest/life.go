package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// This file is how time passes: what Auto Scaling does by itself, in four
// steps. A group's capacity differs from the desired one, and
//
//	Decide   Auto Scaling looks: it decides on launches, or begins to end
//	         instances of its own choice
//	Launch   a launch that was decided on becomes an instance that is Pending,
//	         or fails
//	Boot     a pending instance goes on, at last to InService
//	End      an instance that is terminating goes on, at last out of the list
//
// What was decided on is launched, even if the desired capacity has been lowered
// in between; AWS then ends instances until the number is right, and a healthy
// one may be among them (https://github.com/kubernetes/autoscaler/issues/10147).
// Nothing that can be read tells of a launch between Decide and Launch: AWS documents a status for
// it (WaitingForInstanceId), but not that it is always shown. The fake never shows it, so that no
// code can rely on it.

// Step is one of the four.
type Step string

// The steps.
const (
	Decide Step = "decide"
	Launch Step = "launch"
	Boot   Step = "boot"
	End    Step = "end"
)

var steps = []Step{Decide, Launch, Boot, End}

// States of an instance that are handled here. The others of
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-lifecycle.html
// (Standby, Warmed:Stopped and so on) are a test's to set.
const (
	Pending            = "Pending"
	PendingWait        = "Pending:Wait"
	PendingProceed     = "Pending:Proceed"
	InService          = "InService"
	Terminating        = "Terminating"
	TerminatingWait    = "Terminating:Wait"
	TerminatingProceed = "Terminating:Proceed"
	Terminated         = "Terminated"
)

// Tick does all that is due by now. Every request does so too.
func (c *Cloud) Tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
}

// Settle does at once all that is under way, however long it would take. What
// is held or out of stock stays so.
func (c *Cloud) Settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	for {
		e, ok := c.next(func(g *group, s Step) bool { return !g.held[s] && !(s == Decide && g.retrying) })
		if !ok {
			return
		}
		e.do()
	}
}

// Hold stops steps of a group from happening by themselves; without a step, all
// of them.
func (c *Cloud) Hold(name string, which ...Step) error { return c.hold(name, true, which) }

// Release ends Hold: what is due happens at the next call.
func (c *Cloud) Release(name string, which ...Step) error { return c.hold(name, false, which) }

func (c *Cloud) hold(name string, held bool, which []Step) error {
	return c.byHand(name, func(g *group) error {
		if len(which) == 0 {
			which = steps
		}
		for _, s := range which {
			if !slices.Contains(steps, s) {
				return fmt.Errorf("there is no step %q; there are %q", s, steps)
			}
			g.held[s] = held
		}
		return nil
	})
}

// Play does a step n times now, held or not, due or not, and tells how often
// there was something to do. With Hold it makes any interleaving.
func (c *Cloud) Play(name string, step Step, n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	for played := range n {
		e, ok := c.next(func(g *group, s Step) bool { return g.Name == name && s == step })
		if !ok {
			return played
		}
		e.do()
	}
	return n
}

// event is the next thing that happens.
type event struct {
	due time.Time
	do  func()
}

// advance does all that is due, one instant after the other, so that it does not matter how often the cloud is read.
func (c *Cloud) advance() {
	now := c.now()
	for {
		e, ok := c.next(func(g *group, s Step) bool { return !g.held[s] })
		if !ok || e.due.After(now) {
			break
		}
		if e.due.After(c.at) {
			c.at = e.due
		}
		e.do()
	}
	if now.After(c.at) {
		c.at = now
	}
}

// next is the earliest event of all groups and steps that are allowed.
func (c *Cloud) next(allowed func(*group, Step) bool) (event, bool) {
	var first event
	var found bool
	for _, name := range c.order {
		g := c.groups[name]
		for _, s := range steps {
			e, ok := c.upcoming(g, s)
			if ok && (!found || e.due.Before(first.due)) && allowed(g, s) {
				first, found = e, true
			}
		}
	}
	return first, found
}

// upcoming is a group's next event of one step.
func (c *Cloud) upcoming(g *group, s Step) (event, bool) {
	switch s {
	case Decide:
		return event{g.look, func() { c.decide(g) }}, !g.look.IsZero()
	case Launch:
		if len(g.launches) == 0 {
			return event{}, false
		}
		return event{slices.MinFunc(g.launches, time.Time.Compare), func() { c.launch(g) }}, true
	}
	var first *instance
	for _, i := range g.instances {
		if i.due.IsZero() || strings.HasPrefix(i.State, Pending) != (s == Boot) {
			continue
		}
		if first == nil || i.due.Before(first.due) {
			first = i
		}
	}
	if first == nil {
		return event{}, false
	}
	return event{first.due, func() { c.proceed(g, first) }}, true
}

// ask records a new desired capacity.
func (g *group) ask(desired int, at time.Time) {
	// The words are those of https://github.com/hjacobs/kube-aws-autoscaler/issues/7
	g.asked = fmt.Sprintf("At %s a user request explicitly set group desired capacity changing the desired capacity from "+
		"%d to %d.  ", seconds(at), g.desired, desired)
	g.desired = desired
}

// notice lets Auto Scaling look at a group soon, if there is a reason.
func (c *Cloud) notice(g *group) {
	due := c.at.Add(c.timing(g).Decide)
	if g.offBalance() && (g.look.IsZero() || due.Before(g.look)) {
		g.look, g.retrying = due, false
	}
}

func (g *group) offBalance() bool {
	has := g.capacity()
	return has > g.desired || has+g.unit*len(g.launches) < g.desired ||
		slices.ContainsFunc(g.instances, func(i *instance) bool { return i.State == InService && i.Unhealthy })
}

// capacity is what counts against the desired one: weights, where there are any.
func (g *group) capacity() int {
	sum := 0
	for _, i := range g.instances {
		if i.counts() {
			sum += i.weight()
		}
	}
	return sum
}

func (i *instance) counts() bool {
	return i.State == InService || strings.HasPrefix(i.State, Pending)
}

func (i *instance) weight() int {
	w, err := strconv.Atoi(cmp.Or(i.Weight, "1"))
	if err != nil || w < 1 {
		return 1
	}
	return w
}

// decide is the step Decide.
func (c *Cloud) decide(g *group) {
	g.look, g.retrying = time.Time{}, false
	if g.Status != "" {
		return
	}
	if !slices.Contains(g.Suspended, "ReplaceUnhealthy") {
		for _, i := range g.instances {
			if i.State == InService && i.Unhealthy {
				c.end(g, i, "an instance was taken out of service in response to an EC2 health check indicating it has been "+
					"terminated or stopped.")
			}
		}
	}
	if !slices.Contains(g.Suspended, "Terminate") {
		for g.capacity() > g.desired {
			victim, has := g.victim(), g.capacity()
			if victim == nil || has-victim.weight() < g.desired {
				break // all are protected, or weigh more than there is too much
			}
			c.end(g, victim, fmt.Sprintf("an instance was taken out of service in response to a difference between desired and "+
				"actual capacity, shrinking the capacity from %d to %d.  At %s instance %s was selected for termination.",
				has, has-victim.weight(), seconds(c.at), victim.ID))
		}
	}
	if !slices.Contains(g.Suspended, "Launch") {
		for g.unit = c.firstWeight(g); g.capacity()+g.unit*len(g.launches) < g.desired; {
			g.launches = append(g.launches, c.at.Add(c.timing(g).Launch))
		}
	}
}

// launch is the step Launch, of the earliest that was decided on.
func (c *Cloud) launch(g *group) {
	at := slices.Index(g.launches, slices.MinFunc(g.launches, time.Time.Compare))
	g.launches = slices.Delete(g.launches, at, at+1)
	cause := fmt.Sprintf("%sAt %s an instance was started in response to a difference between desired and actual "+
		"capacity, increasing the capacity from %d to %d.",
		g.asked, seconds(c.at), g.capacity(), max(g.desired, g.capacity()+1))
	choice, failures := c.choose(g)
	for _, f := range failures {
		c.record(g, &activity{
			Description: "Launching a new EC2 instance.  Status Reason: " + f.words, Cause: cause, Zone: f.zone,
			Start: c.at, End: c.at, Status: failed, Message: f.words, Progress: 100,
		})
	}
	if choice.zone == "" {
		// The others of this attempt meet the same: one attempt fails once.
		g.launches = slices.DeleteFunc(g.launches, func(due time.Time) bool { return !due.After(c.at) })
		if g.look.IsZero() && g.offBalance() {
			g.look, g.retrying = c.at.Add(c.timing(g).Retry), true
		}
		return
	}
	i := c.newInstance(g, choice)
	i.State, i.due = Pending, c.at.Add(c.timing(g).Boot)
	if wait := c.timing(g).PendingWait; wait > 0 {
		i.State, i.due = PendingWait, c.at.Add(wait)
	}
	i.activity = c.record(g, &activity{
		Description: "Launching a new EC2 instance: " + i.ID, Cause: cause, Zone: i.Zone,
		Start: c.at, Status: inProgress, Progress: 30,
	})
	if g.capacity() > g.desired {
		c.notice(g)
	}
}

// proceed is the steps Boot and End: an instance goes on to its next state.
func (c *Cloud) proceed(g *group, i *instance) {
	t := c.timing(g)
	switch i.State {
	case PendingWait:
		i.State, i.due = PendingProceed, c.at.Add(t.Boot)
	case Pending, PendingProceed:
		i.State, i.due = InService, time.Time{}
		i.finish(successful, c.at)
	case TerminatingWait:
		i.State, i.due = TerminatingProceed, c.at.Add(t.End)
	case Terminating, TerminatingProceed:
		i.State, i.due = Terminated, c.at.Add(t.Linger)
		i.finish(successful, c.at)
		if t.Linger > 0 {
			return
		}
		fallthrough
	default:
		g.instances = slices.DeleteFunc(g.instances, func(other *instance) bool { return other == i })
	}
}

// end begins to end an instance; the cause is in AWS's words, without the time.
func (c *Cloud) end(g *group, i *instance, cause string) *activity {
	i.finish(cancelled, c.at)
	i.State, i.due = Terminating, c.at.Add(c.timing(g).End)
	if wait := c.timing(g).TerminatingWait; wait > 0 {
		i.State, i.due = TerminatingWait, c.at.Add(wait)
	}
	i.activity = c.record(g, &activity{
		Description: "Terminating EC2 instance: " + i.ID, Cause: "At " + seconds(c.at) + " " + cause, Zone: i.Zone,
		Start: c.at, Status: inProgress,
	})
	return i.activity
}
