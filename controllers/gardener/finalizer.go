package gardener

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
)

// A Worker has this controller's finalizer while its machine deployments are this
// controller's to delete: with Everything, and with nothing less. To change to
// LimitsOnly takes it away. StatusOnly writes no finalizer at all, and leaves one that
// it finds to whoever said that only the status is to be written.

// hold makes sure that a Worker stays until its machine deployments are gone.
func (r *reconciler) hold(ctx context.Context, raw *unstructured.Unstructured) error {
	if !controllerutil.AddFinalizer(raw, Finalizer) {
		return nil
	}
	return r.writeFinalizers(ctx, raw)
}

// release lets a Worker go.
func (r *reconciler) release(ctx context.Context, raw *unstructured.Unstructured) error {
	if !controllerutil.RemoveFinalizer(raw, Finalizer) {
		return nil
	}
	return r.writeFinalizers(ctx, raw)
}

// letGo lets a Worker go that is deleted, once none of the machine deployments that
// this controller made or took over is left; it deletes them, if that is its work.
// Else it waits, and says for what: a Worker that nobody can delete is noticed, and
// machines whose Worker is gone run on unnoticed. While the shoot moves, its machines
// must live on: then they stay.
func (r *reconciler) letGo(ctx context.Context, l *look) {
	if !controllerutil.ContainsFinalizer(l.raw, Finalizer) {
		return
	}
	if r.settings.Extent == StatusOnly {
		l.wait("the Worker keeps its finalizer %s, set when this controller ran without --status-only: run it without, or remove the finalizer once no machine deployment is left", Finalizer)
		return
	}
	if l.worker.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationMigrate && !r.emptied(ctx, l) {
		return // the end of a machine deployment, or a change of the Cluster, brings the next look
	}
	l.problem = r.release(ctx, l.raw)
}

// emptied says whether none of the machine deployments of a Worker that is deleted is
// left, after it has deleted those that it may.
func (r *reconciler) emptied(ctx context.Context, l *look) bool {
	// That there is no Cluster any more stops nothing: Gardener deletes it, too.
	_, reason, why, err := r.shootOf(ctx, l.worker)
	if err != nil {
		l.problem = err
		return false
	}
	if reason == shootIgnored {
		l.wait("%s", why)
		return false
	}
	seen, err := r.seen(ctx, r.live, l.worker)
	if err != nil {
		l.problem = err
		return false
	}
	if !seen.Has(l.worker.Name) {
		return true
	}
	if r.settings.Extent == Everything {
		r.deleteAll(ctx, l, seen)
	} else {
		l.wait("the Worker is held until its machine deployments are gone: with --limits-only it is for Gardener's own worker controller to delete them")
	}
	return false
}

// wait says why a Worker that is deleted is still there.
func (l *look) wait(format string, values ...any) {
	l.note(workerHeld, format, values...)
	l.condition(v1alpha1.PoolsApplied, false, workerHeld, fmt.Sprintf(format, values...))
}

// deleteAll deletes the machine deployments of a Worker, until one of them fails.
func (r *reconciler) deleteAll(ctx context.Context, l *look, seen pools.Seen) {
	for _, step := range pools.MakeDeletion(l.worker.Name, seen).Steps {
		if err := r.carryOut(ctx, l.worker, step); err != nil {
			l.problem = err
			if !apierrors.IsConflict(err) {
				l.note(writeFailed, "%s", err)
				l.condition(v1alpha1.PoolsApplied, false, writeFailed, err.Error())
			}
			return
		}
		r.event(l.raw, corev1.EventTypeNormal, "MachineDeployment"+string(step.Verb), string(step.Verb), "machine deployment "+step.Name+" "+step.Why)
	}
}

// writeFinalizers writes a Worker's finalizers, and renews its resource version.
func (r *reconciler) writeFinalizers(ctx context.Context, raw *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": raw.GetResourceVersion(), "finalizers": raw.GetFinalizers()}})
	if err != nil {
		return err
	}
	after := object(workerKind)
	after.SetNamespace(raw.GetNamespace())
	after.SetName(raw.GetName())
	if err := r.writer.Patch(ctx, after, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(Name)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the finalizers of Worker %s/%s (the controller needs the right to patch workers): %w", raw.GetNamespace(), raw.GetName(), err)
	}
	raw.SetResourceVersion(after.GetResourceVersion())
	return nil
}
