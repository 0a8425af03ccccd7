package gardener

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/gardener/v1alpha1"
)

// failureOf is why a machine could not be made, nil if nothing says that it could
// not. A machine with a provider id was made: machine-controller-manager writes the id
// first, and the status, which still has the failure before, a moment later.
func failureOf(m *v1alpha1.Machine) *provider.Error {
	last := m.Status.LastOperation
	if last.Type != v1alpha1.OperationCreate || last.State != v1alpha1.StateFailed || m.Spec.ProviderID != "" {
		return nil
	}
	e := &provider.Error{Op: provider.OpGrow, Kind: failureKind(last), Code: cmp.Or(last.ErrorCode, v1alpha1.CodeUnknown),
		Message: last.Description}
	if e.Message == "" {
		e.Message = "machine-controller-manager reports that the machine could not be made, and not why"
	}
	return e
}

// failureKind is the kind of a failure. ResourceExhausted is a stock or a quota, and only
// the cloud's own words say which.
func failureKind(last v1alpha1.LastOperation) provider.Kind {
	switch last.ErrorCode {
	case v1alpha1.CodeResourceExhausted:
		if speaksOfQuota(last.Description) {
			return provider.Quota
		}
		return provider.NoCapacity
	case v1alpha1.CodeUnauthenticated:
		return provider.Credentials
	case v1alpha1.CodePermissionDenied:
		return provider.Denied
	case v1alpha1.CodeInvalidArgument, v1alpha1.CodeOutOfRange, v1alpha1.CodeUnimplemented:
		return provider.BadConfig
	}
	return provider.Transient
}

// How often machine-controller-manager tries again to make a machine. Of ResourceExhausted
// it does every ten minutes: what waits is better bought elsewhere.
const (
	retriedSoon  = 5 * time.Second
	retriedLater = 3 * time.Minute
)

// retryOf is how soon machine-controller-manager tries again what may work then, and zero
// for what a person, or the cloud's stock, must mend first. An error without a code is
// that of a version that wrote none.
func retryOf(e *provider.Error) time.Duration {
	if e.Kind != provider.Transient {
		return 0
	}
	switch e.Code {
	case v1alpha1.CodeUnknown, v1alpha1.CodeDeadlineExceeded, v1alpha1.CodeAborted, v1alpha1.CodeUnavailable:
		return retriedSoon
	}
	return retriedLater
}

// quotaWords are looked for in small letters and without spaces.
var quotaWords = []string{
	"quota", "limitexceeded", "exceededlimit", "limitsexceeded", "vcpulimit", "toomanyinstances", "maximumnumberof",
}

func speaksOfQuota(description string) bool {
	said := strings.ReplaceAll(strings.ToLower(description), " ", "")
	return slices.ContainsFunc(quotaWords, func(w string) bool { return strings.Contains(said, w) })
}
