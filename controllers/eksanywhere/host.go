package eksanywhere

import (
	"context"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// Host says how the controller runs as a process of its own.
type Host = host.Host

var self = host.Controller{Name: Name, Of: "EKS Anywhere's workers"}

// Run runs the controller in a manager of its own until ctx ends. Once in a
// process: its metrics go to the registry that controller-runtime serves.
func Run(ctx context.Context, config *rest.Config, settings Settings, h Host) error {
	return h.Run(ctx, self, func() (manager.Manager, error) {
		mgr, err := NewManager(config, settings, h)
		if err != nil {
			return nil, err
		}
		return mgr, Add(mgr, settings, ctrlmetrics.Registry)
	})
}

// NewManager makes the manager that Run runs, for hosts that keep metrics of their
// own: Add adds the controller to it.
func NewManager(config *rest.Config, settings Settings, h Host) (manager.Manager, error) {
	mapper, err := host.Mapper(config)
	if err != nil {
		return nil, err
	}
	kind, err := servedKind(mapper)
	if err != nil {
		return nil, err
	}
	// Only one namespace's machine deployments are watched, so that a Role there is
	// enough.
	watched := map[client.Object]cache.ByObject{
		object(kind): {Namespaces: map[string]cache.Config{settings.namespace(): {}}},
	}
	return h.NewManager(config, self, cache.Options{ByObject: watched})
}
