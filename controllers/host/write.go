package host

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// AfterConflict is when to look again after another write came first. The watch brings what they
// wrote meanwhile.
const AfterConflict = 200 * time.Millisecond

// End is how a write ended, for a metric: having lost a race is no failure.
func End(err error) string {
	switch {
	case err == nil:
		return "done"
	case apierrors.IsConflict(err):
		return "conflict"
	}
	return "failed"
}

// Join is both of two problems. A conflict counts only if there is no worse problem, which a retry
// would hide.
func Join(problem, more error) error {
	switch {
	case more == nil:
		return problem
	case problem == nil || apierrors.IsConflict(problem) && !apierrors.IsConflict(more):
		return more
	case apierrors.IsConflict(more):
		return problem
	}
	return errors.Join(problem, more)
}
