package kwok

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// This file is about groups over several zones. Like a cloud that balances, the
// provider gives each new node the zone with the fewest of the group's machines.

// parseZones reads the annotation with a group's zones; without one there are none.
func parseZones(node *corev1.Node) ([]string, error) {
	text, ok := node.Annotations[annotationZones]
	if !ok {
		return nil, nil
	}
	refuse := func(why string) ([]string, error) {
		return nil, fmt.Errorf("metadata.annotations[%s]: %q: %s", annotationZones, text, why)
	}
	var zones []string
	for _, zone := range strings.Split(text, ",") {
		zones = append(zones, strings.TrimSpace(zone))
	}
	slices.Sort(zones)
	if len(slices.Compact(slices.Clone(zones))) < len(zones) || len(zones) < 2 || zones[0] == "" {
		return refuse("several zones are wanted, each once, like: zone-a,zone-b")
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone} {
		if node.Labels[key] != "" {
			return refuse(fmt.Sprintf("the label %s says one zone: leave it out", key))
		}
	}
	return zones, nil
}

// placesOf are the zones as the contract shows them.
func placesOf(zones []string) []provider.Place {
	var out []provider.Place
	for _, zone := range zones {
		out = append(out, provider.Place{Zone: zone, Labels: map[string]string{corev1.LabelTopologyZone: zone}})
	}
	return out
}

// in is the group in one of its zones.
func (g group) in(zone string) group {
	if zone != "" {
		g.node = g.node.DeepCopy()
		g.node.Labels[corev1.LabelTopologyZone] = zone
	}
	return g
}

// nextZones are the zones of n new machines, in order; empty ones for a group that has
// no zones to choose from.
func (g group) nextZones(seen census, n int) []string {
	next := make([]string, n)
	if len(g.zones) == 0 {
		return next
	}
	load := map[string]int{}
	for _, m := range seen.own[g.name] {
		if !m.deleting {
			load[m.zone]++
		}
	}
	for i := range next {
		next[i] = slices.MinFunc(g.zones, func(a, b string) int { return load[a] - load[b] })
		load[next[i]]++
	}
	return next
}
