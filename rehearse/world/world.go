// Package world is where the nodes of a rehearsal come from: a cloud for Plimsoll to
// grow and shrink, beside the control plane.
//
//	kwok        Plimsoll makes the nodes itself, by the kwok provider
//	aws         a simulated AWS, whose instances become the nodes of EKS node groups
//	clusterapi  the real Cluster API controllers, whose machines are kwok nodes
//	gardener    a stand-in for Gardener's machine-controller-manager, the same
//
// A World is a value: the objects that it needs in the cluster, the processes that
// it starts beside the control plane's, and what Plimsoll is told of it. Each
// world's own file makes one from a running control plane and its node groups, and
// Enter does what it says. Another world is another file, another row of the table
// readers and, where its nodes tell their group otherwise, a case of GroupOf.
package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/eks"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

// World is what a rehearsal has beside its control plane.
type World struct {
	// Objects are YAML documents that the cluster must have: rights, above all.
	Objects []byte
	// Components are started one after the other, each ready before the next; each
	// has the name of one in package component.
	Components []supervise.Process
	// Populate makes what is in the world once its components serve; nil if that is
	// nothing.
	Populate func(context.Context, *controlplane.ControlPlane) error
	// Cloud is what Plimsoll is told.
	Cloud autoscaler.Cloud
	// Notes tell a person how to get at it; empty if there is nothing to tell.
	Notes string
}

// Enter makes the objects and starts the components.
func (w World) Enter(ctx context.Context, plane *controlplane.ControlPlane) error {
	if err := plane.Create(ctx, w.Objects); err != nil {
		return fmt.Errorf("create what the world needs: %w", err)
	}
	for _, p := range w.Components {
		if err := plane.LaunchComponents(ctx, p); err != nil {
			return fmt.Errorf("start %s: %w", p.Name, err)
		}
	}
	if w.Populate != nil {
		return w.Populate(ctx, plane)
	}
	return nil
}

// Maker makes a world beside a control plane that runs.
type Maker func(plane *controlplane.ControlPlane) (World, error)

// Reader reads the file of a world's node groups, or takes the world's own for an
// empty path. What is wrong with a file is so found before anything is started.
type Reader func(file string) (Maker, error)

// Default is the world of a rehearsal that names none.
const Default = "kwok"

var readers = map[string]Reader{
	"kwok":       readKwok,
	"aws":        readAWS,
	"clusterapi": readClusterAPI,
	"gardener":   readGardener,
}

// Names are the worlds that there are.
func Names() []string { return slices.Sorted(maps.Keys(readers)) }

// ByName finds a world.
func ByName(name string) (Reader, error) {
	read, ok := readers[name]
	if !ok {
		return nil, fmt.Errorf("there is no world %q; there are %s", name, strings.Join(Names(), ", "))
	}
	return read, nil
}

// GroupOf is the name of the node group of a node of any world; empty for other
// nodes.
func GroupOf(node *corev1.Node) string {
	if name := node.Annotations[kwokGroupAnnotation]; name != "" {
		return name
	}
	if name := node.Labels[eks.NodegroupLabel]; name != "" {
		return name
	}
	// A node of a worker pool has the name of its machine.
	if node.Labels[machinev1.PoolLabel] != "" {
		return gardener.DeploymentOf(node.Name)
	}
	// Cluster API names the MachineSet, which is the MachineDeployment's name and more.
	if node.Annotations["cluster.x-k8s.io/owner-kind"] == "MachineSet" {
		set := node.Annotations["cluster.x-k8s.io/owner-name"]
		return set[:max(0, strings.LastIndexByte(set, '-'))]
	}
	if node.Annotations["cluster.x-k8s.io/owner-kind"] == "MachinePool" {
		return node.Annotations["cluster.x-k8s.io/owner-name"]
	}
	return ""
}
