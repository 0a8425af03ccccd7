package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// evict asks for the end of one pod through the Eviction API, which counts it against its budget.
// It names the pod by UID as well: a later pod of the same name stays. A pod that is ending or gone
// counts as success.
func (a *Actor) evict(ctx context.Context, call model.Call, out model.Outcome) model.Outcome {
	namespace, name, _ := strings.Cut(call.Pod, "/")
	if namespace == "" || name == "" || call.PodUID == "" {
		out.Err = callError(call, provider.BadConfig,
			fmt.Sprintf("an eviction must say namespace/name and UID (it says UID %q)", call.PodUID), nil)
		return out
	}
	options := &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(call.PodUID))}
	if call.Grace >= 0 {
		// Rounded up to full seconds: 0 would kill it at once.
		seconds := int64(call.Grace / time.Second)
		if call.Grace%time.Second > 0 {
			seconds++
		}
		options.GracePeriodSeconds = &seconds
	}
	err := a.client.CoreV1().Pods(namespace).EvictV1(ctx, &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: namespace, Name: name},
		DeleteOptions: options,
	})
	if err == nil {
		return out
	}
	if perhapsGone(err) {
		goes, readErr := a.goesAnyway(ctx, namespace, name, call.PodUID)
		if goes {
			out.Unchanged = true
			return out
		}
		if readErr != nil {
			err = fmt.Errorf("%w; nor can it be read to see whether it is gone: %w", err, readErr)
		}
	}
	out.Err = evictError(call, err)
	return out
}

// perhapsGone reports whether the reason for a refusal may be that the pod is ending. Other reasons
// look the same: a budget that is not found, or a pod that changed during the request.
func perhapsGone(err error) bool {
	return apierrors.IsNotFound(err) || apierrors.IsConflict(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// goesAnyway reads a pod, and reports whether it is being deleted, or gone, or
// another one of the same name.
func (a *Actor) goesAnyway(ctx context.Context, namespace, name string, uid types.UID) (bool, error) {
	// The permission to list pods exists anyway, that to get them does not.
	pods, err := a.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name).String(),
	})
	if err != nil {
		return false, err
	}
	for i := range pods.Items {
		if p := &pods.Items[i]; p.Name == name && p.UID == uid && p.DeletionTimestamp == nil {
			return false, nil
		}
	}
	return true, nil
}

// evictError classifies the API server's refusal of an eviction.
func evictError(call model.Call, err error) *provider.Error {
	// 1. A budget allows no disruption: 429, or, if its numbers are odd, 403.
	if budget, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		e := callError(call, provider.Conflict,
			budget.Message+" (it can go when more of the budget's pods are ready, or the budget allows more)", err)
		e.Code, e.RetryAfter = model.CodeDisruptionBudget, retryAfter(err)
		return e
	}
	// 2. Several budgets cover it: 500, recognized by its text only.
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError &&
		strings.Contains(status.Status().Message, "more than one PodDisruptionBudget") {
		e := callError(call, provider.BadConfig,
			"several PodDisruptionBudgets select it, and such a pod cannot be evicted (leave one budget that selects it)", err)
		e.Code = model.CodeManyBudgets
		return e
	}
	// 3. Anything else. The pod exists: that was checked before.
	e := apiError(call, "evict", err)
	if e.Kind == provider.NotFound {
		e.Kind = provider.Transient
	}
	e.MayHaveHappened = unknownEnd(err)
	return e
}
