// Package clusterapi runs Cluster API for real beside a rehearsal's control plane:
// the Cluster, MachineDeployment, MachineSet, MachinePool and Machine reconcilers of
// sigs.k8s.io/cluster-api, its admission and conversion webhooks, and the provider
// of package infrastructure, whose machines are nodes in the care of kwok. The
// cluster that it manages is, as a rule, the very one that it runs against.
//
// Run's steps are the story: the definitions of every kind, a manager, the
// controllers, the webhooks. It is made to be a process of its own, like a
// component of the control plane: Flags reads its command line. One address serves
// both the webhooks and /healthz, over TLS.
//
// What is left out: ClusterClasses, MachineHealthChecks and bootstrap providers.
// Their kinds are not served, and the feature gates are off.
//
// Packages kwokapi and objects are the light ones, for those who only make objects;
// this one links all of Cluster API. It imports nothing else of this module.
package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	clusterv1beta1 "sigs.k8s.io/cluster-api/api/core/v1beta1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	"sigs.k8s.io/cluster-api/controllers/remote"
	"sigs.k8s.io/cluster-api/core/reconcilers/cluster"
	"sigs.k8s.io/cluster-api/core/reconcilers/machine"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinedeployment"
	"sigs.k8s.io/cluster-api/core/reconcilers/machinepool"
	"sigs.k8s.io/cluster-api/core/reconcilers/machineset"
	"sigs.k8s.io/cluster-api/core/setup"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/apiwarnings"
	"sigs.k8s.io/cluster-api/util/index"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/infrastructure"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

const (
	// Name is the component's name, in logs and as the field manager of what it
	// applies.
	Name = "cluster-api"

	// No limit that a rehearsal should meet before the machine's own.
	clientQPS   = 2000
	clientBurst = 4000

	// Reconcilers of one kind that run at the same time. They wait for the API
	// server most of the time.
	concurrency = 20

	// Upstream's own defaults.
	resync                = 10 * time.Minute
	connectionGracePeriod = 50 * time.Second
	conditionsGracePeriod = 5 * time.Minute
)

// gates are Cluster API's feature gates that are set: nothing is left to what a
// later version turns on.
const gates = "MachinePool=true,ClusterTopology=false,RuntimeSDK=false"

// Settings are what Run needs.
type Settings struct {
	// Kubeconfig is the path of one that may do everything: Cluster API's own rights
	// are wide, and webhooks and kinds are registered with it too.
	Kubeconfig string
	// Address is the host and port of the webhooks and of /healthz. The API server
	// must reach it, by this very address.
	Address string
	// CertFile and KeyFile are the serving certificate, CAFile the authority that
	// signed it: the API server is told to trust that one alone.
	CertFile, KeyFile, CAFile string
}

// Run runs Cluster API until ctx ends. /healthz answers 200 once every kind and every
// webhook is registered: from then on objects can be written.
func Run(ctx context.Context, settings Settings) error {
	ctrl.SetLogger(klog.Background())
	restConfig, err := clientcmd.BuildConfigFromFlags("", settings.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	restConfig.QPS, restConfig.Burst = clientQPS, clientBurst
	restConfig.UserAgent = remote.DefaultClusterAPIUserAgent(Name)
	restConfig.WarningHandler = apiwarnings.DefaultHandler(klog.Background().WithName("API Server Warning"))
	if err := feature.MutableGates.Set(gates); err != nil {
		return fmt.Errorf("set Cluster API's feature gates: %w", err)
	}
	hooks, err := newWebhooks(settings)
	if err != nil {
		return err
	}

	// 1. The kinds. The manager's caches could not start without them.
	scheme := newScheme()
	direct, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make the client that registers kinds and webhooks: %w", err)
	}
	if err := hooks.applyDefinitions(ctx, direct); err != nil {
		return err
	}

	// 2. The manager, the controllers, the webhooks.
	mgr, err := newManager(restConfig, scheme, hooks)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr); err != nil {
		return err
	}
	if err := hooks.serve(mgr, direct); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run Cluster API's manager: %w", err)
	}
	return nil
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(clusterv1beta1.AddToScheme(scheme))
	utilruntime.Must(clusterv1.AddToScheme(scheme))
	utilruntime.Must(kwokapi.AddToScheme(scheme))
	return scheme
}

func newManager(restConfig *rest.Config, scheme *runtime.Scheme, hooks *webhooks) (ctrl.Manager, error) {
	usePriorityQueue := feature.Gates.Enabled(feature.PriorityQueue)
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:        scheme,
		Controller:    config.Controller{UsePriorityQueue: &usePriorityQueue},
		Metrics:       server.Options{BindAddress: "0"},
		Cache:         setup.ManagerCacheOptions(scheme, Name, "", resync),
		Client:        setup.ManagerClientOptions(),
		WebhookServer: hooks.server,
	})
	if err != nil {
		return nil, fmt.Errorf("make Cluster API's manager: %w", err)
	}
	return mgr, nil
}

// addControllers adds upstream's reconcilers, as its own main function does, and
// our provider's.
func addControllers(ctx context.Context, mgr ctrl.Manager) error {
	options := controller.Options{MaxConcurrentReconciles: concurrency}
	if err := index.AddDefaultIndexes(ctx, mgr); err != nil {
		return fmt.Errorf("index Cluster API's objects: %w", err)
	}
	secrets, err := setup.CreateSecretCachingClient(mgr)
	if err != nil {
		return fmt.Errorf("make the client of kubeconfig Secrets: %w", err)
	}
	clusters, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient: secrets,
		Cache:        setup.ClusterCacheCacheOptions(),
		Client:       setup.ClusterCacheClientOptions(Name, clientQPS, clientBurst),
	}, options)
	if err != nil {
		return fmt.Errorf("set up the cache of clusters: %w", err)
	}
	if err := (&cluster.Reconciler{
		Client:                      mgr.GetClient(),
		APIReader:                   mgr.GetAPIReader(),
		ClusterCache:                clusters,
		RemoteConnectionGracePeriod: connectionGracePeriod,
	}).SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the Cluster reconciler: %w", err)
	}
	if err := (&machine.Reconciler{
		Client:                      mgr.GetClient(),
		APIReader:                   mgr.GetAPIReader(),
		ClusterCache:                clusters,
		RemoteConditionsGracePeriod: conditionsGracePeriod,
	}).SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the Machine reconciler: %w", err)
	}
	if err := (&machineset.Reconciler{
		Client:       mgr.GetClient(),
		APIReader:    mgr.GetAPIReader(),
		ClusterCache: clusters,
	}).SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the MachineSet reconciler: %w", err)
	}
	if err := (&machinedeployment.Reconciler{
		Client:    mgr.GetClient(),
		APIReader: mgr.GetAPIReader(),
	}).SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the MachineDeployment reconciler: %w", err)
	}
	if err := (&machinepool.Reconciler{
		Client:       mgr.GetClient(),
		APIReader:    mgr.GetAPIReader(),
		ClusterCache: clusters,
	}).SetupWithManager(ctx, mgr, options); err != nil {
		return fmt.Errorf("set up the MachinePool reconciler: %w", err)
	}
	return infrastructure.SetUp(ctx, mgr, clusters, options)
}
