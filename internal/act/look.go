package act

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// annotationDaemonSetPod on a pod makes it count as a DaemonSet's.
const annotationDaemonSetPod = "cluster-autoscaler.kubernetes.io/daemonset-pod"

// pageSize is how many nodes one page of a list has.
const pageSize = 500

// stays returns why a node whose removal has begun must stay; nil if it may go.
func (a *Actor) stays(call model.Call, n *corev1.Node) error {
	annotation, _ := model.Kept(n, a.run.Now())
	switch {
	case !model.HasTaint(n, model.TaintToBeDeleted):
		return callError(call, provider.Conflict, "its taint "+model.TaintToBeDeleted+" was removed, so it stays", nil)
	case annotation != "":
		return callError(call, provider.Conflict, "it has been annotated "+annotation+", so it stays", nil)
	case call.Unready && model.NodeReady(n):
		return callError(call, provider.Conflict, "it has become ready again, so it stays", nil)
	case call.Whole > 0 && !call.Unready && !model.NodeReady(n):
		return callError(call, provider.Conflict, "it is not ready any more, so it stays: the cloud may have replaced its "+
			"machine by one that would end in its place", nil)
	}
	return nil
}

// lastLook reads a node and its pods before it goes. It sees every pod that was bound before the
// taint and the cordon, and no pod can be bound after them. It returns an error if the node must
// stay, with the pods that are on it.
func (a *Actor) lastLook(ctx context.Context, call model.Call) ([]string, *provider.Error) {
	n, err := a.client.CoreV1().Nodes().Get(ctx, call.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && call.Whole > 0:
		return nil, callError(call, provider.Conflict,
			"its node is gone, so it stays: the cloud may have replaced its machine by one that would end in its place", nil)
	case apierrors.IsNotFound(err):
		// A node that does not exist has no pods; its instance still costs money.
		return nil, nil
	case err != nil:
		return nil, apiError(call, "read", err)
	}
	if err := a.stays(call, n); err != nil {
		return nil, provider.AsError(provider.Op(call.Verb), call.Group, err)
	}
	found, listErr := a.podsOn(ctx, call, func(p *corev1.Pod) bool {
		return staysBehind(p, call.ExpendableBelow) ||
			p.DeletionTimestamp != nil && (call.Unready || slices.Contains(call.Known, p.UID))
	})
	if listErr != nil || len(found) == 0 {
		return nil, listErr
	}
	return found, callError(call, provider.Conflict, "pods are on it, so it stays: "+firstOf(found, 5), nil)
}

// strangers returns an error if a node has pods that the plan did not know and that would be lost
// with it.
func (a *Actor) strangers(ctx context.Context, call model.Call) ([]string, *provider.Error) {
	found, err := a.podsOn(ctx, call, func(p *corev1.Pod) bool {
		return staysBehind(p, call.ExpendableBelow) || p.DeletionTimestamp != nil || slices.Contains(call.Known, p.UID)
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, callError(call, provider.Conflict,
		"pods landed on it since its removal was decided, so it stays: "+firstOf(found, 5), nil)
}

// podsOn names, sorted, the pods that are a reason for a node to stay.
func (a *Actor) podsOn(
	ctx context.Context, call model.Call, ignore func(*corev1.Pod) bool,
) ([]string, *provider.Error) {
	// An empty resourceVersion asks for the state as it is now.
	pods, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", call.Node).String(),
	})
	if err != nil {
		return nil, apiError(call, "list the pods of", err)
	}
	var found []string
	for i := range pods.Items {
		if p := &pods.Items[i]; !ignore(p) {
			found = append(found, p.Namespace+"/"+p.Name)
		}
	}
	slices.Sort(found)
	return found, nil
}

// stillWithoutNode reads the nodes from the API server itself: an instance that
// has registered since the plan was made stays.
func (a *Actor) stillWithoutNode(ctx context.Context, call model.Call) *provider.Error {
	if call.ProviderID == "" && call.NodeName == "" {
		return nil // no node could be matched to it
	}
	next := ""
	for {
		page, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return apiError(call, "list the nodes to see that none is its", err)
		}
		for i := range page.Items {
			n := &page.Items[i]
			if (call.ProviderID != "" && n.Spec.ProviderID == call.ProviderID) ||
				(call.NodeName != "" && n.Name == call.NodeName) {
				return callError(call, provider.Conflict,
					fmt.Sprintf("instance %q has registered as node %q, so it stays", call.Instance, n.Name), nil)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// staysBehind reports whether a pod may be lost with its node: it belongs to the node, or has
// ended, or its priority is expendable.
func staysBehind(pod *corev1.Pod, expendableBelow int32) bool {
	if pod.Spec.Priority != nil && *pod.Spec.Priority < expendableBelow {
		return true
	}
	if _, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]; ok {
		return true
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, "apps/") ||
		pod.Annotations[annotationDaemonSetPod] == "true" ||
		pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func firstOf(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}
