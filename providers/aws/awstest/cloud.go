package awstest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"sync"
	"time"
)

// Cloud is an account of AWS in memory. Its clock is the caller's; what is due
// is done at each call (see life.go). All methods may be called from any
// goroutine; the lock is held over state only, never while a call waits.
type Cloud struct {
	now  func() time.Time
	born time.Time // when what the spec does not date was made

	mu     sync.Mutex
	at     time.Time // how far the clock has been followed
	spec   Spec      // configuration; what lives of a group is in groups
	types  []InstanceType
	groups map[string]*group
	order  []string // the groups' names, sorted
	serial int      // of instances and activities

	mail          map[string][]*message // by queue
	refuseDeletes int

	faults faultList
	calls  callLog
}

// group is an Auto Scaling group that lives.
type group struct {
	Group   // its configuration; Desired and Instances in it are not kept up
	arn     string
	created time.Time

	desired   int
	asked     string // why desired last changed, in AWS's words
	instances []*instance
	launches  []time.Time // decided on and not made yet: when each is due
	unit      int         // what each of them is expected to add, 1 without weights
	history   []*activity // the newest, oldest first

	look     time.Time // when Auto Scaling looks at the group; zero: no reason
	retrying bool      // look is another attempt after a launch that failed
	held     map[Step]bool
}

// instance is an instance that lives.
type instance struct {
	Instance
	due      time.Time // when it goes on to its next state; zero: not by itself
	activity *activity // the one under way
}

// New makes a cloud from its spec; now is its clock. A group of which the launch
// template does not exist is accepted: its launches fail, as at AWS.
func New(spec Spec, now func() time.Time) (*Cloud, error) {
	start := now()
	c := &Cloud{now: now, born: start, at: start, groups: map[string]*group{}, mail: map[string][]*message{}}
	spec = spec.complete()
	if err := c.adopt(spec); err != nil {
		return nil, fmt.Errorf("make a simulated AWS: %w", err)
	}
	for i := range spec.Faults {
		c.Arm(spec.Faults[i])
	}
	return c, nil
}

// complete gives the spec with its defaults, sharing nothing with the original.
func (s Spec) complete() Spec {
	faults := slices.Clone(s.Faults) // their hooks do not survive JSON
	s = copied(s)
	s.Faults = faults
	s.Region = cmp.Or(s.Region, "us-east-1")
	s.Account = cmp.Or(s.Account, "123456789012")
	s.Timing.Retry = cmp.Or(s.Timing.Retry, time.Minute)
	for i := range s.Groups {
		g := &s.Groups[i]
		if len(g.Zones) == 0 {
			g.Zones = []string{s.Region + "a", s.Region + "b", s.Region + "c"}
		}
		g.Distribution = cmp.Or(g.Distribution, "balanced-best-effort")
		if g.Timing != nil {
			g.Timing.Retry = cmp.Or(g.Timing.Retry, s.Timing.Retry)
		}
	}
	for i := range s.LaunchTemplates {
		t := &s.LaunchTemplates[i]
		t.Default = cmp.Or(t.Default, 1)
		for j := range t.Versions {
			t.Versions[j].Number = cmp.Or(t.Versions[j].Number, j+1)
		}
	}
	return s
}

// check tells what no account can look like.
func (s Spec) check() error {
	names := map[string]bool{}
	unique := func(kind, name string) error {
		if name == "" || names[kind+"/"+name] {
			return fmt.Errorf("%s %q: the name is empty or doubled", kind, name)
		}
		names[kind+"/"+name] = true
		return nil
	}
	for _, g := range s.Groups {
		if err := unique("group", g.Name); err != nil {
			return err
		}
		if g.Min < 0 || g.Max < g.Min || g.Desired < 0 {
			return fmt.Errorf("group %q: min %d, max %d and desired %d do not go", g.Name, g.Min, g.Max, g.Desired)
		}
		for _, i := range g.Instances {
			if err := unique("instance", i.ID); err != nil {
				return err
			}
		}
	}
	for _, t := range s.LaunchTemplates {
		if err := cmp.Or(unique("launch template", t.Name), unique("launch template", t.ID)); err != nil {
			return err
		}
	}
	for _, l := range s.LaunchConfigurations {
		if err := unique("launch configuration", l.Name); err != nil {
			return err
		}
	}
	for _, i := range s.Images {
		if err := unique("image", i.ID); err != nil {
			return err
		}
	}
	for _, n := range s.Nodegroups {
		if err := cmp.Or(unique("node group", n.Cluster+"/"+n.Name), n.check()); err != nil {
			return err
		}
	}
	return nil
}

func (n Nodegroup) check() error {
	if n.Cluster == "" || n.Name == "" {
		return fmt.Errorf("node group %q of cluster %q: both names are needed", n.Name, n.Cluster)
	}
	return nil
}

// adopt makes the account what a checked spec says: groups that are new come to
// life, those that are no more are gone, the others go on with their instances.
func (c *Cloud) adopt(spec Spec) error {
	if err := spec.check(); err != nil {
		return err
	}
	before := c.groups
	c.groups, c.types = map[string]*group{}, catalogue(spec.InstanceTypes)
	c.spec = spec
	c.spec.Faults = nil // armed by New, and not part of the account
	for _, config := range spec.Groups {
		g, lives := before[config.Name]
		if !lives {
			c.create(config)
			continue
		}
		g.Group = config
		if g.desired != config.Desired {
			g.ask(config.Desired, c.at)
		}
		c.groups[config.Name] = g
		c.notice(g)
	}
	c.order = slices.Sorted(maps.Keys(c.groups))
	return nil
}

// create brings a group to life, at rest: with its instances in service.
func (c *Cloud) create(config Group) {
	g := &group{Group: config, created: c.at, desired: config.Desired, unit: 1, held: map[Step]bool{}}
	g.arn = fmt.Sprintf("arn:aws:autoscaling:%s:%s:autoScalingGroup:%s:autoScalingGroupName/%s",
		c.spec.Region, c.spec.Account, c.uuid(), config.Name)
	c.groups[config.Name] = g
	for _, i := range config.Instances {
		i.State = cmp.Or(i.State, InService)
		i.Zone = cmp.Or(i.Zone, config.Zones[0])
		i.Launched = cmp.Or(i.Launched, c.at)
		g.instances = append(g.instances, &instance{Instance: i})
	}
	if len(config.Instances) > 0 {
		c.notice(g)
		return
	}
	for g.capacity() < g.desired {
		// What is out of stock now was to be had once: the account is at rest.
		choice := choice{zone: g.zonesByLoad()[0]}
		if offers, _ := c.offers(g); len(offers) > 0 {
			choice.offer = offers[0]
		}
		i := c.newInstance(g, choice)
		i.State = InService
	}
}

// copied is a deep copy, by way of JSON.
func copied[T any](value T) T {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("copy a %T: %v", value, err)) // only values of this package come here
	}
	var other T
	if err := json.Unmarshal(text, &other); err != nil {
		panic(fmt.Sprintf("copy a %T: %v", value, err))
	}
	return other
}

// hash is a number that differs at each call, in no order. Real ids have no order either, and no code may rely on one.
func (c *Cloud) hash() uint64 {
	c.serial++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d of %s", c.serial, c.spec.Account)
	x := h.Sum64()
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9 // serials next to each other must not look so
	return x ^ x>>32
}

func (c *Cloud) uuid() string {
	a, b := c.hash(), c.hash()
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}

func (c *Cloud) timing(g *group) Timing {
	if g.Timing != nil {
		return *g.Timing
	}
	return c.spec.Timing
}

// groupOf finds the group of an instance.
func (c *Cloud) groupOf(id string) (*group, *instance) {
	for _, name := range c.order {
		for _, i := range c.groups[name].instances {
			if i.ID == id {
				return c.groups[name], i
			}
		}
	}
	return nil, nil
}
