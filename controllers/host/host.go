package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Host says how a controller runs as a process of its own.
type Host struct {
	// LeaderElectionNamespace is where its Lease is; empty: it runs without one, and must be the
	// only process.
	LeaderElectionNamespace string
	// MetricsAddress and HealthAddress are where /metrics, and /healthz and /readyz,
	// are served; empty: nowhere.
	MetricsAddress, HealthAddress string
	// Log gets what is done and what fails; nil drops it.
	Log *slog.Logger
}

// Controller is the name of its Lease, and what it manages, for errors.
type Controller struct{ Name, Of string }

func (h Host) logger() logr.Logger {
	if h.Log == nil {
		return logr.Discard()
	}
	return logr.FromSlogHandler(h.Log.Handler())
}

// Run runs what prepare makes, a manager with the controller in it, until ctx ends.
// Once in a process: all of controller-runtime logs to this host's log from then on.
func (h Host) Run(ctx context.Context, c Controller, prepare func() (manager.Manager, error)) error {
	ctrllog.SetLogger(h.logger())
	// Preparing asks the API server, and its client takes no context: a process that is asked to end meanwhile ends.
	var mgr manager.Manager
	prepared := make(chan error, 1)
	go func() {
		var err error
		mgr, err = prepare()
		prepared <- err
	}()
	select {
	case <-ctx.Done():
		return nil
	case err := <-prepared:
		if err != nil {
			return err
		}
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controller of %s: %w", c.Of, err)
	}
	return nil
}

// NewManager makes a manager for a controller.
func (h Host) NewManager(config *rest.Config, c Controller, cached cache.Options) (manager.Manager, error) {
	mgr, err := manager.New(config, manager.Options{
		Logger:                        h.logger(),
		Cache:                         cached,
		Metrics:                       metricsserver.Options{BindAddress: orOff(h.MetricsAddress)},
		HealthProbeBindAddress:        orOff(h.HealthAddress),
		LeaderElection:                h.LeaderElectionNamespace != "",
		LeaderElectionNamespace:       h.LeaderElectionNamespace,
		LeaderElectionID:              c.Name,
		LeaderElectionReleaseOnCancel: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make a manager for the controller of %s: %w", c.Of, err)
	}
	if err := errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("reads", reads(mgr.GetCache())),
	); err != nil {
		return nil, fmt.Errorf("add a health check to the controller of %s: %w", c.Of, err)
	}
	return mgr, nil
}

// reads is ready once all that the controller watches has been read: without the
// permission to list one of the kinds, it never is. A standby watches nothing yet, and
// is ready.
func reads(watched cache.Cache) healthz.Checker {
	return func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), readyWithin)
		defer cancel()
		if !watched.WaitForCacheSync(ctx) {
			return errors.New("what the controller watches has not been read: the log says what cannot be listed, and why")
		}
		return nil
	}
}

// readyWithin bounds one answer of /readyz; probes give up after a second.
const readyWithin = 500 * time.Millisecond

// Mapper knows the kinds that an API server serves. A controller asks it before there
// is a manager, so as to say which kind is missing rather than to wait for it for ever.
func Mapper(config *rest.Config) (meta.RESTMapper, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the API server: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("ask the API server which kinds it serves (can it be reached?): %w", err)
	}
	return mapper, nil
}

// orOff is an address as controller-runtime wants it: "0" is none.
func orOff(address string) string {
	if address == "" {
		return "0"
	}
	return address
}
