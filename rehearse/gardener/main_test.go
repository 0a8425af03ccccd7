package gardener_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/controlplane"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
	"github.com/plimsoll-dev/plimsoll/rehearse/world"
)

// admin is the administrator's client of the one control plane of all tests.
var admin client.Client

func TestMain(m *testing.M) {
	planetest.Plane{Log: gardener.Name, Parallel: 8, Prepare: prepare}.Main(m)
}

// prepare starts the stand-in: each test makes pools of its own.
func prepare(ctx context.Context, plane *controlplane.ControlPlane) (err error) {
	if admin, err = client.New(plane.AdminConfig(), client.Options{Scheme: gardener.Scheme()}); err != nil {
		return err
	}
	w, err := world.Gardener(plane, pools.Shoot{})
	if err != nil {
		return err
	}
	return w.Enter(ctx, plane)
}
