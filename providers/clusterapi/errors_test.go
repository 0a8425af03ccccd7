package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/provider"
)

func TestErrors(t *testing.T) {
	r := schema.GroupResource{Group: defaultAPIGroup, Resource: "machines"}
	for _, c := range []struct {
		err  error
		kind provider.Kind
		// may: a write that ends so may have happened.
		may bool
	}{
		{apierrors.NewForbidden(r, "m", errors.New("no")), provider.Denied, false},
		{apierrors.NewUnauthorized("who"), provider.Credentials, false},
		{apierrors.NewTooManyRequests("later", 7), provider.Throttled, false},
		{apierrors.NewNotFound(r, "m"), provider.NotFound, false},
		{apierrors.NewConflict(r, "m", errors.New("changed")), provider.Conflict, false},
		{apierrors.NewBadRequest("what"), provider.BadConfig, false},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Machine"}, "m", nil), provider.BadConfig, false},
		{apierrors.NewMethodNotSupported(r, "put"), provider.Transient, false},
		{fmt.Errorf("find: %w", errNotServed), provider.NotFound, false},
		{apierrors.NewInternalError(errors.New("oops")), provider.Unavailable, true},
		{apierrors.NewTimeoutError("slow", 3), provider.Unavailable, true},
		{context.DeadlineExceeded, provider.Unavailable, true},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, provider.Unavailable, false},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, provider.Unavailable, true},
	} {
		e := failed(context.Background(), provider.OpGrow, "g", "try", fmt.Errorf("wrapped: %w", c.err))
		if e.Kind != c.kind || e.MayHaveHappened != c.may || !errors.Is(e, c.err) || !strings.Contains(e.Message, "try: wrapped") {
			t.Errorf("%v: %s, may have happened: %v", c.err, e.Kind, e.MayHaveHappened)
		}
	}
	if e := asError(provider.OpGrow, "g", "try", apierrors.NewTooManyRequests("later", 7)); e.RetryAfter.Seconds() != 7 || e.Code != "TooManyRequests" {
		t.Errorf("%+v", e)
	}
	// At the deadline every write counts as done (rule P1).
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if e := notDone(ctx, provider.OpGrow, "g", "read", apierrors.NewNotFound(r, "m")); !e.MayHaveHappened {
		t.Error("a write that was given up on says that it has not happened")
	}
}
