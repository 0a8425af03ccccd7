package gardener

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
	mcm "github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

var verbs = map[pools.Verb]string{pools.Create: "create", pools.Patch: "patch", pools.Delete: "delete"}

// carryOut does one step. It fails with a conflict if the machine deployment has changed.
func (r *reconciler) carryOut(ctx context.Context, worker v1alpha1.Worker, step pools.Step) error {
	u := object(deploymentKind)
	u.SetNamespace(worker.Namespace)
	u.SetName(step.Name)
	err := r.write(ctx, step, u)
	r.metrics.writes.WithLabelValues(string(step.Verb), host.End(err)).Inc()
	if err != nil {
		return fmt.Errorf("%s machine deployment %s/%s (%s): %w",
			verbs[step.Verb], u.GetNamespace(), u.GetName(), step.Why, err)
	}
	return nil
}

func (r *reconciler) write(ctx context.Context, step pools.Step, u *unstructured.Unstructured) error {
	switch step.Verb {
	case pools.Create:
		for key, value := range runtime.DeepCopyJSON(step.Body) {
			if key == "metadata" {
				fields, _ := value.(map[string]any)
				fields["namespace"], fields["name"] = u.GetNamespace(), u.GetName()
			}
			u.Object[key] = value
		}
		err := r.writer.Create(ctx, u, client.FieldOwner(Name))
		if apierrors.IsAlreadyExists(err) { // the watch has not shown it yet
			resource := schema.GroupResource{Group: mcm.GroupName, Resource: mcm.ResourceMachineDeployments}
			return apierrors.NewConflict(resource, u.GetName(), err)
		}
		return err
	case pools.Patch:
		body := runtime.DeepCopyJSON(step.Body)
		metadata, ok := body["metadata"].(map[string]any)
		if !ok {
			metadata = map[string]any{}
			body["metadata"] = metadata
		}
		metadata["resourceVersion"], metadata["uid"] = step.ResourceVersion, step.UID
		patch, err := json.Marshal(body)
		if err != nil {
			return err
		}
		return r.writer.Patch(ctx, u, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(Name))
	case pools.Delete:
		uid := types.UID(step.UID)
		return client.IgnoreNotFound(r.writer.Delete(ctx, u, client.Preconditions{
			UID: &uid, ResourceVersion: &step.ResourceVersion,
		}))
	}
	return fmt.Errorf("no such verb: %q", step.Verb)
}
