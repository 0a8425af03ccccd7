package component

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

// collectOrphans deletes the pods of a simulated node as soon as the node is deleted.
// kwok leaves them, and the pod garbage collector of kube-controller-manager waits
// 40 to 60 seconds, in case the node comes back: a fake one never does. What this
// process does not see, because it is not running then, is left to that collector.
func collectOrphans(ctx context.Context, client kubernetes.Interface, nodes cache.SharedIndexInformer) error {
	gone := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	if _, err := nodes.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) {
			if node, ok := last[*corev1.Node](object); ok && isSimulated(node) {
				gone.Add(node.Name)
			}
		},
	}); err != nil {
		return fmt.Errorf("watch for deleted nodes: %w", err)
	}
	context.AfterFunc(ctx, gone.ShutDown)
	for range nodeParallelism {
		go func() {
			for {
				name, shutdown := gone.Get()
				if shutdown {
					return
				}
				if err := deletePodsOf(ctx, client, name); err == nil {
					gone.Forget(name)
				} else if ctx.Err() == nil {
					slog.Warn("cannot delete the pods of a deleted node; trying again", "node", name, "error", err)
					gone.AddRateLimited(name)
				}
				gone.Done(name)
			}
		}()
	}
	return nil
}

// deletePodsOf deletes the pods that are bound to a node, each by its UID: a
// StatefulSet may have made another pod of that name by then.
func deletePodsOf(ctx context.Context, client kubernetes.Interface, node string) error {
	pods, err := client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(),
	})
	if err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		err := client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0),
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}
