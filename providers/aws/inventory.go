package aws

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
)

const (
	// lookupsAtOnce bounds how many groups' activities or node groups are asked
	// for at the same time.
	lookupsAtOnce = 8
	// lookupPatience is how long Inventory waits in all for what stands behind the
	// groups. It is not to fail, nor to be late, because EC2 or EKS is.
	lookupPatience = 15 * time.Second
)

// Codes of notices.
const (
	noticeBadTag          = "BadTag"
	noticeBadNodegroup    = "BadNodegroup"
	noticeNotDescribed    = "NodegroupNotDescribed"
	noticeConflict        = "TemplateConflict"
	noticeTwice           = "GroupTwice"
	noticeLimits          = "LimitsNarrowed"
	noticeZones           = "SeveralZones"
	noticeNoActivities    = "ActivitiesNotRead"
	noticeRequestsStay    = "RequestsStay"
	noticeUnknownType     = "InstanceTypeUnknown"
	noticeNoImages        = "ImagesNotDescribed"
	noticeNoTypes         = "InstanceTypesNotDescribed"
	noticeNoFitting       = "FittingTypesNotListed"
	noticeNoPrices        = "PricesNotDescribed"
	noticeNoInterruptions = "InterruptionsNotRead"
	noticeNoReservations  = "ReservationsNotRead"
	noticeNoneReserved    = "NothingReserved"
)

// Inventory describes all groups again. What stands behind them (launch
// templates, instance types, EKS node groups) comes from memory where that is
// fresh, and what cannot be learned of one group is that group's error alone.
func (p *Provider) Inventory(ctx context.Context) (provider.Inventory, error) {
	inv := provider.Inventory{AsOf: p.now()}
	groups, missing, err := p.readAll(ctx)
	if err != nil {
		return provider.Inventory{}, asError(provider.OpInventory, "", "read the Auto Scaling groups", err)
	}
	if p.memory.emptied(len(groups) + len(missing)) {
		return provider.Inventory{}, &provider.Error{Op: provider.OpInventory, Kind: provider.Transient,
			Message: "AWS answers that no group has the tags of --node-group-auto-discovery, where there were some before; it " +
				"is not taken for true until it says so three times in a row"}
	}
	p.memory.see(groups, inv.AsOf)

	// 1. What stands behind the groups.
	launches := make([]launch, len(groups))
	launchErrs := make([]error, len(groups))
	var good []launch
	for i, g := range groups {
		if launches[i], launchErrs[i] = launchOf(g.AutoScalingGroup); launchErrs[i] == nil {
			good = append(good, launches[i])
		}
	}
	var known []described
	var rests []rested
	behind, cancel := context.WithTimeout(ctx, lookupPatience)
	var wg sync.WaitGroup
	wg.Go(func() {
		p.learning.run(behind, lookupPatience, func(ctx context.Context) { p.sources.learn(ctx, good) })
	})
	wg.Go(func() { known = p.lookUpNodegroups(behind, groups) })
	wg.Go(func() { rests = p.lookForStockOuts(behind, groups) })
	wg.Wait()
	cancel()
	if ctx.Err() != nil {
		return provider.Inventory{}, asError(provider.OpInventory, "", "read what stands behind the Auto Scaling groups",
			context.Cause(ctx))
	}

	// 2. Each group, for itself.
	wants := p.askPrices(ctx, groups, launches, known)
	for i, g := range groups {
		seen, notices := p.group(g, launches[i], launchErrs[i], known[i])
		if p.prices != nil {
			p.prices.tell(&seen, wants[i], g.AvailabilityZones)
		}
		if p.reservations != nil { // they are for instances on demand alone
			seen.CapacityType = p.capacityTypeOf(g.AutoScalingGroup, launches[i], known[i].nodegroup)
		}
		notices = append(notices, rests[i].holds(&seen, g)...)
		inv.Groups = append(inv.Groups, seen)
		inv.Notices = append(inv.Notices, notices...)
	}
	if n := allDenied(groups, known); n != nil {
		inv.Notices = append(inv.Notices, *n)
	}
	if n := overZones(inv.Groups); n != nil {
		inv.Notices = append(inv.Notices, *n)
	}
	p.memory.own(ownersOf(inv.Groups))
	for _, name := range missing {
		id := provider.GroupID(name)
		inv.Groups = append(inv.Groups, provider.Group{
			ID: id, Err: &provider.Error{Op: provider.OpInventory, Group: id, Kind: provider.NotFound,
				Message: fmt.Sprintf("--nodes names an Auto Scaling group that is not there in the region %s", p.region)},
		})
	}
	inv.Notices = append(inv.Notices, p.reservations.tell(ctx, &inv)...)
	inv.Notices = append(inv.Notices, p.interruptions.tell(inv.Groups, groups, inv.AsOf)...)
	inv.Notices = append(inv.Notices, p.sources.troubles(good)...)
	if p.prices != nil {
		inv.Notices = append(inv.Notices, p.prices.troubles(slices.Concat(wants...))...)
	}
	for _, name := range p.settings.repeated {
		inv.Notices = append(inv.Notices,
			notice(provider.GroupID(name), noticeTwice, "--nodes names this group more than once; the first holds"))
	}
	slices.SortFunc(inv.Groups, func(a, b provider.Group) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortStableFunc(inv.Notices, func(a, b provider.Notice) int { return cmp.Compare(a.Group, b.Group) })
	for _, n := range p.news.Among(inv.Notices) {
		p.log.Warn("notice about the node groups", "code", n.Code, "group", n.Group, "why", n.Message)
	}
	return inv, nil
}

// ownersOf says which group each instance is of.
func ownersOf(groups []provider.Group) map[provider.InstanceID]provider.GroupID {
	owners := map[provider.InstanceID]provider.GroupID{}
	for _, g := range groups {
		for _, i := range g.Instances {
			owners[i.ID] = g.ID
		}
	}
	return owners
}

// holds adds to a group the hold for what AWS has no capacity for, and returns what a
// person should know of that.
func (r rested) holds(seen *provider.Group, g reading) []provider.Notice {
	var notices []provider.Notice
	if r.err != nil {
		notices = append(notices, notice(seen.ID, noticeNoActivities, "it is not known why AWS has not launched what was "+
			"asked for: %s", steady("could not describe the scaling activities", r.err)))
	}
	if !r.held {
		return notices
	}
	seen.Holds = append(seen.Holds, r.stockOut.hold())
	if !protects(g.AutoScalingGroup) {
		notices = append(notices, notice(seen.ID, noticeRequestsStay, "what AWS cannot launch stays asked for: to lower "+
			"the desired capacity could end a healthy instance, unless all are protected from scale-in (see "+
			"docs/aws.md)"))
	}
	return notices
}

// group is one group with all that is known of it, and what a person should
// know.
func (p *Provider) group(g reading, l launch, launchErr error, known described) (provider.Group, []provider.Notice) {
	id := provider.GroupID(deref(g.AutoScalingGroupName))
	var notices []provider.Notice
	sizes, err := boundsOf(g.AutoScalingGroup, g.spec)
	if err != nil {
		return provider.Group{
			ID: id, Err: &provider.Error{Op: provider.OpInventory, Group: id, Kind: provider.BadConfig, Message: err.Error()},
		}, nil
	}
	if g.spec != nil && (sizes.min != g.spec.min || sizes.max != g.spec.max) {
		notices = append(notices,
			notice(id, noticeLimits, "--nodes allows %d to %d nodes, and the Auto Scaling group %d to %d, so it is %d to %d",
				g.spec.min, g.spec.max, deref(g.MinSize), deref(g.MaxSize), sizes.min, sizes.max))
	}
	seen := seenAs(g.AutoScalingGroup, sizes)
	seen.TargetSince = p.memory.targetSince(string(id), seen.Target)
	for i := range seen.Instances {
		seen.Instances[i].Created = p.memory.created(seen.Instances[i].ID)
	}

	tags := parseTags(tagsOf(g.AutoScalingGroup))
	seen.Options = tags.options
	for _, b := range tags.bad {
		notices = append(notices, notice(id, noticeBadTag, "the tag %s=%q has no effect: %s", b.key, b.value, b.why))
	}
	if known.err != nil && !known.denied() {
		notices = append(notices, notice(id, noticeNotDescribed, "%s", known.text()))
	}
	seen.Holds = append(seen.Holds, unclearTaints(tags, deref(known.nodegroup))...)
	if known.nodegroup != nil {
		seen.Holds = append(seen.Holds, known.nodegroup.holds(known.key)...)
		for _, b := range known.nodegroup.bad {
			notices = append(notices, notice(id, noticeBadNodegroup, "of the EKS node group %s has no effect: %s", known.key, b))
		}
	}

	facts := templateFacts{
		region: p.region, zones: slices.Clone(g.AvailabilityZones), tags: tags, nodegroup: known.nodegroup,
	}
	var missing gap
	if launchErr == nil {
		p.sources.tellDrift(&seen, g.AutoScalingGroup, l)
		facts.machines, missing, launchErr = p.sources.machinesOf(l)
	}
	if launchErr != nil {
		seen.TemplateErr = templateError(id, launchErr)
		return seen, notices
	}
	if len(missing.types) > 0 {
		notices = append(notices, notice(id, noticeUnknownType, "nothing is known of %d of its %d instance types: %s; %s. "+
			"Tags %s... of the Auto Scaling group can say what the machines have",
			len(missing.types), len(facts.machines), firstOf(missing.types),
			steady("the last of them", missing.err), tagResource))
	}
	template, conflicts, templateErr := buildTemplate(facts, p.settings.template)
	if templateErr != nil && missing.err != nil {
		templateErr = templateError(id, missing.err)
	}
	if templateErr != nil {
		templateErr.Group = id
		seen.TemplateErr = templateErr
		return seen, notices
	}
	for _, c := range conflicts {
		notices = append(notices, notice(id, noticeConflict, "%s", c))
	}
	seen.Template = template
	seen.Accelerator = template.Node.Labels[labelAccelerator]
	return seen, notices
}

// overZones is one notice for all groups over several zones, nil if there is none: most
// clusters have many.
func overZones(groups []provider.Group) *provider.Notice {
	var wide []string
	for i := range groups {
		if t := groups[i].Template; t != nil && len(t.Places) > 0 {
			wide = append(wide, string(groups[i].ID))
		}
	}
	if len(wide) == 0 {
		return nil
	}
	slices.Sort(wide)
	several := ""
	if more := len(wide) - 3; more > 0 {
		wide, several = wide[:3], fmt.Sprintf(" and %d more", more)
	}
	n := notice("", noticeZones, "AWS chooses the zone of each new node of %s%s: pods that want one zone, as those with "+
		"an EBS volume do, may have to wait for further nodes; for them, prefer one group a zone",
		strings.Join(wide, ", "), several)
	return &n
}

// templateError says why a group has no template. What is no error of AWS is
// one of the configuration.
func templateError(id provider.GroupID, err error) *provider.Error {
	e := asError(provider.OpInventory, id, "find out what a node of this group is like", err)
	if e.Code == "" && statusOf(err) == 0 && !isTimeout(err) {
		e.Kind = provider.BadConfig
	}
	return e
}

// firstOf names the first of many.
func firstOf(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:most], ", "), len(names)-most)
}

func notice(id provider.GroupID, code, format string, args ...any) provider.Notice {
	return provider.Notice{Group: id, Code: code, Message: strings.TrimSpace(fmt.Sprintf(format, args...))}
}

// described is what EKS says of a group, or why it does not.
type described struct {
	key       nodegroupKey
	nodegroup *nodegroup
	err       error
}

// instead is what stands for the answer that is missing.
func (d described) instead() string {
	if d.nodegroup != nil {
		return "what EKS said before still holds"
	}
	return "the tags are all that is known"
}

func (d described) text() string {
	return steady(fmt.Sprintf("could not describe the EKS node group %s (%s)", d.key, d.instead()), d.err)
}

func (d described) denied() bool { return d.err != nil && kindOf(d.err) == provider.Denied }

// allDenied is one notice for all node groups that may not be described: a right is
// missing for all of them as a rule. Other failures pass one by one, and have a notice
// each.
func allDenied(groups []reading, known []described) *provider.Notice {
	var keys []string
	first := 0
	for i, d := range known {
		if !d.denied() {
			continue
		}
		if len(keys) == 0 {
			first = i
		}
		keys = append(keys, d.key.String())
	}
	switch len(keys) {
	case 0:
		return nil
	case 1:
		return new(notice(provider.GroupID(deref(groups[first].AutoScalingGroupName)), noticeNotDescribed, "%s",
			known[first].text()))
	}
	return new(notice("", noticeNotDescribed, "%s",
		steady(fmt.Sprintf("could not describe %d EKS node groups (%s; %s), of the first",
			len(keys), firstOf(keys), known[first].instead()), known[first].err)))
}

// lookUpNodegroups asks for the EKS node group of each group that has one.
func (p *Provider) lookUpNodegroups(ctx context.Context, groups []reading) []described {
	out := make([]described, len(groups))
	alive := map[nodegroupKey]bool{}
	var which []int
	for i, g := range groups {
		key, ok := nodegroupOf(tagsOf(g.AutoScalingGroup))
		if !ok {
			continue
		}
		out[i].key, alive[key] = key, true
		which = append(which, i)
	}
	p.nodegroups.forget(alive)
	inParallel(len(which), func(n int) {
		i := which[n]
		// No provider knows which nodes have registered; an instance in service
		// stands for one.
		lazily := !p.settings.describeAll && slices.ContainsFunc(groups[i].Instances, inService)
		out[i].nodegroup, out[i].err = p.nodegroups.get(ctx, out[i].key, lazily)
	})
	return out
}

// rested is what holds a group up, and why it could not be asked for.
type rested struct {
	stockOut stockOut
	held     bool
	err      error
}

// lookForStockOuts asks why, for each group that lacks what was asked for.
func (p *Provider) lookForStockOuts(ctx context.Context, groups []reading) []rested {
	out := make([]rested, len(groups))
	inParallel(len(groups), func(i int) {
		g := groups[i]
		name, n := deref(g.AutoScalingGroupName), sizesOf(g.AutoScalingGroup)
		var found *stockOut
		if n.target > n.live && weighted(g.AutoScalingGroup) == "" {
			found, out[i].err = p.lookForStockOut(ctx, name, p.memory.lastAsk(name))
		}
		out[i].stockOut, out[i].held = p.memory.rest(name, found, n.live, p.now())
	})
	return out
}

// inParallel does n things, a few at a time, and returns when all are done.
func inParallel(n int, do func(int)) {
	slots := make(chan struct{}, lookupsAtOnce)
	var wg sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}
