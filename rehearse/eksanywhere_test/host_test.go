package eksanywhere_test

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
	"github.com/plimsoll-dev/plimsoll/rehearse/planetest"
)

// TestRun: as a process of its own the controller leads, answers probes and shows
// its metrics, with the rights of the documentation.
func TestRun(t *testing.T) {
	w := bare.newWorld(t, "host")
	w.want(scaled("a", 0, 5).kwok("small"))
	planetest.Serves(t, w.admin, client.ObjectKey{Namespace: machinesNamespace, Name: eksanywhere.Name}, patience,
		`plimsoll_eks_anywhere_workers_ready{cluster="host",namespace="default"}`, func(ctx context.Context, h host.Host) error {
			return eksanywhere.Run(ctx, w.asController(), eksanywhere.Settings{}, h)
		})
}
