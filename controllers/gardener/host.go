package gardener

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Host says how the controller runs as a process of its own.
type Host struct {
	// LeaderElectionNamespace is where its Lease is; empty: it runs without one, and
	// nobody else may.
	LeaderElectionNamespace string
	// MetricsAddress and HealthAddress are where /metrics, and /healthz and /readyz,
	// are served; empty: nowhere.
	MetricsAddress, HealthAddress string
	// Log is told what is done and what fails; nil tells nobody.
	Log *slog.Logger
}

func (h Host) logger() logr.Logger {
	if h.Log == nil {
		return logr.Discard()
	}
	return logr.FromSlogHandler(h.Log.Handler())
}

// Run runs the controller in a manager of its own until ctx ends. Once in a
// process: its metrics go to the registry that controller-runtime serves.
func Run(ctx context.Context, config *rest.Config, settings Settings, host Host) error {
	ctrllog.SetLogger(host.logger())
	mgr, err := NewManager(config, settings, host)
	if err != nil {
		return err
	}
	if err := Add(mgr, settings, ctrlmetrics.Registry); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controller of Gardener's worker pools: %w", err)
	}
	return nil
}

// NewManager makes the manager that Run runs, for hosts that keep metrics of their
// own: Add adds the controller to it.
func NewManager(config *rest.Config, settings Settings, host Host) (manager.Manager, error) {
	if err := served(config); err != nil {
		return nil, err
	}
	mgr, err := manager.New(config, manager.Options{
		Logger:                        host.logger(),
		Cache:                         cacheOptions(settings),
		Metrics:                       metricsserver.Options{BindAddress: orOff(host.MetricsAddress)},
		HealthProbeBindAddress:        orOff(host.HealthAddress),
		LeaderElection:                host.LeaderElectionNamespace != "",
		LeaderElectionNamespace:       host.LeaderElectionNamespace,
		LeaderElectionID:              Name,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make a manager for the controller of Gardener's worker pools: %w", err)
	}
	for _, add := range []func(string, healthz.Checker) error{mgr.AddHealthzCheck, mgr.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return nil, fmt.Errorf("add a health check: %w", err)
		}
	}
	return mgr, nil
}

// served says which of the kinds that the controller watches is missing, rather
// than to wait for it for ever.
func served(config *rest.Config) error {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("make a client for the controller of Gardener's worker pools: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return fmt.Errorf("ask the API server which kinds it serves (can it be reached?): %w", err)
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
	return cache.Options{DefaultNamespaces: namespaces, ByObject: map[client.Object]cache.ByObject{object(clusterKind): clusters}}
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

// orOff is an address as controller-runtime wants it: "0" is none.
func orOff(address string) string {
	if address == "" {
		return "0"
	}
	return address
}
