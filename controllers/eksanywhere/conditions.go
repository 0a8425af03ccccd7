package eksanywhere

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// validity is the condition that tells what Validate says.
func validity(err error) v1alpha1.Condition {
	if err == nil {
		return v1alpha1.Condition{Type: v1alpha1.WorkerNodeGroupsValid, Status: v1alpha1.True}
	}
	return v1alpha1.Condition{Type: v1alpha1.WorkerNodeGroupsValid, Status: v1alpha1.False,
		Reason: invalidGroups, Severity: v1alpha1.SeverityError, Message: err.Error()}
}

// handBack is the command that removes WorkersReady from a Cluster, so that this controller may
// write it again.
func handBack(cluster types.NamespacedName) string {
	return fmt.Sprintf(
		`kubectl get clusters.%s -n %s %s -o json | jq 'del(.status.conditions[] | select(.type == "%s"))' | kubectl replace --subresource=status -f -`,
		v1alpha1.Group, cluster.Namespace, cluster.Name, v1alpha1.WorkersReady,
	)
}

// find is a condition by its type; without a type, there is none.
func find(conditions []v1alpha1.Condition, kind string) v1alpha1.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1alpha1.Condition{}
}

// withCondition is a raw list of conditions with one of them set, and whether that
// changes it. The others stay as they are, with all that this program does not
// know of.
func withCondition(list []any, c v1alpha1.Condition, now time.Time) ([]any, bool) {
	c.LastTransitionTime = now.UTC().Format(time.RFC3339)
	raw := map[string]any{"type": c.Type, "status": c.Status, "lastTransitionTime": c.LastTransitionTime}
	for key, value := range map[string]string{"severity": c.Severity, "reason": c.Reason, "message": c.Message} {
		if value != "" {
			raw[key] = value
		}
	}
	out := append([]any(nil), list...)
	for i, item := range out {
		fields, ok := item.(map[string]any)
		if !ok || fields["type"] != c.Type {
			continue
		}
		var live v1alpha1.Condition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &live); err == nil && live.SameState(c) {
			return list, false
		}
		out[i] = raw
		return out, true
	}
	return append(out, raw), true
}

// writeConditions sets conditions of a Cluster, if they differ. The patch holds the whole list and
// the resource version that it was read at: whether the list is owned as a whole or item by item,
// no other writer's condition is lost.
func (r *reconciler) writeConditions(
	ctx context.Context, cluster *unstructured.Unstructured, conditions ...v1alpha1.Condition,
) error {
	list, _, err := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	if err != nil {
		return fmt.Errorf("read the conditions of Cluster %s/%s: %w", cluster.GetNamespace(), cluster.GetName(), err)
	}
	changed := false
	for _, c := range conditions {
		var one bool
		list, one = withCondition(list, c, r.now())
		changed = changed || one
	}
	if !changed {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": cluster.GetResourceVersion()},
		"status":   map[string]any{"conditions": list},
	})
	if err != nil {
		return fmt.Errorf("write the conditions of Cluster %s/%s as JSON: %w", cluster.GetNamespace(), cluster.GetName(), err)
	}
	target := object(clusterKind)
	target.SetNamespace(cluster.GetNamespace())
	target.SetName(cluster.GetName())
	err = client.IgnoreNotFound(r.writer.Status().Patch(ctx, target, client.RawPatch(types.MergePatchType, patch),
		client.FieldOwner(workers.FieldManager)))
	r.metrics.writes.WithLabelValues("Condition", host.End(err)).Inc()
	if err != nil {
		return fmt.Errorf("patch the conditions of Cluster %s/%s (the controller needs the right to patch "+
			"clusters/status): %w", cluster.GetNamespace(), cluster.GetName(), err)
	}
	return nil
}
