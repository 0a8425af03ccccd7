package component

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/kwok/pkg/utils/informer"
)

// isSimulated reports whether there is no machine behind this node, be it in kwok's
// care or left to itself, as a node whose kubelet has died.
func isSimulated(node *corev1.Node) bool { return node.Annotations[fakeNodeAnnotation] != "" }

// isFake reports whether kwok cares for this node.
func isFake(node *corev1.Node) bool { return node.Annotations[fakeNodeAnnotation] == fakeNodeValue }

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// newNodes tells kwok of every fake node once, and of changes around readiness.
// Any other change would only put the node's next heartbeat off. A node that is
// fake no more is gone, for kwok, and one that is so again is new.
func newNodes(ctx context.Context, events chan<- informer.Event[*corev1.Node]) cache.ResourceEventHandler {
	return cache.FilteringResourceEventHandler{
		FilterFunc: func(object any) bool {
			node, ok := last[*corev1.Node](object)
			return ok && isFake(node)
		},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { send(ctx, events, informer.Added, object) },
			UpdateFunc: func(before, after any) {
				if !isReady(before.(*corev1.Node)) || !isReady(after.(*corev1.Node)) {
					send(ctx, events, informer.Modified, after)
				}
			},
			DeleteFunc: func(object any) { send(ctx, events, informer.Deleted, object) },
		},
	}
}

// newPods tells kwok of pods that a stage could match, and of deletions. It spares
// kwok's own matching, which is slow, for the many events of pods that simply run.
func newPods(ctx context.Context, events chan<- informer.Event[*corev1.Pod]) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if hasStage(object.(*corev1.Pod)) {
				send(ctx, events, informer.Added, object)
			}
		},
		UpdateFunc: func(_, after any) {
			if hasStage(after.(*corev1.Pod)) {
				send(ctx, events, informer.Modified, after)
			}
		},
		DeleteFunc: func(object any) { send(ctx, events, informer.Deleted, object) },
	}
}

// hasStage reports whether any of our stages could match this pod.
func hasStage(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodPending {
		return true
	}
	return pod.Status.Phase == corev1.PodRunning &&
		slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool {
			return owner.Kind == "Job"
		})
}

// send blocks until kwok takes the event. Nothing is lost by it: an informer keeps
// what its handlers have not taken yet.
func send[T runtime.Object](ctx context.Context, events chan<- informer.Event[T], kind informer.EventType, object any) {
	if typed, ok := last[T](object); ok {
		select {
		case events <- informer.Event[T]{Type: kind, Object: typed}:
		case <-ctx.Done():
		}
	}
}

// last is the object, or what was last seen of one whose deletion was missed.
func last[T runtime.Object](object any) (T, bool) {
	if missed, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	typed, ok := object.(T)
	return typed, ok
}

func nodeOfPod(object any) ([]string, error) {
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}

// dropManagedFields drops what no code here reads, and what is often the largest part of an object.
func dropManagedFields(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// nodeGetter is the informer's store of nodes, in kwok's terms.
type nodeGetter struct{ cache.Store }

func (g nodeGetter) Get(name string) (*corev1.Node, bool) {
	object, exists, err := g.GetByKey(name)
	if err != nil || !exists {
		return nil, false
	}
	return object.(*corev1.Node), true
}

// GetWithNamespace exists for kinds with namespaces; nodes have none.
func (g nodeGetter) GetWithNamespace(name, _ string) (*corev1.Node, bool) { return g.Get(name) }

func (g nodeGetter) List() []*corev1.Node {
	var nodes []*corev1.Node
	for _, object := range g.Store.List() {
		nodes = append(nodes, object.(*corev1.Node))
	}
	return nodes
}
