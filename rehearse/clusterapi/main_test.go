package clusterapi_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
	worlds "github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// The one control plane of all tests, and its administrator's client and kubeconfig.
var (
	shared     *controlplane.ControlPlane
	admin      client.Client
	kubeconfig []byte
)

func TestMain(m *testing.M) {
	planetest.Plane{
		Config: controlplane.Config{KeepGoing: true}, // a test kills Cluster API
		Log:    clusterapi.Name, Parallel: 6, Prepare: prepare,
	}.Main(m)
}

// prepare starts Cluster API as a process beside the control plane.
func prepare(ctx context.Context, plane *controlplane.ControlPlane) (err error) {
	shared = plane
	if kubeconfig, err = os.ReadFile(shared.AdminKubeconfig()); err != nil {
		return fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	config := shared.AdminConfig()
	config.WarningHandler = rest.NoWarnings{} // v1beta1 is deprecated, as is known
	if admin, err = client.New(config, client.Options{Scheme: objects.Scheme()}); err != nil {
		return fmt.Errorf("make the administrator's client: %w", err)
	}
	made, err := worlds.ClusterAPI(shared)
	if err != nil {
		return err
	}
	made.Populate = nil // each test makes a Cluster of its own
	return made.Enter(ctx, shared)
}
