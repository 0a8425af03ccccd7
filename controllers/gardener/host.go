package gardener

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// Host says how the controller runs as a process of its own.
type Host = host.Host

var self = host.Controller{Name: Name, Of: "Gardener's worker pools"}

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
	if err := served(config); err != nil {
		return nil, err
	}
	return h.NewManager(config, self, cacheOptions(settings))
}

// served says which of the kinds that the controller watches is missing, rather
// than to wait for it for ever.
func served(config *rest.Config) error {
	mapper, err := host.Mapper(config)
	if err != nil {
		return err
	}
	for _, kind := range []schema.GroupVersionKind{workerKind, clusterKind, deploymentKind, classKind} {
		if err := has(mapper, kind); err != nil {
			return err
		}
	}
	return nil
}

func has(mapper meta.RESTMapper, kind schema.GroupVersionKind) error {
	if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil {
		return fmt.Errorf("look for %s of %s (this must be a seed of Gardener): %w", kind.Kind, kind.GroupVersion(), err)
	}
	return nil
}

// cacheOptions keep no more in memory than is read: of Clusters the Shoot alone, of
// one namespace only if that is all.
func cacheOptions(settings Settings) cache.Options {
	namespaces := map[string]cache.Config{}
	if settings.Namespace != "" {
		namespaces[settings.Namespace] = cache.Config{}
	}
	clusters := cache.ByObject{Transform: shootOnly}
	if settings.Namespace != "" {
		clusters.Field = fields.OneTermEqualSelector("metadata.name", settings.Namespace)
	}
	return cache.Options{
		DefaultNamespaces: namespaces, ByObject: map[client.Object]cache.ByObject{object(clusterKind): clusters},
	}
}

// shootOnly drops what is large in a Cluster.
func shootOnly(o any) (any, error) {
	if u, ok := o.(*unstructured.Unstructured); ok {
		unstructured.RemoveNestedField(u.Object, "spec", "cloudProfile")
		unstructured.RemoveNestedField(u.Object, "spec", "seed")
		u.SetManagedFields(nil)
	}
	return o, nil
}
