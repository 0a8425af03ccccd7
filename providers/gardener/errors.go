package gardener

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// asError puts an error of the API server into the contract's words.
func asError(op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := &provider.Error{Op: op, Group: id, Kind: kindOf(err), Message: what + ": " + err.Error() + hint(err), Err: err}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		e.Code = string(status.Status().Reason)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// written is the error of a write, read the one of a read before it: in that case
// nothing was sent, but a caller whose deadline is over takes it for done all the
// same (rule P1).
func written(ctx context.Context, op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := asError(op, id, what, err)
	e.MayHaveHappened = ctx.Err() != nil || !refused(err)
	return e
}

func read(ctx context.Context, op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := asError(op, id, what, err)
	e.MayHaveHappened = ctx.Err() != nil
	return e
}

func refuse(op provider.Op, id provider.GroupID, kind provider.Kind, format string, args ...any) *provider.Error {
	return &provider.Error{Op: op, Group: id, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

func hint(err error) string {
	switch kindOf(err) {
	case provider.Denied:
		return "; docs/gardener.md lists the rights that are needed in the control cluster"
	case provider.Credentials:
		return "; see CONTROL_KUBECONFIG in docs/gardener.md"
	case provider.NotFound:
		return "; is this the control cluster of the shoot, with machine-controller-manager's CustomResourceDefinitions?"
	}
	return ""
}

func kindOf(err error) provider.Kind {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return provider.Unavailable
	case apierrors.IsForbidden(err):
		return provider.Denied
	case apierrors.IsUnauthorized(err):
		return provider.Credentials
	case apierrors.IsTooManyRequests(err):
		return provider.Throttled
	case apierrors.IsNotFound(err):
		return provider.NotFound
	case apierrors.IsConflict(err):
		return provider.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return provider.BadConfig
	case refused(err) && !unreached(err):
		return provider.Transient
	}
	return provider.Unavailable
}

// refused tells whether a request has certainly had no effect: the API server said
// no, or there was no connection to it. An answer of the 5xx kind, or one that
// cannot be read, leaves it open.
func refused(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
	}
	return unreached(err)
}

func unreached(err error) bool {
	dial := (*net.OpError)(nil)
	return errors.As(err, &dial) && dial.Op == "dial"
}
