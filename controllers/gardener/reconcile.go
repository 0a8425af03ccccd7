package gardener

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/controllers/gardener/pools"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/gardener/v1beta1"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// The reasons of events and conditions that package pools does not give.
const (
	invalidPools   = "InvalidWorkerPools"
	unwisePools    = "UnwiseWorkerPools"
	clusterMissing = "ClusterMissing"
	shootMoves     = "ShootMovesToAnotherSeed"
	shootIgnored   = "ShootIgnored"
	otherWriter    = "MachineDeploymentHasOtherWriter"
	writeFailed    = "MachineDeploymentNotWritten"
	workerHeld     = "WorkerHeld"
	workerNotHeld  = "WorkerNotHeld"
	applied        = "Applied"
	valid          = "Valid"
	found          = "Found"
)

// ignoreAnnotation on a Shoot with the value "true" keeps Gardener, and this
// controller, from touching what it leads to.
const ignoreAnnotation = "shoot.gardener.cloud/ignore"

type reconciler struct {
	settings Settings
	reader   client.Reader // the watches' cache
	live     client.Reader // the API server itself
	writer   client.Client
	recorder events.EventRecorder
	metrics  *metrics
	memory   *memory
	clock    func() time.Time // nil: the real one
}

func (r *reconciler) now() time.Time {
	if r.clock == nil {
		return time.Now()
	}
	return r.clock()
}

// look is what one look at a Worker has found and done.
type look struct {
	raw        *unstructured.Unstructured
	worker     v1alpha1.Worker
	conditions []v1alpha1.Condition
	// deployments are what the status is to list; nil: it is not this controller's.
	deployments []v1alpha1.MachineDeployment
	notes       []pools.Note
	again       time.Duration
	problem     error
}

func (l *look) note(reason, format string, values ...any) {
	l.notes = append(l.notes, pools.Note{Reason: reason, Message: fmt.Sprintf(format, values...)})
}

func (l *look) condition(kind string, good bool, reason, message string) {
	status := v1alpha1.True
	if !good {
		status = v1alpha1.False
	}
	l.conditions = append(l.conditions, v1alpha1.Condition{Type: kind, Status: status, Reason: reason, Message: message})
}

// unapplied reports why the pools are not applied, by an event and the condition.
func (l *look) unapplied(reason, format string, values ...any) {
	l.note(reason, format, values...)
	l.condition(v1alpha1.PoolsApplied, false, reason, fmt.Sprintf(format, values...))
}

// fail ends a look with a write that failed. A conflict is not reported.
func (l *look) fail(err error) {
	l.problem = err
	if !apierrors.IsConflict(err) {
		l.unapplied(writeFailed, "%s", err)
	}
}

// Reconcile brings one Worker's machine deployments to what its pools say, then its
// status to what they are.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	l := &look{raw: object(workerKind)}
	err := r.reader.Get(ctx, request.NamespacedName, l.raw)
	if apierrors.IsNotFound(err) {
		r.memory.forget(request.NamespacedName)
		r.metrics.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read Worker %s: %w", request, err)
	}
	l.raw = l.raw.DeepCopy() // the cache's own is not to be changed
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(l.raw.Object, &l.worker); err != nil {
		return reconcile.Result{},
			reconcile.TerminalError(fmt.Errorf("understand Worker %s (is its definition that of Gardener?): %w", request, err))
	}
	if !r.settings.lookAfter(l.worker) {
		return reconcile.Result{}, nil
	}
	if l.worker.DeletionTimestamp != nil {
		r.letGo(ctx, l)
	} else {
		r.bring(ctx, l)
	}
	if apierrors.IsConflict(l.problem) {
		return r.result(ctx, l.problem, 0) // the status would say what is over in a moment
	}
	if err := r.writeStatus(ctx, l.raw, l.deployments, l.conditions); err != nil {
		l.problem = host.Join(l.problem, err)
	}
	r.metrics.see(request.NamespacedName, l.conditions)
	for _, n := range r.memory.tell(request.NamespacedName, l.raw.GetUID(), l.notes) {
		r.event(l.raw, corev1.EventTypeWarning, n.Reason, "Reconcile", n.Message)
	}
	return r.result(ctx, l.problem, l.again)
}

// bring carries out the plan for a Worker, as far as it may be touched.
func (r *reconciler) bring(ctx context.Context, l *look) {
	shoot, reason, why, err := r.shootOf(ctx, l.worker)
	if err != nil {
		l.problem = err
		return
	}
	if why != "" {
		l.unapplied(reason, "%s", why)
		return
	}
	seen, err := r.seen(ctx, r.reader, l.worker)
	if err != nil {
		l.problem = err
		return
	}
	existing := seen.Existing(l.worker.Namespace, l.worker.Spec.Pools)
	findings := pools.ValidateWorker(l.worker, shoot, func(pool string) bool { return existing[pool] })
	if len(findings.Warnings) > 0 {
		l.note(unwisePools, "%s", findings.Warnings)
	}
	if err := findings.Err(); err != nil {
		l.note(invalidPools, "%s", err)
		l.condition(v1alpha1.PoolsValid, false, invalidPools, err.Error())
		l.condition(v1alpha1.PoolsApplied, false, invalidPools, "nothing is written until the pools are valid")
		return
	}
	l.condition(v1alpha1.PoolsValid, true, valid, "the worker pools and the sizing are valid")
	if r.settings.Extent == StatusOnly {
		return
	}
	r.apply(ctx, l, pools.FromWorker(l.worker, shoot), seen)
}

// apply writes what a valid Worker's machine deployments lack.
func (r *reconciler) apply(ctx context.Context, l *look, c pools.Cluster, seen pools.Seen) {
	decide := pools.MakePlan
	if r.settings.Extent == LimitsOnly {
		decide = pools.MakeLimits
	}
	plan := decide(c, seen)
	if plan.Scales() {
		// What room a pool has for replicas is decided on what is, not on what the
		// watch has shown so far.
		fresh, err := r.seen(ctx, r.live, l.worker)
		if err != nil {
			l.problem = err
			return
		}
		plan = decide(c, fresh)
	}
	if r.settings.Extent == Everything {
		if err := r.hold(ctx, l.raw); err != nil {
			l.fail(err)
			return
		}
	}
	l.notes = append(l.notes, plan.Notes...)
	for _, step := range plan.Steps {
		if step.Scales() && l.problem != nil && apierrors.IsConflict(l.problem) {
			continue // the pool has changed since it was counted: look again first
		}
		r.step(ctx, l, step)
	}
	// With LimitsOnly another controller owns the machine deployments. Until that one has its
	// finalizer, a Worker without ours would leave them behind.
	keep := r.settings.Extent == LimitsOnly && heldHereAlone(l.raw)
	if keep {
		l.note(workerHeld, "%s", heldAlone)
	}
	switch {
	case l.problem != nil:
		l.unapplied(writeFailed, "%s", l.problem)
	case l.again > 0:
		l.condition(v1alpha1.PoolsApplied, false, otherWriter,
			"another controller undoes what this one writes; its events say of which machine deployments")
	case len(plan.Unapplied()) > 0:
		n := plan.Unapplied()[0]
		l.condition(v1alpha1.PoolsApplied, false, n.Reason, n.Message)
	case keep:
		l.condition(v1alpha1.PoolsApplied, false, workerHeld, heldAlone)
	default:
		l.condition(v1alpha1.PoolsApplied, true, applied, "the machine deployments are as the pools want them")
	}
	if r.settings.Extent == LimitsOnly {
		if !keep {
			l.problem = host.Join(l.problem, r.release(ctx, l.raw))
		}
		return
	}
	l.deployments = c.Status()
	if len(plan.Missing) > 0 {
		l.condition(v1alpha1.MachineClassesFound, false, pools.ClassMissing,
			"there is no machine class "+strings.Join(plan.Missing, ", "))
	} else {
		l.condition(v1alpha1.MachineClassesFound, true, found, "every machine deployment has its machine class")
	}
}

// step carries out one step. A write that others have undone again and again is
// left for later: two that write in turns would never come to an end.
func (r *reconciler) step(ctx context.Context, l *look, step pools.Step) {
	if wait := r.memory.undone(step, r.now()); wait > 0 {
		l.note(otherWriter, "machine deployment %s: what this controller writes is undone each time, so it waits (%s): is "+
			"Gardener's own worker controller at work too? Then use --limits-only",
			step.Name, step.Why)
		l.again = max(l.again, wait)
		return
	}
	if err := r.carryOut(ctx, l.worker, step); err != nil {
		l.problem = host.Join(l.problem, err)
		return
	}
	r.memory.wrote(step, r.now())
	r.event(l.raw, corev1.EventTypeNormal, "MachineDeployment"+string(step.Verb), string(step.Verb),
		"machine deployment "+step.Name+" "+step.Why)
}

// shootOf is the Shoot behind a Worker; else why the Worker must be left alone.
func (r *reconciler) shootOf(
	ctx context.Context, worker v1alpha1.Worker,
) (shoot v1beta1.Shoot, reason, why string, err error) {
	raw := object(clusterKind)
	err = r.reader.Get(ctx, client.ObjectKey{Name: worker.Namespace}, raw)
	if apierrors.IsNotFound(err) {
		return shoot, clusterMissing, fmt.Sprintf("there is no Cluster %s, so it is unknown whether the shoot is "+
			"hibernated: Gardener must make it", worker.Namespace), nil
	}
	if err != nil {
		return shoot, "", "", fmt.Errorf("read Cluster %s: %w", worker.Namespace, err)
	}
	var cluster v1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &cluster); err != nil {
		return shoot, "", "", reconcile.TerminalError(fmt.Errorf("understand the Shoot in Cluster %s: %w",
			worker.Namespace, err))
	}
	shoot = cluster.Spec.Shoot
	if shoot.Annotations[ignoreAnnotation] == "true" {
		return shoot, shootIgnored, "the shoot is ignored (" + ignoreAnnotation +
			"): its machine deployments are left alone", nil
	}
	if moves := moving(worker); moves != "" {
		return shoot, shootMoves, moves, nil
	}
	return shoot, "", "", nil
}

// moving says that a Worker's shoot moves to another seed; empty: it does not.
func moving(worker v1alpha1.Worker) string {
	sign := ""
	switch operation := worker.Annotations[v1alpha1.OperationAnnotation]; {
	case operation == v1alpha1.OperationMigrate || operation == v1alpha1.OperationRestore:
		sign = v1alpha1.OperationAnnotation + ": " + operation
	case movingAway(worker):
		sign = "status.lastOperation: " + v1alpha1.Migrated
	default:
		return ""
	}
	return "the shoot moves to another seed (" + sign + "): its machine deployments are left alone"
}

// movingAway reports whether a Worker's shoot leaves this seed or has left it. The
// annotation is off again before the Worker is deleted.
func movingAway(worker v1alpha1.Worker) bool {
	switch worker.Annotations[v1alpha1.OperationAnnotation] {
	case v1alpha1.OperationMigrate:
		return true
	case v1alpha1.OperationRestore:
		return false
	}
	return worker.Status.LastOperation != nil && worker.Status.LastOperation.Type == v1alpha1.Migrated
}

// result is when to look again. A conflict is no error: the watch brings the newer object, and the
// next look decides on that.
func (r *reconciler) result(ctx context.Context, problem error, again time.Duration) (reconcile.Result, error) {
	if apierrors.IsConflict(problem) {
		log.FromContext(ctx).V(1).Info("Another client wrote first; reading the objects again", "problem", problem.Error())
		return reconcile.Result{RequeueAfter: host.AfterConflict}, nil
	}
	if problem != nil {
		return reconcile.Result{}, problem
	}
	return reconcile.Result{RequeueAfter: again}, nil
}

func (r *reconciler) event(about *unstructured.Unstructured, kind, reason, action, text string) {
	host.Tell(r.recorder, host.Event{About: about, Type: kind, Reason: reason, Action: action, Text: text})
}
