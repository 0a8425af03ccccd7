package gardener

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	machinev1 "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/definitions"
	"github.com/plimsoll-dev/plimsoll/rehearse/kinds"
)

const (
	// Name is the component's name, in logs and as the field manager of what it
	// applies.
	Name = "machine-controller-manager"

	// No limit that a rehearsal should meet before the machine's own.
	clientQPS   = 2000
	clientBurst = 4000

	// Reconcilers of one kind that run at the same time. They wait for the API
	// server most of the time.
	concurrency = 20

	headerTimeout = 5 * time.Second

	// tryAgain is when a write that came too late is tried again.
	tryAgain = 50 * time.Millisecond
)

// Settings are what Run needs.
type Settings struct {
	// Kubeconfig is the path of one that may do everything.
	Kubeconfig string
	// Address is the host and port of /healthz.
	Address string
	// PoolFields: the CustomResourceDefinitions have poolMinimum and poolMaximum,
	// as GEP-24 proposes and today's do not.
	PoolFields bool
	// KnowsPools: the controllers do, so that they keep the two fields when they
	// write a MachineDeployment back.
	KnowsPools bool
	// EndTakes is how long each machine takes to end after its drain, beside what its
	// class says; the real one takes 15 to 25 seconds, in steps of five.
	EndTakes time.Duration
}

// Scheme knows every kind that is dealt with here.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(machinev1.AddToScheme(scheme))
	return scheme
}

// Run runs the controllers until ctx ends. /healthz answers 200 once the kinds are
// served and watched: from then on objects can be written.
func Run(ctx context.Context, settings Settings) error {
	ctrl.SetLogger(klog.Background())
	config, err := clientcmd.BuildConfigFromFlags("", settings.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.QPS, config.Burst = clientQPS, clientBurst
	// A set's conditions are of the type of a deployment's, and have a time that their
	// schema drops.
	config.WarningHandler = rest.NoWarnings{}
	scheme := Scheme()
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("make the client that registers the kinds: %w", err)
	}
	if err := kinds.Define(ctx, direct, Name, definitions.All(settings.PoolFields)); err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		// A controller that decides on an outdated list makes a machine twice, or deletes one too many.
		// The real one accepts that; a test must not.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{
			&machinev1.MachineDeployment{}, &machinev1.MachineSet{}, &machinev1.Machine{}, &machinev1.MachineClass{},
			&corev1.Node{}, &corev1.Pod{},
		}}},
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	options := controller.Options{MaxConcurrentReconciles: concurrency}
	if err := errors.Join(
		(&machineDeployments{client: mgr.GetClient(), now: time.Now, knowsPools: settings.KnowsPools}).setUp(mgr, options),
		(&machineSets{client: mgr.GetClient(), now: time.Now}).setUp(mgr, options),
		(&machines{client: mgr.GetClient(), now: time.Now, endTakes: settings.EndTakes, failed: map[types.UID]tries{}}).setUp(
			mgr, options,
		),
		reportHealth(mgr, settings.Address),
	); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("run the controllers: %w", err)
	}
	return nil
}

// reportHealth serves /healthz, once everything is listed.
func reportHealth(mgr ctrl.Manager, address string) error {
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return nil // asked to end
		}
		mux := http.NewServeMux()
		mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
		server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: headerTimeout}
		context.AfterFunc(ctx, func() { _ = server.Close() })
		if err := server.ListenAndServe(); ctx.Err() == nil {
			return fmt.Errorf("serve /healthz on %s: %w", address, err)
		}
		return nil
	}))
	if err != nil {
		return fmt.Errorf("add the server of /healthz: %w", err)
	}
	return nil
}

// patient lets a write that came too late be tried again without a word.
type patient struct{ reconcile.Reconciler }

// Reconcile brings one object a step on.
func (p patient) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	result, err := p.Reconciler.Reconcile(ctx, request)
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: tryAgain}, nil
	}
	return result, err
}
