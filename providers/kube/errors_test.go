package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/provider"
)

var machines = schema.GroupResource{Group: "example.com", Resource: "machines"}

func TestErrors(t *testing.T) {
	hints := Hints{provider.Denied: "look there"}
	for _, c := range []struct {
		err  error
		kind provider.Kind
		// may: a write that ends so may have happened.
		may bool
		// withheld: it is not worth waiting for.
		withheld bool
	}{
		{apierrors.NewForbidden(machines, "m", errors.New("no")), provider.Denied, false, true},
		{apierrors.NewUnauthorized("who"), provider.Credentials, false, false},
		{apierrors.NewTooManyRequests("later", 7), provider.Throttled, false, false},
		{apierrors.NewNotFound(machines, "m"), provider.NotFound, false, true},
		{apierrors.NewConflict(machines, "m", errors.New("changed")), provider.Conflict, false, false},
		{apierrors.NewAlreadyExists(machines, "m"), provider.Conflict, false, false},
		{apierrors.NewBadRequest("what"), provider.BadConfig, false, false},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Machine"}, "m", nil), provider.BadConfig, false, false},
		{apierrors.NewMethodNotSupported(machines, "put"), provider.Transient, false, false},
		{fmt.Errorf("find: %w", ErrNotServed), provider.NotFound, false, true},
		{apierrors.NewInternalError(errors.New("oops")), provider.Unavailable, true, false},
		{apierrors.NewTimeoutError("slow", 3), provider.Unavailable, true, false},
		{apierrors.NewGenericServerResponse(408, "put", machines, "m", "slow", 0, false), provider.Unavailable, true, false},
		{errors.New("invalid character '<'"), provider.Unavailable, true, false},
		{context.DeadlineExceeded, provider.Unavailable, true, false},
		{context.Canceled, provider.Unavailable, true, false},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, provider.Unavailable, false, false},
		{&net.OpError{Op: "read", Err: errors.New("reset")}, provider.Unavailable, true, false},
	} {
		err := fmt.Errorf("wrapped: %w", c.err)
		message := "try: " + err.Error()
		if c.kind == provider.Denied {
			message += "; look there"
		}
		e := hints.Write(context.Background(), provider.OpGrow, "g", "try", err)
		if e.Op != provider.OpGrow || e.Group != "g" || e.Kind != c.kind || e.MayHaveHappened != c.may ||
			!errors.Is(e, c.err) || e.Message != message {
			t.Errorf("%v: %+v", c.err, e)
		}
		if e := hints.BeforeWrite(context.Background(), provider.OpGrow, "g", "try", err); e.Kind != c.kind ||
			e.MayHaveHappened {
			t.Errorf("%v, before a write: %+v", c.err, e)
		}
		if Withheld(err) != c.withheld {
			t.Errorf("%v: withheld: %v", c.err, !c.withheld)
		}
	}
	if e := hints.Error(
		provider.OpGrow, "g", "try", apierrors.NewTooManyRequests("later", 7),
	); e.RetryAfter.Seconds() != 7 || e.Code != "TooManyRequests" {
		t.Errorf("%+v", e)
	}
}

// At the deadline every write counts as done (rule P1), also one that was refused, or
// that was only about to be sent.
func TestErrorsAtTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	no := apierrors.NewNotFound(machines, "m")
	if e := (Hints{}).Write(ctx, provider.OpGrow, "g", "try", no); !e.MayHaveHappened {
		t.Error("a write that was given up on says that it has not happened")
	}
	if e := (Hints{}).BeforeWrite(ctx, provider.OpGrow, "g", "read", no); !e.MayHaveHappened {
		t.Error("a write that was given up on before it was sent says that it has not happened")
	}
}

func TestRefuseAndNotice(t *testing.T) {
	if e := Refuse(provider.OpRemove, "g", provider.Limit, "below %d", 3); e.Op != provider.OpRemove || e.Group != "g" ||
		e.Kind != provider.Limit || e.Message != "below 3" || e.MayHaveHappened {
		t.Errorf("%+v", e)
	}
	if n := Notice("g", "Code", "see %s",
		"there"); n != (provider.Notice{Group: "g", Code: "Code", Message: "see there"}) {
		t.Errorf("%+v", n)
	}
}
