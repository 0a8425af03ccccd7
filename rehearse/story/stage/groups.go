package stage

import (
	"fmt"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// The annotations by which the kwok provider reads a node group from a template;
// fake nodes carry the first one too.
const (
	groupAnnotation   = "cluster-autoscaler.kwok.nodegroup/name"
	minAnnotation     = "cluster-autoscaler.kwok.nodegroup/min-count"
	maxAnnotation     = "cluster-autoscaler.kwok.nodegroup/max-count"
	desiredAnnotation = "cluster-autoscaler.kwok.nodegroup/desired-count"
)

// GroupLabel is a label of every node of a stage: its group's name, for node
// selectors.
const GroupLabel = "rehearse.plimsoll.dev/group"

// Group is a node group of a stage. All that a node has, pods may use.
type Group struct {
	Name              string
	Zone              string // empty: no zone label
	CPU, Memory       string // quantities
	Min, Max, Desired int
	Price             string            // of a node, by the hour; empty: unknown
	Labels            map[string]string // beside the usual ones
	Taints            []corev1.Taint
}

// GroupOf is the name of the group of a node of any world; empty for other nodes.
func GroupOf(node *corev1.Node) string { return world.GroupOf(node) }

// templates writes the groups as a file of node templates for the kwok provider.
func templates(groups []Group) ([]byte, error) {
	list := corev1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}}
	for _, g := range groups {
		node, err := g.Template()
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, node)
	}
	data, err := yaml.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("write the templates: %w", err)
	}
	return data, nil
}

// Template is a node of the group, as the kwok provider reads it: its own name is the group's.
func (g Group) Template() (corev1.Node, error) {
	resources := corev1.ResourceList{
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: g.CPU, corev1.ResourceMemory: g.Memory} {
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return corev1.Node{}, fmt.Errorf("group %s: %s %q: %w", g.Name, name, text, err)
		}
		resources[name] = quantity
	}
	node := corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: g.Name,
			Annotations: map[string]string{
				groupAnnotation:   g.Name,
				minAnnotation:     strconv.Itoa(g.Min),
				maxAnnotation:     strconv.Itoa(g.Max),
				desiredAnnotation: strconv.Itoa(max(g.Min, g.Desired)),
			},
			Labels: map[string]string{
				corev1.LabelArchStable: "amd64",
				corev1.LabelOSStable:   "linux",
				GroupLabel:             g.Name,
			},
		},
		Spec:   corev1.NodeSpec{Taints: g.Taints},
		Status: corev1.NodeStatus{Capacity: resources, Allocatable: resources},
	}
	if g.Price != "" {
		node.Annotations[provider.PriceAnnotation] = g.Price
	}
	maps.Copy(node.Labels, g.Labels)
	if g.Zone != "" {
		node.Labels[corev1.LabelTopologyZone] = g.Zone
	}
	return node, nil
}
