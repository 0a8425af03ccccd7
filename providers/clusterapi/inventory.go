package clusterapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// Codes of notices.
const (
	noticeBadAnnotation = "BadAnnotation"
	noticeNoMaximum     = "NoMaximum"
	noticeBadTemplate   = "BadTemplateStatus"
	noticeNoPools       = "MachinePoolsNotRead"
	noticeNoClusters    = "ClustersNotRead"
	noticeNarrowed      = "OneNamespaceOnly"
	noticeSeveral       = "SeveralClusters"
	noticeTwice         = "ClaimedTwice"
	noticeReplicas      = "ReplicasAppliedByOthers"
	noticeArch          = "DefaultArchUnknown"
)

// Inventory lists Machines and groups again. What is optional (the infrastructure
// behind the groups, whether a Cluster is paused) is waited for briefly, and
// what cannot be learned of one group is that group's alone.
func (p *Provider) Inventory(ctx context.Context) (provider.Inventory, error) {
	inv := provider.Inventory{AsOf: p.now()}
	if odd := p.settings.oddArch; odd != "" {
		inv.Notices = append(inv.Notices, kube.Notice("", noticeArch, "%s", odd))
	}
	c, err := p.takeCensus(ctx)
	if err != nil {
		return provider.Inventory{}, hints.Error(provider.OpInventory, "", "read the groups of Cluster API", err)
	}

	// 1. The groups that are meant, and what stands behind them.
	var groups []*scalable
	var refs []reference
	clusters := map[string]bool{}
	for i := range c.groups {
		g := &c.groups[i]
		if !p.settings.meant(g) {
			continue
		}
		b, bad := readBounds(g.annotations, p.settings.keys)
		if bad == nil && b.max == 0 {
			if b.min > 0 {
				inv.Notices = append(inv.Notices, kube.Notice(g.id(), noticeNoMaximum, "it has the annotation %s and no %s, and "+
					"is no node group without", p.settings.keys.minSize(), p.settings.keys.maxSize()))
			}
			continue
		}
		groups = append(groups, g)
		refs = append(refs, g.infra)
		if g.cluster != "" {
			clusters[g.namespace+"/"+g.cluster] = true
		}
	}
	inv.Others = len(c.groups) - len(groups)
	families := familiesOf(c.machines, c.sets)
	examples := map[provider.GroupID][]string{} // names of nodes to learn from
	for _, g := range groups {
		examples[g.id()] = exampleNames(g, families.members[g.id()], families.sets[g.id()])
	}
	var paused map[string]bool
	var clusterNotices []provider.Notice
	var wg sync.WaitGroup
	wg.Go(func() { p.infrastructure.learn(ctx, refs) })
	wg.Go(func() { p.examples.learn(ctx, slices.Concat(slices.Collect(maps.Values(examples))...)) })
	wg.Go(func() { paused, clusterNotices = p.pausedClusters(ctx, c.kinds, slices.Sorted(maps.Keys(clusters))) })
	wg.Wait()
	if ctx.Err() != nil {
		return provider.Inventory{}, hints.Error(provider.OpInventory, "",
			"read what stands behind the groups of Cluster API", context.Cause(ctx))
	}

	// 2. Each group, for itself.
	for _, g := range groups {
		behind := p.infrastructure.of(g.infra)
		members := families.members[g.id()]
		seen, notices := p.group(g, behind, p.examples.known.Of(examples[g.id()]), circumstances{
			sets: families.sets[g.id()], members: members, clusterPaused: paused[g.namespace+"/"+g.cluster],
			machineless: machineless(g, members, behind), clusters: slices.Sorted(maps.Keys(clusters)),
		})
		inv.Groups = append(inv.Groups, seen)
		inv.Notices = append(inv.Notices, notices...)
	}
	slices.SortFunc(inv.Groups, func(a, b provider.Group) int { return cmp.Compare(a.ID, b.ID) })

	// 3. What concerns all of them.
	live := map[provider.InstanceID]bool{}
	for i := range c.machines {
		live[c.machines[i].id()] = !c.machines[i].deleting
	}
	p.memory.prune(func(id provider.InstanceID) bool { return !live[id] })
	inv.Notices = append(inv.Notices, clusterNotices...)
	for _, claim := range unambiguous(inv.Groups) {
		inv.Notices = append(inv.Notices, kube.Notice("", noticeTwice, "several Machines claim the %s", claim))
	}
	inv.Notices = append(inv.Notices, p.ofAll(c, slices.Sorted(maps.Keys(clusters)))...)
	slices.SortStableFunc(inv.Notices, func(a, b provider.Notice) int { return cmp.Compare(a.Group, b.Group) })
	for _, n := range p.news.Among(inv.Notices) {
		p.log.Warn("notice about the node groups", "code", n.Code, "group", n.Group, "why", n.Message)
	}
	p.memory.ReadTook(p.now().Sub(inv.AsOf))
	return inv, nil
}

// ofAll are the notices that concern all groups: of the clusters that they are of, and of what
// could be read.
func (p *Provider) ofAll(c census, clusters []string) []provider.Notice {
	var notices []provider.Notice
	if len(clusters) > 1 {
		notices = append(notices, kube.Notice("", noticeSeveral, "the groups belong to several clusters (%s), and "+
			"nothing is removed from them: name one by --node-group-auto-discovery=clusterapi:clusterName=...",
			strings.Join(clusters, ", ")))
	}
	if c.narrowed {
		notices = append(notices, kube.Notice("", noticeNarrowed, "the permissions do not allow reading all "+
			"namespaces, so that only these are read: %s; give each --node-group-auto-discovery a namespace=",
			strings.Join(p.settings.narrowed(), ", ")))
	}
	if c.noPools != nil {
		notices = append(notices,
			kube.Notice("", noticeNoPools, "MachinePools are no node groups, since they may not be read: %v", c.noPools))
	}
	return notices
}

// group is one group with all that is known of it, and what a person should
// know.
func (p *Provider) group(
	g *scalable, behind behind, nodes []*corev1.Node, c circumstances,
) (provider.Group, []provider.Notice) {
	id := g.id()
	b, bad := readBounds(g.annotations, p.settings.keys)
	if bad != nil {
		e := kube.Refuse(provider.OpInventory, id, provider.BadConfig, "%s", bad)
		return provider.Group{ID: id, Err: e}, []provider.Notice{
			kube.Notice(id, noticeBadAnnotation, "%s: this group is left alone until it is mended", bad),
		}
	}
	if g.replicas == nil {
		return provider.Group{ID: id, Err: kube.Refuse(provider.OpInventory, id, provider.Transient,
			"its spec.replicas is not set: Cluster API's webhook has not defaulted it yet, or does not run")}, nil
	}
	c.short = whyShort(g, c, p.stood(g, c.members))
	shrinks, misread := readShrink(g)
	if c.emptiable = shrinks && c.machineless; c.emptiable && *g.replicas > 0 {
		c.moving = p.moving(g)
	}
	var notices []provider.Notice
	seen := provider.Group{
		ID: id, Min: b.min, Max: b.max, Target: *g.replicas, TargetSince: p.memory.TargetSince(id, *g.replicas),
		Instances: instancesOf(g, c), OwnLabels: slices.Clone(ownLabels), Holds: holdsOf(g, c, p.settings.keys),
		CloudChooses: c.emptiable,
	}
	if misread != nil {
		notices = append(notices, kube.Notice(id, noticeBadAnnotation, "%s", *misread))
	}
	var wrong []badAnnotation
	seen.Options, wrong = readOptions(g.annotations, p.settings.keys)
	said := readCapacity(g.annotations)
	var unpriced error
	if seen.PricePerHour, unpriced = provider.AnnotatedPrice(g.annotations); unpriced != nil {
		notices = append(notices, kube.Notice(id, noticeBadAnnotation, "%s: the price is not known", unpriced))
	}
	for _, b := range slices.Concat(wrong, said.bad) {
		notices = append(notices, kube.Notice(id, noticeBadAnnotation, "%s", b))
	}
	if who := replicasManager(g.object); who != "" {
		notices = append(notices, kube.Notice(id, noticeReplicas, "%s applies spec.replicas, and will put back whatever "+
			"they are changed to: leave replicas out there (in a managed topology, out of the Cluster's spec.topology.workers)",
			who))
	}
	for _, b := range behind.promise.bad {
		notices = append(notices, kube.Notice(id, noticeBadTemplate, "of %s, %s, and has no effect", g.infra, b))
	}
	var template *provider.Template
	err := errNoExample
	if len(nodes) > 0 {
		template, err = templateLike(nodes, said)
	}
	if err != nil { // none of it is ready, or none is complete yet
		template, err = buildTemplate(g, said, behind.promise, p.settings.arch)
	}
	if err != nil {
		seen.TemplateErr = kube.Refuse(provider.OpInventory, id, provider.BadConfig, "%v: the group has no ready node to "+
			"learn it from; set the annotations %s and %s%s", err, keyCPU, keyMemory, whyNot(behind))
		return seen, notices
	}
	seen.Template = template
	seen.Accelerator = template.Node.Labels[labelAccelerator]
	return seen, notices
}

var errNoExample = errors.New("there is no node to learn from")

// whyNot says why nothing is known of the infrastructure.
func whyNot(b behind) string {
	if b.err != nil {
		return fmt.Sprintf(" (the infrastructure does not tell: %v)", b.err)
	}
	return " (the infrastructure template's status has no capacity)"
}

// machineless reports whether a MachinePool is one of provider ids alone. Where
// its infrastructure may not be read, the ids decide that it lists.
func machineless(g *scalable, members []*machine, b behind) bool {
	return g.kind == machinePool && len(members) == 0 && b.machineKind == "" && (len(g.providerIDs) > 0 || b.err == nil)
}

// pausedClusters says which Clusters, by namespace/name, are paused. One that
// does not answer is as it was last, and is not asked at each call.
func (p *Provider) pausedClusters(
	ctx context.Context, k kinds, clusters []string,
) (map[string]bool, []provider.Notice) {
	out := map[string]bool{}
	if !k.has(clusterKind) {
		return out, nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	forEach(len(clusters), func(i int) {
		c := p.memory.cluster(clusters[i])
		if p.now().Before(c.until) {
			return
		}
		namespace, name, _ := strings.Cut(clusters[i], "/")
		object, err := p.client.Resource(k.resources[clusterKind]).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			_, annotated := object.GetAnnotations()[p.settings.keys.paused()]
			c = seenCluster{paused: annotated || isTrue(object, "spec", "paused")}
		case kube.KindOf(err) == provider.NotFound:
			c = seenCluster{}
		case kube.Withheld(err):
			c = seenCluster{err: err, until: p.now().Add(deniedFor)}
		default:
			c.err, c.until = err, p.now().Add(brokenFor)
		}
		p.memory.saw(clusters[i], c)
	})
	var notices []provider.Notice
	for _, name := range clusters {
		c := p.memory.cluster(name)
		out[name] = c.paused
		if c.err != nil {
			notices = append(notices,
				kube.Notice("", noticeNoClusters, "whether the Cluster %s is paused is not known: %v", name, c.err))
		}
	}
	return out, notices
}
