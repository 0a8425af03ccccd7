package kwok

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/kube"
)

// hints are empty: the API server's errors are clear enough here.
var hints kube.Hints

// refused reports whether the API server said no, so that the write did
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

// pointless reports whether every further write of the same kind would meet the
// same refusal.
func pointless(err error) bool {
	switch kube.KindOf(err) {
	case provider.Denied, provider.Credentials, provider.BadConfig, provider.Throttled:
		return refused(err)
	}
	return false
}
