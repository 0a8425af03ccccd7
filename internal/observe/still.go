package observe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Kind is one kind of object that the observer reads.
type Kind struct {
	// Resource is its name in permissions, in the plural.
	Resource string
	// Example is an empty object of the kind.
	Example runtime.Object
}

// Kinds lists what the observer reads.
func Kinds() []Kind {
	var out []Kind
	for _, s := range unwatched(Settings{}).sources {
		if s.resource == pauseResource {
			continue // a file without pauses is complete
		}
		out = append(out, Kind{s.resource, s.example})
	}
	return out
}

// unwatched is an observer that nothing fills but its caller.
func unwatched(s Settings) *Observer {
	return New(&kubernetes.Clientset{}, nil, s, slog.New(slog.DiscardHandler))
}

// Scene is a cluster without watches: its objects are put into it and taken out of it.
type Scene struct {
	o       *Observer
	sources map[reflect.Type]cache.ReflectorStore
}

// NewScene makes a scene of objects that are cut down (Cut).
func NewScene(objects []runtime.Object, s Settings) (*Scene, error) {
	out := &Scene{unwatched(s), map[reflect.Type]cache.ReflectorStore{}}
	byKind := map[reflect.Type][]any{}
	for _, obj := range objects {
		if m, ok := obj.(*corev1.ConfigMap); ok && m.Namespace != s.Namespace {
			continue
		}
		kind := reflect.TypeOf(obj)
		byKind[kind] = append(byKind[kind], obj)
	}
	for _, source := range out.o.sources {
		kind := reflect.TypeOf(source.example)
		out.sources[kind] = tracked{source.into, source}
		if err := out.sources[kind].Replace(byKind[kind], ""); err != nil {
			return nil, fmt.Errorf("observe: take in %s: %w", source.resource, err)
		}
	}
	return out, nil
}

// Put adds an object that is cut down, or replaces the one of its name. The scene owns it from then on.
func (s *Scene) Put(obj runtime.Object) error { return s.sources[reflect.TypeOf(obj)].Update(obj) }

// Drop takes an object out.
func (s *Scene) Drop(obj runtime.Object) error { return s.sources[reflect.TypeOf(obj)].Delete(obj) }

// Observe makes an Observation of the objects and of a picture of the cloud, by the same stores that
// watches fill. cloudErr says why there is no picture of the cloud; nil if there is one.
func (s *Scene) Observe(cloud provider.Inventory, cloudErr error, now time.Time) (model.Observation, error) {
	s.o.deliver(cloud, cloudErr)
	return s.o.Observe(context.Background(), now)
}

// Refused is a copy of a pod that has no node, and that the scheduler has just refused.
func Refused(pod *corev1.Pod, now time.Time) *corev1.Pod {
	out, at := *pod, metav1.NewTime(now)
	out.CreationTimestamp, out.Spec.NodeName = at, ""
	out.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		LastTransitionTime: at,
	}}}
	return &out
}

// Successor is the pod that waits once a pod and its node are gone: its controller makes it. It is nil
// where none comes; lost: because the pod has no controller.
func Successor(pod *corev1.Pod, now time.Time) (next *corev1.Pod, lost bool) {
	owner := metav1.GetControllerOfNoCopy(pod)
	_, static := pod.Annotations[corev1.MirrorPodAnnotationKey]
	switch {
	case static || owner != nil && owner.Kind == "DaemonSet" || pod.DeletionTimestamp != nil:
		return nil, false
	case owner == nil:
		return nil, true
	}
	return Refused(pod, now), false
}

// List reads the cluster once, in pages, and cuts it down. page is called for each page, to bound it in time.
// unread has the kinds that the server refused; nothing of those is in the list. A server that does not answer
// is an error, and is asked for nothing more.
func List(
	ctx context.Context, client kubernetes.Interface, s Settings, page func(context.Context) (context.Context, func()),
) (objects []runtime.Object, unread map[string]error, err error) {
	unread = map[string]error{}
	for _, source := range New(client, nil, s, slog.New(slog.DiscardHandler)).sources {
		var found []runtime.Object
		lister := cache.ToListerWatcherWithContext(source.lister)
		list := func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			ctx, end := page(ctx)
			defer end()
			return lister.ListWithContext(ctx, o)
		}
		err := pager.New(list).EachListItem(ctx, metav1.ListOptions{}, func(obj runtime.Object) error {
			cut := Cut(obj)
			if m, ok := cut.(*corev1.ConfigMap); ok && source.resource != "configmaps "+m.Name {
				return nil // a server that does not select by names gives all of them
			}
			if cut != nil {
				found = append(found, cut)
			}
			return nil
		})
		status := apierrors.APIStatus(nil)
		switch {
		case err == nil:
			objects = append(objects, found...)
		case errors.As(err, &status):
			unread[source.resource] = err
		default:
			return nil, nil, fmt.Errorf("list %s: %w", source.resource, err)
		}
	}
	return objects, unread, nil
}
