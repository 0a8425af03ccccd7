package act

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/model"
	"github.com/plimsoll-dev/plimsoll/provider"
)

// callError is an error of act's own about a call.
func callError(call model.Call, kind provider.Kind, message string, cause error) *provider.Error {
	switch {
	case call.Verb == model.Evict:
		message = fmt.Sprintf("pod %q on node %q: %s", call.Pod, call.Node, message)
	case call.Node != "":
		message = fmt.Sprintf("node %q: %s", call.Node, message)
	}
	return &provider.Error{Op: provider.Op(call.Verb), Group: call.Group, Kind: kind, Message: message, Err: cause}
}

// cloudError is a provider's error in the contract's terms. A bare deadline error says nothing
// about the write.
func cloudError(ctx context.Context, call model.Call, err error) *provider.Error {
	e := *provider.AsError(provider.Op(call.Verb), call.Group, err)
	if _, told := errors.AsType[*provider.Error](err); !told &&
		(ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
		e.Kind, e.MayHaveHappened = provider.Unavailable, true
	}
	return &e
}

// apiError is an error of the API server in the contract's terms. It does not
// say whether a write may have happened: a read has the same errors.
func apiError(call model.Call, attempt string, err error) *provider.Error {
	e := callError(call, provider.Transient, "cannot "+attempt+" it", err)
	switch {
	case apierrors.IsConflict(err):
		e.Kind = provider.Conflict
	case apierrors.IsNotFound(err):
		e.Kind = provider.NotFound
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		e.Code = string(corev1.NamespaceTerminatingCause)
		e.Message += " (its namespace is being deleted, and the pod with it)"
	case apierrors.IsForbidden(err):
		e.Kind = provider.Denied
		if call.Verb == model.Evict && notAuthorized(err) {
			e.Code = model.CodeRightMissing
		}
		e.Message += " (grant " + permissions(call) +
			" to Plimsoll's service account, or see which admission webhook refuses it)"
	case apierrors.IsUnauthorized(err):
		e.Kind = provider.Credentials
	case apierrors.IsTooManyRequests(err):
		e.Kind = provider.Throttled
	case unknownEnd(err):
		e.Kind = provider.Unavailable
	}
	e.RetryAfter = retryAfter(err)
	return e
}

// notAuthorized reports whether a refusal is the authorizer's. An admission webhook that
// refuses one pod has the same code and reason; only the text tells them apart, and where
// it does not, we err to blaming the pod.
func notAuthorized(err error) bool { return strings.Contains(err.Error(), "cannot create resource") }

// permissions are those that a call needs.
func permissions(call model.Call) string {
	if call.Verb == model.Evict {
		return "create on pods/eviction and get on pods"
	}
	return "get, list and update on nodes, and list on pods,"
}

// retryAfter is the API server's own advice, 0 if it gave none.
func retryAfter(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}

// unknownEnd reports whether a failed request may have been carried out. A refusal by the API
// server is certain; everything else (a timeout, a broken connection) is not.
func unknownEnd(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= 500 || apierrors.IsTimeout(err)
}
