package clusterapi

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

// failed is the error of a write.
func failed(ctx context.Context, op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := asError(op, id, what, err)
	e.MayHaveHappened = !refused(err) || ctx.Err() != nil
	return e
}

// notDone is the error of a read before a write. Nothing was sent; rule P1 wants
// a write that meets its deadline to count as done all the same.
func notDone(ctx context.Context, op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
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
		return "; docs/clusterapi.md lists the rights that are needed in the management cluster"
	case provider.Credentials:
		return "; see --cloud-config and --kubeconfig in docs/clusterapi.md"
	}
	return ""
}

func kindOf(err error) provider.Kind {
	switch {
	case isTimeout(err):
		return provider.Unavailable
	case apierrors.IsForbidden(err):
		return provider.Denied
	case apierrors.IsUnauthorized(err):
		return provider.Credentials
	case apierrors.IsTooManyRequests(err):
		return provider.Throttled
	case apierrors.IsNotFound(err), errors.Is(err, errNotServed):
		return provider.NotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return provider.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return provider.BadConfig
	case refused(err) && !unreached(err):
		return provider.Transient
	}
	return provider.Unavailable
}

// refused tells whether the API server said no, or was never reached, so that
// the write did certainly not happen. Anything else (no answer, one of the 5xx
// kind, one that cannot be read) leaves that open; err to "it happened".
func refused(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
	}
	return unreached(err) || errors.Is(err, errNotServed)
}

// unreached tells whether there was not even a connection.
func unreached(err error) bool {
	dial := (*net.OpError)(nil)
	return errors.As(err, &dial) && dial.Op == "dial"
}

func isTimeout(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// withheld tells whether something optional is simply not to be had: the right
// is missing, or there is no such thing. Waiting would not help.
func withheld(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, errNotServed)
}
