package providertest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// Cloud is a cloud in memory. Its groups behave as those of most clouds do: a
// growth raises the target at once; each unit asked for is anonymous until the
// cloud has found a machine for it, then an instance that is creating, then one
// that runs; a removed one is deleting for a while, then gone.
//
// Time is the given clock's: each call first does what is due, in order of time. All methods may be
// called from any goroutine.
type Cloud struct {
	now func() time.Time

	mu       sync.Mutex
	at       time.Time // up to where everything due has been done
	groups   map[provider.GroupID]*fakeGroup
	pools    map[provider.PoolID]provider.Pool
	notices  []provider.Notice
	quota    int // of units over all groups; below 0: none
	faults   []*Fault
	frozen   *provider.Inventory
	watchers map[int]func()
	watched  int // number of watchers so far
}

var (
	_ provider.Provider = (*Cloud)(nil)
	_ provider.Notifier = (*Cloud)(nil)
)

// GroupSpec is a group as it is put into a Cloud. Of the Group, Target is the
// number of machines that run from the start, and Instances must be empty.
type GroupSpec struct {
	provider.Group
	Timing
	// Zones are where new machines go: to the one with the fewest of the group's, or
	// with Scattered to any. Of several Pick names one by its index, the first if it
	// is nil. Without zones, machines are in the zone of the template's label.
	Zones     []string
	Scattered bool
	Pick      func(n int) int
	// KeepsRequests: Cancel cancels nothing, as in a cloud where that would risk running machines.
	KeepsRequests bool
	// KillsToLower: where a Cancel cannot be met by units without a machine, machines are ended,
	// the newest first. The contract forbids that: it is for worlds which show that safety does not
	// rely on the provider alone.
	KillsToLower bool
	// TellsStockOut: while the cloud has no machine for a request, the group has a hold that says
	// so.
	TellsStockOut bool
	// NeverRuns and UsedNames, if set, are called once for each machine that is made, in order: whether
	// it never runs, and whether it has the name of one that is gone, if there is any.
	NeverRuns, UsedNames func() bool
	// Pace, if set, is called once for each requested unit, in order. It returns a factor on Timing
	// for the steps of the unit's life, so that boot times can have a distribution.
	Pace func() float64
}

// Timing is how long the steps of a machine's life take.
type Timing struct {
	// Find is from the growth until the cloud can name the machine: until then
	// the unit is anonymous.
	Find time.Duration
	// Boot is from there until it runs.
	Boot time.Duration
	// End is from the removal until it is gone.
	End time.Duration
}

// fakeGroup is a group's present. Its target is derived: all units that are not being deleted.
type fakeGroup struct {
	spec  GroupSpec
	since time.Time // of the target
	units []*unit   // in the order in which they were asked for
	named int       // how many machines ever had a name
	stock int       // machines that the cloud has for it; below 0: no limit
	boots []bootFailure
	gone  []provider.InstanceID // whose names are free
}

// unit is one requested machine; an instance once it has an id.
type unit struct {
	asked time.Time
	made  time.Time // when it got its machine
	id    provider.InstanceID
	state provider.State
	since time.Time // of the state
	zone  string
	hold  string
	err   *provider.Error
	retry time.Duration // how often its making is tried again, with err; zero: never
	node  bool          // the cloud knows of a node of it
	never bool          // it will not run
	like  string        // the version of the template that it was made of
	taken *provider.Interruption
	pace  float64 // of its life, as a factor of the group's timing
}

type bootFailure struct {
	err   provider.Error
	times int
	retry time.Duration
}

// NewCloud makes a cloud without groups.
func NewCloud(now func() time.Time) *Cloud {
	return &Cloud{
		now: now, at: now(), groups: map[provider.GroupID]*fakeGroup{}, pools: map[provider.PoolID]provider.Pool{},
		quota: -1, watchers: map[int]func(){},
	}
}

// AddPool adds a pool, before the groups that are in it.
func (c *Cloud) AddPool(p provider.Pool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.pools[p.ID]; ok || p.ID == "" || p.Min > p.Max {
		return fmt.Errorf("add pool %q (%d to %d): the id is empty or taken, or min is above max", p.ID, p.Min, p.Max)
	}
	c.pools[p.ID] = p
	return nil
}

// AddGroup adds a group with its first machines, which run already.
func (c *Cloud) AddGroup(spec GroupSpec) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	_, taken := c.groups[spec.ID]
	_, pooled := c.pools[spec.Pool]
	switch {
	case taken || spec.ID == "":
		return fmt.Errorf("add group %q: the id is empty or taken", spec.ID)
	case spec.Pool != "" && !pooled:
		return fmt.Errorf("add group %q: there is no pool %q", spec.ID, spec.Pool)
	case spec.Min > spec.Max || spec.Min < 0 || spec.Target < 0:
		return fmt.Errorf("add group %q: min %d, max %d and target %d do not go together",
			spec.ID, spec.Min, spec.Max, spec.Target)
	case len(spec.Instances) > 0:
		return fmt.Errorf("add group %q: instances are made by the cloud", spec.ID)
	}
	g := &fakeGroup{spec: spec, since: c.at, stock: -1}
	c.groups[spec.ID] = g
	for range spec.Target {
		u := g.newUnit(c.at)
		g.units = append(g.units, u)
		g.name(u, c.at)
		u.state = provider.Running
	}
	return nil
}

// Inventory is rule P7's complete answer. A fault on Inventory with a group
// makes that group alone unreadable.
func (c *Cloud) Inventory(ctx context.Context) (provider.Inventory, error) {
	return disturbed(ctx, c, provider.OpInventory, "", func() (provider.Inventory, error) {
		c.mu.Lock()
		frozen := c.frozen
		c.mu.Unlock()
		if frozen != nil {
			return copyOf(*frozen), nil
		}
		inv := c.Truth()
		for i := range inv.Groups {
			g := &inv.Groups[i]
			if f, met := c.meet(func(f *Fault) bool { return f.Op == provider.OpInventory && f.Group == g.ID }); met {
				// The unreadable part of a group is not shown at all.
				*g = provider.Group{ID: g.ID, Pool: g.Pool, Err: f.refusal(provider.OpInventory, g.ID)}
			}
		}
		return inv, nil
	})
}

// Grow raises the target at once; the machines follow.
func (c *Cloud) Grow(ctx context.Context, req provider.GrowRequest) (provider.GrowResult, error) {
	return disturbed(ctx, c, provider.OpGrow, req.Group, func() (provider.GrowResult, error) {
		result, err := c.grow(req)
		c.tell(err)
		return result, err
	})
}

func (c *Cloud) grow(req provider.GrowRequest) (provider.GrowResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(provider.OpGrow, req.Group)
	if err != nil {
		return provider.GrowResult{}, err
	}
	refuse := func(kind provider.Kind, format string, args ...any) (provider.GrowResult, error) {
		return provider.GrowResult{Target: g.target()}, &provider.Error{
			Op: provider.OpGrow, Group: req.Group, Kind: kind, Message: fmt.Sprintf(format, args...),
		}
	}
	switch {
	case g.target() != req.From:
		return refuse(provider.Conflict, "the target is %d, not %d", g.target(), req.From)
	case req.To < req.From:
		return refuse(provider.Unsupported, "cannot scale up from %d to %d", req.From, req.To)
	case req.To > g.spec.Max:
		return refuse(provider.Limit, "a target of %d is above the maximum of %d", req.To, g.spec.Max)
	case g.spec.AllOrNothing && req.To != req.From && req.To != g.spec.Max:
		return refuse(provider.Unsupported, "the group is all or nothing: it grows to %d or not at all", g.spec.Max)
	}
	more := req.To - req.From
	if pool, ok := c.pools[g.spec.Pool]; ok && c.targets(pool.ID)+more > pool.Max {
		return refuse(provider.Limit, "the pool %q would have %d, above its maximum of %d",
			pool.ID, c.targets(pool.ID)+more, pool.Max)
	}
	if c.quota >= 0 && c.units()+more > c.quota {
		return refuse(provider.Quota, "the account has %d machines and may have %d", c.units(), c.quota)
	}
	asked := g.ask(more, c.at)
	c.advance() // a machine that needs no time has its name at once
	result := provider.GrowResult{Target: g.target()}
	for _, u := range asked {
		if u.id != "" {
			result.Created = append(result.Created, u.id)
		}
	}
	return result, nil
}

// Remove ends instances; what is gone already is a success.
func (c *Cloud) Remove(ctx context.Context, req provider.RemoveRequest) (provider.RemoveResult, error) {
	return disturbed(ctx, c, provider.OpRemove, req.Group, func() (provider.RemoveResult, error) {
		result, err := c.remove(req)
		c.tell(err)
		return result, err
	})
}

func (c *Cloud) remove(req provider.RemoveRequest) (provider.RemoveResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(provider.OpRemove, req.Group)
	if err != nil {
		return provider.RemoveResult{}, err
	}
	result := provider.RemoveResult{Instances: make([]provider.InstanceResult, len(req.Instances))}
	var doomed []*unit
	for i, id := range req.Instances {
		result.Instances[i].ID = id
		owner, u := c.find(id)
		if u != nil && owner != g {
			result.Instances[i].Err = &provider.Error{Op: provider.OpRemove, Group: req.Group, Kind: provider.Conflict,
				Message: fmt.Sprintf("the instance %q belongs to the group %q", id, owner.spec.ID)}
			continue
		}
		if u == nil || u.state == provider.Deleting || slices.Contains(doomed, u) {
			continue
		}
		if why := req.If.Unmet(provider.Instance{State: u.state, Err: u.err}, u.node); why != "" {
			result.Instances[i].Err = &provider.Error{Op: provider.OpRemove, Group: req.Group, Kind: provider.Conflict,
				Message: fmt.Sprintf("the instance %q is left alone: %s", id, why)}
			continue
		}
		doomed = append(doomed, u)
	}
	if g.spec.CloudChooses && len(doomed) > 0 && len(doomed) < g.target() {
		return provider.RemoveResult{Target: g.target()}, &provider.Error{
			Op: provider.OpRemove, Group: req.Group, Kind: provider.Conflict,
			Message: fmt.Sprintf("%d of %d instances are named: the cloud would choose who goes", len(doomed), g.target()),
		}
	}
	if left := g.target() - len(doomed); len(doomed) > 0 && left < g.spec.Min && !req.Force {
		return provider.RemoveResult{Target: g.target()}, &provider.Error{
			Op: provider.OpRemove, Group: req.Group, Kind: provider.Limit,
			Message: fmt.Sprintf("%d would be left, below the minimum of %d", left, g.spec.Min),
		}
	}
	if pool, ok := c.pools[g.spec.Pool]; ok && len(doomed) > 0 && c.targets(pool.ID)-len(doomed) < pool.Min && !req.Force {
		return provider.RemoveResult{Target: g.target()}, &provider.Error{
			Op: provider.OpRemove, Group: req.Group, Kind: provider.Limit,
			Message: fmt.Sprintf("the pool %q would have %d, below its minimum of %d",
				pool.ID, c.targets(pool.ID)-len(doomed), pool.Min),
		}
	}
	for _, u := range doomed {
		g.end(u, c.at)
	}
	c.advance()
	result.Target = g.target()
	return result, nil
}

// Cancel cancels units without a machine, the newest first.
func (c *Cloud) Cancel(ctx context.Context, req provider.CancelRequest) (provider.CancelResult, error) {
	return disturbed(ctx, c, provider.OpCancel, req.Group, func() (provider.CancelResult, error) {
		result, err := c.cancel(req)
		c.tell(err)
		return result, err
	})
}

func (c *Cloud) cancel(req provider.CancelRequest) (provider.CancelResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g, err := c.group(provider.OpCancel, req.Group)
	if err != nil {
		return provider.CancelResult{}, err
	}
	if g.target() != req.From {
		return provider.CancelResult{Target: g.target()}, &provider.Error{
			Op: provider.OpCancel, Group: req.Group, Kind: provider.Conflict,
			Message: fmt.Sprintf("the target is %d, not %d", g.target(), req.From),
		}
	}
	if g.spec.CloudChooses {
		return provider.CancelResult{Target: g.target()}, &provider.Error{
			Op: provider.OpCancel, Group: req.Group, Kind: provider.Unsupported,
			Message: "the cloud would choose who goes",
		}
	}
	if g.spec.KeepsRequests {
		return provider.CancelResult{Target: g.target()}, nil
	}
	cancelled := g.takeBack(req.From-max(req.To, g.spec.Min), c.at)
	for i := len(g.units) - 1; g.spec.KillsToLower && i >= 0 && g.target() > max(req.To, g.spec.Min); i-- {
		if g.units[i].state != provider.Deleting {
			g.end(g.units[i], c.at)
		}
	}
	return provider.CancelResult{Target: g.target(), Cancelled: cancelled}, nil
}

// Notify calls changed at each change that a call makes, until ctx ends. Changes by time alone are
// signalled when a call finds them due.
func (c *Cloud) Notify(ctx context.Context, changed func()) error {
	c.mu.Lock()
	c.watched++
	id := c.watched
	c.watchers[id] = changed
	c.mu.Unlock()
	<-ctx.Done()
	c.mu.Lock()
	delete(c.watchers, id)
	c.mu.Unlock()
	return nil
}

// tell calls the watchers, in order, with no lock held.
func (c *Cloud) tell(err error) {
	if err != nil {
		return
	}
	c.mu.Lock()
	var watchers []func()
	for _, id := range slices.Sorted(maps.Keys(c.watchers)) {
		watchers = append(watchers, c.watchers[id])
	}
	c.mu.Unlock()
	for _, changed := range watchers {
		changed()
	}
}

// Truth is the real inventory, without any fault, freeze or delay of reading: what a checker
// compares with.
func (c *Cloud) Truth() provider.Inventory {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance()
	inv := provider.Inventory{AsOf: c.at, Notices: slices.Clone(c.notices)}
	for _, id := range slices.Sorted(maps.Keys(c.groups)) {
		inv.Groups = append(inv.Groups, c.groups[id].shown())
	}
	for _, id := range slices.Sorted(maps.Keys(c.pools)) {
		inv.Pools = append(inv.Pools, c.pools[id])
	}
	return inv
}

func (c *Cloud) group(op provider.Op, id provider.GroupID) (*fakeGroup, error) {
	c.advance()
	g, ok := c.groups[id]
	if !ok {
		return nil, &provider.Error{Op: op, Group: id, Kind: provider.NotFound, Message: "there is no such group"}
	}
	for _, hold := range g.spec.Holds {
		if hold.Op == op && hold.Reason == string(provider.Unsupported) {
			return nil, &provider.Error{Op: op, Group: id, Kind: provider.Unsupported, Message: hold.Message}
		}
	}
	return g, nil
}

func (c *Cloud) find(id provider.InstanceID) (*fakeGroup, *unit) {
	for _, gid := range slices.Sorted(maps.Keys(c.groups)) {
		g := c.groups[gid]
		if i := slices.IndexFunc(g.units, func(u *unit) bool { return u.id == id && id != "" }); i >= 0 {
			return g, g.units[i]
		}
	}
	return nil, nil
}

// targets sums the targets of a pool.
func (c *Cloud) targets(pool provider.PoolID) int {
	sum := 0
	for _, g := range c.groups {
		if g.spec.Pool == pool {
			sum += g.target()
		}
	}
	return sum
}

// units counts what the account's quota counts: machines on their way out too.
func (c *Cloud) units() int {
	sum := 0
	for _, g := range c.groups {
		sum += len(g.units)
	}
	return sum
}

func (g *fakeGroup) target() int {
	n := 0
	for _, u := range g.units {
		if u.state != provider.Deleting {
			n++
		}
	}
	return n
}

func (g *fakeGroup) shown() provider.Group {
	out := g.spec.Group
	out.Target, out.TargetSince = g.target(), g.since
	out.Holds, out.OwnLabels = slices.Clone(out.Holds), slices.Clone(out.OwnLabels)
	var refused time.Time // the newest ask that the cloud had nothing for
	for _, u := range g.units {
		if u.id == "" {
			refused = u.asked
			continue
		}
		out.Instances = append(out.Instances, provider.Instance{
			ID: u.id, ProviderID: "fake:///" + string(u.id), NodeName: string(u.id),
			State: u.state, Created: u.made, Zone: u.zone, Err: u.err, Retry: u.retry, Hold: u.hold,
			Drifted: g.drifted(u), Interrupted: u.taken,
		})
	}
	if g.spec.TellsStockOut && !refused.IsZero() && !g.inStock() {
		out.Holds = append(out.Holds, provider.Hold{
			Op: provider.OpGrow, Reason: string(provider.NoCapacity), Message: "it is sold out", Since: refused,
		})
	}
	slices.SortFunc(out.Instances, func(a, b provider.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// drifted says in what a machine is not what its group makes now.
func (g *fakeGroup) drifted(u *unit) string {
	if now := g.version(); u.like != now {
		return fmt.Sprintf("template version %q, now %q", u.like, now)
	}
	return ""
}

func (g *fakeGroup) version() string {
	if g.spec.Template == nil {
		return ""
	}
	return g.spec.Template.Version
}

func (g *fakeGroup) zone() string {
	if zones := g.emptiest(); len(zones) > 0 {
		if g.spec.Pick == nil || len(zones) == 1 {
			return zones[0]
		}
		return zones[g.spec.Pick(len(zones))]
	}
	if g.spec.Template != nil && g.spec.Template.Node != nil {
		return g.spec.Template.Node.Labels[corev1.LabelTopologyZone]
	}
	return ""
}

// emptiest are the zones that may have the next machine, in their order.
func (g *fakeGroup) emptiest() []string {
	if g.spec.Scattered || len(g.spec.Zones) < 2 {
		return g.spec.Zones
	}
	load := map[string]int{}
	for _, u := range g.units {
		if u.zone != "" && u.state != provider.Deleting {
			load[u.zone]++
		}
	}
	least := load[slices.MinFunc(g.spec.Zones, func(a, b string) int { return cmp.Compare(load[a], load[b]) })]
	return slices.DeleteFunc(slices.Clone(g.spec.Zones), func(z string) bool { return load[z] > least })
}

func copyOf(inv provider.Inventory) provider.Inventory {
	inv.Groups = slices.Clone(inv.Groups)
	for i := range inv.Groups {
		inv.Groups[i].Instances = slices.Clone(inv.Groups[i].Instances)
		inv.Groups[i].Holds = slices.Clone(inv.Groups[i].Holds)
	}
	inv.Pools, inv.Notices = slices.Clone(inv.Pools), slices.Clone(inv.Notices)
	return inv
}
