package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// Annotations that the last look reads.
const (
	annotationScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	annotationDaemonSetPod      = "cluster-autoscaler.kubernetes.io/daemonset-pod"
)

// taint marks a node as being deleted, so that nothing more is scheduled there.
// The node is not cordoned: the taint does all that an empty node needs.
func (a *Actor) taint(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	return a.rewrite(ctx, call, out, func(n *corev1.Node) bool {
		if model.HasTaint(n, model.TaintToBeDeleted) {
			return false
		}
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{
			Key: model.TaintToBeDeleted, Value: strconv.FormatInt(time.Now().Unix(), 10), Effect: corev1.TaintEffectNoSchedule,
		})
		return true
	})
}

// untaint gives a node back. A cordon is left alone: it is not ours.
func (a *Actor) untaint(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	return a.rewrite(ctx, call, out, func(n *corev1.Node) bool {
		before := len(n.Spec.Taints)
		n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == model.TaintToBeDeleted })
		return len(n.Spec.Taints) != before
	})
}

// rewrite reads a node from the API server, changes it and puts it back. The
// put carries the version that was read: a node that somebody else changed
// meanwhile is read anew (rule L9). change tells whether there is something to
// write.
func (a *Actor) rewrite(ctx context.Context, call model.Call, out model.Outcome, change func(*corev1.Node) bool) model.Outcome {
	nodes := a.client.CoreV1().Nodes()
	writing := false
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		writing = false
		n, err := nodes.Get(ctx, call.Node, metav1.GetOptions{})
		if err != nil {
			return err
		}
		out.ResourceVersion = n.ResourceVersion
		if !change(n) {
			return nil
		}
		writing = true
		n, err = nodes.Update(ctx, n, metav1.UpdateOptions{})
		if err != nil {
			return err
		}
		out.ResourceVersion = n.ResourceVersion
		return nil
	})
	if err != nil {
		out.ResourceVersion = ""
		out.Err = apiError(call, "write", err)
		out.Err.MayHaveHappened = writing && unknownEnd(err)
	}
	return out
}

// lastLook reads the node and its pods from the API server itself, after the
// taint's write returned: what it does not see cannot have been bound before
// the taint, and nothing can be since. It returns an error if the node must
// stay, with the pods that landed on it.
func (a *Actor) lastLook(ctx context.Context, call model.Call) ([]string, *provider.Error) {
	n, err := a.client.CoreV1().Nodes().Get(ctx, call.Node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		// Nothing can be on a node that is not there; its instance still costs.
		return nil, nil
	case err != nil:
		return nil, apiError(call, "read", err)
	case !model.HasTaint(n, model.TaintToBeDeleted):
		return nil, callError(call, provider.Conflict, "somebody took the taint "+model.TaintToBeDeleted+" away, so it stays", nil)
	case n.Annotations[annotationScaleDownDisabled] == "true":
		return nil, callError(call, provider.Conflict, "it has been annotated "+annotationScaleDownDisabled+"=true, so it stays", nil)
	case call.Unready && model.NodeReady(n):
		return nil, callError(call, provider.Conflict, "it has become ready again, so it stays", nil)
	}
	// An empty resourceVersion asks for the state as it is now.
	pods, err := a.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", call.Node).String(),
	})
	if err != nil {
		return nil, apiError(call, "list the pods of", err)
	}
	var landed []string
	for i := range pods.Items {
		if staysBehind(&pods.Items[i], call.ExpendableBelow) || (call.Unready && pods.Items[i].DeletionTimestamp != nil) {
			continue
		}
		landed = append(landed, pods.Items[i].Namespace+"/"+pods.Items[i].Name)
	}
	if len(landed) == 0 {
		return nil, nil
	}
	slices.Sort(landed)
	return landed, callError(call, provider.Conflict, "pods are on it: "+firstOf(landed, 5), nil)
}

// pageSize is how many nodes one page of a list has.
const pageSize = 500

// stillWithoutNode reads the nodes from the API server itself: an instance that
// has registered since the plan was made stays.
func (a *Actor) stillWithoutNode(ctx context.Context, call model.Call) *provider.Error {
	if call.ProviderID == "" && call.NodeName == "" {
		return nil // a node could not be told to be its
	}
	next := ""
	for {
		page, err := a.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return apiError(call, "list the nodes to see that none is its", err)
		}
		for i := range page.Items {
			n := &page.Items[i]
			if (call.ProviderID != "" && n.Spec.ProviderID == call.ProviderID) || (call.NodeName != "" && n.Name == call.NodeName) {
				return callError(call, provider.Conflict, fmt.Sprintf("instance %q has registered as node %q, so it stays", call.Instance, n.Name), nil)
			}
		}
		if next = page.Continue; next == "" {
			return nil
		}
	}
}

// staysBehind tells whether a pod goes with its node without anyone's loss: it
// belongs to the node, or has ended, or the operator holds pods of its priority
// for expendable.
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

// apiError is an error of the API server in the contract's terms.
func apiError(call model.Call, attempt string, err error) *provider.Error {
	e := callError(call, provider.Transient, "cannot "+attempt+" it", err)
	switch {
	case apierrors.IsConflict(err):
		e.Kind = provider.Conflict
	case apierrors.IsNotFound(err):
		e.Kind = provider.NotFound
	case apierrors.IsForbidden(err):
		e.Kind = provider.Denied
		e.Message += " (grant get and update on nodes, and list on pods, to Plimsoll's service account)"
	case apierrors.IsUnauthorized(err):
		e.Kind = provider.Credentials
	case apierrors.IsTooManyRequests(err):
		e.Kind = provider.Throttled
	case unknownEnd(err):
		e.Kind = provider.Unavailable
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// unknownEnd tells whether a request may have been carried out although it
// failed. Every answer that is a status of the API server's own refusal is
// certain; everything else (a timeout, a broken connection) is not.
func unknownEnd(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= 500 || apierrors.IsTimeout(err)
}
