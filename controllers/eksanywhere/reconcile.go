package eksanywhere

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/controllers/eksanywhere/workers"
	"github.com/plimsoll-dev/plimsoll/controllers/host"
)

// The reasons of events and conditions that package workers does not give.
const (
	notUnderstood = "ClusterNotUnderstood"
	invalidGroups = "InvalidWorkerNodeGroups"
	otherWriter   = "ConditionHasOtherWriter"
	sameName      = "ClusterNameNotUnique"
	writeFailed   = "MachineDeploymentNotWritten"
)

// afterNames is when to look again whether a name is free by now.
const afterNames = time.Minute

type reconciler struct {
	settings Settings
	kind     schema.GroupVersionKind // of machine deployments, in the version that is served
	reader   client.Reader           // the watches' cache
	live     client.Reader           // the API server itself
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

// Reconcile brings one Cluster's machine deployments to what its spec says, then
// its condition to what they are.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	live := object(clusterKind)
	err := r.reader.Get(ctx, request.NamespacedName, live)
	if apierrors.IsNotFound(err) || err == nil && live.GetDeletionTimestamp() != nil {
		r.memory.forget(request.NamespacedName)
		r.metrics.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("read Cluster %s: %w", request, err)
	}
	known := r.memory.of(request.NamespacedName, live.GetUID())
	var cluster v1alpha1.Cluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, &cluster); err != nil {
		err = fmt.Errorf("understand Cluster %s (is its definition that of EKS Anywhere?): %w", request, err)
		r.giveUp(ctx, live, known, err)
		return reconcile.Result{}, reconcile.TerminalError(err)
	}
	mds, err := r.machineDeployments(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	datacenter, err := r.datacenter(ctx, live.GetNamespace(), cluster.Spec.DatacenterRef)
	if err != nil {
		r.giveUp(ctx, live, known, err)
		return reconcile.Result{}, err
	}
	invalid := workers.Validate(cluster.Spec)

	// 1. The machine deployments.
	w := workers.Bind(live.GetName(), cluster.Spec.WorkerNodeGroupConfigurations, datacenter, mds)
	notes, mds, problem := r.bring(ctx, live, cluster, w, invalid, mds)
	if problem != nil && !apierrors.IsConflict(problem) {
		notes = append(notes, workers.Note{Reason: writeFailed, Message: problem.Error()})
	}

	// 2. The conditions, from what the machine deployments are after that.
	w = workers.Bind(live.GetName(), cluster.Spec.WorkerNodeGroupConfigurations, datacenter, r.memory.compare(mds))
	ready := workers.Ready(cluster, w)
	current := find(cluster.Status.Conditions, v1alpha1.WorkersReady)
	if known.wrote.Last == "" {
		known.wrote.Last = workers.Recorded(cluster.Status.Conditions)
	}
	other := workers.OtherWriter(live.GetManagedFields(), current, ready, known.wrote)
	r.metrics.see(request.NamespacedName, ready.Status == v1alpha1.True, invalid == nil, other)
	if other != "" {
		known.wrote.Contested = other
		notes = append(notes, workers.Note{Reason: otherWriter, Subject: other, Message: fmt.Sprintf(
			"%s writes the condition %s, so this controller does not; if it no longer does, remove the condition: %s", other,
			v1alpha1.WorkersReady, handBack(request.NamespacedName))})
	} else if err := r.writeConditions(ctx, live, ready, validity(invalid), workers.Record(ready)); err == nil {
		known.wrote = workers.Wrote{Last: workers.Told(ready)}
	} else {
		problem = host.Join(problem, err)
	}

	// 3. Events, each once.
	if invalid != nil {
		notes = append(notes, workers.Note{Reason: invalidGroups, Message: invalid.Error()})
	}
	fresh, told := known.tell(notes)
	r.tell(ctx, live, append(fresh, workers.Ignored(known.counts, w)...))
	known.told, known.counts = told, workers.Counts(w)
	r.memory.keep(request.NamespacedName, known)
	return r.result(ctx, notes, problem)
}

// giveUp reports a Cluster that cannot be read, once, and that its state is unknown.
func (r *reconciler) giveUp(ctx context.Context, live *unstructured.Unstructured, known remembered, problem error) {
	key := client.ObjectKeyFromObject(live)
	r.metrics.see(key, false, false, "")
	var fresh []workers.Note
	fresh, known.told = known.tell([]workers.Note{{Reason: notUnderstood, Message: problem.Error()}})
	r.tell(ctx, live, fresh)
	r.memory.keep(key, known)
}

// tell makes events of notes. What a trial would write is logged as well.
func (r *reconciler) tell(ctx context.Context, live *unstructured.Unstructured, notes []workers.Note) {
	for _, n := range notes {
		kind := corev1.EventTypeWarning
		if n.News {
			kind = corev1.EventTypeNormal
		}
		r.event(live, n.About(live.GetName()), kind, n.Reason, "Reconcile", n.Message)
		if r.settings.StatusOnly {
			log.FromContext(ctx).Info(n.Message, "reason", n.Reason)
		}
	}
}

// bring carries out the plan for a Cluster, and returns its notes and the machine deployments as
// they are then. It stops at the first step that fails: the others are planned again. With
// StatusOnly the notes say what it would do.
func (r *reconciler) bring(
	ctx context.Context, live *unstructured.Unstructured, cluster v1alpha1.Cluster, w workers.Workers, invalid error,
	mds []workers.MachineDeployment,
) ([]workers.Note, []workers.MachineDeployment, error) {
	if invalid != nil || live.GetAnnotations()[v1alpha1.PausedAnnotation] == "true" {
		return nil, mds, nil
	}
	namesakes, err := r.clustersNamed(ctx, live.GetName())
	if err != nil {
		return nil, mds, err
	}
	for _, other := range namesakes {
		if other.GetNamespace() != live.GetNamespace() {
			return []workers.Note{{Reason: sameName, Message: fmt.Sprintf(
				"there is a Cluster %s in namespace %s too, and both mean the same machine deployments: none of them is written "+
					"until one Cluster is deleted",
				live.GetName(), other.GetNamespace())}}, mds, nil
		}
	}
	plan := workers.MakePlan(cluster, w, workers.Names{
		Cluster: live.GetName(), Namespace: r.settings.namespace(), Version: r.kind.Version,
	})
	if r.settings.StatusOnly {
		return append(plan.Notes, plan.Announce(w)...), mds, nil
	}
	seen := map[string]string{}
	for _, step := range plan.Steps {
		tell := func() {
			r.event(live, step.Name, corev1.EventTypeNormal, "MachineDeployment"+string(step.Verb), string(step.Verb),
				"machine deployment "+step.Name+" "+step.Why)
		}
		if step.Verb == workers.Delete {
			tell() // before it happens: it takes machines
		}
		after, err := r.carryOut(ctx, step, seen)
		if err != nil {
			return plan.Notes, mds, err
		}
		if step.Verb != workers.Delete {
			tell()
		}
		if after != nil {
			seen[step.Name] = after.GetResourceVersion()
			mds = with(mds, workers.Read(after.Object, r.kind.Version))
		}
	}
	return plan.Notes, mds, nil
}

// with is a list of machine deployments with one of them renewed or added.
func with(mds []workers.MachineDeployment, one workers.MachineDeployment) []workers.MachineDeployment {
	out := append([]workers.MachineDeployment(nil), mds...)
	for i := range out {
		if out[i].Name == one.Name {
			out[i] = one
			return out
		}
	}
	return append(out, one)
}

// result is when to look again. Having lost a race is no error: the watch brings
// the winner's object, and the next look decides on that. What waits for another
// Cluster or its machine deployment to go is looked at again now and then: no event
// of this Cluster's tells when that has happened.
func (r *reconciler) result(ctx context.Context, notes []workers.Note, problem error) (reconcile.Result, error) {
	if apierrors.IsConflict(problem) {
		log.FromContext(ctx).V(1).Info("Another client wrote first; reading the objects again", "problem", problem.Error())
		return reconcile.Result{RequeueAfter: host.AfterConflict}, nil
	}
	if problem == nil && slices.ContainsFunc(notes, func(n workers.Note) bool {
		return n.Reason == sameName || n.Reason == workers.NameTaken
	}) {
		return reconcile.Result{RequeueAfter: afterNames}, nil
	}
	return reconcile.Result{}, problem
}

// datacenter is the Cluster's NutanixDatacenterConfig; empty for other kinds. It is
// asked of the API server itself: it changes seldom, and what EKS Anywhere makes of a
// change is machine deployments, which are watched.
func (r *reconciler) datacenter(ctx context.Context, namespace string, ref v1alpha1.Ref) (v1alpha1.Nutanix, error) {
	var out v1alpha1.Nutanix
	if ref.Kind != v1alpha1.NutanixDatacenter {
		return out, nil
	}
	config := object(schema.GroupVersionKind{
		Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.NutanixDatacenter,
	})
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, config); err != nil {
		return out, fmt.Errorf("read %s %s/%s, which says how groups are split over failure domains (the controller needs "+
			"the permission to get nutanixdatacenterconfigs): %w",
			ref.Kind, namespace, ref.Name, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(config.Object, &out); err != nil {
		return out, fmt.Errorf("understand %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	return out, nil
}

// machineDeployments are all of the namespace, whatever their cluster: a name that
// another cluster's has must be seen.
func (r *reconciler) machineDeployments(ctx context.Context) ([]workers.MachineDeployment, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(r.kind)
	if err := r.reader.List(ctx, list, client.InNamespace(r.settings.namespace())); err != nil {
		return nil, fmt.Errorf("list machine deployments in namespace %s: %w", r.settings.namespace(), err)
	}
	mds := make([]workers.MachineDeployment, 0, len(list.Items))
	for _, item := range list.Items {
		mds = append(mds, workers.Read(item.Object, r.kind.Version))
	}
	return mds, nil
}

// clustersNamed are the Clusters of a name, in all namespaces.
func (r *reconciler) clustersNamed(ctx context.Context, name string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(clusterKind)
	if err := r.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list Clusters: %w", err)
	}
	var named []unstructured.Unstructured
	for _, item := range list.Items {
		if item.GetName() == name {
			named = append(named, item)
		}
	}
	return named, nil
}

// event sends an event on a Cluster, related to a machine deployment, if there is one.
func (r *reconciler) event(about *unstructured.Unstructured, machineDeployment, kind, reason, action, text string) {
	e := host.Event{About: about, Type: kind, Reason: reason, Action: action, Text: text}
	if machineDeployment != "" {
		md := object(r.kind)
		md.SetNamespace(r.settings.namespace())
		md.SetName(machineDeployment)
		e.Related = md
	}
	host.Tell(r.recorder, e)
}
