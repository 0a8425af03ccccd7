package gardener

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
)

// A Worker has this controller's finalizer while its machine deployments are this controller's to
// delete: with Everything, and with nothing less. A change to LimitsOnly removes it, once another
// controller's finalizer is on the Worker. StatusOnly writes no finalizer at all, since it may
// lack the permission, and leaves an existing one to the operator.

// heldAlone says why LimitsOnly keeps the finalizer of a Worker, and what would change it.
const heldAlone = "the Worker keeps its finalizer " + finalizer + ", the only one: if the Worker were deleted, " +
	"its machines would run on. It is taken away once Gardener's own worker controller has added its finalizer"

// heldHereAlone reports whether this controller's finalizer is the only one.
func heldHereAlone(raw *unstructured.Unstructured) bool {
	all := raw.GetFinalizers()
	return slices.Contains(all, finalizer) && !slices.ContainsFunc(all, func(f string) bool { return f != finalizer })
}

// hold makes sure that a Worker stays until its machine deployments are gone.
func (r *reconciler) hold(ctx context.Context, raw *unstructured.Unstructured) error {
	if !controllerutil.AddFinalizer(raw, finalizer) {
		return nil
	}
	return r.writeFinalizers(ctx, raw)
}

// release lets a Worker go.
func (r *reconciler) release(ctx context.Context, raw *unstructured.Unstructured) error {
	if !controllerutil.RemoveFinalizer(raw, finalizer) {
		return nil
	}
	return r.writeFinalizers(ctx, raw)
}

// letGo removes the finalizer of a deleted Worker once none of the machine deployments that this
// controller made or took over is left; it deletes them, if that is its work. Else it waits, and
// reports for what: a Worker that cannot be deleted is noticed, while machines without a Worker run
// on unnoticed. While the shoot moves away, the Worker must go and its machine deployments stay.
func (r *reconciler) letGo(ctx context.Context, l *look) {
	away := movingAway(l.worker)
	held := controllerutil.ContainsFinalizer(l.raw, finalizer)
	switch {
	case !held && (away || r.settings.Extent != Everything):
		return // they must stay, or another controller deletes them
	case !held:
		r.tellLeftBehind(ctx, l)
		return
	case r.settings.Extent == StatusOnly && away:
		l.unapplied(workerHeld,
			"the Worker keeps its finalizer %s and with it holds up the move of its shoot to another seed: "+
				"remove the finalizer and let the machine deployments be, or run this controller without --status-only", finalizer)
		return
	case r.settings.Extent == StatusOnly:
		l.unapplied(workerHeld, "the Worker keeps its finalizer %s, set when this controller ran without --status-only: "+
			"run it without, or remove the finalizer once no machine deployment is left", finalizer)
		return
	case !away && !r.emptied(ctx, l):
		return // the end of a machine deployment, or a change of the Worker or the Cluster, brings the next look
	}
	if err := r.release(ctx, l.raw); err != nil {
		l.fail(err)
	}
}

// tellLeftBehind reports the machine deployments of a deleted Worker that lost this controller's
// finalizer. They are not deleted: the person who removed the finalizer may want them to stay.
func (r *reconciler) tellLeftBehind(ctx context.Context, l *look) {
	seen, err := r.seen(ctx, r.live, l.worker)
	if err != nil {
		l.problem = err
		return
	}
	var names []string
	for _, step := range pools.MakeDeletion(l.worker.Name, seen).Steps {
		names = append(names, step.Name)
	}
	if len(names) > 0 {
		l.unapplied(workerNotHeld, "the Worker is deleted without the finalizer %s, so that %s stay behind: delete these "+
			"machine deployments, unless another controller deletes them or their machines are to stay",
			finalizer, strings.Join(names, ", "))
	}
}

// emptied reports whether none of the machine deployments of a Worker that is deleted is
// left, after it has deleted those that it may.
func (r *reconciler) emptied(ctx context.Context, l *look) bool {
	// That there is no Cluster any more stops nothing: Gardener deletes it, too.
	_, reason, why, err := r.shootOf(ctx, l.worker)
	if err != nil {
		l.problem = err
		return false
	}
	if reason == shootIgnored {
		l.unapplied(workerHeld, "%s", why)
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
	moves := moving(l.worker) // into this seed: a Worker that moves away does not get here
	switch {
	case r.settings.Extent != Everything:
		l.unapplied(workerHeld, "the Worker is held until its machine deployments are gone: with --limits-only it is for "+
			"Gardener's own worker controller to delete them")
	case moves != "":
		l.unapplied(workerHeld, "%s; they are deleted, and the Worker with them, once the annotation is gone", moves)
	default:
		r.deleteAll(ctx, l, seen)
	}
	return false
}

// deleteAll deletes the machine deployments of a Worker, until one of them fails.
func (r *reconciler) deleteAll(ctx context.Context, l *look, seen pools.Seen) {
	for _, step := range pools.MakeDeletion(l.worker.Name, seen).Steps {
		if err := r.carryOut(ctx, l.worker, step); err != nil {
			l.fail(err)
			return
		}
		r.event(l.raw, corev1.EventTypeNormal, "MachineDeployment"+string(step.Verb), string(step.Verb),
			"machine deployment "+step.Name+" "+step.Why)
	}
}

// writeFinalizers writes a Worker's finalizers, and renews its resource version.
func (r *reconciler) writeFinalizers(ctx context.Context, raw *unstructured.Unstructured) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": raw.GetResourceVersion(), "finalizers": raw.GetFinalizers()},
	})
	if err != nil {
		return err
	}
	after := object(workerKind)
	after.SetNamespace(raw.GetNamespace())
	after.SetName(raw.GetName())
	if err := r.writer.Patch(
		ctx, after, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(Name),
	); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("patch the finalizers of Worker %s/%s (the controller needs the right to patch workers): %w",
			raw.GetNamespace(), raw.GetName(), err)
	}
	raw.SetResourceVersion(after.GetResourceVersion())
	return nil
}
