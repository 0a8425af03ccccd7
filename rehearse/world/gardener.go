package world

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/autoscaler"
	"github.com/plimsoll-dev/plimsoll/rehearse/component"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/rehearse/supervise"
)

const (
	machineControllerManagerUser = "rehearse:machine-controller-manager"

	// Where the gardener provider finds the machines.
	controlNamespaceVariable  = "CONTROL_NAMESPACE"
	controlKubeconfigVariable = "CONTROL_KUBECONFIG"
)

// gardenerObjects are rights, and where machine-controller-manager seems to run, of
// the default shoot.
//
//go:embed gardener.yaml
var gardenerObjects []byte

// Gardener is the world of a shoot's worker pools over a stand-in for
// machine-controller-manager, whose machines are kwok nodes. This control plane is
// the control cluster and the shoot at once.
func Gardener(plane *controlplane.ControlPlane, shoot pools.Shoot) (World, error) {
	kubeconfig, err := plane.Identify(component.MachineControllerManager, machineControllerManagerUser)
	if err != nil {
		return World{}, err
	}
	port, err := controlplane.FreePort(nil)
	if err != nil {
		return World{}, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	ready, err := plane.Probe("http://" + address + "/healthz")
	if err != nil {
		return World{}, err
	}
	settings := gardener.Settings{
		Kubeconfig: kubeconfig, Address: address,
		PoolFields: !shoot.MachineControllerManager.WithoutPoolFields,
		KnowsPools: !shoot.MachineControllerManager.ForgetsPoolFields,
		EndTakes:   shoot.MachineControllerManager.EndTakes.Duration,
	}
	namespace := shoot.Control()
	return World{
		Objects:    bytes.ReplaceAll(gardenerObjects, []byte(pools.Shoot{}.Control()), []byte(namespace)),
		Components: []supervise.Process{{Name: component.MachineControllerManager, Args: settings.Args(), Ready: ready}},
		Populate: func(ctx context.Context, plane *controlplane.ControlPlane) error {
			return populateGardener(ctx, plane, shoot)
		},
		Cloud: autoscaler.Cloud{
			Flags: []string{"--cloud-provider=mcm", "--node-group-auto-discovery=mcm:k8s.io/cluster-autoscaler/" + shoot.Name()},
			Env: []string{
				controlKubeconfigVariable + "=" + plane.PlimsollKubeconfig(),
				controlNamespaceVariable + "=" + namespace,
			},
		},
		Notes: "the groups: rehearse kubectl -n " + namespace + " get mcd,mc",
	}, nil
}

// populateGardener makes the pools, once machine-controller-manager is available: the
// autoscaler does nothing before.
func populateGardener(ctx context.Context, plane *controlplane.ControlPlane, shoot pools.Shoot) error {
	admin, err := client.New(plane.AdminConfig(), client.Options{Scheme: gardener.Scheme()})
	if err != nil {
		return fmt.Errorf("make the administrator's client of machines: %w", err)
	}
	if err := shoot.Create(ctx, admin); err != nil {
		return err
	}
	deployments, err := plane.Client().AppsV1().Deployments(shoot.Control()).Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, machinev1.ControllerManagerDeployment).String(),
	})
	if err != nil {
		return fmt.Errorf("watch the Deployment %s: %w", machinev1.ControllerManagerDeployment, err)
	}
	defer deployments.Stop()
	for {
		select {
		case change, open := <-deployments.ResultChan():
			if !open || change.Type == watch.Error {
				return fmt.Errorf("watch the Deployment %s: the watch ended", machinev1.ControllerManagerDeployment)
			}
			if d, ok := change.Object.(*appsv1.Deployment); ok && d.Status.AvailableReplicas > 0 {
				return nil
			}
		case <-ctx.Done():
			return fmt.Errorf("wait until the Deployment %s is available: %w",
				machinev1.ControllerManagerDeployment, context.Cause(ctx))
		}
	}
}

func readGardener(file string) (Maker, error) {
	shoot, err := pools.Read(file)
	if err != nil {
		return nil, err
	}
	return func(plane *controlplane.ControlPlane) (World, error) { return Gardener(plane, shoot) }, nil
}
