package eksanywhere

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// carryOut does one step. seen are the resource versions that earlier steps of the
// same plan left behind, by name. It returns the object as the API server has it
// now; nil if it was deleted.
func (r *reconciler) carryOut(
	ctx context.Context, step workers.Step, seen map[string]string,
) (*unstructured.Unstructured, error) {
	u := object(r.kind)
	if step.Verb != workers.Delete {
		u.Object = runtime.DeepCopyJSON(step.Body)
		u.SetGroupVersionKind(r.kind)
		u.SetResourceVersion(step.ResourceVersion)
		if newer, ok := seen[step.Name]; ok {
			u.SetResourceVersion(newer)
		}
		u.SetUID(types.UID(step.UID))
	}
	u.SetNamespace(r.settings.namespace())
	u.SetName(step.Name)

	err := r.write(ctx, step, u)
	r.metrics.writes.WithLabelValues(string(step.Verb), host.End(err)).Inc()
	if err != nil {
		return nil, fmt.Errorf("%s machine deployment %s/%s (%s): %w",
			verbs[step.Verb], u.GetNamespace(), u.GetName(), step.Why, err)
	}
	if step.Verb == workers.Delete {
		return nil, nil
	}
	return u, nil
}

func (r *reconciler) write(ctx context.Context, step workers.Step, u *unstructured.Unstructured) error {
	switch step.Verb {
	case workers.Apply:
		if step.UID == "" {
			if err := r.absent(ctx, u); err != nil {
				return err
			}
		}
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership,
			client.FieldOwner(workers.FieldManager))
	case workers.HandOver:
		return r.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.ForceOwnership,
			client.FieldOwner(workers.HandOverManager))
	case workers.Unannotate:
		patch, err := json.Marshal(u.Object)
		if err != nil {
			return err
		}
		return r.writer.Patch(ctx, u, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(workers.FieldManager))
	case workers.Delete:
		uid := types.UID(step.UID)
		return client.IgnoreNotFound(r.writer.Delete(ctx, u, client.Preconditions{
			UID: &uid, ResourceVersion: &step.ResourceVersion,
		}))
	}
	return fmt.Errorf("no such verb: %q", step.Verb)
}

// absent fails if an object that is to be made is there already: the watch has
// not shown it yet, and it may be another cluster's. Then the next look decides.
func (r *reconciler) absent(ctx context.Context, u *unstructured.Unstructured) error {
	err := r.live.Get(ctx, client.ObjectKeyFromObject(u), object(r.kind))
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	resource := schema.GroupResource{Group: r.kind.Group, Resource: "machinedeployments"}
	return apierrors.NewConflict(resource, u.GetName(), errors.New("it is there already"))
}

var verbs = map[workers.Verb]string{
	workers.Apply:      "apply",
	workers.HandOver:   "hand over the replicas of",
	workers.Unannotate: "remove the autoscaler's annotations of",
	workers.Delete:     "delete",
}
