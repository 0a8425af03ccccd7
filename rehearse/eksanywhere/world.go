package eksanywhere

import (
	"bytes"
	"context"
	"fmt"
	"os"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// namespace is that of everything that EKS Anywhere has.
const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + Namespace + "}\n"

// Objects are what a cluster must have for the controller: EKS Anywhere's kind, the
// namespace of the machine deployments, and the rights.
func Objects() []byte { return documents(definition, []byte(namespace), rights) }

func documents(all ...[]byte) []byte { return bytes.Join(all, []byte("\n---\n")) }

// EmptyWorld is a management cluster of EKS Anywhere that is its own workload
// cluster, with no cluster in it yet: the world of Cluster API, and Objects.
func EmptyWorld(plane *controlplane.ControlPlane) (world.World, error) {
	w, err := world.ClusterAPI(plane)
	if err != nil {
		return world.World{}, err
	}
	return world.World{
		Objects:    documents(w.Objects, Objects()),
		Components: w.Components,
		Notes:      "the groups: rehearse kubectl get machinedeployments -n " + Namespace,
	}, nil
}

// World is that world with one cluster for Cluster API to keep, and with machine
// templates by name. The cluster has no workers: those are for a Cluster of EKS
// Anywhere of the same name to ask for.
func World(
	plane *controlplane.ControlPlane, cluster string, templates map[string]kwokapi.KwokMachineSpec,
) (world.World, error) {
	w, err := EmptyWorld(plane)
	if err != nil {
		return world.World{}, err
	}
	w.Populate = func(ctx context.Context, plane *controlplane.ControlPlane) error {
		return populate(ctx, plane, cluster, templates)
	}
	w.Cloud = autoscaler.Cloud{Flags: []string{
		"--cloud-provider=clusterapi",
		"--node-group-auto-discovery=clusterapi:clusterName=" + cluster + ",namespace=" + Namespace,
	}}
	return w, nil
}

func populate(
	ctx context.Context, plane *controlplane.ControlPlane, cluster string, templates map[string]kwokapi.KwokMachineSpec,
) error {
	admin, err := client.New(plane.AdminConfig(), client.Options{Scheme: objects.Scheme()})
	if err != nil {
		return fmt.Errorf("make the administrator's client of Cluster API's objects: %w", err)
	}
	kubeconfig, err := os.ReadFile(plane.AdminKubeconfig())
	if err != nil {
		return fmt.Errorf("read the administrator's kubeconfig, by which Cluster API reaches its cluster: %w", err)
	}
	if _, err := objects.CreateCluster(ctx, admin, Namespace, cluster, kubeconfig); err != nil {
		return err
	}
	for name, machine := range templates {
		if err := admin.Create(ctx, objects.MachineTemplate(Namespace, name, machine)); err != nil {
			return fmt.Errorf("create the machine template %s: %w", name, err)
		}
	}
	return nil
}
