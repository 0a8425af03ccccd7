package kwok

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
)

// asError puts an error of the API server into the contract's words.
func asError(op provider.Op, id provider.GroupID, message string, err error) *provider.Error {
	e := &provider.Error{Op: op, Group: id, Kind: kindOf(err), Message: message + ": " + err.Error(), Err: err}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		e.Code = string(status.Status().Reason)
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return e
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
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return provider.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return provider.BadConfig
	case refused(err):
		return provider.Transient
	}
	return provider.Unavailable
}

// refused tells whether the API server said no, so that the write did
// certainly not happen. Anything else (no answer, an answer of the 5xx kind, an
// answer that cannot be read) leaves that open; err to "it happened".
func refused(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	code := status.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// pointless tells whether every further write of the same kind would meet the
// same refusal.
func pointless(err error) bool {
	switch kindOf(err) {
	case provider.Denied, provider.Credentials, provider.BadConfig, provider.Throttled:
		return refused(err)
	}
	return false
}
