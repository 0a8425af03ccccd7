package awstest

import (
	"fmt"
	"slices"
	"time"
)

// This file is what people, hardware and luck do to an account, past its API.

// GroupState is a group as it is now.
type GroupState struct {
	Name    string `json:"name"`
	Min     int    `json:"min"`
	Max     int    `json:"max"`
	Desired int    `json:"desired"`
	// Launching is how many launches were decided on and have no instance yet.
	Launching int        `json:"launching"`
	Instances []Instance `json:"instances"`
}

// Group tells of one group; false if there is none of that name.
func (c *Cloud) Group(name string) (GroupState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	g, ok := c.groups[name]
	if !ok {
		return GroupState{}, false
	}
	return g.state(), true
}

// Groups tells of all groups, sorted by name.
func (c *Cloud) Groups() []GroupState {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	states := []GroupState{}
	for _, name := range c.order {
		states = append(states, c.groups[name].state())
	}
	return states
}

func (g *group) state() GroupState {
	s := GroupState{
		Name: g.Name, Min: g.Min, Max: g.Max, Desired: g.desired, Launching: len(g.launches), Instances: []Instance{},
	}
	for _, i := range g.instances {
		s.Instances = append(s.Instances, i.Instance)
	}
	return s
}

// Account is the whole account as it is now: each group with the desired capacity
// and the instances that it has, and every instance type that can be launched.
// What is under way is not told.
func (c *Cloud) Account() Spec {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	spec := copied(c.spec)
	spec.InstanceTypes = copied(c.types)
	for i := range spec.Groups {
		state := c.groups[spec.Groups[i].Name].state()
		spec.Groups[i].Desired, spec.Groups[i].Instances = state.Desired, state.Instances
	}
	return spec
}

// Live are the ids of the instances that count as capacity, sorted.
func (s GroupState) Live() []string {
	ids := []string{}
	for _, i := range s.Instances {
		if (&instance{Instance: i}).counts() {
			ids = append(ids, i.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// SetDesired sets a group's desired capacity past its limits.
func (c *Cloud) SetDesired(name string, n int) error {
	return c.byHand(name, func(g *group) error {
		if n < 0 {
			return fmt.Errorf("a desired capacity of %d", n)
		}
		g.ask(n, c.at)
		return nil
	})
}

// Kill takes an instance away at once, as a broken disk or a reclaimed spot
// machine does. The desired capacity stays, so that another one comes.
func (c *Cloud) Kill(id string) error {
	return c.byHandOn(id, func(g *group, i *instance) {
		i.finish(cancelled, c.at)
		g.instances = slices.DeleteFunc(g.instances, func(other *instance) bool { return other == i })
	})
}

// SetUnhealthy makes an instance fail its health check: Auto Scaling replaces it.
func (c *Cloud) SetUnhealthy(id string) error {
	return c.byHandOn(id, func(_ *group, i *instance) { i.Unhealthy = true })
}

// Protect sets an instance's protection from scale-in.
func (c *Cloud) Protect(id string, protected bool) error {
	return c.byHandOn(id, func(_ *group, i *instance) { i.Protected = protected })
}

// SetState puts an instance into a state of the lifecycle, in which it stays.
func (c *Cloud) SetState(id, state string) error {
	return c.byHandOn(id, func(_ *group, i *instance) { i.State, i.due = state, time.Time{} })
}

// SetStockOuts replaces all stock-outs.
func (c *Cloud) SetStockOuts(outs ...StockOut) error {
	return c.Change(func(s *Spec) { s.StockOuts = outs })
}

// Change changes the account's configuration, as people do at the console: the
// function gets it as it is now and edits it. Groups that it adds come to life,
// those that it takes away are gone with their instances. A group's Desired is
// the live one and may be changed; Instances are those of new groups only.
func (c *Cloud) Change(edit func(*Spec)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	spec := copied(c.spec)
	for i := range spec.Groups {
		spec.Groups[i].Desired = c.groups[spec.Groups[i].Name].desired
		spec.Groups[i].Instances = nil
	}
	edit(&spec)
	if err := c.adopt(spec.complete()); err != nil {
		return fmt.Errorf("change a simulated AWS: %w", err)
	}
	c.advance()
	return nil
}

// byHand changes one group, with all that is due before and after it.
func (c *Cloud) byHand(name string, change func(*group) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	g, ok := c.groups[name]
	if !ok {
		return fmt.Errorf("change the Auto Scaling group %q by hand: there is no such group", name)
	}
	if err := change(g); err != nil {
		return fmt.Errorf("change the Auto Scaling group %q by hand: %w", name, err)
	}
	c.notice(g)
	c.advance()
	return nil
}

func (c *Cloud) byHandOn(id string, change func(*group, *instance)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	g, i := c.groupOf(id)
	if i == nil {
		return fmt.Errorf("change the instance %q by hand: there is no such instance", id)
	}
	change(g, i)
	c.notice(g)
	c.advance()
	return nil
}
