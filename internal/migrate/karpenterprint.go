package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/config"
	"github.com/plimsoll-dev/plimsoll/internal/config/v1alpha1"
)

// What Karpenter does where a NodePool says nothing.
const (
	expiryThere = "720h"
	budgetThere = "10%"
)

// Labels that Karpenter's requirements are about, and that part a NodePool into groups.
const labelCapacity = "karpenter.sh/capacity-type"

// ofKarpenter are the reasons that Karpenter's budgets are about, in our words.
var ofKarpenter = map[string][]string{
	"Empty": {"Empty"}, "Underutilized": {"Underutilized", "Cheaper"}, "Drifted": {"Drifted"},
}

// translate makes a configuration: a policy for each NodePool, and cluster-wide limits.
func (k *karpenter) translate(Settings) error {
	k.config = v1alpha1.Configuration{APIVersion: v1alpha1.APIVersion, Kind: v1alpha1.Kind}
	weighed := false
	for _, p := range k.pools {
		if len(p.groups()) > 0 {
			k.config.Policies = append(k.config.Policies, k.policy(p))
		}
		weighed = weighed || p.Spec.Weight != nil
		k.tellLost(p)
	}
	k.config.ScaleUp = &v1alpha1.ScaleUp{Expander: "price,least-waste"}
	if weighed {
		k.config.ScaleUp.Expander = "priority,price,least-waste"
	}
	k.limits()
	k.startupTaints()
	k.tell()
	// What cannot be read as a budget or a time is a mistake of the NodePools, too.
	text, err := yaml.Marshal(k.config)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return config.Check("what is made of the NodePools", text)
}

func (k *karpenter) print(Settings) ([]any, error) { return []any{k.config}, nil }

func (k *karpenter) notes(Settings) Notes { return k.told }

// policy is what a NodePool says of the groups that take its place.
func (k *karpenter) policy(p *nodePool) v1alpha1.Policy {
	d, node := &p.Spec.Disruption, &p.Spec.Template.Spec
	out := v1alpha1.Policy{
		Name: p.Metadata.Name, Groups: p.groupNames(), Priority: p.Spec.Weight, Budgets: p.budgets(),
		Moves: &v1alpha1.GroupMoves{
			Consolidation:  cmp.Or(consolidations[d.ConsolidationPolicy], consolidations["WhenEmptyOrUnderutilized"]),
			ReplaceAfter:   cmp.Or(node.ExpireAfter, expiryThere),
			ReplaceDrifted: new(true),
		},
	}
	if node.ExpireAfter == never {
		out.Moves.ReplaceAfter = "0s"
	}
	if p.off() {
		out.Size = &v1alpha1.Size{Max: new(int64)}
	}
	if d.ConsolidateAfter != never {
		out.ScaleDown = &v1alpha1.GroupScaleDown{UnneededTime: cmp.Or(d.ConsolidateAfter, "0s")}
	}
	return out
}

// budgets are those of a NodePool. Without any, Karpenter has one of a tenth. Where it never consolidates, nothing goes
// for being empty, unneeded or dear.
func (p *nodePool) budgets() []v1alpha1.Budget {
	var out []v1alpha1.Budget
	if p.Spec.Disruption.ConsolidateAfter == never {
		out = append(out, v1alpha1.Budget{
			Name: "consolidateAfter: Never", Nodes: "0", Reasons: []string{"Empty", "Underutilized", "Cheaper"},
		})
	}
	from := []poolBudget{{Nodes: budgetThere}}
	if p.Spec.Disruption.Budgets != nil {
		from = *p.Spec.Disruption.Budgets
	}
	for _, b := range from {
		to := v1alpha1.Budget{Nodes: cmp.Or(b.Nodes, budgetThere)}
		for _, reason := range b.Reasons {
			to.Reasons = append(to.Reasons, ofKarpenter[reason]...)
		}
		if len(b.Reasons) == 0 { // all that Karpenter counts, and expiry, which it does not hold
			to.Reasons = []string{"Empty", "Underutilized", "Cheaper", "Drifted", "Expired"}
		}
		if b.Schedule != "" {
			to.Windows = []v1alpha1.Window{{Schedule: b.Schedule, TimeZone: "UTC", Duration: b.Duration}}
		}
		out = append(out, to)
	}
	return out
}

// nodeGroup is one that a person creates in the place of a part of a NodePool.
type nodeGroup struct{ name, capacity, arch string }

// groups parts a NodePool by capacity type and architecture: a node group has one of each.
func (p *nodePool) groups() []nodeGroup {
	var out []nodeGroup
	for _, capacity := range p.values(labelCapacity) {
		for _, arch := range p.values(corev1.LabelArchStable) {
			out = append(out, nodeGroup{p.Metadata.Name + "-" + capacity + "-" + arch, capacity, arch})
		}
	}
	return out
}

// groupNames are patterns: a group may have a zone, a size or the like behind its name.
func (p *nodePool) groupNames() []string {
	var out []string
	for _, g := range p.groups() {
		out = append(out, g.name+"*")
	}
	return out
}

// choices are the values that a label of which a group has one may have, the usual one first.
var choices = map[string][]string{
	labelCapacity:          {"on-demand", "spot", "reserved"},
	corev1.LabelArchStable: {"amd64", "arm64"},
}

// values are those that a label of a group may have, by all requirements together: the usual one where they name none.
// None is left where they exclude each other.
func (p *nodePool) values(label string) []string {
	all, said := choices[label], false
	for _, r := range p.Spec.Template.Spec.Requirements {
		if r.Key != label {
			continue
		}
		switch is := func(v string) bool { return slices.Contains(r.Values, v) }; {
		case r.Operator == "In" && !said:
			all, said = slices.Clone(r.Values), true
		case r.Operator == "In":
			all = slices.DeleteFunc(slices.Clone(all), func(v string) bool { return !is(v) })
		case r.Operator == "NotIn":
			all, said = slices.DeleteFunc(slices.Clone(all), is), true
		case r.Operator == "Exists":
			said = true
		}
	}
	if !said {
		all = all[:1]
	}
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// off reports whether a NodePool is switched off: it may have nothing.
func (p *nodePool) off() bool {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, there := p.Spec.Limits[string(name)]; there && q.IsZero() {
			return true
		}
	}
	return false
}

// limits are the cluster's, where each NodePool has one: then the sum holds. A sum that is more than the largest
// cluster has bounds nothing.
func (k *karpenter) limits() {
	sum := func(name corev1.ResourceName, unit, most int64) string {
		total := int64(0)
		for _, p := range k.pools {
			q, there := p.Spec.Limits[string(name)]
			if !there || q.CmpInt64(most*unit) > 0 {
				return ""
			}
			total += (q.Value() + unit - 1) / unit
		}
		if total > most || total == 0 { // 0 would be no limit
			return ""
		}
		return "0:" + strconv.FormatInt(total, 10)
	}
	k.config.ScaleUp.CoresTotal = sum(corev1.ResourceCPU, 1, mostCores)
	k.config.ScaleUp.MemoryTotal = sum(corev1.ResourceMemory, 1<<30, mostGiB)
	for _, l := range []struct{ field, value, of string }{
		{"coresTotal", k.config.ScaleUp.CoresTotal, "cores"}, {"memoryTotal", k.config.ScaleUp.MemoryTotal, "GiB"},
	} {
		if l.value != "" {
			k.told.Lost = append(k.told.Lost, fmt.Sprintf("scaleUp.%s %s counts all nodes, Karpenter's too: while those are "+
				"there, Plimsoll may buy too little or nothing. Raise it by the %s of Karpenter's nodes until they are gone",
				l.field, l.value, l.of))
		}
	}
}

// What the largest cluster has, which a limit of a NodePool may be above.
const (
	mostCores = 10_000_000
	mostGiB   = 100_000_000
)

// startupTaints are those of all NodePools: a node that has one counts as one that boots.
func (k *karpenter) startupTaints() {
	keys := map[string]bool{}
	for _, p := range k.pools {
		for _, t := range p.Spec.Template.Spec.StartupTaints {
			keys[t.Key] = true
		}
	}
	if len(keys) > 0 {
		k.config.NodeHealth = &v1alpha1.NodeHealth{StartupTaints: slices.Sorted(maps.Keys(keys))}
	}
}

// tellLost tells what of a NodePool has no counterpart.
func (k *karpenter) tellLost(p *nodePool) {
	lost := func(format string, args ...any) {
		k.told.Lost = append(k.told.Lost, "NodePool "+p.Metadata.Name+": "+fmt.Sprintf(format, args...))
	}
	if len(p.groups()) == 0 {
		lost("its requirements on capacity types and architectures exclude each other: no group is made of it")
	}
	if p.off() {
		lost("a limit of 0 switches it off: its policy has a maximum of 0, so that its groups do not grow; take that away " +
			"to use them")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Spec.Limits)) {
		q := p.Spec.Limits[name]
		switch corev1.ResourceName(name) {
		case corev1.ResourceCPU, corev1.ResourceMemory:
			if len(k.pools) > 1 {
				lost("limits.%s %s bounds no pool of groups; scaleUp has the sum of all NodePools, if each has one: "+
					"give the groups maxima that add up to it", name, q.String())
			}
		default:
			lost("limits.%s %s bounds nothing here: give the groups maxima that add up to it", name, q.String())
		}
	}
	if n := p.Spec.Replicas; n != nil {
		lost("replicas %d: a size in a policy is that of each group, so none is written; give the groups minima and maxima "+
			"that add up to it", *n)
	}
	node := &p.Spec.Template.Spec
	if node.TerminationGracePeriod != "" {
		lost("terminationGracePeriod %s is no end of a drain here: a pod that a budget or an annotation guards keeps its "+
			"node as long as it does", node.TerminationGracePeriod)
	}
	for _, field := range p.unknown {
		lost("%s is no field of a NodePool of karpenter.sh/v1, as far as is known here: nothing follows from it", field)
	}
	for i, r := range node.Requirements {
		if choices[r.Key] != nil && !slices.Contains([]string{"In", "NotIn", "Exists"}, r.Operator) {
			lost("requirements[%d], %s %s, does not say which groups to make: they are %s", i, r.Key, words(r),
				strings.Join(p.groupNames(), ", "))
		}
		if r.MinValues != nil {
			lost("minValues %d of %s: a group has the types that it has", *r.MinValues, r.Key)
		}
	}
	if p.Spec.Disruption.ConsolidationPolicy == "Balanced" {
		lost("consolidationPolicy Balanced weighs what a move saves against the pods that it evicts; " +
			"moves.minSavingsPerDisruption does, in money: set it")
	}
}

// tell explains what is other than before, the groups to create, and what to do.
func (k *karpenter) tell() {
	changed := func(format string, args ...any) {
		k.told.Changed = append(k.told.Changed, fmt.Sprintf(format, args...))
	}
	next := func(format string, args ...any) { k.told.Next = append(k.told.Next, fmt.Sprintf(format, args...)) }
	changed("Nodes come from node groups, which a person creates, and not from a choice of machine types for each pod: " +
		"a group's types should have equal cores and memory. Make one group for each size that is worth having")
	changed("expireAfter is graceful: a replacement is bought first, budgets hold it, and pods are evicted one by one")
	changed("A node that is used for half or more stays, unless a move to cheaper nodes is worth it " +
		"(scaleDown.utilizationThreshold, moves.minSavingsShare)")
	changed("Nodes are replaced as drifted if what their group makes has changed; requirements of a NodePool are the " +
		"group's launch template here")
	changed("karpenter.sh/do-not-disrupt on pods and nodes is honoured, and so are the Cluster Autoscaler's annotations")
	if len(k.others) > 0 {
		var kinds []string
		for _, kind := range slices.Sorted(maps.Keys(k.others)) {
			kinds = append(kinds, fmt.Sprintf("%d %s", k.others[kind], kind))
		}
		changed("Nothing follows from these, which are neither NodePools nor node classes: %s", strings.Join(kinds, ", "))
	}
	next("Create these node groups, empty, with minimum 0, and let the provider find them (%sproviders.md)", docs)
	for _, p := range k.pools {
		for _, g := range p.groups() {
			next("%s", k.describe(p, g))
		}
	}
	next("Prices decide which group is bought and what is worth a move: set aws.prices, or scaleUp.priceFile "+
		"(%sconfig.md)", docs)
	next("plimsoll config validate FILE, then plimsoll run --mode=observe --cloud-provider=NAME --config=FILE beside "+
		"Karpenter: it writes nothing (%sobserve.md)", docs)
	next("Then set the limits of Karpenter's NodePools to 0, run Plimsoll without --mode=observe, and drain Karpenter's " +
		"nodes one by one: Plimsoll buys for what they leave, and Karpenter ends those that are empty")
}

// describe is a group to create, for a person.
func (k *karpenter) describe(p *nodePool, g nodeGroup) string {
	node := &p.Spec.Template.Spec
	parts := []string{"capacity type " + g.capacity, "architecture " + g.arch}
	for _, r := range node.Requirements {
		switch r.Key {
		case labelCapacity, corev1.LabelArchStable:
		case corev1.LabelTopologyZone:
			parts = append(parts, "one group for each zone "+words(r))
		default:
			parts = append(parts, r.Key+" "+words(r))
		}
	}
	labels := maps.Clone(p.Spec.Template.Metadata.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels["karpenter.sh/nodepool"], labels[labelCapacity] = p.Metadata.Name, g.capacity // workloads select by these
	var pairs, taints []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, key+"="+labels[key])
	}
	parts = append(parts, "labels "+strings.Join(pairs, ", "))
	for _, t := range slices.Concat(node.Taints, node.StartupTaints) {
		taints = append(taints, t.ToString())
	}
	if len(taints) > 0 {
		parts = append(parts, "taints "+strings.Join(taints, ", "))
	}
	if ref := node.NodeClassRef; ref.Name != "" {
		parts = append(parts, "machine "+k.class(ref.Kind+"/"+ref.Name))
	}
	return "Group " + g.name + " (NodePool " + p.Metadata.Name + "): " + strings.Join(parts, "; ")
}

// class says what a launch template takes from a node class.
func (k *karpenter) class(name string) string {
	spec, _ := k.classes[name]["spec"].(map[string]any)
	if spec == nil {
		return "as " + name + ", which is not among the objects"
	}
	return "as " + name + " has it: " + strings.Join(slices.Sorted(maps.Keys(spec)), ", ")
}

// words is a requirement for a person.
func words(r poolRequirement) string {
	values := strings.Join(r.Values, ", ")
	switch r.Operator {
	case "In":
		return "in " + values
	case "NotIn":
		return "not in " + values
	case "Gt":
		return "> " + values
	case "Lt":
		return "< " + values
	case "Gte":
		return ">= " + values
	case "Lte":
		return "<= " + values
	case "Exists":
		return "of any value"
	}
	return strings.TrimSpace(r.Operator + " " + values)
}
