package awstest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// This file is where and as what an instance is launched, and who goes first.

// offer is a machine that a group may launch.
type offer struct {
	machine string
	weight  string
	ref     *TemplateRef // the launch template, with its version as a number
	config  string       // else the launch configuration
}

// choice is an offer in a zone.
type choice struct {
	offer
	zone string
}

// failure is a zone in which a launch failed, and why.
type failure struct{ zone, words string }

// choose finds the zone with the fewest instances that has a machine of the
// group's choice, and the zones tried before it. A group of balanced-only tries
// no second zone:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-availability-zone-balanced.html
func (c *Cloud) choose(g *group) (choice, []failure) {
	zones := g.zonesByLoad()
	offers, why := c.offers(g)
	if len(offers) == 0 {
		return choice{}, []failure{{zones[0], why}}
	}
	if g.Distribution == "balanced-only" {
		zones = zones[:1]
	}
	var failures []failure
	for _, zone := range zones {
		words := ""
		for _, o := range offers {
			short := c.shortage(g.Name, o.machine, zone)
			if short == nil {
				return choice{o, zone}, failures
			}
			words = cmp.Or(words, short.words(o.machine, zone, c.zonesWith(g, o.machine), g.MixedInstances != nil, g.spot()))
		}
		failures = append(failures, failure{zone, words})
	}
	return choice{}, failures
}

// shortage is the stock-out that a launch meets; one with machines left is used.
func (c *Cloud) shortage(group, machine, zone string) *StockOut {
	s := c.stockOut(group, machine, zone)
	if s != nil && s.Left > 0 {
		s.Left--
		return nil
	}
	return s
}

func (c *Cloud) stockOut(group, machine, zone string) *StockOut {
	is := func(want, value string) bool { return want == "" || want == value }
	for i := range c.spec.StockOuts {
		s := &c.spec.StockOuts[i]
		if is(s.Group, group) && is(s.InstanceType, machine) && is(s.Zone, zone) {
			return s
		}
	}
	return nil
}

// zonesWith are the group's zones that have the machine in stock.
func (c *Cloud) zonesWith(g *group, machine string) []string {
	var zones []string
	for _, zone := range g.Zones {
		if s := c.stockOut(g.Name, machine, zone); s == nil || s.Left > 0 {
			zones = append(zones, zone)
		}
	}
	return zones
}

func (g *group) spot() bool {
	m := g.MixedInstances
	return m != nil && m.OnDemandBase == 0 && m.OnDemandPercentage != nil && *m.OnDemandPercentage == 0
}

// load counts the instances of each zone.
func (g *group) load() map[string]int {
	load := map[string]int{}
	for _, i := range g.instances {
		if i.counts() {
			load[i.Zone]++
		}
	}
	return load
}

// zonesByLoad are the group's zones, the one with the fewest instances first.
func (g *group) zonesByLoad() []string {
	load := g.load()
	zones := slices.Clone(g.Zones)
	slices.SortStableFunc(zones, func(a, b string) int { return cmp.Compare(load[a], load[b]) })
	return zones
}

// offers are the machines that a group may launch, in the order in which they
// are tried, or why there are none.
func (c *Cloud) offers(g *group) ([]offer, string) {
	if g.LaunchConfiguration != "" {
		i := slices.IndexFunc(c.spec.LaunchConfigurations, func(l LaunchConfiguration) bool {
			return l.Name == g.LaunchConfiguration
		})
		if i < 0 {
			return nil, "awstest: the launch configuration " + g.LaunchConfiguration +
				" does not exist. Launching EC2 instance failed."
		}
		return []offer{{machine: c.spec.LaunchConfigurations[i].InstanceType, config: g.LaunchConfiguration}}, ""
	}
	ref, overrides := g.LaunchTemplate, []Override(nil)
	if g.MixedInstances != nil {
		ref, overrides = &g.MixedInstances.Template, g.MixedInstances.Overrides
	}
	if ref == nil {
		return nil, "awstest: the group says nothing of what to launch. Launching EC2 instance failed."
	}
	if len(overrides) == 0 {
		overrides = []Override{{}}
	}
	var offers []offer
	for _, o := range overrides {
		more, refused := c.overrideOffers(cmp.Or(o.Template, ref), o)
		if refused != nil {
			return nil, refused.message + " Launching EC2 instance failed."
		}
		offers = append(offers, more...)
	}
	if len(offers) == 0 {
		return nil, "awstest: no instance type meets the requirements. Launching EC2 instance failed."
	}
	return offers, ""
}

func (c *Cloud) overrideOffers(ref *TemplateRef, o Override) ([]offer, *refusal) {
	template, version, refused := c.version(*ref)
	if refused != nil {
		return nil, refused
	}
	exact := &TemplateRef{ID: template.ID, Name: template.Name, Version: fmt.Sprint(version.Number)}
	machine, requirements := o.InstanceType, o.Requirements
	if machine == "" && requirements == nil {
		machine, requirements = version.InstanceType, version.Requirements
	}
	names := []string{machine}
	if requirements != nil {
		names = requirements.matching(c.types, c.architectures(version.ImageID))
	}
	var offers []offer
	for _, name := range names {
		offers = append(offers, offer{machine: name, weight: o.Weight, ref: exact})
	}
	return offers, nil
}

// version resolves $Latest, $Default, which an empty version is too, and numbers.
func (c *Cloud) version(ref TemplateRef) (LaunchTemplate, TemplateVersion, *refusal) {
	for _, t := range c.spec.LaunchTemplates {
		if ref.ID != "" && t.ID != ref.ID || ref.ID == "" && t.Name != ref.Name {
			continue
		}
		want := ref.Version
		switch {
		case want == "" || want == "$Default":
			want = fmt.Sprint(t.Default)
		case want == "$Latest":
			want = fmt.Sprint(t.latest())
		}
		for _, v := range t.Versions {
			if fmt.Sprint(v.Number) == want {
				return t, v, nil
			}
		}
		return t, TemplateVersion{}, noSuchVersion(ref.Version, t.ID)
	}
	if ref.ID != "" {
		return LaunchTemplate{}, TemplateVersion{}, noSuchTemplateID(ref.ID)
	}
	return LaunchTemplate{}, TemplateVersion{}, noSuchTemplateName(ref.Name)
}

func (t LaunchTemplate) latest() int {
	n := 0
	for _, v := range t.Versions {
		n = max(n, v.Number)
	}
	return n
}

// architectures is the image's, or any if it is unknown.
func (c *Cloud) architectures(image string) []string {
	for _, i := range c.spec.Images {
		if i.ID == image {
			return []string{cmp.Or(i.Architecture, "x86_64")}
		}
	}
	return nil
}

// firstWeight is what Auto Scaling expects one launch to add.
func (c *Cloud) firstWeight(g *group) int {
	offers, _ := c.offers(g)
	if len(offers) == 0 {
		return 1
	}
	return (&instance{Instance: Instance{Weight: offers[0].weight}}).weight()
}

// victim is whom Auto Scaling ends when there are too many. See
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-termination-policies.html;
// of the default policy's rules, the ones after the zone come down to age here.
// So it is the instance that has been healthy for longest that dies. Protection
// from scale-in begins when an instance is in service:
// https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-instance-protection.html
func (g *group) victim() *instance {
	load := g.load()
	newest, zonal := false, true
	if len(g.TerminationPolicies) > 0 {
		newest = g.TerminationPolicies[0] == "NewestInstance"
		zonal = g.TerminationPolicies[0] == "Default"
	}
	var best *instance
	for _, i := range g.instances {
		if !i.counts() || i.Protected && i.State == InService {
			continue
		}
		better := best == nil
		if !better && zonal && load[i.Zone] != load[best.Zone] {
			better = load[i.Zone] > load[best.Zone]
		} else if !better {
			better = i.Launched.Before(best.Launched) != newest && !i.Launched.Equal(best.Launched)
		}
		if better {
			best = i
		}
	}
	return best
}

// newInstance gives a group a machine, and it a name for life.
func (c *Cloud) newInstance(g *group, what choice) *instance {
	i := &instance{Instance: Instance{
		ID: fmt.Sprintf("i-0%016x", c.hash()), Zone: what.zone, Type: what.machine, Weight: what.weight,
		Launched: c.at, Protected: g.ProtectNew, Template: what.ref, LaunchConfig: what.config,
	}}
	g.instances = append(g.instances, i)
	return i
}

// subnet is the group's subnet in a zone, made up from both names.
func (g *group) subnet(zone string) string {
	return "subnet-" + strings.ReplaceAll(zone, "-", "")
}
