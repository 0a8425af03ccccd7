package clusterapi

import (
	"context"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/crds"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
	"github.com/plimsoll-dev/plimsoll/rehearse/kinds"
)

// upstreamKinds are the kinds of Cluster API that are served: those with a
// controller here, and the rules that every drain asks for.
var upstreamKinds = []string{
	"clusters", "machines", "machinesets", "machinedeployments", "machinepools", "machinedrainrules",
}

const upstreamGroup = "cluster.x-k8s.io"

// applyDefinitions registers every kind and returns once all are served. Objects of
// upstream's kinds are converted between their versions by our own webhook: the
// definitions that upstream ships name a Service, which does not exist here.
func (w *webhooks) applyDefinitions(ctx context.Context, c client.Client) error {
	definitions, err := kwokapi.Definitions()
	if err != nil {
		return err
	}
	for _, plural := range upstreamKinds {
		definition, err := crds.Definition(plural + "." + upstreamGroup)
		if err != nil {
			return err
		}
		definition.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ConversionReviewVersions: []string{"v1"},
				ClientConfig: &apiextensionsv1.WebhookClientConfig{
					URL: ptr.To(w.url("/convert")), CABundle: w.authority,
				},
			},
		}
		definitions = append(definitions, definition)
	}
	return kinds.Define(ctx, c, Name, definitions)
}
