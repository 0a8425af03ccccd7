package gardener

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/rehearse/gardener/definitions"
)

const (
	definitionsTimeout = time.Minute
	poll               = 50 * time.Millisecond
)

// applyDefinitions registers the kinds and returns once all are served.
func applyDefinitions(ctx context.Context, c client.Client, pools bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, definitionsTimeout,
		fmt.Errorf("not served within %s", definitionsTimeout))
	defer cancel()
	all := definitions.All(pools)
	for _, d := range all {
		if err := apply(ctx, c, d); err != nil {
			return err
		}
	}
	for _, d := range all {
		if err := waitServed(ctx, c, d); err != nil {
			return err
		}
	}
	return nil
}

// apply makes the definition what it is here, whatever an earlier run has left.
func apply(ctx context.Context, c client.Client, d *apiextensionsv1.CustomResourceDefinition) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		return fmt.Errorf("encode the CustomResourceDefinition %s: %w", d.Name, err)
	}
	unstructured.RemoveNestedField(fields, "status")
	applied := &unstructured.Unstructured{Object: fields}
	applied.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(Name), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the CustomResourceDefinition %s: %w", d.Name, err)
	}
	return nil
}

// waitServed waits until the API server serves a kind, and tells so: discovery
// follows a definition with some delay.
func waitServed(ctx context.Context, c client.Client, d *apiextensionsv1.CustomResourceDefinition) error {
	kind := schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}
	var last error
	err := wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		live := &apiextensionsv1.CustomResourceDefinition{}
		if last = c.Get(ctx, client.ObjectKeyFromObject(d), live); last != nil {
			return false, nil
		}
		if !slices.ContainsFunc(live.Status.Conditions,
			func(condition apiextensionsv1.CustomResourceDefinitionCondition) bool {
				return condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue
			}) {
			last = fmt.Errorf("it is not established: %v", live.Status.Conditions)
			return false, nil
		}
		_, last = c.RESTMapper().RESTMapping(kind, d.Spec.Versions[0].Name)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s is served: %w (the last look: %v)", d.Name, context.Cause(ctx), last)
	}
	return nil
}
