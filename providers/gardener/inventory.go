package gardener

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// Codes of notices.
const (
	noticeBadAnnotation  = "BadAnnotation"
	noticeNoMaximum      = "NoMaximum"
	noticeNoDeployment   = "NoSuchMachineDeployment"
	noticePoolsDisagree  = "PoolLimitsDisagree"
	noticeFewerThanZones = "FewerThanZones"
	noticeOtherShoot     = "OtherShoot"
	noticeUnavailable    = "MachineControllerManagerUnavailable"
	noticeNoAvailability = "AvailabilityNotRead"
	noticeWrongMarker    = "WrongDeletionMarker"
	noticeTwice          = "ClaimedTwice"
	noticeNodesIgnored   = "NodesIgnored"
)

// Inventory lists the namespace again. What is wrong with one MachineDeployment is
// that one's alone.
func (p *Provider) Inventory(ctx context.Context) (provider.Inventory, error) {
	inv := provider.Inventory{AsOf: p.now()}
	a, err := p.available(ctx)
	if err != nil {
		return provider.Inventory{}, hints.Error(provider.OpInventory, "",
			"find out whether machine-controller-manager runs", err)
	}
	c, err := p.takeCensus(ctx, true)
	if err != nil {
		return provider.Inventory{}, hints.Error(provider.OpInventory, "", "read the MachineDeployments", err)
	}
	f := familiesOf(c)
	wanted := map[string][]string{} // nodes to learn from, by group
	for _, d := range c.deployments {
		if p.settings.meant(d) {
			wanted[d.Name] = exampleNames(f.machines[d.Name], f.sets[d.Name])
		}
	}
	p.examples.learn(ctx, slices.Concat(slices.Collect(maps.Values(wanted))...))
	if ctx.Err() != nil {
		return provider.Inventory{}, hints.Error(provider.OpInventory, "", "read nodes of the shoot", context.Cause(ctx))
	}
	inv.Groups, inv.Pools, inv.Notices = describe(c, f, a, p.settings, surroundings{
		since:   p.memory.TargetSince,
		marking: func(id provider.GroupID) []provider.InstanceID { return p.underWay.since(id, inv.AsOf) },
		nodes:   func(group string) []*corev1.Node { return p.examples.known.Of(wanted[group]) }, now: inv.AsOf,
	})
	for _, n := range p.news.Among(inv.Notices) {
		p.log.Warn("notice about the node groups", "code", n.Code, "group", n.Group, "why", n.Message)
	}
	p.memory.ReadTook(p.now().Sub(inv.AsOf))
	return inv, nil
}

// surroundings are what is known beside a census.
type surroundings struct {
	// since is when a target was asked for, zero if it was not by us.
	since func(provider.GroupID, int) time.Time
	// marking are machines of a group that a removal beside the census may have marked.
	marking func(provider.GroupID) []provider.InstanceID
	// nodes are a group's that new ones will be like.
	nodes func(group string) []*corev1.Node
	now   time.Time
}

// describe makes groups and pools of a census.
func describe(
	c census, families families, a availability, s settings, around surroundings,
) ([]provider.Group, []provider.Pool, []provider.Notice) {
	pools := poolsOf(c.deployments, s)
	var groups []provider.Group
	notices := slices.Clone(a.notices)

	// 1. Each group, for itself.
	shown := map[provider.PoolID]int{} // targets of the groups that are shown
	dying := map[provider.PoolID]int{} // of those of them that are on their way out
	there := map[string]bool{}
	for _, d := range c.deployments {
		there[d.Name] = true
		if !s.meant(d) {
			continue
		}
		g, more, ok := group(d, pools[poolIDOf(d)], c, families, s, around)
		notices = append(notices, more...)
		if !ok {
			continue
		}
		g.TargetSince = around.since(g.ID, g.Target)
		g.Holds = slices.Concat(a.hold(), g.Holds)
		groups = append(groups, g)
		if g.Pool != "" {
			shown[g.Pool] += int(d.Spec.Replicas)
			if d.DeletionTimestamp != nil {
				dying[g.Pool] += int(d.Spec.Replicas)
			}
		}
	}
	slices.SortFunc(groups, func(a, b provider.Group) int { return cmp.Compare(a.ID, b.ID) })

	// 2. The pools that have groups. Of the limits only that is left to these which
	// the pool's other MachineDeployments do not have.
	var out []provider.Pool
	for _, id := range slices.Sorted(maps.Keys(pools)) {
		p := pools[id]
		if _, ok := shown[id]; !ok {
			continue
		}
		notices = append(notices, p.notices...)
		notices = append(notices, p.judge()...)
		if !p.limited {
			continue
		}
		others := p.target() - shown[id]
		livingOthers := p.living() - (shown[id] - dying[id])
		most := max(0, p.limits.max-others)
		// What is on its way out is among the targets that the core sums, and is to be
		// had once more.
		least := max(0, p.limits.min-livingOthers) + dying[id]
		out = append(out, provider.Pool{ID: id, Min: min(least, most), Max: most, Sizing: p.sizing})
	}

	// 3. What concerns all of them.
	for _, name := range slices.Sorted(maps.Keys(s.static)) {
		if !there[name] {
			notices = append(notices, kube.Notice(provider.GroupID(name), noticeNoDeployment, "--nodes names the "+
				"MachineDeployment %s, which is not in the namespace %s; it will be a group when it is", name, s.namespace))
		}
	}
	for _, shoot := range s.otherShoots() {
		notices = append(notices, kube.Notice("", noticeOtherShoot, "--node-group-auto-discovery names the shoot %s, and "+
			"the namespace %s is that of another one: what is found there is scaled all the same", shoot, s.namespace))
	}
	for _, claim := range unambiguous(groups) {
		notices = append(notices, kube.Notice("", noticeTwice, "several Machines claim the %s", claim))
	}
	slices.SortStableFunc(notices, func(a, b provider.Notice) int { return cmp.Compare(a.Group, b.Group) })
	return groups, out, slices.Compact(notices)
}

// group is one group with all that is known of it, and what a person should know. It
// is false for a MachineDeployment that is none.
func group(
	d *v1alpha1.MachineDeployment, p *pool, c census, f families, s settings, around surroundings,
) (provider.Group, []provider.Notice, bool) {
	id := provider.GroupID(d.Name)
	b, ok := boundsOf(d, p, s)
	// One that cannot be read as a whole, and whose size is known, counts in its pool,
	// with its machines; nothing is done to it.
	strange := c.strange[v1alpha1.KindMachineDeployment+"/"+d.Name]
	if strange != nil && (!ok || isUnsized(strange)) {
		return provider.Group{
			ID: id, Pool: poolIDOf(d), Err: kube.Refuse(provider.OpInventory, id, provider.BadConfig, unread, strange),
		}, nil, true
	}
	t := readSaid(d)
	var notices []provider.Notice
	if p == nil {
		for _, bad := range t.bad {
			notices = append(notices, kube.Notice(id, noticeBadAnnotation, "%s", bad))
		}
	}
	if !ok {
		// One with limits that cannot be read is ours, and left alone; one without limits
		// is not a group at all.
		if len(t.bad) > 0 {
			return provider.Group{
				ID: id, Err: kube.Refuse(provider.OpInventory, id, provider.BadConfig, "%s", t.bad[0]),
			}, notices, true
		}
		if t.min != nil || len(s.specs) > 0 && p != nil {
			notices = append(notices, kube.Notice(id, noticeNoMaximum, "nothing says how many machines its pool may have: set "+
				"spec.poolMaximum or the annotation %s, or name it in --nodes", v1alpha1.PoolMaximumAnnotation))
		}
		return provider.Group{}, notices, false
	}
	if _, named := s.static[d.Name]; named &&
		(p != nil && p.limited && !p.static && readsLimits(p) || p == nil && t.max != nil) {
		notices = append(notices,
			kube.Notice(id, noticeNodesIgnored, "its bounds in --nodes do not count, since its pool has limits of its own"))
	}
	class := c.classes[d.Spec.Template.Spec.Class.Name]
	standing := standingOf(d, f.machines[d.Name], f.sets[d.Name], c.marks[d.Name], s.marker, around.now)
	seen := provider.Group{
		ID: id, Min: b.min, Max: b.max, Target: int(d.Spec.Replicas), OwnLabels: slices.Clone(ownLabels),
		Instances: instancesOf(f.machines[d.Name], standing, zoneOf(d, class), c, around.now),
		Holds:     holdsOf(d, f.sets[d.Name], standing.rolling),
	}
	holdForRivals(seen.Instances, standing.rivals(s.marker), around.marking(id))
	if p != nil && p.limited {
		seen.Pool = p.id
	}
	for i := range seen.Instances {
		if e := seen.Instances[i].Err; e != nil {
			e.Group, e.Zone = id, seen.Instances[i].Zone
		}
	}
	var wrong []string
	seen.Options, wrong = readOptions(d)
	for _, bad := range wrong {
		notices = append(notices, kube.Notice(id, noticeBadAnnotation, "%s", bad))
	}
	var unpriced error
	if seen.PricePerHour, unpriced = provider.AnnotatedPrice(d.Annotations); unpriced != nil {
		notices = append(notices, kube.Notice(id, noticeBadAnnotation, "%s: the price is not known", unpriced))
	}
	if strange != nil {
		seen.Holds, seen.TemplateErr = strangeHolds(d, strange), kube.Refuse(provider.OpInventory, id, provider.BadConfig,
			unread, strange)
		return seen, notices, true
	}
	template, err := buildTemplate(d, class, around.nodes(d.Name))
	if err == nil {
		err = c.strange[v1alpha1.KindMachineClass+"/"+d.Spec.Template.Spec.Class.Name]
	}
	if err != nil {
		seen.TemplateErr = kube.Refuse(provider.OpInventory, id, provider.BadConfig,
			"%v: what a new node will be like is read from its nodeTemplate", err)
	} else {
		seen.Template = template
	}
	return seen, notices, true
}

// readsLimits reports whether the pool's limits come from its MachineDeployments.
func readsLimits(p *pool) bool {
	return slices.ContainsFunc(p.members, func(d *v1alpha1.MachineDeployment) bool { return readSaid(d).max != nil })
}

// judge reports what is unwise about a pool, and stops nothing.
func (p *pool) judge() []provider.Notice {
	if p.limited && p.limits.max > 0 && p.limits.max < len(p.members) {
		return []provider.Notice{kube.Notice("", noticeFewerThanZones,
			"the pool %s has a maximum of %d over %d zones: some of them will have no node", p.id, p.limits.max, len(p.members))}
	}
	return nil
}

// zoneOf is where a group's machines are.
func zoneOf(d *v1alpha1.MachineDeployment, class *v1alpha1.MachineClass) string {
	if class != nil && class.NodeTemplate != nil && class.NodeTemplate.Zone != "" {
		return class.NodeTemplate.Zone
	}
	return d.Spec.Template.Spec.NodeTemplate.Labels[corev1.LabelTopologyZone]
}
