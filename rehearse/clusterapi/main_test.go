package clusterapi_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/objects"
	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	worlds "github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// The one control plane of all tests, and its administrator's client and kubeconfig.
var (
	shared     *controlplane.ControlPlane
	admin      client.Client
	kubeconfig []byte
)

const startTimeout = 3 * time.Minute

func TestMain(m *testing.M) {
	controlplane.MaybeRunComponent()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	shared, err = controlplane.Start(ctx, controlplane.Config{
		KeepGoing: true, // a test kills Cluster API
		Log:       slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the shared control plane:", err)
		return 1
	}
	defer func() {
		if code != 0 {
			if log, err := os.ReadFile(shared.LogFile(clusterapi.Name)); err == nil {
				fmt.Fprintf(os.Stderr, "the end of Cluster API's log:\n%s\n", log[max(0, len(log)-16<<10):])
			}
		}
		if err := shared.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the shared control plane:", err)
			code = 1
		}
	}()
	if err := prepare(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// The tests wait most of the time: for each other they need not.
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// prepare starts Cluster API as a process beside the control plane.
func prepare(ctx context.Context) error {
	var err error
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
