// Package kinds registers kinds at an API server, for the processes that bring their own beside a
// rehearsal's control plane, and reads the command lines of those processes.
//
// What flows in: CustomResourceDefinitions, and a client with all rights. What flows out: kinds that
// are served. It imports nothing of ours; packages clusterapi and gardener import it.
package kinds

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	servedWithin = time.Minute
	poll         = 50 * time.Millisecond
)

// Parse reads a process's command line into flags, klog's verbosity among them. Texts must be given.
func Parse(flags *pflag.FlagSet, args []string) error {
	logging := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(logging)
	flags.AddGoFlag(logging.Lookup("v"))
	if err := flags.Parse(args); err != nil {
		return err
	}
	var missing []string
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" {
			missing = append(missing, "--"+f.Name)
		}
	})
	if len(missing) > 0 {
		return fmt.Errorf("%s is missing", strings.Join(missing, ", "))
	}
	return nil
}

// Define registers kinds as their owner, and returns once all are served.
func Define(ctx context.Context, c client.Client, owner string,
	definitions []*apiextensionsv1.CustomResourceDefinition) error {
	ctx, cancel := context.WithTimeoutCause(ctx, servedWithin, fmt.Errorf("not served within %s", servedWithin))
	defer cancel()
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	for _, definition := range definitions {
		if err := Apply(ctx, c, owner, definition, kind); err != nil {
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

// Apply makes the object what it is here, whatever an earlier run has left.
func Apply(ctx context.Context, c client.Client, owner string, object runtime.Object,
	kind schema.GroupVersionKind) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("encode a %s: %w", kind.Kind, err)
	}
	unstructured.RemoveNestedField(fields, "status")
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	applied := &unstructured.Unstructured{Object: fields}
	applied.SetGroupVersionKind(kind)
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(owner), client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply the %s %s: %w", kind.Kind, applied.GetName(), err)
	}
	return nil
}
