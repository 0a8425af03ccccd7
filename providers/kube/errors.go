package kube

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

// ErrNotServed says that the API server has no such kind, in no version that is
// understood. Nothing was sent.
var ErrNotServed = errors.New("the API server does not serve it")

// Hints are what a person should look at, by the kind of an error. They end its
// message.
type Hints map[provider.Kind]string

// Error is an error of the API server in the contract's terms.
func (h Hints) Error(op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := &provider.Error{Op: op, Group: id, Kind: KindOf(err), Message: what + ": " + err.Error(), Err: err}
	if hint := h[e.Kind]; hint != "" {
		e.Message += "; " + hint
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		e.Code = string(status.Status().Reason)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
}

// Write is the error of a write.
func (h Hints) Write(ctx context.Context, op provider.Op, id provider.GroupID, what string, err error) *provider.Error {
	e := h.Error(op, id, what, err)
	e.MayHaveHappened = !refused(err) || ctx.Err() != nil
	return e
}

// BeforeWrite is the error of a read before a write, or of waiting for one. Nothing
// was sent; rule P1 wants a write that meets its deadline to count as done all the
// same.
func (h Hints) BeforeWrite(
	ctx context.Context, op provider.Op, id provider.GroupID, what string, err error,
) *provider.Error {
	e := h.Error(op, id, what, err)
	e.MayHaveHappened = ctx.Err() != nil
	return e
}

// Refuse is the provider's own refusal: nothing was sent.
func Refuse(op provider.Op, id provider.GroupID, kind provider.Kind, format string, args ...any) *provider.Error {
	return &provider.Error{Op: op, Group: id, Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Notice is what a person should know of a group, or of all if there is none.
func Notice(id provider.GroupID, code, format string, args ...any) provider.Notice {
	return provider.Notice{Group: id, Code: code, Message: fmt.Sprintf(format, args...)}
}

// KindOf is the contract's kind of an error of the API server.
func KindOf(err error) provider.Kind {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return provider.Unavailable
	case apierrors.IsForbidden(err):
		return provider.Denied
	case apierrors.IsUnauthorized(err):
		return provider.Credentials
	case apierrors.IsTooManyRequests(err):
		return provider.Throttled
	case apierrors.IsNotFound(err), errors.Is(err, ErrNotServed):
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

// Withheld reports whether something optional is unavailable for good: the permission is missing,
// or the thing does not exist.
func Withheld(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || errors.Is(err, ErrNotServed)
}

// refused reports whether a request has certainly had no effect: the API server said
// no, or was never reached. Anything else (no answer, one of the 5xx kind, one that
// cannot be read) leaves that open; err to "it happened".
func refused(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
	}
	return unreached(err) || errors.Is(err, ErrNotServed)
}

// unreached reports whether there was not even a connection.
func unreached(err error) bool {
	dial := (*net.OpError)(nil)
	return errors.As(err, &dial) && dial.Op == "dial"
}
