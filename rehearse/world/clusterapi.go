package world

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const (
	clusterAPIUser      = "rehearse:cluster-api"
	clusterAPINamespace = "default"
	clusterAPICluster   = "rehearsal"

	templatesPoll = 50 * time.Millisecond
)

// clusterAPIRights are those of Cluster API's controllers, and what the clusterapi
// provider needs of the management cluster: exactly what docs/clusterapi.md says.
//
//go:embed clusterapi.yaml
var clusterAPIRights []byte

// ClusterAPI is the world of the real Cluster API controllers, whose machines are
// kwok nodes. This control plane is the management cluster and the workload cluster
// at once.
func ClusterAPI(plane *controlplane.ControlPlane) (World, error) {
	kubeconfig, err := plane.Identify(component.ClusterAPI, clusterAPIUser)
	if err != nil {
		return World{}, err
	}
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return World{}, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ready, err := plane.Probe("https://" + address + "/healthz")
	if err != nil {
		return World{}, err
	}
	serving := plane.Serving()
	settings := clusterapi.Settings{
		Kubeconfig: kubeconfig, Address: address, CertFile: serving.Cert, KeyFile: serving.Key, CAFile: plane.AuthorityFile(),
	}
	return World{
		Objects:    clusterAPIRights,
		Components: []supervise.Process{{Name: component.ClusterAPI, Args: settings.Args(), Ready: ready}},
		Populate:   populateClusterAPI,
		Cloud: autoscaler.Cloud{Flags: []string{
			"--cloud-provider=clusterapi",
			"--node-group-auto-discovery=clusterapi:clusterName=" + clusterAPICluster + ",namespace=" + clusterAPINamespace,
		}},
		Notes: "the groups: rehearse kubectl get machinedeployments",
	}, nil
}

// populateClusterAPI makes the Cluster and its groups of workers, once the webhooks
// are there that complete them.
func populateClusterAPI(ctx context.Context, plane *controlplane.ControlPlane) error {
	admin, err := client.New(plane.AdminConfig(), client.Options{Scheme: objects.Scheme()})
	if err != nil {
		return fmt.Errorf("make the administrator's client of Cluster API's objects: %w", err)
	}
	// Cluster API reaches the workload cluster by it.
	kubeconfig, err := os.ReadFile(plane.AdminKubeconfig())
	if err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	cluster, err := objects.CreateCluster(ctx, admin, clusterAPINamespace, clusterAPICluster, kubeconfig)
	if err != nil {
		return err
	}
	if err := objects.CreateDefaultWorkers(ctx, admin, cluster); err != nil {
		return err
	}
	return templatesTold(ctx, admin)
}

// templatesTold waits until every template tells what a machine has. Plimsoll reads them
// with its first look, and looks only a minute later whether an empty one tells more.
func templatesTold(ctx context.Context, c client.Reader) error {
	var silent []string
	err := wait.PollUntilContextCancel(ctx, templatesPoll, true, func(ctx context.Context) (bool, error) {
		var templates kwokapi.KwokMachineTemplateList
		if err := c.List(ctx, &templates, client.InNamespace(clusterAPINamespace)); err != nil {
			return false, err
		}
		silent = nil
		for _, template := range templates.Items {
			if len(template.Status.Capacity) == 0 {
				silent = append(silent, template.Name)
			}
		}
		return len(silent) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until the KwokMachineTemplates %v tell their capacity, see the log of %s: %w",
			silent, component.ClusterAPI, err)
	}
	return nil
}

// readClusterAPI takes no file: the groups are objects of the cluster.
func readClusterAPI(file string) (Maker, error) {
	if file != "" {
		return nil, fmt.Errorf(
			"the world clusterapi reads no file, so not %s either: apply MachineDeployments to the cluster", file,
		)
	}
	return ClusterAPI, nil
}
