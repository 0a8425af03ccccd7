package clusterapi

import (
	"context"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/crds"
	"github.com/plimsoll-dev/plimsoll/rehearse/clusterapi/kwokapi"
)

// upstreamKinds are the kinds of Cluster API that are served: those with a
// controller here, and the rules that every drain asks for.
var upstreamKinds = []string{
	"clusters", "machines", "machinesets", "machinedeployments", "machinepools", "machinedrainrules",
}

const (
	upstreamGroup = "cluster.x-k8s.io"

	definitionsTimeout = time.Minute
	poll               = 50 * time.Millisecond
)

// applyDefinitions registers every kind and returns once all are served. Objects of
// upstream's kinds are converted between their versions by our own webhook: the
// definitions that upstream ships name a Service, which does not exist here.
func (w *webhooks) applyDefinitions(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeoutCause(ctx, definitionsTimeout,
		fmt.Errorf("not served within %s", definitionsTimeout))
	defer cancel()
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
	for _, definition := range definitions {
		if err := apply(
			ctx, c, definition, apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
		); err != nil {
			return err
		}
	}
	for _, definition := range definitions {
		if err := waitServed(ctx, c, definition); err != nil {
			return err
		}
	}
	return nil
}

// waitServed waits until the API server serves a kind, and tells so: discovery
// follows a definition with some delay.
func waitServed(ctx context.Context, c client.Client, definition *apiextensionsv1.CustomResourceDefinition) error {
	kind := schema.GroupKind{Group: definition.Spec.Group, Kind: definition.Spec.Names.Kind}
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if last = c.Get(ctx, client.ObjectKey{Name: definition.Name}, live); last != nil {
			return false, nil
		}
		if !slices.ContainsFunc(live.Status.Conditions,
			func(condition apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
			}) {
			last = fmt.Errorf("it is not established: %v", live.Status.Conditions)
			return false, nil
		}
		_, last = c.RESTMapper().RESTMapping(kind, storageVersion(definition))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w (the last look: %v)", definition.Name, context.Cause(ctx), last)
	}
	return nil
}

func storageVersion(definition *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// apply makes the object what it is here, whatever an earlier run has left.
func apply(ctx context.Context, c client.Client, object runtime.Object, kind schema.GroupVersionKind) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encode a %s: %w", kind.Kind, err)
	}
	unstructured.RemoveNestedField(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	applied := &unstructured.Unstructured{Object: fields}
	applied.SetGroupVersionKind(kind)
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(Name), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the %s %s: %w", kind.Kind, applied.GetName(), err)
	}
	return nil
}
