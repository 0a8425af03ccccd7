package aws

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"github.com/aws/smithy-go"

	"github.com/plimsoll-dev/plimsoll/provider"
	"github.com/plimsoll-dev/plimsoll/providers/aws/awstest"
)

// TestCredentialsThatCannotBeHad, in the ways in which a pod gets them: nothing
// was sent, and a person must mend it.
func TestCredentialsThatCannotBeHad(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"none at all": {},
		"IRSA without its token": {
			"AWS_ROLE_ARN":                "arn:aws:iam::123456789012:role/plimsoll",
			"AWS_WEB_IDENTITY_TOKEN_FILE": filepath.Join(t.TempDir(), "none"),
		},
		"pod identity without its agent": {
			"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/v1/credentials", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "x",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, threeOf(), byTag)
			t.Setenv("AWS_ACCESS_KEY_ID", "")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "")
			t.Setenv("AWS_MAX_ATTEMPTS", "1")
			for key, value := range env {
				t.Setenv(key, value)
			}
			p, err := New(t.Context(), byTag, slog.New(slog.DiscardHandler), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Inventory(t.Context())
			if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Credentials {
				t.Errorf("a read: %v", err)
			}
			_, err = p.Grow(t.Context(), provider.GrowRequest{Group: "g", From: 3, To: 4})
			if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Credentials || e.MayHaveHappened {
				t.Errorf("a write: %v", err)
			}
			if w.Count() != 0 {
				t.Errorf("AWS was called %d times", w.Count())
			}
		})
	}
}

// TestAnUnreachableAWSWasNotAsked: the connection was refused.
func TestAnUnreachableAWSWasNotAsked(t *testing.T) {
	for name, value := range awstest.Environment("http://127.0.0.1:1", "us-east-1") {
		t.Setenv(name, value)
	}
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	p, err := New(t.Context(), byTag, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Grow(t.Context(), provider.GrowRequest{Group: "g", To: 1})
	if e := provider.AsError("", "", err); err == nil || e.Kind != provider.Unavailable || e.MayHaveHappened {
		t.Errorf("%v", err)
	}
}

// TestTheSameTroubleIsToldTheSame, whatever the request, the port, the moment.
func TestTheSameTroubleIsToldTheSame(t *testing.T) {
	port := func(n int) error {
		return fmt.Errorf("request send error: %w",
			&net.OpError{Op: "read", Source: &net.TCPAddr{Port: n}, Err: errors.New("connection reset by peer")})
	}
	if a, b := steady("x", port(1)), steady("x", port(2)); a != b {
		t.Errorf("%q and %q", a, b)
	}
	if a, b := steady(
		"x", context.DeadlineExceeded,
	), steady("x", fmt.Errorf("after 3.1s: %w", context.DeadlineExceeded)); a != b {
		t.Errorf("%q and %q", a, b)
	}
	if got := steady(
		"x", errThrottled,
	); got != "x: ThrottlingException: no; a longer --aws-nodegroup-cache-ttl asks less often" {
		t.Errorf("%q", got)
	}
	throttled := &smithy.OperationError{
		ServiceID: "Auto Scaling", Err: &smithy.GenericAPIError{Code: "Throttling", Message: "Rate exceeded"},
	}
	if got := steady("x", throttled); got != "x: Throttling: Rate exceeded; a longer --scan-interval asks less often" {
		t.Errorf("%q", got)
	}
	if got := steady(
		"x", errDenied,
	); got != "x: AccessDeniedException: no; the IAM policy lacks this action (docs/aws.md has the whole policy)" {
		t.Errorf("%q", got)
	}
}
