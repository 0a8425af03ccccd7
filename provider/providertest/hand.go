package providertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is the back door: what happens to a cloud besides the calls of its provider. The next
// Inventory shows all of it.

// SetTarget changes a group's target as a person does at the cloud's console,
// past every limit. A lower one takes anonymous units first, then the newest
// machines.
func (c *Cloud) SetTarget(id provider.GroupID, n int) error {
	err := c.byHand(id, func(g *fakeGroup) error {
		if n < 0 {
			return fmt.Errorf("a target of %d", n)
		}
		g.ask(max(0, n-g.target()), c.at)
		g.takeBack(g.target()-n, c.at)
		for i := len(g.units) - 1; i >= 0 && g.target() > n; i-- {
			if g.units[i].state != provider.Deleting {
				g.end(g.units[i], c.at)
			}
		}
		return nil
	})
	c.tell(err)
	return err
}

// Kill ends a machine at once, as a broken disk or a reclaimed spot machine
// does. The target stays, so the cloud looks for another one.
func (c *Cloud) Kill(instance provider.InstanceID) error {
	c.mu.Lock()
	c.advance()
	g, u := c.find(instance)
	if u == nil {
		c.mu.Unlock()
		return fmt.Errorf("kill instance %q: there is no such instance", instance)
	}
	g.units = slices.DeleteFunc(g.units, func(other *unit) bool { return other == u })
	g.gone = append(g.gone, u.id)
	if u.state != provider.Deleting {
		g.units = append(g.units, g.newUnit(c.at)) // the target has not changed, nor has its time
	}
	c.advance()
	c.mu.Unlock()
	c.tell(nil)
	return nil
}

// SetStock says how many machines the cloud has for a group, those in use
// included; below 0 there is no limit. Units beyond it stay anonymous.
func (c *Cloud) SetStock(id provider.GroupID, machines int) error {
	return c.byHand(id, func(g *fakeGroup) error {
		g.stock = machines
		return nil
	})
}

// SetQuota says how many units the account may have over all groups; below 0
// there is no limit. A scale-up beyond it is refused with the kind Quota.
func (c *Cloud) SetQuota(units int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quota = units
}

// FailBoots makes the group's next machines never run: each is an instance that
// is creating, with the error.
func (c *Cloud) FailBoots(id provider.GroupID, times int, err provider.Error) error {
	return c.byHand(id, func(g *fakeGroup) error {
		if times <= 0 {
			return fmt.Errorf("%d failing boots", times)
		}
		g.boots = append(g.boots, bootFailure{err: err, times: times})
		return nil
	})
}

// RetryBoots does the same, and the cloud tries again to make each of them, as often as
// it says, until no boot fails any more.
func (c *Cloud) RetryBoots(id provider.GroupID, times int, err provider.Error, every time.Duration) error {
	return c.byHand(id, func(g *fakeGroup) error {
		if times <= 0 || every <= 0 {
			return fmt.Errorf("%d failing boots, retried every %s", times, every)
		}
		g.boots = append(g.boots, bootFailure{err: err, times: times, retry: every})
		return nil
	})
}

// MendBoots ends what FailBoots began: machines that come from now on run.
func (c *Cloud) MendBoots(id provider.GroupID) error {
	return c.byHand(id, func(g *fakeGroup) error {
		g.boots = nil
		return nil
	})
}

// Fail makes an instance one that could not be made: it is creating, with the error and
// without a node. Recover makes it run after all, without a node yet.
func (c *Cloud) Fail(instance provider.InstanceID, err provider.Error) error {
	return c.change(instance, func(g *fakeGroup, u *unit) {
		err.Op, err.Group = provider.OpGrow, g.spec.ID
		u.state, u.since, u.err, u.retry, u.node = provider.Creating, c.at, &err, 0, false
	})
}

// Recover ends a Fail, or what FailBoots did to one instance.
func (c *Cloud) Recover(instance provider.InstanceID) error {
	return c.change(instance, func(_ *fakeGroup, u *unit) {
		u.state, u.since, u.err = provider.Running, c.at, nil
	})
}

// Join tells the cloud whether an instance has a node. Nothing else does.
func (c *Cloud) Join(instance provider.InstanceID, joined bool) error {
	return c.change(instance, func(_ *fakeGroup, u *unit) { u.node = joined })
}

// Interrupt tells that the cloud is about to take an instance; Kill takes it.
func (c *Cloud) Interrupt(instance provider.InstanceID, x provider.Interruption) error {
	err := c.change(instance, func(_ *fakeGroup, u *unit) { u.taken = &x })
	c.tell(err)
	return err
}

// change changes one instance, with all that is due before it.
func (c *Cloud) change(instance provider.InstanceID, how func(*fakeGroup, *unit)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	g, u := c.find(instance)
	if u == nil {
		return fmt.Errorf("change instance %q by hand: there is no such instance", instance)
	}
	how(g, u)
	return nil
}

// HoldInstance sets the reason why an instance must not be removed now; the
// empty one takes it off.
func (c *Cloud) HoldInstance(instance provider.InstanceID, reason string) error {
	return c.change(instance, func(_ *fakeGroup, u *unit) { u.hold = reason })
}

// Edit changes a group's limits, template, options, holds, prices or timing, but must not change
// its id, target or instances.
func (c *Cloud) Edit(id provider.GroupID, change func(*GroupSpec)) error {
	err := c.byHand(id, func(g *fakeGroup) error {
		spec := g.spec
		change(&spec)
		if spec.ID != id || len(spec.Instances) > 0 || spec.Min > spec.Max {
			return fmt.Errorf("the id %q, %d instances, min %d and max %d do not go",
				spec.ID, len(spec.Instances), spec.Min, spec.Max)
		}
		g.spec = spec
		return nil
	})
	c.tell(err)
	return err
}

// DropGroup takes a group out of the cloud with all of its machines.
func (c *Cloud) DropGroup(id provider.GroupID) error {
	err := c.byHand(id, func(*fakeGroup) error {
		delete(c.groups, id)
		return nil
	})
	c.tell(err)
	return err
}

// Freeze makes every Inventory from now on show the cloud as it is now, with AsOf as of now: a
// cloud whose reads are stale. That breaks rule P2 on purpose: a caller must survive it by checking
// AsOf.
func (c *Cloud) Freeze() {
	truth := c.Truth()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = &truth
}

// Thaw ends Freeze.
func (c *Cloud) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen = nil
}

// byHand changes one group, with all that is due before and after it.
func (c *Cloud) byHand(id provider.GroupID, change func(*fakeGroup) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	g, ok := c.groups[id]
	if !ok {
		return fmt.Errorf("change group %q by hand: there is no such group", id)
	}
	if err := change(g); err != nil {
		return fmt.Errorf("change group %q by hand: %w", id, err)
	}
	c.advance()
	return nil
}
