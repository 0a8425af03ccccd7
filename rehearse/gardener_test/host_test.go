package gardener_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

// TestRun: as a process of its own the controller leads, answers probes and shows
// its metrics, with the rights of the documentation, for all shoots of the seed and
// the Workers of a type.
func TestRun(t *testing.T) {
	s := newShoot(t, "host", newPool("a", 1, 5, "za"))
	s.mustPatch(s.object("extensions.gardener.cloud", "Worker", "w"), `{"spec":{"type":"host"}}`)
	settings := gardener.Settings{Extent: gardener.Everything, Types: []string{"host"}}
	planetest.Serves(t, admin, client.ObjectKey{Namespace: "garden", Name: gardener.Name}, patience,
		`plimsoll_gardener_worker_condition{condition="PlimsollPoolsApplied",namespace="shoot--p--host",worker="w"} 1`,
		func(ctx context.Context, h host.Host) error { return gardener.Run(ctx, asController(), settings, h) })
	s.deploymentsAre("a-z1:1")
}
