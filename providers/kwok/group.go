package kwok

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// group is a node group as New read it. It never changes afterwards: what
// changes is how many nodes of it the cluster has.
type group struct {
	name string
	counts
	fault fault
	// node is what each created node looks like, but for its name, its hostname
	// label and its provider id.
	node *corev1.Node
	// where is the template's place, for a person.
	where       string
	zone        string
	zones       []string // of a group over several
	price       *float64 // of a node per hour; nil: not told
	accelerator string
	ownLabels   []string
	// sources tells where each part of node comes from.
	sources  map[string]string
	template *provider.Template
}

// source is where templates came from, and the rules that hold for them.
type source struct {
	name  string
	nodes []template
	rules rules
}

// rules differ by source.
type rules struct {
	// keys are tried in order, after the name annotation.
	keys []nameKey
	// suffix sets a group that is named by a key apart from the real group of
	// that name.
	suffix string
	// onlyKeyed leaves out nodes that carry none of the keys; otherwise each
	// of them is a group of its own.
	onlyKeyed bool
	// ofCluster: the templates are live nodes. They differ in small things, so
	// differences in a group are a notice and the first node by name wins.
	ofCluster bool
	// taint adds kwok-provider=true:NoSchedule, which keeps pods that do not
	// tolerate it away from simulated nodes.
	taint            bool
	acceleratorLabel string
	accelerators     map[string]struct{}
}

// nameKey is a label or an annotation whose value names a node's group.
type nameKey struct {
	key        string
	annotation bool
	// required: at least one node must carry it, or it is misspelt.
	required bool
}

func (k nameKey) of(node *corev1.Node) string {
	if k.annotation {
		return node.Annotations[k.key]
	}
	return node.Labels[k.key]
}

// buildGroups makes groups out of template nodes. It returns them sorted by
// name, with notices of what was left out or ignored.
func buildGroups(src source) ([]group, []provider.Notice, error) {
	// 1. The first node of a group is its template: by name among the nodes of
	// a cluster, which come in any order; as written otherwise. This provider's
	// own nodes are copies of templates and never templates themselves.
	candidates := slices.Clone(src.nodes)
	if src.rules.ofCluster {
		candidates = slices.DeleteFunc(candidates, func(t template) bool { return isOwn(t.node.Annotations) })
		slices.SortFunc(candidates, func(a, b template) int { return cmp.Compare(a.node.Name, b.node.Name) })
	}

	// 2. A key that no node carries would make no group, in silence.
	if err := checkKeys(src.name, src.rules.keys, candidates); err != nil {
		return nil, nil, err
	}

	// 3. Each node becomes the template of a new group or joins one.
	groups, notices, err := gather(src, candidates)
	if err != nil {
		return nil, nil, err
	}
	if len(groups) == 0 {
		return nil, nil, fmt.Errorf("%s: no node groups: no node there can be a template; name a file of template "+
			"nodes by %s", src.name, envTemplatesPath)
	}

	// 4. Sorted, with the template as the contract shows it.
	var sorted []group
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		g := groups[name]
		if err := g.finish(); err != nil {
			return nil, nil, inSource(src.name, atNode(g.where, err))
		}
		if g.fault != noFault {
			notices = append(notices, noticeOf(src.name, g))
		}
		sorted = append(sorted, g)
	}
	return sorted, notices, nil
}

// gather puts the candidates into groups by name. The first of a group is its template.
func gather(src source, candidates []template) (map[string]group, []provider.Notice, error) {
	groups := map[string]group{}
	var notices []provider.Notice
	var errs []error
	skip := func(why string) {
		notices = append(notices, provider.Notice{Code: "TemplateSkipped", Message: why})
	}
	for _, candidate := range candidates {
		g, err := readGroup(src, candidate)
		if err != nil {
			errs = append(errs, inSource(src.name, atNode(candidate.where, err)))
			continue
		}
		if g.name == "" && src.rules.onlyKeyed {
			skip(fmt.Sprintf("%s: %s: left out, because it has no %s to name its group",
				src.name, candidate.where, src.rules.keys[0]))
			continue
		}
		if err := validate(g.node); err != nil {
			err = inSource(src.name, atNode(candidate.where, err))
			if src.rules.ofCluster { // a node that has just joined has no resources yet
				skip(err.Error())
				continue
			}
			errs = append(errs, err)
			continue
		}
		if g.name == "" {
			if g.name, err = drawName(groups, candidate.node, g.node, src.rules.ofCluster); err != nil {
				errs = append(errs, inSource(src.name, atNode(candidate.where, err)))
				continue
			}
		}
		first, taken := groups[g.name]
		if !taken {
			groups[g.name] = g
			continue
		}
		more, err := compareWithFirst(src, first, g)
		notices = append(notices, more...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return groups, notices, errors.Join(errs...)
}

// readGroup reads what one node says of its group. The name stays empty if the node gives none.
func readGroup(src source, candidate template) (group, error) {
	node := candidate.node
	c, errCounts := parseCounts(node.Annotations)
	f, errFault := parseFault(node.Annotations)
	zones, errZones := parseZones(node)
	price, errPrice := provider.AnnotatedPrice(node.Annotations)
	if errPrice != nil {
		errPrice = fmt.Errorf("metadata.annotations: %w", errPrice)
	}
	if err := errors.Join(checkAnnotations(node.Annotations), errCounts, errFault, errZones, errPrice); err != nil {
		return group{}, err
	}
	g := group{
		name:   groupName(src.rules, node),
		counts: c,
		fault:  f,
		zones:  zones,
		price:  price,
		where:  candidate.where,
		node:   sanitise(node, !src.rules.ofCluster),
		zone:   cmp.Or(node.Labels[corev1.LabelTopologyZone], node.Labels[corev1.LabelFailureDomainBetaZone]),
	}
	if src.rules.taint {
		addTaint(g.node)
	}
	if kind := node.Labels[src.rules.acceleratorLabel]; kind != "" {
		if _, ok := src.rules.accelerators[kind]; !ok {
			return group{}, fmt.Errorf("metadata.labels[%s]: %q is none of the configured availableGPUTypes, %s",
				src.rules.acceleratorLabel, kind, strings.Join(slices.Sorted(maps.Keys(src.rules.accelerators)), ", "))
		}
		g.accelerator = kind
	}
	for _, key := range ownLabelKeys(src.rules) {
		if node.Labels[key] != "" {
			g.ownLabels = append(g.ownLabels, key)
		}
	}
	g.sources = sourcesOf(src.name+", "+candidate.where, node, g.node)
	return g, nil
}

func groupName(r rules, node *corev1.Node) string {
	var keyed string
	for _, key := range r.keys {
		if keyed = key.of(node); keyed != "" {
			break
		}
	}
	annotated := node.Annotations[annotationGroup]
	switch {
	case r.onlyKeyed && keyed == "":
		return ""
	case annotated != "":
		return annotated
	case keyed != "":
		return keyed + r.suffix
	}
	return ""
}

// ownLabelKeys are the labels that name a group on its nodes, whatever named
// this one: two groups that differ in them alone are similar.
func ownLabelKeys(r rules) []string {
	keys := []string{labelGKEPool, labelEKSGroup}
	for _, key := range r.keys {
		if !key.annotation {
			keys = append(keys, key.key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// compareWithFirst compares a further node of a group with its first. Written templates must agree,
// or one of them is a mistake; live nodes need not.
func compareWithFirst(src source, first, further group) ([]provider.Notice, error) {
	var notices []provider.Notice
	notice := func(what string) {
		notices = append(notices, provider.Notice{
			Group: provider.GroupID(first.name), Code: "TemplatesDiffer", Message: fmt.Sprintf(
				"%s: %s: its template is %s; %s differs, and that is ignored: %s", src.name, first.name, first.where,
				further.where, what),
		})
	}
	if differ := resourceDifferences(first, further); len(differ) > 0 {
		notice(strings.Join(differ, "; "))
	}
	differ := differences(first, further)
	if len(differ) == 0 {
		return notices, nil
	}
	if src.rules.ofCluster {
		notice(strings.Join(differ, "; "))
		return notices, nil
	}
	return notices, fmt.Errorf("%s: %s: group %q is also that of %s, and they differ in %s: make them equal, or name one "+
		"of them otherwise by the annotation %s",
		src.name, further.where, first.name, first.where, strings.Join(differ, "; "), annotationGroup)
}

func drawName(taken map[string]group, original, clean *corev1.Node, ofCluster bool) (string, error) {
	seed, err := seedOf(original, clean, ofCluster)
	if err != nil {
		return "", err
	}
	for draw := 1; ; draw++ {
		name := drawnName(seed, draw)
		if _, ok := taken[name]; !ok {
			return name, nil
		}
	}
}

func addTaint(node *corev1.Node) {
	taint := corev1.Taint{Key: taintKey, Value: taintValue, Effect: corev1.TaintEffectNoSchedule}
	has := func(t corev1.Taint) bool { return taintID(t) == taintID(taint) }
	if !slices.ContainsFunc(node.Spec.Taints, has) {
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
}

// checkKeys refuses a required key that no node carries, and lists the existing keys.
func checkKeys(sourceName string, keys []nameKey, nodes []template) error {
	for _, key := range keys {
		if !key.required || slices.ContainsFunc(nodes, func(t template) bool { return key.of(t.node) != "" }) {
			continue
		}
		exist := map[string]bool{}
		for _, t := range nodes {
			have := t.node.Labels
			if key.annotation {
				have = t.node.Annotations
			}
			for k := range have {
				exist[k] = true
			}
		}
		there := "they have none at all"
		if len(exist) > 0 {
			there = "the keys that do exist are " + strings.Join(slices.Sorted(maps.Keys(exist)), ", ")
		}
		return fmt.Errorf("%s: no node has the %s by which groups are to be named; %s", sourceName, key, there)
	}
	return nil
}

// String is for a person.
func (k nameKey) String() string {
	if k.annotation {
		return fmt.Sprintf("annotation %q", k.key)
	}
	return fmt.Sprintf("label %q", k.key)
}

// finish marks the node as this provider's own and describes it as the
// contract's template.
func (g *group) finish() error {
	g.node.Annotations[annotationFake] = fakeValue
	g.node.Annotations[annotationGroup] = g.name
	places := placesOf(g.zones)
	body, err := json.Marshal(struct {
		*corev1.Node
		Places []provider.Place `json:",omitempty"`
	}{g.node, places})
	if err != nil {
		return fmt.Errorf("hash the template: %w", err)
	}
	sum := sha256.Sum256(body)
	g.template = &provider.Template{
		Version:  hex.EncodeToString(sum[:8]),
		Node:     g.node,
		Places:   places,
		Balanced: len(places) > 0,
		Sources:  g.sources,
	}
	if len(g.zones) > 0 {
		g.template.Varies = map[string][]string{corev1.LabelTopologyZone: g.zones}
	}
	return nil
}

// sourcesOf says where each part of a template comes from, for a person.
func sourcesOf(from string, original, clean *corev1.Node) map[string]string {
	sources := map[string]string{}
	for key := range clean.Labels {
		sources["label/"+key] = from
	}
	there := taintsByID(original.Spec.Taints)
	for _, taint := range clean.Spec.Taints {
		sources["taint/"+taint.Key] = from
		if _, ok := there[taintID(taint)]; !ok {
			sources["taint/"+taint.Key] = "the kwok provider: nodes.skipTaint is not set in its ConfigMap"
		}
	}
	for name := range clean.Status.Allocatable {
		sources["resource/"+string(name)] = from
		_, allocatable := original.Status.Allocatable[name]
		_, capacity := original.Status.Capacity[name]
		if !allocatable && !capacity {
			sources["resource/"+string(name)] = "the kwok provider: kubelet's default, since the template does not say"
		}
	}
	return sources
}
