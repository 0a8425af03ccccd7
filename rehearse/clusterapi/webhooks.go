package clusterapi

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	apiversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/core/webhooks/admission"
	"sigs.k8s.io/cluster-api/core/webhooks/conversion"
	"sigs.k8s.io/cluster-api/util/contract"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/crds"

	"github.com/plimsoll-dev/plimsoll/rehearse/kinds"
)

// startedPoll is how often is looked whether the webhooks are served.
const startedPoll = 50 * time.Millisecond

// webhooks are Cluster API's admission and conversion webhooks, on one server.
type webhooks struct {
	address   string
	authority []byte // PEM, of the server's certificate
	server    webhook.Server
	mux       *http.ServeMux
	ready     atomic.Bool
}

func newWebhooks(settings Settings) (*webhooks, error) {
	host, portText, err := net.SplitHostPort(settings.Address)
	if err != nil {
		return nil, fmt.Errorf("--address %q: want host:port: %w", settings.Address, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, fmt.Errorf("--address %q: want a port by number: %w", settings.Address, err)
	}
	authority, err := os.ReadFile(settings.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read the authority of the webhooks: %w", err)
	}
	certificate, err := tls.LoadX509KeyPair(settings.CertFile, settings.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the webhooks: %w", err)
	}
	w := &webhooks{address: settings.Address, authority: authority, mux: http.NewServeMux()}
	w.server = webhook.NewServer(webhook.Options{
		Host: host,
		Port: port,
		TLSOpts: []func(*tls.Config){func(config *tls.Config) {
			config.MinVersion = tls.VersionTLS13
			config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil }
		}},
		WebhookMux: w.mux,
	})
	return w, nil
}

func (w *webhooks) url(path string) string { return "https://" + w.address + path }

// serve makes the manager's server answer for the kinds that are served, and has
// the API server told about it as soon as it does.
func (w *webhooks) serve(mgr ctrl.Manager, direct client.Client) error {
	w.mux.HandleFunc("GET /healthz", w.health)
	conversion.SetAPIVersionGetter(func(ctx context.Context, kind schema.GroupKind) (string, error) {
		return versionOf(ctx, mgr.GetClient(), kind)
	})
	for _, one := range []interface{ SetupWebhookWithManager(ctrl.Manager) error }{
		&admission.Cluster{Client: mgr.GetClient()},
		&admission.Machine{},
		&admission.MachineSet{},
		&admission.MachineDeployment{},
		&admission.MachinePool{},
		&admission.MachineDrainRule{},
	} {
		if err := one.SetupWebhookWithManager(mgr); err != nil {
			return fmt.Errorf("set up the webhook %T: %w", one, err)
		}
	}
	// Not before the server listens: until then every write would be refused.
	err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		err := wait.PollUntilContextCancel(ctx, startedPoll, true, func(context.Context) (bool, error) {
			return w.server.StartedChecker()(nil) == nil, nil
		})
		if err != nil {
			return nil // asked to end
		}
		if err := w.register(ctx, direct); err != nil {
			return err
		}
		w.ready.Store(true)
		return nil
	}))
	if err != nil {
		return fmt.Errorf("add the registration of webhooks: %w", err)
	}
	return nil
}

func (w *webhooks) health(response http.ResponseWriter, _ *http.Request) {
	if !w.ready.Load() {
		http.Error(response, "the webhooks are not registered yet", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(response, "ok")
}

// register tells the API server which webhooks to call: upstream's own
// configurations, as far as their kinds are served, with our address.
func (w *webhooks) register(ctx context.Context, c client.Client) error {
	mutating, validating, err := crds.Webhooks()
	if err != nil {
		return err
	}
	defaults := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: Name}}
	for _, one := range mutating {
		if areServed(one.Rules) {
			one.ClientConfig = w.clientConfig(one.ClientConfig)
			defaults.Webhooks = append(defaults.Webhooks, one)
		}
	}
	validations := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: Name}}
	for _, one := range validating {
		if areServed(one.Rules) {
			one.ClientConfig = w.clientConfig(one.ClientConfig)
			validations.Webhooks = append(validations.Webhooks, one)
		}
	}
	group := admissionregistrationv1.SchemeGroupVersion
	if err := kinds.Apply(ctx, c, Name, defaults, group.WithKind("MutatingWebhookConfiguration")); err != nil {
		return err
	}
	return kinds.Apply(ctx, c, Name, validations, group.WithKind("ValidatingWebhookConfiguration"))
}

func (w *webhooks) clientConfig(
	upstream admissionregistrationv1.WebhookClientConfig,
) admissionregistrationv1.WebhookClientConfig {
	return admissionregistrationv1.WebhookClientConfig{URL: ptr.To(w.url(*upstream.Service.Path)), CABundle: w.authority}
}

// areServed reports whether all that a webhook is called for are kinds that we serve.
func areServed(rules []admissionregistrationv1.RuleWithOperations) bool {
	return !slices.ContainsFunc(rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.APIGroups, func(group string) bool { return group != upstreamGroup }) ||
			slices.ContainsFunc(rule.Resources, func(resource string) bool { return !slices.Contains(upstreamKinds, resource) })
	})
}

// versionOf is the version, with its group, in which Cluster API speaks of a
// provider's kind. v1beta1 objects name it, v1beta2 ones leave it to a label of the
// kind's definition: its key is Cluster API's contract, its value the versions that
// keep it.
func versionOf(ctx context.Context, c client.Reader, kind schema.GroupKind) (string, error) {
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	name := contract.CalculateCRDName(kind.Group, kind.Kind)
	if err := c.Get(ctx, client.ObjectKey{Name: name}, definition); err != nil {
		return "", fmt.Errorf("find the version of %s: %w", kind, err)
	}
	versions := definition.Labels[clusterv1.GroupVersion.String()]
	if versions == "" {
		return "", fmt.Errorf("find the version of %s: the CustomResourceDefinition %s has no label %s",
			kind, name, clusterv1.GroupVersion)
	}
	newest := slices.MaxFunc(strings.Split(versions, "_"), apiversion.CompareKubeAwareVersionStrings)
	return schema.GroupVersion{Group: kind.Group, Version: newest}.String(), nil
}
