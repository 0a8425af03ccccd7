package gardener

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// writeStatus sets conditions of a Worker, and the machine deployments that its status lists, if
// they differ. nil deployments stay what they are. The patch holds whole lists and the resource
// version that they were read at: whether a list is owned as a whole or item by item, no other
// writer's condition is lost.
func (r *reconciler) writeStatus(
	ctx context.Context, raw *unstructured.Unstructured, deployments []v1alpha1.MachineDeployment,
	conditions []v1alpha1.Condition,
) error {
	name := raw.GetNamespace() + "/" + raw.GetName()
	status := map[string]any{}
	list, _, err := unstructured.NestedSlice(raw.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("read the conditions of Worker %s: %w", name, err)
	}
	for _, c := range conditions {
		var changed bool
		if list, changed = withCondition(list, c, r.now()); changed {
			status["conditions"] = list
		}
	}
	var worker v1alpha1.Worker
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &worker); err != nil {
		return fmt.Errorf("read the status of Worker %s: %w", name, err)
	}
	if deployments != nil && !equality.Semantic.DeepEqual(worker.Status.MachineDeployments, deployments) {
		status["machineDeployments"] = deployments
		status["machineDeploymentsLastUpdateTime"] = r.now().UTC().Format(time.RFC3339)
	}
	if len(status) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": raw.GetResourceVersion()}, "status": status,
	})
	if err != nil {
		return fmt.Errorf("write the status of Worker %s as JSON: %w", name, err)
	}
	target := object(workerKind)
	target.SetNamespace(raw.GetNamespace())
	target.SetName(raw.GetName())
	err = client.IgnoreNotFound(r.writer.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(Name)))
	r.metrics.writes.WithLabelValues("Status", host.End(err)).Inc()
	if err != nil {
		return fmt.Errorf("patch the status of Worker %s (the controller needs the right to patch workers/status): %w",
			name, err)
	}
	return nil
}

// withCondition is a raw list of conditions with one of them set, and whether that
// changes it. The others stay as they are, with all that this program does not
// know of.
func withCondition(list []any, c v1alpha1.Condition, now time.Time) ([]any, bool) {
	at := now.UTC().Format(time.RFC3339)
	raw := map[string]any{"type": c.Type, "status": c.Status, "reason": c.Reason, "message": c.Message,
		"lastTransitionTime": at, "lastUpdateTime": at}
	out := append([]any(nil), list...)
	for i, item := range out {
		fields, ok := item.(map[string]any)
		if !ok || fields["type"] != c.Type {
			continue
		}
		var live v1alpha1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &live); err == nil {
			if live.SameState(c) {
				return list, false
			}
			if live.Status == c.Status && live.LastTransitionTime != "" {
				raw["lastTransitionTime"] = live.LastTransitionTime
			}
		}
		out[i] = raw
		return out, true
	}
	return append(out, raw), true
}
