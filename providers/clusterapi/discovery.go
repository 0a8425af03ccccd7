package clusterapi

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// spec is one value of --node-group-auto-discovery: what a group must be like,
// all of it. What is empty stands for any.
type spec struct {
	namespace, cluster string
	labels             map[string]string
}

const (
	keyNamespace = "namespace"
	keyCluster   = "clusterName"
)

// parseSpec reads "clusterapi:key=value,...". The keys namespace and clusterName
// are what they say, any other is a label. The empty list is legal: it means
// every group. So are empty elements, as a comma at an end leaves them, and empty
// values: of a label the empty one is wanted, of the two keys any will do.
func parseSpec(text string) (spec, error) {
	wrong := func(format string, args ...any) (spec, error) {
		return spec{},
			fmt.Errorf("--node-group-auto-discovery=%q: %s; the form is clusterapi:clusterName=...,namespace=...,label=value",
				text, fmt.Sprintf(format, args...))
	}
	kind, list, found := strings.Cut(text, ":")
	if !found {
		return wrong("there is no colon")
	}
	if kind != "clusterapi" {
		return wrong("%q is no way of finding groups of Cluster API", kind)
	}
	if strings.Contains(list, ":") {
		return wrong("there is more than one colon")
	}
	out := spec{labels: map[string]string{}}
	for i, element := range strings.Split(list, ",") {
		if element == "" {
			continue
		}
		key, value, found := strings.Cut(element, "=")
		if !found || key == "" || strings.Contains(value, "=") {
			return wrong("element %d, %q, is not key=value", i+1, element)
		}
		if strings.TrimSpace(key) != key || strings.TrimSpace(value) != value {
			return wrong("element %d, %q, has white space at an end", i+1, element)
		}
		switch key {
		case keyNamespace:
			if bad := validation.IsDNS1123Label(value); value != "" && len(bad) > 0 {
				return wrong("element %d: %q is no namespace: %s", i+1, value, bad[0])
			}
			out.namespace = value
		case keyCluster:
			out.cluster = value
		default:
			if bad := validation.IsQualifiedName(key); len(bad) > 0 {
				return wrong("element %d: %q is no label key: %s", i+1, key, bad[0])
			}
			if bad := validation.IsValidLabelValue(value); len(bad) > 0 {
				return wrong("element %d: %q is no label value: %s", i+1, value, bad[0])
			}
			out.labels[key] = value
		}
	}
	return out, nil
}

// String is the spec as it would be written.
func (s spec) String() string {
	var parts []string
	if s.cluster != "" {
		parts = append(parts, keyCluster+"="+s.cluster)
	}
	if s.namespace != "" {
		parts = append(parts, keyNamespace+"="+s.namespace)
	}
	for _, key := range slices.Sorted(maps.Keys(s.labels)) {
		parts = append(parts, key+"="+s.labels[key])
	}
	return "clusterapi:" + strings.Join(parts, ",")
}

// means reports whether a group is meant. Only the group itself is asked: labels
// of a MachineDeployment need not be on its MachineSets and Machines.
func (s spec) means(g *scalable) bool {
	if s.namespace != "" && s.namespace != g.namespace || s.cluster != "" && s.cluster != g.cluster {
		return false
	}
	for key, value := range s.labels {
		if have, ok := g.labels[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// meant reports whether any of the specs means the group.
func (s settings) meant(g *scalable) bool {
	return slices.ContainsFunc(s.specs, func(sp spec) bool { return sp.means(g) })
}
