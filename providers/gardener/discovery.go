package gardener

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// seedKey begins the key that GEP-24 proposes: mcm:k8s.io/cluster-autoscaler/<shoot>.
// With two slashes it can be no key of a label or an annotation, so that no
// MachineDeployment can carry it. It means what its author wanted it to: all
// MachineDeployments of the shoot, which are those of the namespace.
const seedKey = "k8s.io/cluster-autoscaler/"

// spec is one value of --node-group-auto-discovery: what a MachineDeployment must
// be like, all of it. What is empty stands for any.
type spec struct {
	namespace string
	// shoot is the one that the form of GEP-24 names.
	shoot string
	// labels with their values; keys are of a label or an annotation, whatever its
	// value.
	labels map[string]string
	keys   []string
}

// parseSpec reads "mcm:element,...". An element is namespace=..., a label with its
// value, the key of a label or annotation, or GEP-24's. The empty list is legal: it
// means every MachineDeployment of the namespace.
func parseSpec(text string) (spec, error) {
	wrong := func(format string, args ...any) (spec, error) {
		return spec{}, fmt.Errorf("--node-group-auto-discovery=%q: %s; the form is mcm:k8s.io/cluster-autoscaler/<shoot>, "+
			"or mcm:namespace=...,label=value,key",
			text, fmt.Sprintf(format, args...))
	}
	kind, list, found := strings.Cut(text, ":")
	if !found {
		return wrong("there is no colon")
	}
	if kind != "mcm" {
		return wrong("%q is no way of finding MachineDeployments", kind)
	}
	out := spec{labels: map[string]string{}}
	if list == "" {
		return out, nil
	}
	for i, element := range strings.Split(list, ",") {
		key, value, valued := strings.Cut(element, "=")
		shoot, ofSeed := strings.CutPrefix(key, seedKey)
		switch {
		case strings.TrimSpace(element) != element || key == "" || valued && value == "":
			return wrong("element %d, %q, is neither a key nor key=value", i+1, element)
		case key == "namespace" && valued:
			if bad := validation.IsDNS1123Label(value); len(bad) > 0 {
				return wrong("element %d: %q is no namespace: %s", i+1, value, bad[0])
			}
			out.namespace = value
		case ofSeed && !valued:
			if bad := validation.IsDNS1123Label(shoot); len(bad) > 0 {
				return wrong("element %d: %q is no name of a shoot: %s", i+1, shoot, bad[0])
			}
			out.shoot = shoot
		default:
			if bad := validation.IsQualifiedName(key); len(bad) > 0 {
				return wrong("element %d: %q is no key of a label: %s", i+1, key, bad[0])
			}
			if !valued {
				out.keys = append(out.keys, key)
				continue
			}
			if bad := validation.IsValidLabelValue(value); len(bad) > 0 {
				return wrong("element %d: %q is no value of a label: %s", i+1, value, bad[0])
			}
			out.labels[key] = value
		}
	}
	return out, nil
}

// means reports whether a MachineDeployment is meant. It is asked for itself, never
// for what its siblings are like: so that one that comes or goes changes no other.
func (s spec) means(d *v1alpha1.MachineDeployment) bool {
	for key, value := range s.labels {
		if have, ok := d.Labels[key]; !ok || have != value {
			return false
		}
	}
	for _, key := range s.keys {
		_, labelled := d.Labels[key]
		_, annotated := d.Annotations[key]
		if !labelled && !annotated {
			return false
		}
	}
	return true
}

// meant reports whether a MachineDeployment is one that --nodes names or a spec means.
func (s settings) meant(d *v1alpha1.MachineDeployment) bool {
	if _, ok := s.static[d.Name]; ok {
		return true
	}
	return slices.ContainsFunc(s.specs, func(sp spec) bool { return sp.means(d) })
}

// otherShoots are the shoots that discovery names though the namespace is not
// theirs, as far as Gardener's names of namespaces tell: shoot--<project>--<shoot>.
func (s settings) otherShoots() []string {
	var out []string
	for _, sp := range s.specs {
		if sp.shoot == "" || !strings.HasPrefix(s.namespace, "shoot--") {
			continue
		}
		if sp.shoot != s.namespace && !strings.HasSuffix(s.namespace, "--"+sp.shoot) {
			out = append(out, sp.shoot)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
